package controlplane

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// neutron builds the composite resource of the network service.
func neutron(m *model, s *services.State) runtime.Object {
	n := m.Spec.Services.Neutron
	worker := m.Worker(n.Workers)
	out := &neutronv1.Neutron{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: neutronv1.NeutronSpec{
			ServiceSpec: m.QueuedServiceSpec(s), Placement: n.Placement, Networks: n.Networks, Identity: m.IdentitySpec(), Queue: m.QueueSpec(),
			Mechanism: cmp.Or(n.Mechanism, neutronv1.ByOVN), NotifiesNova: m.HasService(novav1.ServiceName),
			API: m.Process(n.API), Periodic: worker, UWSGI: s.Processes(),
		},
	}
	if m.usesOVN() {
		out.Spec.OVN, out.Spec.Maintenance = m.ovnAt(s), &worker
	}
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out.Spec.RPC = new(m.rpcWorker(n.Workers))
	}
	return out
}

// rpcWorker returns the settings of the RPC workers that agents call. All of its pods work, each with three processes (functions/neutron).
func (m *model) rpcWorker(requested *common.Process) common.Process {
	r := m.Size.APIResources.Requests
	return claim.MergeProcess(common.Process{
		Replicas: new(m.Size.Daemons), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, []*common.Process{requested})
}

// neutronAPI returns the settings of the API's pods as a Workload.
func neutronAPI(n *controlplanev1.Neutron) common.Workload {
	return *openstack.PlacedWorkload(ptr.Deref(n.API, common.Process{}), n.Placement)
}

func checkNeutron(m *model, s *services.State, r release.Release) error {
	n := m.Spec.Services.Neutron
	spec := s.CheckedSpec()
	spec.Workload, spec.MemoryField = openstack.PlacedWorkload(m.Process(n.API), n.Placement), "api.memory"
	errs := []error{m.CheckQueue(s), spec.Check(s.FieldPath(""), s.Name, r), network.Check(s.FieldPath(""), n.Mechanism, n.Networks)}
	switch {
	case m.ownsOVN():
		errs = append(errs, m.checkOVN(s.FieldPath(".ovn")))
	case !m.usesOVN() && n.OVN != nil: // Admission rejects it, too.
		errs = append(errs, invalid.Field(s.FieldPath(".ovn"), "cannot be set with mechanism OVS; remove it"))
	}
	if x := ptr.Deref(n.OVN, controlplanev1.OVN{}).External; x != nil && m.usesOVN() {
		errs = append(errs, checkExternalOVN(s.FieldPath(".ovn.external"), x))
	}
	previous := s.Observed.Map("spec", "ovn")
	if previous != nil && m.usesOVN() && (previous["clientSecretRef"] != nil) != (m.ovnSpecFromClaim().External != nil) {
		errs = append(errs, invalid.Field(s.FieldPath(".ovn.external"), "cannot be added or removed, because networks cannot be moved to "+
			"another OVN; create another control plane"))
	}
	if previous := s.Observed.String("spec", "mechanism"); previous != "" && previous != string(cmp.Or(n.Mechanism, neutronv1.ByOVN)) {
		errs = append(errs, invalid.Field(s.FieldPath(".mechanism"), "is immutable: networks use %s; set it to %[1]s, "+
			"and create another control plane to use the other mechanism", previous))
	}
	if n.API != nil { // All services check the memory themselves.
		errs = append(errs, openstack.CheckAmounts(s.FieldPath(".api"), *n.API))
	}
	if n.Workers != nil {
		errs = append(errs, openstack.CheckProcess(s.FieldPath(".workers"), *n.Workers))
	}
	return errors.Join(errs...)
}

// neutronPods returns the costs of all processes and of the OVN databases.
func neutronPods(m *model, s *services.State) []bounds.CostItem {
	n := m.Spec.Services.Neutron
	const workers = 2 // maintenance and periodic
	of := func(field string, p common.Process, times int32) bounds.CostItem {
		return bounds.CostItem{Field: s.FieldPath(field), Replicas: *p.Replicas, Times: times, Resources: openstack.Resources(p), Short: true}
	}
	out := []bounds.CostItem{of(".api", m.Process(n.API), 1), {Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes}}
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out = append(out, of(".workers", m.rpcWorker(n.Workers), 1))
	}
	if !m.usesOVN() {
		return append(out, of(".workers", m.Worker(n.Workers), 1))
	}
	out = append(out, of(".workers", m.Worker(n.Workers), workers))
	if m.ownsOVN() {
		out = append(out, m.ovnParts(s.FieldPath(".ovn"))...)
	}
	return out
}

