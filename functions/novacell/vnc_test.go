package novacell

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// TestProxies_VNCWithTLS verifies that VNC proxies, and no other processes, have the certificate for hypervisors and the schemes of the
// cell.
func TestProxies_VNCWithTLS(t *testing.T) {
	env := func(schemes string) map[string]string {
		return map[string]string{
			"OS_VNC__AUTH_SCHEMES": schemes, "OS_VNC__VENCRYPT_CA_CERTS": "/etc/nova/vnc-client/ca.crt",
			"OS_VNC__VENCRYPT_CLIENT_CERT": "/etc/nova/vnc-client/tls.crt", "OS_VNC__VENCRYPT_CLIENT_KEY": "/etc/nova/vnc-client/tls.key",
		}
	}
	for name, tc := range map[string]struct {
		reason   string
		consoles novav1.Consoles
		want     map[string]string
	}{
		"default": {"Servers that were started without TLS keep their consoles.", novav1.Consoles{}, env("vencrypt,none")},
		"preferred": {
			"It is the default.", novav1.Consoles{VNC: &novav1.VNCConnections{TLS: novav1.TLSPreferred}}, env("vencrypt,none"),
		},
		"required": {
			"An attacker cannot remove TLS.", novav1.Consoles{VNC: &novav1.VNCConnections{TLS: novav1.TLSRequired}, Serial: true}, env("vencrypt"),
		},
		"spice": {"Nova's proxy for SPICE has no TLS to hypervisors.", novav1.Consoles{Graphical: novav1.SPICE, Serial: true}, nil},
		"none":  {"There are no consoles.", novav1.Consoles{Graphical: novav1.None}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := cellWith(t, tc.consoles)
			for _, p := range m.Processes() {
				var want map[string]string
				if p.Name == vnc.name {
					want = tc.want
				}
				pod := m.ProcessPod(p)
				got := map[string]string{}
				for _, e := range pod.Containers[0].Env {
					if _, of := env("")[e.Name]; of {
						got[e.Name] = e.Value
					}
				}
				mounted := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
					return v.Secret != nil && v.Secret.SecretName == "nova-cell1-vnc-client"
				})
				if diff := cmp.Diff(want, got); mounted != (want != nil) || len(want)+len(got) > 0 && diff != "" {
					t.Errorf("%s\n%s has the certificate: %v (-want options, +got):\n%s", tc.reason, p.Name, mounted, diff)
				}
			}
			if m.usesVNC() != (tc.want != nil) {
				t.Errorf("%s\nit has certificates: %v", tc.reason, m.usesVNC())
			}
		})
	}
}

// TestProxies_WithoutKeystone verifies that console proxies, which have no account, do not reach Keystone, and that the other processes do.
func TestProxies_WithoutKeystone(t *testing.T) {
	m := cellWith(t, novav1.Consoles{Graphical: novav1.SPICE, Serial: true})
	proxies := map[string]bool{spice.name: true, serial.name: true}
	for _, p := range m.Processes() {
		if len(p.Logins) == 0 != proxies[p.Name] || p.WithoutKeystone != proxies[p.Name] {
			t.Errorf("%s logs in to %q, without Keystone: %t", p.Name, p.Logins, p.WithoutKeystone)
		}
	}
}

// cellWith returns the model of the small cell with other consoles.
func cellWith(t *testing.T, consoles novav1.Consoles) *model {
	t.Helper()
	text, err := os.ReadFile("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	in := function.Input[novacellv1.NovaCell]{}
	in.XR.Name, in.XR.Namespace = "nova-cell1", "cloud"
	if err := json.Unmarshal(data, &in.XR.Spec); err != nil {
		t.Fatal(err)
	}
	in.XR.Spec.Consoles = consoles
	function.SetDefaults(&in.XR)
	m, err := derive(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
