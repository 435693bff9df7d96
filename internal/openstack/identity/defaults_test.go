package identity

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// completed returns a spec with the defaults of its schema and its processes.
func completed(s keystonev1.KeystoneSpec) keystonev1.KeystoneSpec {
	xr := keystonev1.Keystone{Spec: s}
	function.SetDefaults(&xr)
	Spec(&xr.Spec).Complete()
	return xr.Spec
}

// TestMethods checks that each missing required method is reported with its reason, and methods of federation only with a
// provider.
func TestMethods(t *testing.T) {
	who := map[string]string{
		"password": "the administrator and the services log in by it", "application_credential": "K-ORC logs in by it",
		"token":  "who has logged in at a provider chooses a project by it",
		"openid": "who logs in at a provider does so by it", "mapped": "who logs in at a provider does so by it",
	}
	for missing, why := range who {
		var provided []string
		for method := range who {
			if method != missing {
				provided = append(provided, method)
			}
		}
		want := "x.config.auth.methods: " + missing + " is missing: " + why + "; add it"
		if err := checkMethods("x", true, provided); err == nil || err.Error() != want {
			t.Errorf("without %s: %v", missing, err)
		}
		always := missing == "password" || missing == "application_credential"
		if err := checkMethods("x", false, strings.Join(provided, " , ")); (err != nil) != always {
			t.Errorf("without %s, and without a provider: %v", missing, err)
		}
	}
}

// TestReportsAllInvalidFields checks that all errors are reported at once, each with its field.
func TestReportsAllInvalidFields(t *testing.T) {
	var s keystonev1.KeystoneSpec
	if err := yaml.Unmarshal([]byte(`{config: {token: {cache_time: x}}, policy: {"identity:no_such": "@"},
  federation: {metadataURL: "https://a:0", issuer: "https://b:0", introspectionURL: "https://c:0"}}`), &s); err != nil {
		t.Fatal(err)
	}
	s = completed(s)
	err := Check("x", "2025.2", &s)
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, field := range []string{
		"x.config.token.cache_time: ", "x.policy: ", "x.federation.metadataURL: ", "x.federation.issuer: ", "x.federation.introspectionURL: ",
	} {
		if !strings.Contains("\n"+err.Error(), "\n"+field) {
			t.Errorf("no error for %s in:\n%s", field, err)
		}
	}
}
