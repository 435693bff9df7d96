package keystone

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/structpb"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestChangedStartupFilesReplacePods verifies that pods of the API are replaced when files change that they read only at startup, and not
// while no version is reported.
func TestChangedStartupFilesReplacePods(t *testing.T) {
	const (
		certificate = keystonev1.Group + "/certificate"
		backends    = keystonev1.Group + "/identity-backends"
		client      = keystonev1.Group + "/federation-client"
	)
	type objects = map[string]*structpb.Struct
	status := func(apiVersion, kind string, status map[string]any) *structpb.Struct {
		return structOf(t, map[string]any{"apiVersion": apiVersion, "kind": kind, "status": status})
	}
	issued := func(s map[string]any) *structpb.Struct { return status("cert-manager.io/v1", "Certificate", s) }
	secret := func(s map[string]any) *structpb.Struct { return status("c5c3.io/v1alpha1", "SecretAggregate", s) }
	hash := func(h string) map[string]any { return map[string]any{"contentHash": h} }
	revision := func(n int) map[string]any { return map[string]any{"revision": n} }
	running := structOf(t, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{certificate: "3", backends: "a", client: "b"}},
	}}})
	for name, tc := range map[string]struct {
		reason, file string
		observed     objects
		want         map[string]string
	}{
		"New": {reason: "No object exists yet.", file: "federation"},
		"Made": {
			"All objects exist for the first time.", "federation",
			objects{service.CertificateResource: issued(revision(1)), clientResource: secret(hash("x"))},
			map[string]string{certificate: "1", client: "x"},
		},
		"Renewed": {
			"The certificate was issued again, the client's secret has not changed.", "federation",
			objects{service.CertificateResource: issued(revision(4)), clientResource: secret(hash("b")), "deployment": running},
			map[string]string{certificate: "4", client: "b"},
		},
		"Rotated": {
			"The client's secret is another one.", "federation",
			objects{service.CertificateResource: issued(revision(3)), clientResource: secret(hash("c")), "deployment": running},
			map[string]string{certificate: "3", client: "c"},
		},
		"Untold": {
			"Neither cert-manager nor the companion reports a version.", "federation",
			objects{service.CertificateResource: issued(nil), clientResource: secret(nil), "deployment": running},
			map[string]string{certificate: "3", client: "b"},
		},
		"Gone": {
			"They are not even there.", "federation", objects{"deployment": running}, map[string]string{certificate: "3", client: "b"},
		},
		"Directory": {
			"A directory's password, or anything else of the backends, is another one.", "directories",
			objects{domainsResource: secret(hash("n")), service.CertificateResource: issued(revision(4)), "deployment": running},
			map[string]string{backends: "n"},
		},
		"Alone": {"uWSGI reloads a certificate automatically.", "small", objects{service.CertificateResource: issued(revision(4))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, xr(t, tc.file), tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			got := m.APIPod().Annotations
			delete(got, domainsAnnotation)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFederationClient verifies that the proxy reads the client's secret from the companion's copy of the claim's Secret.
func TestFederationClient(t *testing.T) {
	m := derived(t, xr(t, "federation"))
	ref := m.spec.Federation.ClientSecretRef
	for _, c := range m.APIPod().Containers {
		for _, e := range c.Env {
			if e.Name != clientSecretEnv {
				continue
			}
			if got := e.ValueFrom.SecretKeyRef; got.Name == string(ref.Name) || got.Name != m.Sub(clientResource) || got.Key != clientSecret {
				t.Errorf("the proxy reads %s of %s", got.Key, got.Name)
			}
			return
		}
	}
	t.Error("the proxy reads no client's secret")
}
