// Package neutron composes a Neutron: the components of every service, and the workers that synchronize OVN with its database, or that
// serve agents.
package neutron

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Neutron composite resources.
func New() function.Runner {
	return function.Kind[neutronv1.Neutron, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: neutronv1.InSync, Verdict: (*model).inSync}},
	}
}

// terminationGracePeriod is the time for a process's operations to complete while a pod stops.
const terminationGracePeriod = 60 * time.Second

// definition is the part that all Neutrons have in common.
var definition = service.Definition{
	App:                    neutronv1.ServiceName,
	Title:                  "Neutron",
	Outage:                 "networks, ports and floating IPs cannot be created or changed; existing ones keep working",
	CatalogType:            neutronv1.ServiceType,
	NeedsAdmin:             true,
	Description:            "Virtual networks",
	Port:                   neutronv1.Port,
	Module:                 "neutron.wsgi.api:application",
	HealthPath:             "/healthcheck",
	TerminationGracePeriod: terminationGracePeriod,
	Queue:                  true,
	Databases: []service.Database{{
		Group: "database",
		// https://docs.openstack.org/neutron/latest/contributor/alembic_migrations.html. No release since 2025.1 has contract migrations.
		Schema: service.Schema{
			Sync:     []openstackv1.Step{service.Step("upgrade", "neutron-db-manage", "upgrade", "heads")},
			Expand:   []openstackv1.Step{service.Step("expand", "neutron-db-manage", "upgrade", "--expand")},
			Contract: []openstackv1.Step{service.Step("contract", "neutron-db-manage", "upgrade", "--contract")},
			Check:    []openstackv1.Argument{"neutron-status", "upgrade", "check"},
			Version:  []openstackv1.Argument{"neutron-db-manage", "current"},
			Empty:    "OK",
		},
	}},
}

// Components: processes, by their names, and the client's certificate.
const (
	certificateComponent = "ovn-certificate"
	maintenance          = "maintenance"
	rpc                  = "rpc"
	periodic             = "periodic"
)

// graph lists the components of a Neutron and their dependencies. It is added to the catalog when OVN is synchronized, or
// agents are served.
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	service.Credentials[*model](),
	service.Certificate[*model](),
	service.DatabaseAccount[*model]("credentials"),
	service.QueueAccount[*model]("companion-access"),
	service.User[*model]("companion-access", "credentials"),
	service.Config[*model]("companion-access", "credentials"),
	{Name: certificateComponent, Build: clientCertificate, Enabled: (*model).certified},
	{Name: "jobs", Build: jobs, Enabled: (*model).hasOVN},
	service.DatabaseSchema[*model]("database", "config", certificateComponent),
	service.API[*model](pods),
	service.Exposure[*model]("certificate"),
	service.Daemon[*model](maintenance, pods, "api"),
	service.Daemon[*model](rpc, pods, "api"),
	service.Daemon[*model](periodic, pods, "api"),
	service.Catalog[*model]("api", maintenance, rpc, periodic),
	{Name: syncComponent, Needs: []string{"catalog"}, Enabled: (*model).syncRequested, Build: sync},
	service.Alerts[*model](),
})

// pods are the dependencies of the API and of each worker.
var pods = []string{"schema", "certificate", "identity", "queue"}

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec *neutronv1.NeutronSpec
	// north and south are the first members of OVN's databases.
	north, south member
	// lastSync is the companion's report on the last comparison with OVN. Nil: none was requested.
	lastSync *observe.Object
}

func derive(in function.Input[neutronv1.Neutron]) (*model, error) {
	m := &model{spec: &in.XR.Spec}
	if m.syncRequested() {
		m.lastSync, _ = in.Observed.Get(syncResource)
	}
	var err error
	m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.QueuedSpec(&m.spec.ServiceSpec, &m.spec.Identity, &m.spec.Queue, &m.spec.UWSGI, m.spec.API, m.spec.Placement),
	}, m.checkMechanism(), network.Check("spec", m.spec.Mechanism, m.spec.Networks), service.CheckProcess("spec.periodic", m.spec.Periodic))
	if err != nil {
		return nil, err
	}
	m.Service, err = m.With(m.extension())
	return m, err
}

// extension returns the additions of a Neutron.
func (m *model) extension() service.Extension {
	server := m.Server
	// With it, a worker distinguishes its own database records from before its last start from the records of others.
	server.StartTime = true
	x := service.Extension{
		Config:    service.Configuration{Options: m.options(), Rules: hypervisorRules()},
		API:       service.APIPods{Server: &server, Env: append(m.env(), m.workers()...)},
		Network:   service.Network{APIEgress: serviceEgress},
		Keystone:  service.Keystone{Logins: logins},
		Processes: m.processes(),
	}
	if m.hasOVN() {
		x.Pods.Volumes = []service.Volume{
			m.SecretVolume(ovnFolder, m.clientSecret(), certificate.CAKey, certificate.CertKey, certificate.KeyKey),
		}
		x.Network.Egress = []workload.Flow{m.databases()}
	}
	return x
}

