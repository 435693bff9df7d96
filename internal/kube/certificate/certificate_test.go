package certificate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

var meta = object.Meta{Name: "internal-ca", Namespace: "cloud"}

// TestAuthority tests that the authority is self-signed, and that the CA issuer uses its Secret.
func TestAuthority(t *testing.T) {
	self := SelfSigned(object.Meta{Name: "self-signed"})
	authority := Authority(meta, self.GetName()).Object["spec"].(map[string]any)
	ca := CAIssuer(meta, meta.Name).Object["spec"].(map[string]any)
	if authority["isCA"] != true || authority["secretName"] != ca["ca"].(map[string]any)["secretName"] {
		t.Errorf("the authority %v is not the Secret of issuer %v", authority, ca)
	}
	if authority["privateKey"].(map[string]any)["rotationPolicy"] != "Never" {
		t.Errorf("a new key would make every certificate invalid: %v", authority["privateKey"])
	}
	if diff := cmp.Diff(object.Map{"name": "self-signed", "kind": "Issuer", "group": "cert-manager.io"}, authority["issuerRef"]); diff != "" {
		t.Errorf("issuerRef (-want +got):\n%s", diff)
	}
}

func TestServer(t *testing.T) {
	for name, tc := range map[string]struct {
		issuer common.IssuerReference
		kind   string
	}{
		"in the namespace": {common.IssuerReference{Name: "internal-ca", Kind: "Issuer"}, "Issuer"},
		"of the cluster":   {common.IssuerReference{Name: "letsencrypt", Kind: "ClusterIssuer"}, "ClusterIssuer"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := Server(meta, tc.issuer, "a.svc", "b.svc").Object["spec"].(map[string]any)
			want := object.Map{
				"secretName": meta.Name, "dnsNames": object.List{"a.svc", "b.svc"},
				"usages":     object.List{"digital signature", "server auth", "client auth"},
				"privateKey": object.Map{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
				"issuerRef":  object.Map{"name": string(tc.issuer.Name), "kind": tc.kind, "group": "cert-manager.io"},
			}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
