//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// agentRestarts are the pods of a node without OVN. Their configuration stays in effect while they are replaced; with a
// switch in userspace the flows of all networks are lost with its process, until its agent detects the restart.
var agentRestarts = []restart{
	{"openvswitch-agent", 0},
	{"l3-agent", 0},
	{"dhcp-agent", 0},
	{"metadata", 0},
	{"nova-compute", 0},
	{"openvswitch", stuck}, // or three seconds
}

// stuck is the maximum network outage of a node with a hanging agent: six probes, a grace period, and a start.
const stuck = 3 * time.Minute

// TestHypervisorsOVS checks that two claims become a cloud without OVN, in which a server has an address and metadata,
// and is reachable from outside.
func TestHypervisorsOVS(t *testing.T) {
	const neutron = "    neutron:\n      enabled: true\n"
	plane := strings.Replace(string(harness.Claim(t, "compute.yaml", RestartRelease, "-agents")), neutron, neutron+"      mechanism: OVS\n", 1)
	m := Start(t, []byte(plane), harness.Claim(t, "hypervisors.yaml", RestartRelease, "-agents"), 9)
	g := m.Boot(t)
	t.Run("Metadata", func(t *testing.T) { testGuestMetadata(t, m, g) })
	t.Run("Agents", func(t *testing.T) { testAgents(t, m) })
	t.Run("Capacity", func(t *testing.T) { testCapacity(t, m, 1) })
	m.Memory(t)
	t.Run("Restarts", func(t *testing.T) { testRestarts(t, m, g, agentRestarts) })
	t.Run("Second", func(t *testing.T) { CheckSecondServer(t, m, g) })
	t.Run("Stuck", func(t *testing.T) { testStuck(t, m, g) })
}

// testStuck checks that a hanging agent is restarted while the switch has lost its flows, and installs them again.
func testStuck(t *testing.T, m *Machines, g Guest) {
	ctx, pod := context.Background(), m.Pods(t, "openvswitch-agent")[0]
	in := func(command ...string) error {
		out, err := m.Cloud.Cluster.Exec(ctx, pod.Namespace, pod.Name, command...)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	const script = "/etc/cobaltcore/neutron-agent.sh"
	came := harness.Ping(t, g.Address, func() {
		// Inside the container, signals cannot stop its first process.
		stop := `kill -STOP "$(pgrep -f '/[n]eutron-openvswitch-agent ')"`
		if out, err := exec.Command("sh", "-c", stop).CombinedOutput(); err != nil {
			t.Fatalf("cannot stop the agent: %v: %s", err, out)
		}
		if err := in("ovs-ofctl", "-O", "OpenFlow13", "del-flows", "unix:/run/openvswitch/br-int.mgmt"); err != nil {
			t.Fatal(err)
		}
		if in("sh", script, "alive") == nil {
			t.Error("it counts as alive")
		}
		m.Until(t, "an agent that works", "", func() error { return in("sh", script, "ready") })
		m.Until(t, "the virtual machine's answer", g.Server.ID, func() error { _, err := g.Get("seconds"); return err })
	})
	t.Log(came)
	if came.Gap > stuck {
		t.Errorf("packets were lost for %s", came.Gap)
	}
	testAgents(t, m)
}

// testAgents checks that the pool is ready, and that Neutron lists all agents of its node.
func testAgents(t *testing.T, m *Machines) {
	m.Cloud.Operators.Forward(2 * time.Minute)
	want := []string{"DHCP agent", "L3 agent", "Metadata agent", "Open vSwitch agent"}
	m.Until(t, "the agents of the node", "", func() error {
		if err := m.Cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		if pool := m.Cloud.Pool().Status(); pool["phase"] != "Ready" || pool["readyNodes"] != float64(m.nodes) {
			return fmt.Errorf("the pool is %v with %v of %v nodes", pool["phase"], pool["readyNodes"], pool["nodeCount"])
		}
		page, err := agents.List(m.Neutron.ServiceClient, agents.ListOpts{}).AllPages(context.Background())
		if err != nil {
			return err
		}
		all, err := agents.ExtractAgents(page)
		alive := map[string]bool{}
		for _, a := range all {
			if a.Alive && a.Host == "node-0" {
				alive[a.AgentType] = true
			}
		}
		if got := slices.Sorted(maps.Keys(alive)); err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("alive are %v", got)
		}
		return err
	})
}