// networkSecrets lists the Secrets of external OVN databases, and of object stores with backups of the control plane's own OVN databases.
func networkSecrets(s *controlplanev1.Services) []claim.SecretReference {
	if s.Neutron == nil || !s.Neutron.Enabled || s.Neutron.OVN == nil {
		return nil // A disabled service needs no Secret.
	}
	var out []claim.SecretReference
	add := func(b *controlplanev1.S3, part string) {
		out = append(out, claim.SecretReference{
			Name: &b.CredentialsSecretRef.Name, Field: "spec.services.neutron.ovn." + part + ".s3.credentialsSecretRef",
			Keys: mariadb.BucketKeys(b.PrivateCA),
		})
	}
	if x := s.Neutron.OVN.External; x != nil {
		out = append(out, claim.SecretReference{
			Name: &x.ClientSecretRef.Name, Field: "spec.services.neutron.ovn.external.clientSecretRef",
			Keys: []string{certificate.CAKey, certificate.CertKey, certificate.KeyKey},
		})
	}
	if b := s.Neutron.OVN.Backup; b != nil {
		add(&b.S3, "backup")
	}
	if r := s.Neutron.OVN.RestoreFrom; r != nil {
		add(&r.S3, "restoreFrom")
	}
	return out
}

// neutronReferences lists the networks of external OVN databases, which must be networks of hypervisors.
func neutronReferences(path string, value any) []bounds.ExternalReference {
	if v, ok := value.(controlplanev1.ExternalOVN); ok {
		return bounds.ListEntries(&bounds.HypervisorNetworks, path+".networks", v.Networks)
	}
	return nil
}

// neutronConnections returns the maximum number of database connections: in addition to requests, each API process handles OVN events, and
// each worker has a parent process.
func neutronConnections(m *model, s *services.State) int64 {
	n := m.Spec.Services.Neutron
	const processes, rpcProcesses = 2, 4 // An RPC worker has a parent and three processes.
	out := s.Threads() + processes*claim.PoolConnections(m.Worker(n.Workers))
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out += rpcProcesses * claim.PoolConnections(m.rpcWorker(n.Workers))
	}
	if m.usesOVN() {
		out += int64(*s.Workload.Replicas)*int64(s.Processes().Processes)*claim.PoolSize + processes*claim.PoolConnections(m.Worker(n.Workers))
	}
	return out
}

// usesOVN reports whether OVN implements the virtual networks, ownsOVN whether the control plane runs that OVN.
func (m *model) usesOVN() bool {
	n := m.Spec.Services.Neutron
	return n != nil && n.Enabled && n.Mechanism != neutronv1.ByOVS
}

func (m *model) ownsOVN() bool { return m.usesOVN() && m.ovnSpecFromClaim().External == nil }

// ovnSpecFromClaim returns the OVN settings of the claim.
func (m *model) ovnSpecFromClaim() controlplanev1.OVN {
	return ptr.Deref(m.Spec.Services.Neutron.OVN, controlplanev1.OVN{})
}

// ovnNodes returns the placement of the OVN pods.
func (m *model) ovnNodes() common.Placement { return m.Spec.Services.Neutron.Placement }

// ovnAt returns the addresses of the OVN databases. The observed addresses of the network service are used while OVN reports none.
func (m *model) ovnAt(s *services.State) *neutronv1.OVN {
	if x := m.ovnSpecFromClaim().External; x != nil {
		return &neutronv1.OVN{
			Sync: m.ovnSpecFromClaim().Sync, Northbound: x.Northbound, Southbound: x.Southbound, Networks: x.Networks,
			ClientSecretRef: &x.ClientSecretRef,
		}
	}
	address := func(part string) string {
		return cmp.Or(m.observedOVN().String("status", part, "endpoint"), s.Observed.String("spec", "ovn", part))
	}
	return &neutronv1.OVN{
		Sync:       m.ovnSpecFromClaim().Sync,
		Northbound: address(northbound), Southbound: address(southbound),
		IssuerRef: ovnIssuer(), InactivityProbeSeconds: m.ovnSpecFromClaim().InactivityProbeSeconds,
	}
}

// ovnIssuer returns OVN's own issuer, because its certificates permit writing to the databases.
func ovnIssuer() *common.IssuerReference {
	return &common.IssuerReference{Name: ovnv1.Name + "-ca", Kind: "Issuer"}
}

// neutronReport copies the result of the last comparison of Neutron's database with OVN.
func neutronReport(s *services.State, status *controlplanev1.ControlPlaneClusterStatus) {
	if status.OVN != nil {
		status.OVN.Sync = network.Answer(s.Observed.Map("status", "sync"))
	}
}

// neutronHypervisorAccess adds the source of the virtual networks for nodes: the relays, if there are any, or the southbound database.
func neutronHypervisorAccess(m *model, s *services.State, to *controlplanev1.HypervisorAccess) {
	if !m.usesOVN() {
		to.Networks = &controlplanev1.NetworkAccess{Mechanism: string(neutronv1.ByOVS), Agents: m.networkAgents(s)}
		return
	}
	to.Networks = &controlplanev1.NetworkAccess{
		Mechanism:  string(neutronv1.ByOVN),
		Southbound: cmp.Or(m.observedOVN().String("status", "relay", "endpoint"), m.ovnAt(s).Southbound),

		InactivityProbeSeconds: m.ovnSpecFromClaim().InactivityProbeSeconds,
	}
	if m.ownsOVN() {
		to.Networks.IssuerRef, to.Networks.ExternalSouthbound = ovnIssuer(), m.externalSouthbound()
	}
	if n := m.Spec.Services.Neutron; network.UsesAgents(n.Mechanism, n.Networks) {
		to.Networks.Agents = m.networkAgents(s)
	}
}

// networkAgents returns the settings of Neutron agents on nodes, including their own user of the queue.
func (m *model) networkAgents(s *services.State) *controlplanev1.NetworkAgents {
	n, queue := m.Spec.Services.Neutron, m.QueueSpec()
	a := network.AgentsOf(n.Mechanism, n.Networks)
	return &controlplanev1.NetworkAgents{
		Queue: queue, VirtualHost: queue.VirtualHost(neutronv1.ServiceName), QueueSecretRef: claim.LocalReference(openstack.QueueSecret(s.Name)),
		Tunnels: a.Tunnels, SRIOVNetworks: a.Cards, ServicePlugins: a.Plugins, Distributed: a.Distributed, DNSDomain: a.DNSDomain,
	}
}

// networksInSync copies the condition of the network service on OVN, if a comparison was requested.
func networksInSync(cloud *services.Cloud) rules.Result {
	m := &model{cloud}
	if !m.usesOVN() || m.ovnSpecFromClaim().Sync == nil {
		return rules.Result{}
	}
	observedState, _ := m.Observed.Get(neutronv1.ServiceName)
	c, ok := observedState.Condition(neutronv1.InSync)
	if !ok || c.Reason == "" {
		return rules.Wait("NotAnswered", "request %q is pending", m.ovnSpecFromClaim().Sync.Request)
	}
	return rules.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// neutronLocations lists where backups of the OVN databases are stored.
func neutronLocations(m *model, s *services.State) []bounds.Location {
	if !m.ownsOVN() || m.ovnSpecFromClaim().Backup == nil {
		return nil
	}
	b := m.ovnSpecFromClaim().Backup.S3
	return []bounds.Location{bounds.BucketLocation(s.FieldPath(".ovn.backup.s3"), b.Endpoint, b.Bucket, b.Prefix)}
}

// checkExternalOVN returns an error for addresses of databases to which nothing connects.
func checkExternalOVN(field string, x *controlplanev1.ExternalOVN) error {
	errs := []error{
		checkDatabaseAddresses(field+".northbound", x.Northbound, x.Networks), checkDatabaseAddresses(field+".southbound", x.Southbound,
			x.Networks),
	}
	if x.Northbound == x.Southbound {
		errs = append(errs, invalid.Field(field+".southbound", "cannot be the addresses of the northbound database; set the "+
			"southbound addresses, whose port is usually 6642"))
	}
	return errors.Join(errs...)
}

// checkDatabaseAddresses returns an error for addresses (ssl:host:port, separated by commas) that OVN cannot parse, that are duplicates, or
// that are outside of the networks that Neutron can reach.
func checkDatabaseAddresses(field, addresses string, networks []common.CIDR) error {
	var errs []error
	observedState := map[string]bool{}
	for a := range strings.SplitSeq(addresses, ",") {
		member := strings.TrimPrefix(a, "ssl:")
		if err := syntax.HostPort(member); err != nil {
			errs = append(errs, invalid.Field(field, "%s; write ssl:host:port for each member, separated by commas", err))
			continue
		}
		if observedState[member] {
			errs = append(errs, invalid.Field(field, "cannot contain %s twice; list each member once", a))
		}
		observedState[member] = true
		ip, err := netip.ParseAddr(strings.Trim(member[:strings.LastIndex(member, ":")], "[]"))
		if err == nil && !slices.ContainsFunc(networks, func(c common.CIDR) bool {
			n, err := netip.ParsePrefix(string(c))
			return err == nil && n.Masked().Contains(ip)
		}) {
			errs = append(errs, invalid.Field(field, "%s must be in one of networks, because Neutron can reach no "+
				"others; add its network there", ip))
		}
	}
	return errors.Join(errs...)
}

// externalSouthbound returns the address of the southbound database for other clusters. Empty: not assigned yet.
func (m *model) externalSouthbound() string {
	part := southbound
	if m.ovnRelay() != nil {
		part = "relay"
	}
	return m.observedOVN().String("status", part, "externalEndpoint")
}
