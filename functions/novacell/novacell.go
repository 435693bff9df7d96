// Package novacell composes a cell of a Nova: its database, its virtual host of the message queue, its conductor, its console proxies, and
// its mapping in Nova.
package novacell

import (
	"errors"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of NovaCell composite resources.
func New() function.Runner {
	return function.Kind[novacellv1.NovaCell, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
	}
}

// Components, named by the processes that run in them, and the resource of the mapping.
const (
	conductor = "conductor"
	metadata  = "metadata"
	mapping   = "mapping"
)

// definition returns the part that all cells of a name have in common. A cell has neither an API nor its own Keystone user.
func definition(cell string) *service.Definition {
	return &service.Definition{
		App:       compute.App,
		Title:     "NovaCell",
		User:      compute.CellName(cell),
		Queue:     true,
		Main:      conductor,
		Databases: []service.Database{compute.ManageDatabase(compute.CellName(cell))},
	}
}

// pods are the dependencies of each process.
var pods = []string{"schema", "certificate", "queue"}

// graph lists the components of a cell and their dependencies. Other pods follow the conductor, which also serves hypervisors of the
// previous release.
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	service.Credentials[*model](),
	service.Certificate[*model](),
	{Name: databaseComponent, Build: databaseServer, Enabled: func(m *model) bool { return m.databaseServer() != nil }},
	{
		Name: backupComponent, Needs: []string{databaseComponent}, Build: databaseBackup,
		Enabled: func(m *model) bool { return m.databaseServer() != nil && m.databaseServer().Backup != nil },
	},
	service.DatabaseAccount[*model]("credentials", databaseComponent),
	{Name: queueComponent, Build: queueServer, Enabled: func(m *model) bool { return m.queueServer() != nil }},
	service.QueueAccount[*model]("companion-access", queueComponent),
	service.Config[*model]("companion-access", "credentials"),
	service.DatabaseSchema[*model]("database", "config"),
	{
		Name: monitoringComponent, Follows: []string{databaseComponent, queueComponent}, Build: serverMonitoring,
		Enabled: func(m *model) bool { return m.Monitored() && m.spec.Infrastructure != nil },
	},
	service.Daemon[*model](conductor, pods),
	service.Daemon[*model](metadata, pods, conductor),
	{Name: vncCertificates, Enabled: (*model).usesVNC, Build: (*model).vncAuthority},
	service.Daemon[*model](vnc.name, append([]string{vncCertificates}, pods...), conductor),
	service.Daemon[*model](spice.name, pods, conductor),
	service.Daemon[*model](serial.name, pods, conductor),
	{Name: mapping, Needs: []string{"schema", "queue"}, Build: cellMappingStage},
	service.Alerts[*model](),
})

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec     *novacellv1.NovaCellSpec
	observed observe.State
	// nova is the name of the Nova, and address is its record of the cell. authorities are the CAs of the cell's own servers.
	nova        string
	address     compute.Address
	authorities []service.Volume
}

// APIPod returns a pod of the conductor, which represents the cell, because a cell has no API.
func (m *model) APIPod() workload.Pod { return m.ProcessPod(m.Processes()[0]) }

func derive(in function.Input[novacellv1.NovaCell]) (*model, error) {
	m := &model{spec: &in.XR.Spec, observed: in.Observed, nova: string(in.XR.Spec.NovaRef.Name)}
	var err error
	m.Base, err = definition(m.spec.Cell).Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.QueuedSpec(
			&m.spec.ServiceSpec, &m.spec.Identity, &m.spec.Queue, &m.spec.UWSGI, common.Process{}, m.spec.Placement), // It has no API.
	}, checkProcesses(m.spec), checkSizes(m.spec))
	if err != nil {
		return nil, err
	}
	m.authorities, m.address = compute.CellCA(
		m.Base, m.spec.Cell, m.spec.NovaDatabase, m.spec.Database, m.spec.NovaQueue, m.spec.Queue)
	m.Service, err = m.With(m.extension())
	return m, err
}

