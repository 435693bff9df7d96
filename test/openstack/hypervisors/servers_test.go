//go:build openstack && linux

package hypervisors

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestHypervisorsRunReachableServers checks that two claims become a cloud of every release in which a server has an address and metadata,
// and is reachable from outside.
func TestHypervisorsRunReachableServers(t *testing.T) {
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			m := Start(t, harness.Claim(t, "compute.yaml", r, harness.Suffix(r)), harness.Claim(t, "hypervisors.yaml", r, harness.Suffix(r)), i)
			g := m.Boot(t)
			t.Run("Metadata", func(t *testing.T) { testGuestMetadata(t, m, g) })
			t.Run("VNC", func(t *testing.T) { testVNC(t, m, g) })
			t.Run("Escaped", func(t *testing.T) { testEscaped(t, m, g) })
			t.Run("Account", func(t *testing.T) { testAccount(t, m, g) })
			t.Run("Status", func(t *testing.T) { testPoolStatus(t, m) })
			t.Run("Capacity", func(t *testing.T) { testCapacity(t, m, 1) })
			t.Run("Shapes", func(t *testing.T) { testShapes(t, m) })
			m.Memory(t)
			if r != RestartRelease {
				return
			}
			t.Run("Restarts", func(t *testing.T) { testRestarts(t, m, g, restarts) })
			t.Run("Second", func(t *testing.T) { CheckSecondServer(t, m, g) })
			t.Run("Delete", func(t *testing.T) { testDelete(t, m, g) })
			t.Run("Empty", func(t *testing.T) { testCapacity(t, m, 0) })
		})
	}
}

// testGuestMetadata checks that the server got its metadata, from an agent that authenticated it.
func testGuestMetadata(t *testing.T, m *Machines, g Guest) {
	var text string
	m.Until(t, "its metadata", g.Server.ID, func() error { // The server reads the metadata after it has started to serve.
		if _, err := g.Get("public-ipv4"); err != nil {
			return err
		}
		metadata, err := g.Get("meta_data.json")
		text = metadata
		return err
	})
	var metadata struct {
		UUID string `json:"uuid"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(text), &metadata); err != nil || metadata.UUID != g.Server.ID || metadata.Name != "guest" {
		t.Errorf("it knows %s (%v), want the uuid %s", text, err, g.Server.ID)
	}
	if text, err := g.Get("public-ipv4"); err != nil || text != g.Address {
		t.Errorf("its address outside is %q (%v), want %s", text, err, g.Address)
	}
}

// testPoolStatus checks that both claims report the node.
func testPoolStatus(t *testing.T, m *Machines) {
	m.Cloud.Operators.Forward(2 * time.Minute)
	m.Until(t, "the node in both claims", "", func() error {
		if err := m.Cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		pool, plane := m.Cloud.Pool().Status(), m.Cloud.Status()
		ovn, _ := plane["ovn"].(map[string]any)
		nodes := float64(m.nodes)
		if pool["phase"] != "Ready" || pool["nodeCount"] != nodes || pool["readyNodes"] != nodes || ovn["chassisCount"] != nodes {
			return fmt.Errorf("the pool is %v with %v of %v nodes, and OVN has %v", pool["phase"], pool["readyNodes"], pool["nodeCount"], ovn)
		}
		return nil
	})
}
