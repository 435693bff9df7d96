//go:build openstack && linux

package hypervisors

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestHypervisorsUpgrade upgrades a cloud from one SLURP release to the next, the control plane first and its
// hypervisors afterwards. A server is pinged all the time, and clients use the APIs; no request fails.
func TestHypervisorsUpgrade(t *testing.T) {
	const end, number = "-up", 8
	m := Start(t, WithTwoImagePods(harness.Claim(t, "compute.yaml", harness.UpgradeFrom, end)), harness.Claim(t, "hypervisors.yaml", harness.UpgradeFrom, end), number)
	g := m.Boot(t)
	m.CheckUpgrade(t, g, WithTwoImagePods(harness.Claim(t, "compute.yaml", harness.UpgradeTo, end)), StartClients(t, m, g), "keystone", "placement", "glance")
	t.Run("Metadata", func(t *testing.T) { testGuestMetadata(t, m, g) })
	t.Run("Second", func(t *testing.T) { CheckSecondServer(t, m, g) })
	t.Run("Delete", func(t *testing.T) { testDelete(t, m, g) })
}
