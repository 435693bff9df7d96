package keystone

import (
	"encoding/json"
	"strings"
	"testing"
	"text/template"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestTenantValuesAreLiteralInTemplates verifies that a tenant's values for a directory are literal text in the template of the file, and
// that the password is in its option only.
func TestTenantValuesAreLiteralInTemplates(t *testing.T) {
	text := rapid.StringMatching(`([{}". a-z$=|/*-]|\{\{|\}\}|\{\{ \.password0 \}\}){1,12}`).Filter(func(s string) bool {
		return strings.TrimSpace(s) == s
	})
	m := &model{Service: service.Service{Base: &service.Base{Definition: &definition, Effective: "2025.2"}}}
	rapid.Check(t, func(t *rapid.T) {
		suffix, filter := text.Draw(t, "suffix"), text.Draw(t, "filter")
		raw, err := json.Marshal(filter)
		if err != nil {
			t.Fatal(err)
		}
		b := backend{Domain: "a", LDAP: keystonev1.LDAP{
			URL: "ldap://ldap.example.com", User: "cn=a", Suffix: keystonev1.DN(suffix), UserTreeDN: keystonev1.DN(suffix),
			PasswordSecretRef: &common.SecretKeyReference{Name: "a", Key: "b"},
			Options:           common.Options{"user_filter": apiextensionsv1.JSON{Raw: raw}},
		}}
		conf, err := m.domainConfig(0, b)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := template.New("a").Option("missingkey=error").Parse(conf)
		if err != nil {
			t.Fatalf("%v in\n%s", err, conf)
		}
		var out strings.Builder
		if err := tmpl.Execute(&out, map[string]string{"password0": "hunter2"}); err != nil {
			t.Fatalf("%v in\n%s", err, conf)
		}
		if n := strings.Count(out.String(), "hunter2"); n != 1 {
			t.Errorf("the password stands in %d places:\n%s", n, out.String())
		}
		file, err := oslo.Parse(out.String())
		if err != nil {
			t.Fatal(err)
		}
		for option, want := range map[string]string{"suffix": suffix, "user_tree_dn": suffix, "user_filter": filter} {
			if got := strings.ReplaceAll(file["ldap"][option][0], "$$", "$"); got != want {
				t.Errorf("%s is %q, want %q", option, got, want)
			}
		}
	})
}
