package hypervisor

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// noVirtualMachines is the condition by which the policy cobaltcore-deletion of the chart rejects the deletion of a pool with servers. The
// policy quotes its message. Unlike a Usage, admission can read the claim's own consent, which applies even if the pool can no longer be
// composed. And a Usage reports its reason only in the namespace of the claim, which may be deleted along with it.
const noVirtualMachines = "NoVirtualMachines"

// reportCapacity copies the counts of the control plane's companion. While Nova is unavailable, the last known counts stay, as Cluster API
// does for a cluster that it cannot reach. A count that was never known is unset, not 0.
func (m *model) reportCapacity(out *hypervisorv1.HypervisorClusterStatus) {
	previous := m.previous
	out.VirtualMachines, out.TotalVCPU, out.AvailableVCPU = previous.VirtualMachines, previous.TotalVCPU, previous.AvailableVCPU
	out.TotalMemory, out.AvailableMemory = previous.TotalMemory, previous.AvailableMemory
	count := func(field string, into **int64) {
		if n, ok := m.counted(field); ok {
			*into = &n
		}
	}
	count("virtualMachines", &out.VirtualMachines)
	count("totalVCPU", &out.TotalVCPU)
	count("availableVCPU", &out.AvailableVCPU)
	memory := func(field string, into **resource.Quantity) {
		if n, ok := m.counted(field); ok {
			const mebi = 1 << 20
			*into = resource.NewQuantity(n*mebi, resource.BinarySI)
		}
	}
	memory("totalMemoryMiB", &out.TotalMemory)
	memory("availableMemoryMiB", &out.AvailableMemory)
}

// counted returns a number that the companion reports.
func (m *model) counted(field string) (int64, bool) {
	o, ok := m.observed.Get(checkComponent)
	if !ok {
		return 0, false
	}
	return o.Int("status", "capacity", field)
}

// virtualMachines returns the last known number of servers.
func (m *model) virtualMachines() (int64, bool) {
	status := hypervisorv1.HypervisorClusterStatus{}
	m.reportCapacity(&status)
	if status.VirtualMachines == nil {
		return 0, false
	}
	return *status.VirtualMachines, true
}

// countUnknownReason returns why the current number of servers is unknown, in one line as admission requires. Empty: the companion has
// counted the servers of all nodes recently.
func (m *model) countUnknownReason() string {
	if m.known() && m.isSeparateCluster() {
		return "the control plane's companion cannot count them, because the nodes are in another cluster"
	}
	const notYet = "the control plane's companion has not counted them yet"
	o, ok := m.observed.Get(checkComponent)
	if !ok {
		return notYet
	}
	c, reported := o.Condition("Counted")
	_, counted := m.counted("virtualMachines")
	switch {
	case !reported:
		return notYet
	case c.Status != "True":
		return strings.Join(strings.Fields(c.Message), " ")
	case !counted || outdated(o, c):
		return notYet
	}
	return m.observed.UnverifiedReason(o)
}

// outdated reports whether a condition describes an older generation of its object.
func outdated(o *observe.Object, c observe.Condition) bool {
	return c.ObservedGeneration != 0 && c.ObservedGeneration != o.Generation()
}

// registered reports whether the pool may have had nodes that run servers. The pods of nova-compute do not tell: servers keep running
// without them, and their number is lower during a rollout.
func (m *model) registered() bool {
	for _, component := range []string{checkComponent, computeComponent} {
		if _, ok := m.observed.Get(component); ok {
			return true
		}
	}
	return false
}

// empty reports whether servers are on nodes of the pool, and how to proceed before the claim can be deleted.
func (m *model) empty() ready.Result {
	const consent = "or set spec.allowDeletionWithVirtualMachines: true to leave them running without management"
	n, known := m.virtualMachines()
	why := m.countUnknownReason()
	switch {
	case known && n > 0:
		if why != "" {
			why = " (when that was last known: " + why + ")"
		}
		return ready.Wait("ServersOnNodes", "%s on nodes of the pool%s; to delete the claim, move them to another pool (openstack "+
			"server migrate --live-migration) or delete them first, %s", machines(n), why, consent)
	case known && why == "":
		return ready.Result{Ready: true, Reason: "Counted", Message: "no virtual machine is on nodes of the pool"}
	case known || m.registered():
		return ready.Wait("CountUnknown", "it is unknown whether virtual machines are on nodes of the pool: %s; to delete the claim, "+
			"resolve this first, %s", why, consent)
	}
	return ready.Result{Ready: true, Reason: "NoNodes", Message: "no node has registered that virtual machines could be on"}
}

func machines(n int64) string {
	if n == 1 {
		return "1 virtual machine is"
	}
	return fmt.Sprintf("%d virtual machines are", n)
}
