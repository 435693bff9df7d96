package hypervisor

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// nodePod is a row of nodePods: the resources of a component's pod on a node.
type nodePod struct {
	// component is the value of agentLabel on the pod.
	component string
	// runs reports whether nodes of a group can have the pod.
	runs func(*model, *group) bool
	// claim returns the resources of the first container that the claim sets, in field. Nil: the claim has no field for it.
	claim func(*model) *common.Resources
	field string
	// defaults are the resources of the first container, which the claim's override.
	defaults *common.Resources
	// others are the resources of all other containers, by name, without the one that requests certificates.
	others map[string]*common.Resources
	// certificate reports whether the pod has that container. Nil: it never has it.
	certificate func(*model) bool
}

// nodePods lists the resources of every pod that a pool runs on its nodes. The DaemonSets and the memory that Nova keeps from servers are
// both derived from it.
var nodePods = []nodePod{
	{
		component: switchComponent, runs: onAllNodes, defaults: requests("100m", "256Mi"),
		claim: func(m *model) *common.Resources { return m.agents().OpenVSwitch.Resources }, field: "spec.agents.openvswitch",
		others: map[string]*common.Resources{switchDatabase: workload.Resources("20m", "64Mi", "1Gi")},
	},
	{
		component: controllerComponent, defaults: requests("50m", "256Mi"),
		runs:  func(m *model, _ *group) bool { return m.usesOVN() },
		claim: func(m *model) *common.Resources { return m.agents().OVNController.Resources }, field: "spec.agents.ovnController",
		certificate: (*model).separateCertificates,
	},
	{
		component: metadataComponent, defaults: requests("100m", "512Mi"),
		runs:  func(m *model, _ *group) bool { return m.usesOVN() && m.metadataEnabled() },
		claim: func(m *model) *common.Resources { return m.agents().Metadata.Resources }, field: "spec.agents.metadata",
		certificate: (*model).separateCertificates,
	},
	{
		component: metadataComponent, defaults: requests("100m", "256Mi"),
		runs:  func(m *model, g *group) bool { return m.agentsOn(g) && m.metadataEnabled() },
		claim: func(m *model) *common.Resources { return m.agents().Metadata.Resources }, field: "spec.agents.metadata",
	},
	{
		component: openvswitchAgentComponent, runs: func(m *model, _ *group) bool { return m.usesAgents() },
		claim: neutronResources, field: neutronField, defaults: requests("100m", "256Mi"),
	},
	{component: l3AgentComponent, runs: (*model).agentsOn, claim: neutronResources, field: neutronField, defaults: requests("100m", "256Mi")},
	{
		component: dhcpAgentComponent, runs: (*model).agentsOn, claim: neutronResources, field: neutronField,
		defaults: requests("100m", "256Mi"),
	},
	{
		component: sriovAgentComponent, runs: func(m *model, g *group) bool { return m.known() && len(g.cards()) > 0 },
		claim: neutronResources, field: neutronField, defaults: requests("100m", "256Mi"),
	},
	{
		component: libvirtComponent, runs: func(m *model, _ *group) bool { return m.libvirtManaged() },
		claim: func(m *model) *common.Resources { return m.spec.Virtualization.Libvirt.Resources }, field: "spec.virtualization.libvirt",
		defaults: requests("100m", "256Mi"), certificate: hasPeerCertificate(migrationComponent),
	},
	{
		component: volumeKeysComponent, runs: func(m *model, _ *group) bool { return len(m.libvirtSecrets()) > 0 },
		defaults: requests("10m", "32Mi"),
	},
	{
		component: diskTransferComponent, runs: onAllNodes, defaults: requests("10m", "64Mi"),
		certificate: hasPeerCertificate(diskTransferComponent),
	},
	{
		component: computeComponent, runs: onAllNodes, defaults: requests("200m", "512Mi"),
		claim: func(m *model) *common.Resources { return m.agents().NovaCompute.Resources }, field: "spec.agents.novaCompute",
		certificate: hasPeerCertificate(diskTransferComponent),
	},
	{
		component: nodeAgentComponent, runs: func(m *model, _ *group) bool { return m.nodeAgentEnabled() },
		claim: func(m *model) *common.Resources { return m.agents().KVMNodeAgent.Resources }, field: "spec.agents.kvmNodeAgent",
		defaults: workload.Resources("10m", "64Mi", "256Mi"),
	},
	{
		component: ovsAgentComponent, runs: func(m *model, _ *group) bool { return m.ovsAgentEnabled() },
		claim: func(m *model) *common.Resources { return m.agents().OVSAgent.Resources }, field: "spec.agents.ovsAgent",
		defaults: workload.Resources("50m", "128Mi", "256Mi"),
	},
}

// certificateResources are the resources of the container that requests certificates.
var certificateResources = workload.Resources("10m", "32Mi", "128Mi")

// hasPeerCertificate returns a function that reports whether each node has a separate certificate for a component.
func hasPeerCertificate(component string) func(*model) bool {
	return func(m *model) bool { return m.separatePeerCertificates(component) }
}

func onAllNodes(m *model, _ *group) bool { return m.known() }

// agentsOn reports whether nodes of a group connect routers to external networks with Neutron agents.
func (m *model) agentsOn(g *group) bool { return m.usesAgents() && g.gateway() != nil }

// neutronField is the field of the claim with the resources of Neutron's agents.
const neutronField = "spec.agents.neutron"

func neutronResources(m *model) *common.Resources { return m.agents().Neutron.Resources }

// requests returns requests of CPU and memory without a limit: an out-of-memory kill would interrupt the network or the management of
// servers.
func requests(cpu, memory string) *common.Resources {
	return &common.Resources{Requests: &common.ResourceAmounts{CPU: new(resource.MustParse(cpu)), Memory: new(resource.MustParse(memory))}}
}

