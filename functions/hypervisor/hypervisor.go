// Package hypervisor composes a HypervisorCluster: the workloads on each node of a pool that run the servers (virtual machines) of one
// control plane.
package hypervisor

import (
	"cmp"
	"errors"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/claimed"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/controlplane"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// New returns the function of XHypervisorCluster composite resources.
func New() function.Runner {
	return function.Kind[hypervisorv1.HypervisorCluster, *model]{
		Graph: graph, Rules: readiness.Rules, Requires: requires, Derive: derive, Target: place, Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{
			{Type: volumesAttachable, Verdict: (*model).attachableBackends},
			{Type: removedNodesCleanedUp, Former: "NodesCleared", Verdict: nodesCondition("RemovedNodesCleanedUp")},
			{Type: cordonedNodesEvacuated, Former: "NodesEvicted", Verdict: nodesCondition("CordonedNodesEvacuated")},
			{Type: nodesReporting, Verdict: (*model).reporting}, {Type: noVirtualMachines, Verdict: (*model).empty},
			{Type: reservedMemorySufficient, Verdict: (*model).memorySufficient},
		},
	}
}

// Names of components. Components on nodes have the name of their process.
const (
	namespaceComponent    = "namespace"
	pullComponent         = "pull-secrets"
	controlPlaneComponent = controlplane.Component
	loginsComponent       = "logins"

	accountAccessComponent = "account-access"
	accountComponent       = "account"

	switchComponent     = "openvswitch"
	controllerComponent = "ovn-controller"
	metadataComponent   = "metadata"
	libvirtComponent    = "libvirt"
	volumeKeysComponent = "volume-keys"
	computeComponent    = "nova-compute"
)

// graph lists the components of a pool and their dependencies. On a node, each process waits for the processes that it connects to.
// nova-compute is composed last, because Nova schedules servers to a hypervisor as soon as it is registered.
var graph = compose.Graph[*model]{
	{Name: namespaceComponent, Phase: common.PhasePending, Build: namespace},
	{
		Name: pullComponent, Phase: common.PhasePending, Needs: []string{namespaceComponent},
		Enabled: (*model).hasPullSecrets, Build: pullSecrets,
	},
	{Name: controlPlaneComponent, Phase: common.PhasePending, Needs: []string{namespaceComponent}, Build: controlPlane},
	{
		Name: networkComponent, Phase: common.PhaseInfrastructure, Needs: []string{controlPlaneComponent},
		Enabled: func(m *model) bool { return len(m.networks()) > 0 }, Build: network,
	},
	{
		Name: accountAccessComponent, Phase: common.PhaseInfrastructure, Needs: []string{controlPlaneComponent},
		Enabled: (*model).known, Build: accountAccess,
	},
	{
		Name: accountComponent, Phase: common.PhaseInfrastructure, Needs: []string{accountAccessComponent},
		Enabled: (*model).known, Build: account,
	},
	{
		Name: loginsComponent, Phase: common.PhaseInfrastructure, Needs: []string{accountComponent},
		Enabled: (*model).known, Build: logins,
	},
	{
		Name: identityComponent, Phase: common.PhaseInfrastructure, Needs: []string{controlPlaneComponent},
		Enabled: (*model).nodeIdentity, Build: identity,
	},
	{
		Name: switchComponent, Phase: common.PhaseInfrastructure, Needs: []string{controlPlaneComponent, pullComponent},
		Enabled: (*model).known, Build: openVSwitch,
	},
	{
		Name: controllerComponent, Phase: common.PhaseInfrastructure, Needs: []string{loginsComponent, identityComponent},
		Follows: []string{networkComponent, switchComponent}, Enabled: (*model).usesOVN, Build: ovnController,
	},
	{
		Name: openvswitchAgentComponent, Phase: common.PhaseInfrastructure, Needs: []string{loginsComponent, pullComponent},
		Follows: []string{networkComponent, switchComponent}, Enabled: (*model).usesAgents, Build: openvswitchAgent,
	},
	{
		Name: metadataComponent, Phase: common.PhaseCompute, Needs: []string{loginsComponent, controllerComponent},
		Follows: []string{switchComponent, openvswitchAgentComponent}, Enabled: (*model).metadataEnabled, Build: metadataAgent,
	},
	{
		Name: l3AgentComponent, Phase: common.PhaseCompute, Needs: []string{loginsComponent},
		Follows: []string{openvswitchAgentComponent}, Enabled: (*model).gatewayAgents, Build: l3Agent,
	},
	{
		Name: dhcpAgentComponent, Phase: common.PhaseCompute, Needs: []string{loginsComponent},
		Follows: []string{openvswitchAgentComponent}, Enabled: (*model).gatewayAgents, Build: dhcpAgent,
	},
	{
		Name: sriovAgentComponent, Phase: common.PhaseCompute, Needs: []string{loginsComponent, pullComponent},
		Follows: []string{networkComponent}, Enabled: (*model).hasCards, Build: sriovAgent,
	},
	{
		Name: migrationComponent, Phase: common.PhaseInfrastructure, Needs: []string{controlPlaneComponent},
		Enabled: (*model).libvirtManaged, Build: migration,
	},
	{
		Name: libvirtComponent, Phase: common.PhaseCompute,
		Needs:   []string{controlPlaneComponent, pullComponent, loginsComponent, migrationComponent},
		Enabled: (*model).libvirtManaged, Build: libvirt,
	},
	{
		Name: storageComponent, Phase: common.PhaseInfrastructure, Needs: []string{controlPlaneComponent},
		Enabled: func(m *model) bool { return m.spec.Storage != nil }, Build: storage,
	},
	{
		Name: volumeKeysComponent, Phase: common.PhaseCompute, Needs: []string{controlPlaneComponent, pullComponent},
		Follows: []string{libvirtComponent}, Enabled: func(m *model) bool { return len(m.libvirtSecrets()) > 0 }, Build: volumeKeys,
	},
	{
		Name: diskTransferComponent, Phase: common.PhaseCompute, Needs: []string{controlPlaneComponent, pullComponent},
		Enabled: (*model).known, Build: diskTransfer, Version: func(m *model) string { return string(m.plane.release) },
	},
	{
		Name: computeComponent, Phase: common.PhaseCompute,
		Needs:   []string{loginsComponent, switchComponent, controllerComponent, openvswitchAgentComponent, libvirtComponent},
		Follows: []string{metadataComponent, l3AgentComponent, dhcpAgentComponent, sriovAgentComponent, diskTransferComponent},
		Enabled: (*model).known, Build: novaCompute, Version: func(m *model) string { return string(m.plane.release) },
	},
	{
		Name: companionComponent, Phase: common.PhaseCompute, Needs: []string{controlPlaneComponent}, Follows: []string{computeComponent},
		Enabled: (*model).sameCluster, Build: companion,
	},
	{
		Name: monitoringComponent, Phase: common.PhaseCompute, Follows: []string{computeComponent},
		Enabled: (*model).isMonitored, Build: monitored,
	},
	{
		Name: aggregatesComponent, Phase: common.PhaseCompute, Needs: []string{companionComponent},
		Enabled: (*model).hasAggregates, Build: aggregates,
	},
	{
		Name: checkComponent, Phase: common.PhaseCompute, Needs: []string{companionComponent}, Enabled: (*model).sameCluster, Build: check,
	},
	{
		Name: operatorComponent, Phase: common.PhaseCompute, Needs: []string{loginsComponent, pullComponent},
		Follows: []string{computeComponent}, Enabled: func(m *model) bool { return m.known() && m.operatorEnabled() }, Build: hypervisorOperator,
	},
	{
		Name: nodeAgentComponent, Phase: common.PhaseCompute, Needs: []string{operatorComponent},
		Enabled: (*model).nodeAgentEnabled, Build: nodeAgent,
	},
	{
		Name: ovsAgentComponent, Phase: common.PhaseCompute, Needs: []string{controlPlaneComponent, pullComponent},
		Follows: []string{switchComponent}, Enabled: (*model).ovsAgentEnabled, Build: ovsAgent,
	},
	{
		Name: injectorComponent, Phase: common.PhaseCompute, Needs: []string{namespaceComponent, pullComponent},
		Enabled: (*model).labelsInjected, Build: labelsInjector,
	},
}.MustValidate()

// model is the input of all builders. derive computes it once per call.
type model struct {
	claim function.Claim
	// instance is the namespace of the pool's workloads.
	instance string
	// cluster is the provider config of the nodes' cluster.
	cluster string
	spec    hypervisorv1.HypervisorClusterSpec
	// previous is the status of the last call.
	previous hypervisorv1.HypervisorClusterStatus
	platform *platformv1.PlatformConfigSpec
	plane    controlPlaneInfo
	// disks are the disks of servers in a Ceph pool. Empty if disks are on the nodes.
	disks diskUse
	// groups lists the slices, and the group of the remaining nodes.
	groups []group
	images images
	// logins are the Secrets of the control plane that are copied to the pool; pulls are the image pull secrets.
	logins tenantsecret.Set
	pulls  struct{ ofPlatform, ofClaim tenantsecret.Set }
	// pullSecrets are the image pull secrets of pods, platformPulls the secrets of pods with rights of the platform.
	pullSecrets, platformPulls []common.ObjectName
	observed                   observe.State
	// options are the settings of nova-compute that the spec sets as free-form configuration.
	options oslo.Config
}

func derive(in function.Input[hypervisorv1.HypervisorCluster]) (*model, error) {
	base, err := claimed.Read(in.Required, in.Claim, in.XR.Name)
	if err != nil {
		return nil, err
	}
	m := &model{
		claim: base.Claim, instance: base.Instance, platform: base.Platform, spec: in.XR.Spec, previous: in.XR.Status, observed: in.Observed,
	}
	complete(&m.spec)
	err = errors.Join(m.checkVirtualization(), m.checkLifecycle(), m.checkNodeAgent(), m.checkLimits(), m.target(in.Required))
	if err != nil {
		return nil, err
	}
	if m.groups, err = m.assignNodeGroups(); err != nil {
		return nil, err
	}
	if err := m.checkValues(); err != nil {
		return nil, err
	}
	if m.plane, err = m.resolveControlPlane(in.Required); err != nil {
		return nil, err
	}
	if err := m.findDisks(in.Required); err != nil {
		return nil, err
	}
	m.findPulls()
	err = errors.Join(
		m.checkStore(), m.checkPodNetwork(), m.checkSeparateCluster(), m.checkNodeReports(), m.checkMechanism(), m.checkCards(), m.checkCosts(),
	)
	if err != nil {
		return nil, err
	}
	if !m.known() {
		return m, m.checkInputsKnown()
	}
	m.logins = m.loginSet()
	m.options, err = override.Compute(string(m.plane.release), m.agents().NovaCompute.Config)
	return m, errors.Join(err, m.findImages())
}

// complete sets the default node selector, which no schema contains.
func complete(s *hypervisorv1.HypervisorClusterSpec) {
	if len(s.NodeSelector) == 0 {
		s.NodeSelector = map[string]common.LabelValue{"node-role.kubernetes.io/hypervisor": ""}
	}
}

// checkVirtualization validates the hypervisor software. Admission rejects evictOnCordon without libvirt of the pool, too.
func (m *model) checkVirtualization() error {
	var errs []error
	v := m.spec.Virtualization
	if v.EvictOnCordon && v.Libvirt.Mode != managed {
		errs = append(errs, invalid.Field("spec.virtualization.evictOnCordon", "requires libvirt.mode Managed: with mode Host it is unknown "+
			"whether servers can be live-migrated; set libvirt.mode to Managed, or remove evictOnCordon"))
	}
	if v.Driver == "cloud-hypervisor" {
		errs = append(errs, invalid.Field("spec.virtualization.driver",
			"no released version of Nova supports Cloud Hypervisor; set driver to kvm or qemu"))
	}
	return errors.Join(errs...)
}

// known reports whether the pool has enough information about the control plane to compose workloads on nodes.
func (m *model) known() bool { return m.plane.cell != nil }

// checkInputsKnown returns an error if the recorded state of the control plane is missing although pods of the pool exist: composing
// without it would remove the pods.
func (m *model) checkInputsKnown() error {
	for _, name := range []string{switchComponent, computeComponent} {
		if _, ok := m.observed.Get(name); ok {
			return errors.New("the recorded state of the control plane is missing although pods of the pool exist; no changes are made until the " +
				"control plane reports again: " + m.plane.Waits)
		}
	}
	return nil
}

func (m *model) agents() hypervisorv1.Agents { return ptr.Deref(m.spec.Agents, hypervisorv1.Agents{}) }

func (m *model) metadataEnabled() bool {
	return (m.usesOVN() || m.gatewayAgents()) && ptr.Deref(m.agents().Metadata.Enabled, true)
}

func (m *model) libvirtManaged() bool {
	return m.known() && m.spec.Virtualization.Libvirt.Mode == managed
}

func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.instance, Labels: m.workload(name, "").Labels()}
}

