package keystone

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestFederationContainersHaveProbesAndLimits verifies that both containers have probes and limits, and that their liveness probes differ.
func TestFederationContainersHaveProbesAndLimits(t *testing.T) {
	for file, memory := range map[string]string{"federation": "256Mi", "federation-tokens": "512Mi"} {
		m := derived(t, xr(t, file, set("1Gi", "resources", "limits", "memory")))
		containers := m.Workload.Template(m.APIPod()).Spec.Containers
		if len(containers) != 2 || containers[0].Name != m.App {
			t.Fatalf("%s: containers %v", file, containers)
		}
		for i, want := range []string{"1Gi", memory} {
			c := containers[i]
			if c.LivenessProbe == nil || c.StartupProbe == nil || c.ReadinessProbe == nil ||
				c.StartupProbe.HTTPGet.Scheme != corev1.URISchemeHTTPS || c.LivenessProbe.HTTPGet.Port.String() != []string{"health", "proxy-health"}[i] {
				t.Errorf("%s: probes of %s: startup %v, liveness %v, readiness %v", file, c.Name, c.StartupProbe, c.LivenessProbe, c.ReadinessProbe)
			}
			if got := c.Resources.Limits.Memory().String(); got != want {
				t.Errorf("%s: %s may use %s of memory, want %s", file, c.Name, got, want)
			}
		}
	}
}

// TestProviderCA verifies that only the proxy mounts the provider's authority, at the path in its configuration.
func TestProviderCA(t *testing.T) {
	m := derived(t, xr(t, "federation-tokens"))
	p := m.APIPod()
	mounts := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool {
			return v.Name == "provider-ca" && v.MountPath == m.Path(providerCA)
		})
	}
	if mounts(p.Containers[0]) || !mounts(p.Containers[1]) {
		t.Errorf("mounts %v and %v", p.Containers[0].VolumeMounts, p.Containers[1].VolumeMounts)
	}
	if !strings.Contains(m.Files.Data[httpdConf], "OIDCCABundlePath "+m.Path(providerCA)+"/ca.crt\n") {
		t.Errorf("the proxy is not configured with it: %s", m.Files.Data[httpdConf])
	}
}

// TestAccessTokensRequireIntrospection verifies that access tokens are accepted only with introspection by the provider, and only tokens of
// this client.
func TestAccessTokensRequireIntrospection(t *testing.T) {
	without, with := derived(t, xr(t, "federation")).Files.Data[httpdConf], derived(t, xr(t, "federation-tokens")).Files.Data[httpdConf]
	for _, word := range []string{"OIDCOAuth", "auth-openidc\n", "oauth20"} {
		if strings.Contains(without, word) {
			t.Errorf("%s where there is no introspection:\n%s", word, without)
		}
	}
	if strings.Count(with, "AuthType auth-openidc") != 1 || strings.Count(with, "Require claim iss:https://id.example.com/realms/cloud\n") != 1 {
		t.Errorf("tokens are admitted on another path, or of another issuer:\n%s", with)
	}
}
