// Package neutron composes one Neutron: what every service has, and the workers that keep OVN as its database says, or answer agents.
package neutron

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

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
)

// New returns the function of Neutron composite resources.
func New() function.Runner {
	return function.Kind[neutronv1.Neutron, *model]{
		Graph: graph, Derive: derive, Target: service.Target[*model], Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{{Type: neutronv1.InSync, Verdict: (*model).inSync}},
	}
}

// terminationGracePeriod is how long a process may go on with what it does while a pod stops.
const terminationGracePeriod = 60 * time.Second

// definition is what is the same for every Neutron.
var definition = service.Definition{
	App:                    neutronv1.ServiceName,
	Title:                  "Neutron",
	Outage:                 "no network, port or floating IP can be made or changed; what there is goes on",
	CatalogType:            neutronv1.ServiceType,
	Description:            "Virtual networks",
	Port:                   neutronv1.Port,
	Module:                 "neutron.wsgi.api:application",
	HealthPath:             "/healthcheck",
	TerminationGracePeriod: terminationGracePeriod,
	Queue:                  true,
	Databases: []service.Database{{
		Group: "database",
		// https://docs.openstack.org/neutron/latest/contributor/alembic_migrations.html. No release since 2025.1 brings anything to contract.
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

// Components, which are named as the processes are that run in them, and the client's certificate.
const (
	certificateComponent = "ovn-certificate"
	maintenance          = "maintenance"
	rpc                  = "rpc"
	periodic             = "periodic"
)

// graph is what a Neutron consists of besides what every service does. It is in the catalog when OVN is kept as it says, or agents are
// answered.
var graph = service.Graph(
	&definition,
	service.ExtraComponent[*model]{
		Component: compose.Component[*model]{Name: certificateComponent, Build: clientCertificate, Enabled: (*model).certified},
		Before:    "schema", NeededBy: "schema",
	},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{Name: "jobs", Build: jobs, Enabled: (*model).hasOVN}, Before: "schema"},
	service.ExtraComponent[*model]{Component: service.Daemon[*model](maintenance, pods, "api"), Before: "catalog", NeededBy: "catalog"},
	service.ExtraComponent[*model]{Component: service.Daemon[*model](rpc, pods, "api"), Before: "catalog", NeededBy: "catalog"},
	service.ExtraComponent[*model]{Component: service.Daemon[*model](periodic, pods, "api"), Before: "catalog", NeededBy: "catalog"},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{
		Name: syncComponent, Needs: []string{"catalog"}, Enabled: (*model).syncRequested, Build: sync,
	}},
)

// pods are what comes before those of each worker.
var pods = []string{"schema", "certificate", "identity", "queue"}

// model is everything that builders read, derived once.
type model struct {
	*service.Service
	spec *neutronv1.NeutronSpec
	// north and south are members of OVN's databases.
	north, south member
	// lastSync is what the companion says of the last comparison with OVN; nil if nobody has asked for one.
	lastSync *observe.Object
}

func derive(in function.Input[neutronv1.Neutron]) (*model, error) {
	m := &model{spec: &in.XR.Spec}
	if m.syncRequested() {
		m.lastSync, _ = in.Observed.Get(syncResource)
	}
	m.spec.Mechanism = cmp.Or(m.spec.Mechanism, neutronv1.ByOVN)
	errs := m.checkMechanism()
	var err error
	m.Service, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.Spec{
			ServiceSpec: &m.spec.ServiceSpec, Workload: service.PlacedWorkload(m.spec.API, m.spec.Placement), UWSGI: &m.spec.UWSGI,
			Identity: &m.spec.Identity, Queue: &m.spec.Queue, MemoryField: "api.memory",
		},
	})
	if err = errors.Join(
		err, errs, network.Check("spec", m.spec.Mechanism, m.spec.Networks), service.CheckAmounts("spec.api", m.spec.API),
		service.CheckProcess("spec.periodic", m.spec.Periodic),
	); err != nil {
		return nil, err
	}
	// By it a worker tells what it has left in the database before its last start from what others have.
	m.Server.StartTime = true
	m.Logins = []string{novaGroup, placementGroup}
	m.Env = append(m.env(), m.workers()...)
	if m.hasOVN() {
		m.Volumes = []service.Volume{m.SecretVolume(ovnFolder, m.clientSecret(), certificate.CAKey, certificate.CertKey, certificate.KeyKey)}
		m.Egress = []workload.Flow{m.databases()}
	}
	m.APIEgress = []workload.Flow{{Ports: []int32{novav1.Port, placementv1.Port}}}
	m.Processes = m.processes()
	m.Options = m.options()
	return m, m.Render()
}

// pipelines is the file of Neutron's pipelines, which comes with the image. It is looked for where configuration files are.
const pipelines = "/opt/openstack/etc/neutron/api-paste.ini"

// env is what every process needs besides: where its configuration is, a name that no other has, by which its workers share among each
// other what OVN says, and an option that has another name in some releases.
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

// workers are how many processes of a pod share what OVN says. Releases without the option ask uWSGI.
func (m *model) workers() []corev1.EnvVar {
	const option = "api_workers"
	if !m.HasOption("DEFAULT", option) {
		return nil
	}
	return []corev1.EnvVar{{Name: oslo.MustEnvName("DEFAULT", option), Value: strconv.Itoa(int(m.Server.Processes))}}
}

// processes are those besides the API. Nothing calls them, but agents the one that answers agents, by the message queue.
func (m *model) processes() []service.Process {
	var out []service.Process
	if m.hasOVN() {
		out = append(out, m.daemon(service.Process{
			Process: *m.spec.Maintenance, Name: maintenance, Title: "Neutron's maintenance worker",
			Command: []string{"neutron-ovn-maintenance-worker"}, Outage: "what OVN has missed is not made up for",
		}, m.north))
	}
	if m.hasAgents() {
		out = append(out, m.daemon(service.Process{
			Process: *m.spec.RPC, Name: rpc, Title: "What Neutron's agents talk to", Command: []string{"neutron-rpc-server"},
			Outage: "agents on nodes learn nothing new, and virtual machines with their ports do not start; what there is goes on",
		}, member{m.Spec.Queue.Host, m.Spec.Queue.Port}))
	}
	return append(out, m.daemon(service.Process{
		Process: m.spec.Periodic, Name: periodic, Title: "Neutron's periodic worker",
		Command: []string{"neutron-periodic-workers"}, Outage: "what requests leave behind in the database is not removed",
	}, member{m.Spec.Database.Host, m.Spec.Database.Port}))
}

// daemon completes a worker, which keeps a connection to what it works with.
func (m *model) daemon(p service.Process, with member) service.Process {
	p.TerminationGracePeriod, p.Logins, p.Env, p.Egress = terminationGracePeriod, m.Logins, m.env(), m.APIEgress
	p.Ready, p.Alive = workload.Connected(with.port), workload.Attached(with.host, with.port)
	return p
}

// options are those of all processes.
func (m *model) options() oslo.Config {
	return network.Options(m.spec.Mechanism, m.spec.Networks).Merge(oslo.Config{
		"DEFAULT": {
			"state_path":                         "/tmp",
			"notify_nova_on_port_status_changes": m.spec.NotifiesNova,
			"notify_nova_on_port_data_changes":   m.spec.NotifiesNova,
		},
		"nova":      {"region_name": m.Spec.Region, "endpoint_type": "internal"},
		"placement": {"region_name": m.Spec.Region, "endpoint_type": "internal"},
	}).Merge(m.mechanism())
}

// Groups of options by which other services are asked.
const (
	novaGroup      = "nova"
	placementGroup = "placement"
)
