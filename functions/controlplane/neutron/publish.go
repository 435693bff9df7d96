package neutron

import (
	"cmp"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Report adds the state of OVN, with the result of the last comparison of Neutron's database with OVN.
func (x model) Report(status *controlplanev1.ControlPlaneClusterStatus) {
	if status.OVN = ovnStatus(x.Cloud); status.OVN != nil {
		status.OVN.Sync = network.Answer(x.State.Observed.Map("status", "sync"))
	}
}

// Publish adds the source of the virtual networks for nodes: the relays, if there are any, or the southbound database.
func (x model) Publish(to *controlplanev1.HypervisorAccess) {
	m, s := x.Cloud, x.State
	if !usesOVN(m) {
		to.Networks = &controlplanev1.NetworkAccess{Mechanism: string(neutronv1.ByOVS), Agents: networkAgents(m, s)}
		return
	}
	to.Networks = &controlplanev1.NetworkAccess{
		Mechanism:  string(neutronv1.ByOVN),
		Southbound: cmp.Or(observedOVN(m).String("status", "relay", "endpoint"), ovnAt(m, s).Southbound),

		InactivityProbeSeconds: ovnSpecFromClaim(m).InactivityProbeSeconds,
	}
	if OwnsOVN(m) {
		to.Networks.IssuerRef, to.Networks.ExternalSouthbound = ovnIssuer(), externalSouthbound(m)
		to.Networks.ChassisSouthbound = cmp.Or(observedOVN(m).String("status", "relay", "chassisEndpoint"),
			observedOVN(m).String("status", Southbound, "chassisEndpoint"))
	}
	if n := m.Spec.Services.Neutron; network.UsesAgents(n.Mechanism, n.Networks) {
		to.Networks.Agents = networkAgents(m, s)
	}
}

// networkAgents returns the settings of Neutron agents on nodes, including their own user of the queue.
func networkAgents(m *services.Cloud, s *services.State) *controlplanev1.NetworkAgents {
	n, queue := m.Spec.Services.Neutron, m.QueueSpec()
	a := network.AgentsOf(n.Mechanism, n.Networks)
	return &controlplanev1.NetworkAgents{
		Queue: queue, VirtualHost: queue.VirtualHost(neutronv1.ServiceName), QueueSecretRef: claim.LocalReference(openstack.QueueSecret(s.Name)),
		Tunnels: a.Tunnels, SRIOVNetworks: a.Cards, ServicePlugins: a.Plugins, Distributed: a.Distributed, DNSDomain: a.DNSDomain,
	}
}

// networksInSync copies the condition of the network service on OVN, if a comparison was requested.
func networksInSync(m *services.Cloud) rules.Result {
	if !usesOVN(m) || ovnSpecFromClaim(m).Sync == nil {
		return rules.Result{}
	}
	observedState, _ := m.Observed.Get(neutronv1.ServiceName)
	c, ok := observedState.Condition(neutronv1.InSync)
	if !ok || c.Reason == "" {
		return rules.Wait("RequestPending", "waiting for the OVN comparison of request %q", ovnSpecFromClaim(m).Sync.Request)
	}
	return m.CopiedCondition(observedState, c)
}

// externalSouthbound returns the address of the southbound database for other clusters. Empty: not assigned yet.
func externalSouthbound(m *services.Cloud) string {
	part := Southbound
	if ovnRelay(m) != nil {
		part = "relay"
	}
	return observedOVN(m).String("status", part, "externalEndpoint")
}

// ovnStatus returns the state of OVN, nil without OVN.
func ovnStatus(m *services.Cloud) *controlplanev1.OVNStatus {
	if usesOVN(m) && ovnSpecFromClaim(m).External != nil {
		x := ovnSpecFromClaim(m).External
		return &controlplanev1.OVNStatus{Northbound: x.Northbound, Southbound: x.Southbound}
	}
	observedState := observedOVN(m)
	if !OwnsOVN(m) || !observedState.Exists() {
		return nil
	}
	count := func(field string) int32 {
		n, _ := observedState.Int("status", field)
		return int32(n) //nolint:gosec // nodes
	}
	return &controlplanev1.OVNStatus{
		Northbound: observedState.String("status", northbound, "endpoint"), Southbound: observedState.String("status", Southbound, "endpoint"),
		ChassisCount: count("chassisCount"), ActiveControllers: count("activeControllers"),
	}
}
