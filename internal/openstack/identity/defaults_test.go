package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// TestDefaults checks the defaults of unset fields, and that set fields are kept.
func TestDefaults(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"nothing": {
			reason: "They match the defaults of the schema.", spec: `{}`,
			want: `{bootstrap: {adminUser: admin}, database: {port: 3306},
				fernet: {rotationSchedule: "0 0 * * 0", tokenExpirationSeconds: 3600, allowExpiredWindowSeconds: 172800},
				credentialKeys: {rotationSchedule: "0 0 1 * *"}, trustFlush: {schedule: "0 * * * *"}, uwsgi: {processes: 2, threads: 1},
				korcCredential: {intervalDays: 90, preRotationDays: 7, gracePeriodDays: 1}}`,
		},
		"everything": {
			reason: "A zero is a word, too, where it means something.",
			spec: `{bootstrap: {adminUser: root}, database: {port: 3307},
				fernet: {rotationSchedule: "1 0 * * 0", tokenExpirationSeconds: 3601, allowExpiredWindowSeconds: 0},
				credentialKeys: {rotationSchedule: "1 0 1 * *"}, trustFlush: {schedule: "1 * * * *"}, uwsgi: {processes: 3, threads: 2, harakiriSeconds: 61},
				korcCredential: {intervalDays: 91, preRotationDays: 0, gracePeriodDays: 0}}`,
			want: "",
		},
	} {
		read := func(text string) keystonev1.KeystoneSpec {
			t.Helper()
			var s keystonev1.KeystoneSpec
			if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "\t", " ")), &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		if tc.want == "" {
			tc.want = tc.spec
		}
		got := read(tc.spec)
		SetDefaults(&got)
		if diff := cmp.Diff(read(tc.want), got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
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

// TestFields checks that all errors are reported at once, each with its field.
func TestFields(t *testing.T) {
	var s keystonev1.KeystoneSpec
	if err := yaml.Unmarshal([]byte(`{config: {token: {cache_time: x}}, policy: {"identity:no_such": "@"},
  federation: {metadataURL: "https://a:0", issuer: "https://b:0", introspectionURL: "https://c:0"}}`), &s); err != nil {
		t.Fatal(err)
	}
	SetDefaults(&s)
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
	if err := CheckSchedule("f", common.Cron("0 0 * * 0")); err != nil {
		t.Error(err)
	}
}