// workload returns a workload of the pool, not yet bound to the nodes of a group.
func (m *model) workload(app, component string) workload.Workload {
	return workload.Workload{
		Name: cmp.Or(component, app), Namespace: m.instance, App: app, Instance: m.instance, Component: component,
		Priority: workload.PriorityService, PullSecrets: m.pullSecrets,
	}
}

// place returns the default target of objects: the nodes' cluster. Resources may set another cluster.
func place(m *model) respond.Target {
	return respond.Target{Prefix: m.instance, Management: platform.Management(m.platform), Workload: m.cluster, Remote: m.remote()}
}

func status(m *model, plan compose.Plan) any {
	out := hypervisorv1.HypervisorClusterStatus{
		CloudStatus: common.CloudStatus{
			Phase: plan.Phase(common.PhaseReady), Components: respond.Components(plan, m.previous.Components),
		},
		Instance: m.instance,
	}
	if m.known() {
		out.ControlPlane = &hypervisorv1.KnownControlPlane{
			Instance: m.plane.Instance, Cluster: m.plane.cluster, Release: string(m.plane.release), Access: m.plane.access,
		}
	}
	out.Storage = m.disks.client
	nodes, ready := m.nodesWith(computeComponent)
	out.NodeCount, out.ReadyNodes = new(int32(nodes)), new(int32(ready)) //nolint:gosec // Counts of nodes.
	m.reportCapacity(&out)
	return out
}

// localAccess returns the access to a control plane, reduced to the given cell.
func localAccess(a controlplanev1.HypervisorAccess, cell controlplanev1.CellAccess) controlplanev1.HypervisorAccess {
	a.Cells = []controlplanev1.CellAccess{cell}
	return a
}
