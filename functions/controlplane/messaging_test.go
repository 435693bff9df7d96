package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQueueCertificateUsesPlatformIssuer checks that the queue's certificate is signed by an issuer that the topology operator trusts, if
// the platform sets one.
func TestQueueCertificateUsesPlatformIssuer(t *testing.T) {
	for platform, want := range map[string]map[string]any{
		bare: {"group": "cert-manager.io", "kind": "Issuer", "name": "internal-ca"},
		bare[:len(bare)-1] + ", queueIssuer: queues}": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "queues"},
	} {
		certificate := inner(desired(t, readyCluster(t, "{}", platform))["messaging-certificate"])
		if diff := cmp.Diff(want, at(certificate, "spec", "issuerRef")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", platform, diff)
		}
	}
}