// hypervisorRules permits services to read what Nova reads on hypervisors without a user's token: floating IPs, which it shows with a
// server, segments and physical networks of networks, and bandwidth of ports. By default, Neutron shows them to administrators only, and
// everything else that Nova reads and writes there also to services. The account of a pool of hypervisors therefore needs no more than the
// role of services (https://docs.openstack.org/neutron/latest/configuration/policy.html).
func hypervisorRules() map[string]string {
	const administratorOrService = "rule:admin_only or rule:service_api"
	return map[string]string{
		"get_floatingip":                        "rule:admin_only or (role:reader and project_id:%(project_id)s) or rule:service_api",
		"get_network:provider:network_type":     administratorOrService,
		"get_network:provider:physical_network": administratorOrService,
		"get_network:segments":                  administratorOrService,
		"get_port:resource_request":             administratorOrService,
	}
}

// serviceEgress allows the calls of all processes to other services.
var serviceEgress = []workload.Flow{{Ports: []int32{novav1.Port, placementv1.Port}}}

// pipelines is the image's file of Neutron's pipelines. Neutron looks for it in the folder of configuration files.
const pipelines = "/opt/openstack/etc/neutron/api-paste.ini"

// env returns the variables of every process: the folder of its configuration, a unique host name, by which its workers distribute OVN
// events, and an option that has another name in some releases.
// https://docs.openstack.org/neutron/latest/contributor/internals/ovn/ovn_worker.html
func (m *model) env() []corev1.EnvVar {
	tenant := "project_network_types"
	if !m.HasOption("ml2", tenant) {
		tenant = "tenant_network_types"
	}
	return append(workload.Self(),
		corev1.EnvVar{Name: "OS_NEUTRON_CONFIG_FILES", Value: pipelines + ";neutron.conf"},
		corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", "host"), Value: "$(" + workload.NameEnv + ")"},
		corev1.EnvVar{Name: oslo.MustEnvName("ml2", tenant), Value: network.TenantTypes(m.spec.Mechanism, m.spec.Networks)},
	)
}

// workers returns the number of a pod's processes that distribute OVN events. Releases without the option read it from uWSGI.
func (m *model) workers() []corev1.EnvVar {
	const option = "api_workers"
	if !m.HasOption("DEFAULT", option) {
		return nil
	}
	return []corev1.EnvVar{{Name: oslo.MustEnvName("DEFAULT", option), Value: strconv.Itoa(int(m.Server.Processes))}}
}

// processes returns the processes in addition to the API. They receive no requests, except that agents call the RPC server through the
// message queue.
func (m *model) processes() []service.Process {
	var out []service.Process
	if m.hasOVN() {
		out = append(out, m.daemon(service.Process{
			Process: *m.spec.Maintenance, Name: maintenance, Title: "Neutron's maintenance worker",
			Command: []string{"neutron-ovn-maintenance-worker"}, Outage: "missed OVN updates are not repaired",
		}, m.north))
	}
	if m.hasAgents() {
		out = append(out, m.daemon(service.Process{
			Process: *m.spec.RPC, Name: rpc, Title: "Neutron's RPC server", Command: []string{"neutron-rpc-server"},
			Outage: "agents receive no updates, and servers with new ports do not start; existing ports keep working",
		}, member{m.Spec.Queue.Host, m.Spec.Queue.Port}))
	}
	return append(out, m.daemon(service.Process{
		Process: m.spec.Periodic, Name: periodic, Title: "Neutron's periodic worker",
		Command: []string{"neutron-periodic-workers"}, Outage: "stale database entries are not cleaned up",
	}, member{m.Spec.Database.Host, m.Spec.Database.Port}))
}

// daemon completes a worker. Its probes check the connection to its server.
func (m *model) daemon(p service.Process, with member) service.Process {
	p.TerminationGracePeriod, p.Logins, p.Env, p.Egress = terminationGracePeriod, logins, m.env(), serviceEgress
	p.Ready, p.Alive = workload.Connected(with.port), workload.Attached(with.host, with.port)
	return p
}

// options returns the options of all processes.
func (m *model) options() oslo.Config {
	return network.Options(m.spec.Mechanism, m.spec.Networks).Merge(m.tunnels()).Merge(oslo.Config{
		"DEFAULT": {
			"state_path":                         "/tmp",
			"notify_nova_on_port_status_changes": m.spec.NotifiesNova,
			"notify_nova_on_port_data_changes":   m.spec.NotifiesNova,
		},
		"nova":      {"region_name": m.Spec.Region, "endpoint_type": "internal"},
		"placement": {"region_name": m.Spec.Region, "endpoint_type": "internal"},
	}).Merge(m.mechanism())
}

// Option groups with the logins for other services.
const (
	novaGroup      = "nova"
	placementGroup = "placement"
)

var logins = []string{novaGroup, placementGroup}

// tunnels returns the options of tunnels between nodes with IPv6 addresses: their headers are larger, and ML2/OVS rejects tunnels of
// another family (https://docs.openstack.org/neutron/latest/configuration/ml2-conf.html#ml2.overlay_ip_version).
func (m *model) tunnels() oslo.Config {
	if m.Spec.IPFamily != common.IPv6 {
		return nil
	}
	return oslo.Config{"ml2": {"overlay_ip_version": 6}}
}
