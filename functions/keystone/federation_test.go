package keystone

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/workload"
)

// TestFederationPod: both containers are restarted when they hang, and bounded; only the proxy says whether the pod is ready.
func TestFederationPod(t *testing.T) {
	for file, memory := range map[string]string{"federation": "256Mi", "federation-tokens": "512Mi"} {
		m := derived(t, xr(t, file, set("1Gi", "resources", "limits", "memory")))
		containers := m.workload.Template(m.apiPod()).Spec.Containers
		if len(containers) != 2 || containers[0].Name != service {
			t.Fatalf("%s: containers %v", file, containers)
		}
		for i, want := range []string{"1Gi", memory} {
			c := containers[i]
			if c.LivenessProbe == nil || c.StartupProbe == nil || c.LivenessProbe.HTTPGet.Scheme != corev1.URISchemeHTTPS || (c.ReadinessProbe != nil) != (i == 1) {
				t.Errorf("%s: probes of %s: startup %v, liveness %v, readiness %v", file, c.Name, c.StartupProbe, c.LivenessProbe, c.ReadinessProbe)
			}
			if got := c.Resources.Limits.Memory().String(); got != want {
				t.Errorf("%s: %s may use %s of memory, want %s", file, c.Name, got, want)
			}
		}
	}
}

// TestProviderCA: the proxy, and only that, reads the authority of the provider where its configuration says.
func TestProviderCA(t *testing.T) {
	m := derived(t, xr(t, "federation-tokens"))
	p := m.apiPod()
	mounts := func(c corev1.Container) bool {
		return slices.Contains(c.VolumeMounts, workload.Mount("provider-ca", providerCADir))
	}
	if mounts(p.Containers[0]) || !mounts(p.Containers[1]) {
		t.Errorf("mounts %v and %v", p.Containers[0].VolumeMounts, p.Containers[1].VolumeMounts)
	}
	if !strings.Contains(m.files.data[httpdConf], "OIDCCABundlePath "+providerCADir+"/ca.crt\n") {
		t.Errorf("the proxy is not told: %s", m.files.data[httpdConf])
	}
}

// TestRenewedCertificate: the pods of a federation are replaced when the certificate was issued anew, and not while nobody knows.
func TestRenewedCertificate(t *testing.T) {
	certificate := func(revision any) *structpb.Struct {
		status := map[string]any{}
		if revision != nil {
			status["revision"] = revision
		}
		return structOf(t, map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "status": status})
	}
	running := structOf(t, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{certificateAnnotation: "3"}},
	}}})
	for name, tc := range map[string]struct {
		reason, file string
		observed     map[string]*structpb.Struct
		want         map[string]string
	}{
		"New":     {reason: "There is none yet.", file: "federation"},
		"Issued":  {"It was issued once.", "federation", map[string]*structpb.Struct{certificateResource: certificate(1)}, map[string]string{certificateAnnotation: "1"}},
		"Renewed": {"And again.", "federation", map[string]*structpb.Struct{certificateResource: certificate(4), deploymentResource: running}, map[string]string{certificateAnnotation: "4"}},
		"Unknown": {
			"cert-manager does not tell for now.", "federation", map[string]*structpb.Struct{certificateResource: certificate(nil), deploymentResource: running},
			map[string]string{certificateAnnotation: "3"},
		},
		"Alone": {"uWSGI reads it anew by itself.", "small", map[string]*structpb.Struct{certificateResource: certificate(4)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, xr(t, tc.file), tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.apiPod().Annotations); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTokens: without the provider's word on them nobody logs in by access tokens, and with it only by those of this client.
func TestTokens(t *testing.T) {
	without, with := derived(t, xr(t, "federation")).files.data[httpdConf], derived(t, xr(t, "federation-tokens")).files.data[httpdConf]
	for _, word := range []string{"OIDCOAuth", "auth-openidc\n", "oauth20"} {
		if strings.Contains(without, word) {
			t.Errorf("%s where there is no introspection:\n%s", word, without)
		}
	}
	if strings.Count(with, "AuthType auth-openidc") != 1 || strings.Count(with, "Require claim iss:https://id.example.com/realms/cloud\n") != 1 {
		t.Errorf("tokens are admitted elsewhere, or of another issuer:\n%s", with)
	}
}