// extension returns the additions of a cell.
func (m *model) extension() service.Extension {
	x := service.Extension{
		Config:    service.Configuration{Options: m.options()},
		Jobs:      m.jobs(),
		Keystone:  service.Keystone{Logins: compute.Logins(compute.APIEndpoints()), Credential: compute.Secret(m.nova, compute.CredentialSecret)},
		Access:    service.Access{Grantees: []service.Grantee{m.grantee()}},
		Processes: m.processes(),
	}
	if m.databaseServer() != nil {
		x.Network.DatabasePods = mariadb.Pods(m.databaseName())
	}
	if m.queueServer() != nil {
		x.Network.QueuePods = rabbitmq.Pods(m.queueName())
	}
	return x
}

// checkProcesses rejects processes with insufficient memory.
func checkProcesses(s *novacellv1.NovaCellSpec) error {
	errs := []error{service.CheckProcess("spec.conductor", s.Conductor), service.CheckProcess("spec.proxies", s.Proxies.Process)}
	if s.Metadata != nil {
		errs = append(errs, service.CheckProcess("spec.metadata", *s.Metadata))
	}
	return errors.Join(errs...)
}

// grantee returns Nova's user, which reads the database of every cell. On the cell's own server it must be created.
func (m *model) grantee() service.Grantee {
	g := service.Grantee{User: compute.App}
	if m.spec.Database.MariaDBRef != m.spec.NovaDatabase.MariaDBRef {
		g.DatabaseSecret = compute.Secret(m.nova, compute.DatabaseSecret)
	}
	return g
}

// processes returns all processes of the cell.
func (m *model) processes() []service.Process {
	out := []service.Process{compute.Daemon(m.Base, service.Process{
		Process: m.spec.Conductor, Name: conductor, Title: "the conductor of Nova's cell " + m.spec.Cell,
		Outage: "servers of the cell cannot be created or changed", Command: []string{"nova-conductor"},
		Annotations: compute.Pin(m.observed, conductor, compute.OldestOf(m.observed, mapping), m.Effective),
	}, compute.APIEndpoints())}
	if p := m.spec.Metadata; p != nil {
		api := compute.Metadata(m.nova, *p, m.spec.HypervisorNetworks)
		api.Title += " of cell " + m.spec.Cell
		api.Server = m.Serve(api, compute.MetadataModule)
		api.Env = append(api.Env, compute.WSGIEnv(m.Base, m.Sub(metadata))...)
		out = append(out, api)
	}
	for _, p := range m.proxies() {
		out = append(out, m.proxy(p))
	}
	return out
}

// options returns the options of the cell's file: for the conductor, the metadata API and the cell's console proxies.
func (m *model) options() oslo.Config {
	c := compute.Options(m.Base, m.spec.Consoles).Merge(oslo.Config{"conductor": {"workers": compute.Workers}})
	if m.spec.Metadata != nil {
		c = c.Merge(compute.MetadataOptions(true))
	}
	for _, p := range m.proxies() {
		listen := anyIPv4
		if m.Spec.IPFamily == common.IPv6 {
			listen = anyIPv6
		}
		c = c.Merge(oslo.Config{
			"DEFAULT": {"ssl_only": true, "cert": m.CertificateFile(), "key": m.KeyFile()},
			p.group:   {p.option + "_host": listen, p.option + "_port": p.port},
		})
	}
	return c
}

// cellMappingStage builds the CellMapping, by which the cell and its hypervisors are registered in Nova.
func cellMappingStage(m *model) ([]compose.Stage, error) {
	return service.SingleObjectComponent(mapping, c5c3.CellMapping(m.Meta(m.Name), openstackv1.CellMappingSpec{
		NovaName: m.spec.NovaRef.Name, Cell: m.spec.Cell, Disabled: m.spec.Disabled,
		DatabaseConnection: m.address.DatabaseConnection(), TransportURL: m.address.TransportURL(),
		CloudCredentialsRef: new(compute.Cloud(m.nova)),
		Template:            m.JobWorkload().Template(m.JobPod(m.Image, m.Files, nil)),
	})), nil
}

func status(m *model, plan compose.Plan) any {
	out := novacellv1.NovaCellStatus{ServiceStatus: m.Status(plan)}
	out.Endpoint = ""
	if o, ok := m.observed.Get(mapping); ok {
		hosts, _ := o.Int("status", "hostCount")
		out.UUID, out.ComputeNodes = o.String("status", "uuid"), int32(hosts) //nolint:gosec // hypervisors are thousands
		if oldest, known := o.Int("status", "oldestCompute"); known {
			out.OldestCompute = new(int32(oldest)) //nolint:gosec // versions are counted by hand
		}
	}
	return out
}