// containers returns the resources of the pod's containers, the first one under the empty name.
func (p *nodePod) containers(m *model) map[string]corev1.ResourceRequirements {
	var claimed *common.Resources
	if p.claim != nil {
		claimed = p.claim(m)
	}
	out := map[string]corev1.ResourceRequirements{"": workload.MergeRequirements(claimed, p.defaults)}
	for name, r := range p.otherContainers(m) {
		out[name] = workload.Requirements(r)
	}
	return out
}

// otherContainers returns the resources of all containers but the first one, by name.
func (p *nodePod) otherContainers(m *model) map[string]*common.Resources {
	out := map[string]*common.Resources{}
	maps.Copy(out, p.others)
	if p.certificate != nil && p.certificate(m) {
		out[certificateContainer] = certificateResources
	}
	return out
}

// setResources gives the containers of a component's pod on the nodes of a group their resources. It returns an error for a pod that
// nodePods lacks: its memory would be missing from what Nova keeps.
func (m *model) setResources(g *group, component string, containers []corev1.Container) error {
	for i := range nodePods {
		p := &nodePods[i]
		if p.component != component || !p.runs(m, g) {
			continue
		}
		all := p.containers(m)
		for j := range containers {
			name := containers[j].Name
			if j == 0 {
				name = ""
			}
			r, ok := all[name]
			if !ok {
				return fmt.Errorf("container %s of %s has no resources in nodePods; this is a bug of the function", name, component)
			}
			containers[j].Resources = r
		}
		return nil
	}
	return fmt.Errorf("component %s has no row in nodePods for these nodes; this is a bug of the function", component)
}

// checkCosts returns an error for pods above the maxima of the platform: pods on the nodes of each group, and other pods.
func (m *model) checkCosts() error {
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	var errs []error
	for i := range m.groups {
		errs = append(errs, cost.CheckNode(limits, m.costs(&m.groups[i])))
	}
	if m.labelsInjected() {
		errs = append(errs, cost.Check(limits, []cost.Item{
			{Field: "spec.agents.labelsInjector", Replicas: 1, Resources: m.agents().LabelsInjector.Resources},
		}))
	}
	return invalid.Distinct(errs...)
}

// costs returns the costs of the pods on a node of a group.
func (m *model) costs(g *group) []cost.Item {
	var out []cost.Item
	for i := range nodePods {
		p := &nodePods[i]
		if !p.runs(m, g) {
			continue
		}
		first := cost.Item{Field: p.field, Replicas: 1, Resources: p.defaults}
		if p.claim != nil {
			first.Resources = merge.Overlay(p.claim(m), p.defaults)
		}
		out = append(out, first)
		others := p.otherContainers(m)
		for _, name := range slices.Sorted(maps.Keys(others)) {
			out = append(out, cost.Item{Field: p.field, Replicas: 1, Resources: others[name]})
		}
	}
	return out
}

// requestedMemory returns the memory in bytes that pods of the pool request on a node of a group. Where some nodes of the group are
// gateways it is theirs, which have all pods of the group: nova-compute of all its nodes reads one file.
func (m *model) requestedMemory(g *group) int64 {
	var sum int64
	for i := range nodePods {
		if p := &nodePods[i]; p.runs(m, g) {
			for _, r := range p.containers(m) {
				sum += r.Requests.Memory().Value()
			}
		}
	}
	return sum
}

// nodeOverhead is the memory of a node that neither flavors nor our pods' requests count, with libvirt as Nova drives it:
//   - 1 GiB for the kernel, the kubelet, the container runtime and the pods that every node has (network, storage, monitoring). The kubelet
//     evicts pods below 100 MiB free, and managed clusters reserve 1 GiB of a node with 4 GiB, and 2.6 GiB of one with 16 GiB.
//   - 1 GiB for QEMU itself: a process has 60 to 110 MiB in addition to the memory of its server, which is 10 servers.
//
// A node with many servers, or with pods of others, needs more: memory.reserved of the claim.
const nodeOverhead = 2 << 30

// reservedMemory returns the memory in bytes that servers do not get on a node of a group: the claim's, or what the node's pods request
// and the overhead.
func (m *model) reservedMemory(g *group) int64 {
	if p := g.node.Memory; p != nil && p.Reserved != nil {
		return p.Reserved.Value()
	}
	return m.requestedMemory(g) + nodeOverhead
}

// reservedMemorySufficient is the condition that reports whether memory.reserved of the claim covers the pods of the pool.
const reservedMemorySufficient = "ReservedMemorySufficient"

// memorySufficient compares memory.reserved of the pool and its slices with the memory requests of the pool's pods. A smaller value is not
// an error: a running pool could then no longer be composed. It is unset if the claim sets no value.
func (m *model) memorySufficient() ready.Result {
	set := false
	for i := range m.groups {
		g := &m.groups[i]
		p := g.node.Memory
		if !m.known() || p == nil || p.Reserved == nil {
			continue
		}
		set = true
		need := m.requestedMemory(g)
		if p.Reserved.Value() >= need {
			continue
		}
		return ready.Wait("ReservedTooSmall", "%s: %s is less than the %s that pods of the pool request on a node, and servers get memory "+
			"that is not free; set %s or more, or remove the field", g.ownField("memory.reserved", g.own.Memory != nil &&
			g.own.Memory.Reserved != nil), p.Reserved, quantity(need), quantity(need+nodeOverhead))
	}
	if !set {
		return ready.Result{}
	}
	return ready.Result{Ready: true, Reason: "Covered", Message: "memory.reserved covers the pods of the pool"}
}

// quantity returns an amount of memory as claims write it.
func quantity(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }
