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
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// neutron is the network service.
func neutron(m *model, s *serviceState) runtime.Object {
	n := m.spec.Services.Neutron
	worker := m.worker(n.Workers)
	out := &neutronv1.Neutron{
		TypeMeta: s.typeMeta(), ObjectMeta: m.objectMeta(s.name),
		Spec: neutronv1.NeutronSpec{
			ServiceSpec: m.serviceSpec(s), Placement: n.Placement, Networks: n.Networks, Identity: m.identitySpec(), Queue: m.queueSpec(),
			Mechanism: cmp.Or(n.Mechanism, neutronv1.ByOVN), NotifiesNova: m.hasService(novav1.ServiceName),
			API: m.process(n.API), Periodic: worker, UWSGI: s.processes(),
		},
	}
	if m.usesOVN() {
		out.Spec.OVN, out.Spec.Maintenance = m.ovnAt(s), &worker
	}
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out.Spec.RPC = new(m.answering(n.Workers))
	}
	return out
}

// answering is what agents talk to. All of its pods work, each with three processes (functions/neutron).
func (m *model) answering(requested *common.Process) common.Process {
	r := m.size.apiResources.Requests
	return mergeProcess(common.Process{
		Replicas: new(m.size.daemons), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, []*common.Process{requested})
}

// neutronAPI is what the claim says of the API's pods, in the form of all services.
func neutronAPI(n *controlplanev1.Neutron) common.Workload {
	return *openstack.PlacedWorkload(ptr.Deref(n.API, common.Process{}), n.Placement)
}

// worker is what is said of one of which one works and another one waits, over what the size gives a daemon.
func (m *model) worker(requested *common.Process) common.Process {
	const onePlusOne = 2
	r := m.size.daemonResources.Requests
	return mergeProcess(common.Process{
		Replicas: new(min(m.size.daemons, onePlusOne)), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, []*common.Process{requested})
}

func checkNeutron(m *model, s *serviceState, r release.Release) error {
	n := m.spec.Services.Neutron
	spec := s.spec()
	spec.Workload, spec.MemoryField = openstack.PlacedWorkload(m.process(n.API), n.Placement), "api.memory"
	errs := []error{m.checkQueue(s), spec.Check(s.field(""), s.name, r), network.Check(s.field(""), n.Mechanism, n.Networks)}
	switch {
	case m.ownsOVN():
		errs = append(errs, m.checkOVN(s.field(".ovn")))
	case !m.usesOVN() && n.OVN != nil: // Admission refuses it, too.
		errs = append(errs, invalid.Field(s.field(".ovn"), "with mechanism OVS there is no OVN; leave ovn out"))
	}
	if x := ptr.Deref(n.OVN, controlplanev1.OVN{}).External; x != nil && m.usesOVN() {
		errs = append(errs, checkExternalOVN(s.field(".ovn.external"), x))
	}
	previous := s.seen.Map("spec", "ovn")
	if previous != nil && m.usesOVN() && (previous["clientSecretRef"] != nil) != (m.ovnSpecFromClaim().External != nil) {
		errs = append(errs, invalid.Field(s.field(".ovn.external"), "it cannot be set or removed: networks do not move from one OVN to another; "+
			"claim another control plane"))
	}
	if previous := s.seen.String("spec", "mechanism"); previous != "" && previous != string(cmp.Or(n.Mechanism, neutronv1.ByOVN)) {
		errs = append(errs, invalid.Field(s.field(".mechanism"), "networks are made by %s, and ports stay bound as they are; say %[1]s here, "+
			"and claim another control plane for the other one", previous))
	}
	if n.API != nil { // How much memory it needs is a question of all services.
		errs = append(errs, openstack.CheckAmounts(s.field(".api"), *n.API))
	}
	if n.Workers != nil {
		errs = append(errs, openstack.CheckProcess(s.field(".workers"), *n.Workers))
	}
	return errors.Join(errs...)
}

// neutronPods are those of every process, and of what networks are kept in.
func neutronPods(m *model, s *serviceState) []costItem {
	n := m.spec.Services.Neutron
	const workers = 2 // of two kinds
	of := func(field string, p common.Process, times int32) costItem {
		return costItem{field: s.field(field), replicas: *p.Replicas, times: times, resources: openstack.Resources(p), short: true}
	}
	out := []costItem{of(".api", m.process(n.API), 1), {field: s.field(""), processes: ptr.Deref(s.uwsgi, common.UWSGI{}).Processes}}
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out = append(out, of(".workers", m.answering(n.Workers), 1))
	}
	if !m.usesOVN() {
		return append(out, of(".workers", m.worker(n.Workers), 1))
	}
	out = append(out, of(".workers", m.worker(n.Workers), workers))
	if m.ownsOVN() {
		out = append(out, m.ovnParts(s.field(".ovn"))...)
	}
	return out
}

// networkSecrets are those with which somebody else's databases of OVN are reached, and object stores that have copies of the control
// plane's own.
func networkSecrets(s *controlplanev1.Services) []secretReference {
	if s.Neutron == nil || !s.Neutron.Enabled || s.Neutron.OVN == nil {
		return nil // What is off needs no Secret.
	}
	var out []secretReference
	add := func(b *controlplanev1.S3, part string) {
		out = append(out, secretReference{
			name: &b.CredentialsSecretRef.Name, field: "spec.services.neutron.ovn." + part + ".s3.credentialsSecretRef",
			keys: mariadb.BucketKeys(b.PrivateCA),
		})
	}
	if x := s.Neutron.OVN.External; x != nil {
		out = append(out, secretReference{
			name: &x.ClientSecretRef.Name, field: "spec.services.neutron.ovn.external.clientSecretRef",
			keys: []string{certificate.CAKey, certificate.CertKey, certificate.KeyKey},
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

// neutronReferences are where databases of somebody else are: among the nodes that use them.
func neutronReferences(path string, value any) []externalReference {
	if v, ok := value.(controlplanev1.ExternalOVN); ok {
		return listEntries(&hypervisorNetworks, path+".networks", v.Networks)
	}
	return nil
}

// neutronConnections is how many it opens to the database at most: besides requests, each process of the API does what OVN tells, and each
// worker has a process above it.
func neutronConnections(m *model, s *serviceState) int64 {
	n := m.spec.Services.Neutron
	const processes, answering = 2, 4 // Of what answers agents, three work.
	out := s.threads() + processes*daemonsOf(m.worker(n.Workers))
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out += answering * daemonsOf(m.answering(n.Workers))
	}
	if m.usesOVN() {
		out += int64(*s.workload.Replicas)*int64(s.processes().Processes)*pool + processes*daemonsOf(m.worker(n.Workers))
	}
	return out
}

// usesOVN says that virtual networks are made by OVN, and ovnOrdered that it is the control plane's own.
func (m *model) usesOVN() bool {
	n := m.spec.Services.Neutron
	return n != nil && n.Enabled && n.Mechanism != neutronv1.ByOVS
}

func (m *model) ownsOVN() bool { return m.usesOVN() && m.ovnSpecFromClaim().External == nil }

// ovnSpecFromClaim is what the claim says of it.
func (m *model) ovnSpecFromClaim() controlplanev1.OVN {
	return ptr.Deref(m.spec.Services.Neutron.OVN, controlplanev1.OVN{})
}

// ovnNodes is where its pods run.
func (m *model) ovnNodes() common.Placement { return m.spec.Services.Neutron.Placement }

// ovnAt is where its databases are. What the network service was told holds while OVN says nothing.
func (m *model) ovnAt(s *serviceState) *neutronv1.OVN {
	if x := m.ovnSpecFromClaim().External; x != nil {
		return &neutronv1.OVN{
			Sync: m.ovnSpecFromClaim().Sync, Northbound: x.Northbound, Southbound: x.Southbound, Networks: x.Networks, ClientSecretRef: &x.ClientSecretRef,
		}
	}
	address := func(part string) string {
		return cmp.Or(m.observedOVN().String("status", part, "endpoint"), s.seen.String("spec", "ovn", part))
	}
	return &neutronv1.OVN{
		Sync:       m.ovnSpecFromClaim().Sync,
		Northbound: address(northbound), Southbound: address(southbound),
		IssuerRef: ovnIssuer(),
	}
}

// ovnIssuer is OVN's own: who has a certificate of it may write.
func ovnIssuer() *common.IssuerReference {
	return &common.IssuerReference{Name: ovnv1.Name + "-ca", Kind: "Issuer"}
}

// neutronReport is what the last comparison of its database with OVN found.
func neutronReport(s *serviceState, status *controlplanev1.ControlPlaneClusterStatus) {
	if status.OVN != nil {
		status.OVN.Sync = network.Answer(s.seen.Map("status", "sync"))
	}
}

// neutronHypervisorAccess adds where nodes learn which virtual networks they have: of relays, where there are some.
func neutronHypervisorAccess(m *model, s *serviceState, to *controlplanev1.HypervisorAccess) {
	if !m.usesOVN() {
		to.Networks = &controlplanev1.NetworkAccess{Mechanism: string(neutronv1.ByOVS), Agents: m.networkAgents(s)}
		return
	}
	to.Networks = &controlplanev1.NetworkAccess{
		Mechanism:  string(neutronv1.ByOVN),
		Southbound: cmp.Or(m.observedOVN().String("status", "relay", "endpoint"), m.ovnAt(s).Southbound),
	}
	if m.ownsOVN() {
		to.Networks.IssuerRef, to.Networks.ExternalSouthbound = ovnIssuer(), m.externalSouthbound()
	}
	if n := m.spec.Services.Neutron; network.UsesAgents(n.Mechanism, n.Networks) {
		to.Networks.Agents = m.networkAgents(s)
	}
}

// networkAgents are how agents on nodes reach Neutron, by its own user of the queue, and what fits to it.
func (m *model) networkAgents(s *serviceState) *controlplanev1.NetworkAgents {
	n, queue := m.spec.Services.Neutron, m.queueSpec()
	a := network.AgentsOf(n.Mechanism, n.Networks)
	return &controlplanev1.NetworkAgents{
		Queue: queue, VirtualHost: queue.VirtualHost(neutronv1.ServiceName), QueueSecretRef: local(openstack.QueueSecret(s.name)),
		Tunnels: a.Tunnels, SRIOVNetworks: a.Cards, ServicePlugins: a.Plugins, Distributed: a.Distributed, DNSDomain: a.DNSDomain,
	}
}

// networksInSync repeats what the network service says of OVN, where somebody has asked.
func (m *model) networksInSync() rules.Result {
	if !m.usesOVN() || m.ovnSpecFromClaim().Sync == nil {
		return rules.Result{}
	}
	observedState, _ := m.seen.Get(neutronv1.ServiceName)
	c, ok := observedState.Condition(neutronv1.InSync)
	if !ok || c.Reason == "" {
		return rules.Wait("NotAnswered", "request %q is not answered yet", m.ovnSpecFromClaim().Sync.Request)
	}
	return rules.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// neutronLocations is where copies of OVN's databases are.
func neutronLocations(m *model, s *serviceState) []location {
	if !m.ownsOVN() || m.ovnSpecFromClaim().Backup == nil {
		return nil
	}
	b := m.ovnSpecFromClaim().Backup.S3
	return []location{bucketLocation(s.field(".ovn.backup.s3"), b.Endpoint, b.Bucket, b.Prefix)}
}

// checkExternalOVN returns an error for addresses of databases to which nothing connects.
func checkExternalOVN(field string, x *controlplanev1.ExternalOVN) error {
	errs := []error{
		checkDatabaseAddresses(field+".northbound", x.Northbound, x.Networks), checkDatabaseAddresses(field+".southbound", x.Southbound,
			x.Networks),
	}
	if x.Northbound == x.Southbound {
		errs = append(errs, invalid.Field(field+".southbound", "cannot be the addresses of the northbound database; set those of the "+
			"southbound one, "+
			"whose port is usually 6642"))
	}
	return errors.Join(errs...)
}

// checkDatabaseAddresses returns an error for addresses (ssl:host:port, with commas between them) that OVN does not parse, that are given
// twice, or that are outside of the networks that Neutron reaches.
func checkDatabaseAddresses(field, addresses string, networks []common.CIDR) error {
	var errs []error
	observedState := map[string]bool{}
	for a := range strings.SplitSeq(addresses, ",") {
		member := strings.TrimPrefix(a, "ssl:")
		if err := syntax.HostPort(member); err != nil {
			errs = append(errs, invalid.Field(field, "%s; write ssl:host:port for each member, with commas", err))
			continue
		}
		if observedState[member] {
			errs = append(errs, invalid.Field(field, "cannot contain %s twice; name each member once", a))
		}
		observedState[member] = true
		ip, err := netip.ParseAddr(strings.Trim(member[:strings.LastIndex(member, ":")], "[]"))
		if err == nil && !slices.ContainsFunc(networks, func(c common.CIDR) bool {
			n, err := netip.ParsePrefix(string(c))
			return err == nil && n.Masked().Contains(ip)
		}) {
			errs = append(errs, invalid.Field(field, "%s must be in one of networks, which are all that Neutron reaches; add its network there", ip))
		}
	}
	return errors.Join(errs...)
}
