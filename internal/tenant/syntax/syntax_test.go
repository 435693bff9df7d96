package syntax_test

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

func TestCheck(t *testing.T) {
	const name = "it must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS domain and '/' before it; correct the key"
	for name, tc := range map[string]struct{ spec, want string }{
		"valid": {spec: `{services: {keystone: {nodeSelector: {example.com/a: b}, tolerations: [{key: a, value: b, effect: NoExecute, tolerationSeconds: 5}, {operator: Exists}],
  resources: {requests: {ephemeral-storage: 1Gi}, limits: {ephemeral-storage: 1Gi}}, identityBackends: [{domain: a, ldap: {url: "ldaps://a:1"}}]}}, global: {exposure: {annotations: {Example.com/A: b}}}}`},
		"label":            {`{services: {keystone: {nodeSelector: {"a b": c}}}}`, `spec.services.keystone.nodeSelector: "a b" is not the key of a label: ` + name},
		"annotation":       {`{global: {exposure: {annotations: {"/a": c}}}}`, `spec.global.exposure.annotations: "/a" is not the key of an annotation: ` + name},
		"key of taint":     {`{services: {keystone: {tolerations: [{key: "a b", operator: Exists}]}}}`, `spec.services.keystone.tolerations[0].key: "a b" is not the key of a taint: ` + name},
		"value of taint":   {`{services: {keystone: {tolerations: [{key: a, value: "b c"}]}}}`, `spec.services.keystone.tolerations[0].value: "b c" is not the value of a taint: it must be empty, or at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit; correct the value`},
		"seconds":          {`{services: {keystone: {tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 5}]}}}`, `spec.services.keystone.tolerations[0].tolerationSeconds: requires effect NoExecute: no other effect evicts pods; set the effect, or remove tolerationSeconds`},
		"scratch":          {`{services: {keystone: {resources: {requests: {ephemeral-storage: 2Gi}, limits: {ephemeral-storage: 1Gi}}}}}`, `spec.services.keystone.resources.requests.ephemeral-storage: 2Gi must not exceed limits.ephemeral-storage, which is 1Gi; lower one, or raise the other`},
		"port":             {`{services: {keystone: {identityBackends: [{domain: a, ldap: {url: "ldap://a:65536"}}]}}}`, `spec.services.keystone.identityBackends[0].ldap.url: there is no port 65536; give one from 1 to 65535`},
		"time of a day":    {`{infrastructure: {mariadb: {backup: {schedule: "61 0 * * *"}}}}`, `spec.infrastructure.mariadb.backup.schedule: cannot read schedule "61 0 * * *": end of range (61) above maximum (59): 61; give minute, hour, day of month, month and day of week`},
		"day of a month":   {`{services: {cinder: {archive: {schedule: "0 0 30 2 *"}}}}`, `spec.services.cinder.archive.schedule: schedule "0 0 30 2 *" never comes, because no month that it names has such a day; give minute, hour, day of month, month and day of week`},
		"rule of a policy": {spec: `{services: {keystone: {policy: {a: "http://a:99999/x"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := controlplanev1.ControlPlaneClusterSpec{}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := syntax.Check("spec", &spec); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostPort(t *testing.T) {
	for text, want := range map[string]string{
		"a.example.com:1": "", "10.0.0.1:65535": "", "[fd00::1]:6641": "",
		"a":             `"a" must be host:port`,
		":1":            `":1" must be host:port`,
		"a:0":           "there is no port 0; give one from 1 to 65535",
		"a:65536":       "there is no port 65536; give one from 1 to 65535",
		"a:":            "there is no port ; give one from 1 to 65535",
		"fd00::1:6641":  `"fd00::1:6641" must have brackets around the IPv6 address`,
		"[10.0.0.1]:1":  `"[10.0.0.1]:1" has no IPv6 address in the brackets`,
		"[fd00::1:6641": `"[fd00::1:6641" has no IPv6 address in the brackets`,
		"a\n:1":         `"a\n" is not a host that all programs parse in the same way`,
		"a b:1":         `"a b" is not a host that all programs parse in the same way`,
		`a"$(id):1`:     `"a\"$(id)" is not a host that all programs parse in the same way`,
		"010.0.0.1:1":   `"010.0.0.1" is not a host that all programs parse in the same way`,
	} {
		got := ""
		if err := syntax.HostPort(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// FuzzHostPort checks that the standard library can split accepted texts.
func FuzzHostPort(f *testing.F) {
	for _, seed := range []string{"a:1", "[fd00::1]:1", "[::]:1", "a:b:1", "]:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if syntax.HostPort(text) != nil {
			return
		}
		if _, _, err := net.SplitHostPort(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
