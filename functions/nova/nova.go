// Package nova composes a Nova: the components of every service, the daemons above the cells, a composite resource for each cell, and the
// mappings of cells.
package nova

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/keymanager"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Nova composite resources.
func New() function.Runner {
	return function.Kind[novav1.Nova, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
	}
}

// definition is the part that all Novas have in common.
var definition = service.Definition{
	App:         compute.App,
	Title:       "Nova",
	Outage:      "servers cannot be created, changed or listed; existing servers keep running",
	CatalogType: novav1.ServiceType,
	NeedsAdmin:  true,
	Description: "Virtual machines",
	Port:        novav1.Port,
	Module:      "nova.wsgi.osapi_compute:application",
	// The version list requires neither a login nor the database.
	HealthPath:             "/",
	TerminationGracePeriod: compute.TerminationGracePeriod,
	// Image properties in servers' request specs can only be read by the release that wrote them, and later ones.
	NeedsCutover: true,
	Queue:        true,
	Databases:    []service.Database{apiDatabase, compute.ManageDatabase(compute.Cell0Database)},
}

// apiDatabase is the database that cells have in common. Its upgrade check reads all cells, before anything is changed: no supported
// release has changed the tables that it reads.
var apiDatabase = service.Database{
	Name: compute.APIDatabase, Group: "api_database",
	Schema: service.Schema{
		Sync:      apiSync,
		Expand:    apiSync,
		Check:     []openstackv1.Argument{"nova-status", "upgrade", "check"},
		Logins:    compute.Logins(compute.UpgradeCheckEndpoints()),
		Version:   []openstackv1.Argument{"nova-manage", "api_db", "version"},
		Empty:     "None",
		Revisions: "nova-api",
	},
}

var apiSync = []openstackv1.Step{service.Step("api-db-sync", "nova-manage", "api_db", "sync")}

// Names of components. The component of a process has its name.
const (
	cell0Component = "cell0"
	cellsComponent = "cells"
	conductor      = "conductor"
	scheduler      = "scheduler"
	metadata       = "metadata"

	computeCatalogComponent = "flavors-and-aggregates"
)

// pods are the dependencies of the API and of each process.
var pods = []string{"schema", "certificate", "identity", "queue", cellsComponent}

// graph lists the components of a Nova and their dependencies. Processes read the cells at startup
// only, so the cells come first.
//
// It is added to the catalog when all of its processes are ready. New versions are rolled out from the cells up: conductors access the
// database for all others, and support clients of the previous release.
// https://docs.openstack.org/nova/latest/admin/upgrades.html
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	service.Credentials[*model](),
	service.Certificate[*model](),
	service.DatabaseAccount[*model]("credentials"),
	service.QueueAccount[*model]("companion-access"),
	service.User[*model]("companion-access", "credentials"),
	service.Config[*model]("companion-access", "credentials"),
	{Name: "jobs", Build: jobs},
	service.DatabaseSchema[*model]("database", "config", "identity"), // The upgrade check logs in.
	{Name: cell0Component, Needs: []string{"schema"}, Build: cell0},
	{Name: cellsComponent, Needs: []string{cell0Component}, RolloutAfter: []string{"schema"}, Build: cells},
	service.Daemon[*model](conductor, pods, cellsComponent),
	service.Daemon[*model](scheduler, pods, conductor),
	service.API[*model](pods, scheduler),
	service.Exposure[*model]("certificate"),
	service.Daemon[*model](metadata, pods, scheduler),
	service.Catalog[*model](conductor, scheduler, "api", metadata),
	{Name: "services", Needs: []string{"api", conductor, scheduler, "catalog"}, Build: services},
	{Name: computeCatalogComponent, Needs: []string{"api", "catalog"}, Enabled: (*model).hasComputeCatalog, Build: computeCatalog},
	service.Archival(archive, "api"),
	service.Alerts[*model](),
})

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec *novav1.NovaSpec
	// uwsgi are the settings of the spec, without values derived from the API's memory.
	uwsgi    common.UWSGI
	observed observe.State
}

func derive(in function.Input[novav1.Nova]) (*model, error) {
	m := &model{spec: &in.XR.Spec, uwsgi: in.XR.Spec.UWSGI, observed: in.Observed}
	var err error
	m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.QueuedSpec(&m.spec.ServiceSpec, &m.spec.Identity, &m.spec.Queue, &m.spec.UWSGI, m.spec.API, m.spec.Placement),
	}, checkProcesses(m.spec))
	if err != nil {
		return nil, err
	}
	x, err := m.extension()
	if err != nil {
		return nil, err
	}
	m.Service, err = m.With(x)
	return m, err
}

// extension returns the additions of a Nova.
func (m *model) extension() (service.Extension, error) {
	// The API deletes secrets of servers whose hypervisor is gone. All other secrets are deleted by the hypervisors.
	reached, err := keymanager.Reached(m.spec.KeyManager)
	if err != nil {
		return service.Extension{}, err
	}
	x := service.Extension{
		Config: service.Configuration{Options: m.options()},
		Pods:   service.Pods{Volumes: m.authorities()},
		API:    service.APIPods{Env: append(compute.WSGIEnv(m.Base, m.Name), compute.APIDatabaseEnv())},
		// nova-manage completes the addresses of the cells' queues with the account in its own.
		Jobs:    service.Jobs{Names: []string{service.ArchiveJob}, Queue: true},
		Network: service.Network{APIEgress: append([]workload.Flow{compute.EndpointFlow(compute.APIEndpoints())}, reached...)},
		Keystone: service.Keystone{
			Logins:    append(compute.Logins(compute.APIEndpoints()), keymanager.Logins(m.spec.KeyManager)...),
			Consumers: m.cellWorkloads(),
		},
		Access: service.Access{
			Accounts:     []service.Account{{Resource: "metadata", Secret: m.Sub(compute.MetadataSecret), User: metadata}},
			VirtualHosts: m.vhosts(),
		},
		Processes: m.processes(),
	}
	x.Pods.Annotate(m.startupCells())
	x.Pods.Annotate(compute.Pin(m.observed, "deployment", m.oldestCompute(), m.Effective))
	if ports := m.servers(); len(ports) > 0 {
		x.Network.Egress = []workload.Flow{{Ports: ports}}
	}
	return x, nil
}

// servers returns the ports of the cells' own servers that differ from Nova's.
func (m *model) servers() []int32 {
	var ports []int32
	for i := range m.spec.Cells {
		for _, port := range []int32{m.cellDatabase(&m.spec.Cells[i]).Port, m.cellQueue(&m.spec.Cells[i]).Port} {
			if port != m.spec.Database.Port && port != m.spec.Queue.Port && !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	return ports
}

// checkProcesses rejects daemons with insufficient memory, and queues of cells without a valid size.
func checkProcesses(s *novav1.NovaSpec) error {
	errs := []error{service.CheckProcess("spec.scheduler", s.Scheduler), service.CheckProcess("spec.conductor", s.Conductor)}
	if s.Metadata != nil {
		errs = append(errs, service.CheckProcess("spec.metadata", *s.Metadata))
	}
	for i, c := range s.Cells {
		queue := ptr.Deref(ptr.Deref(c.Infrastructure, novav1.CellInfrastructure{}).Queue, common.QueueServer{})
		errs = append(errs, quantity.Check(fmt.Sprintf("spec.cells[%d].infrastructure.queue.storageSize", i), queue.StorageSize))
	}
	return errors.Join(errs...)
}

// processes returns the processes in addition to the API.
func (m *model) processes() []service.Process {
	out := []service.Process{
		compute.Daemon(m.Base, service.Process{
			Process: m.spec.Conductor, Name: conductor, Title: "Nova's conductor above the cells", Command: []string{"nova-conductor"},
			Outage: "servers cannot be created or migrated",
		}, compute.APIEndpoints()),
		compute.Scheduler(m.Base, service.Process{
			Process: m.spec.Scheduler, Name: scheduler, Title: "Nova's scheduler", Command: []string{"nova-scheduler"},
			Outage: "servers cannot be scheduled",
		}, compute.SchedulerEndpoints()),
	}
	if p := m.spec.Metadata; p != nil {
		api := compute.Metadata(m.Name, *p, m.hypervisors())
		api.Server = m.Serve(api, compute.MetadataModule)
		api.Env = append(append(api.Env, compute.WSGIEnv(m.Base, m.Sub(metadata))...), compute.APIDatabaseEnv())
		out = append(out, api)
	}
	return out
}

// hypervisors returns the hypervisor networks of all cells.
func (m *model) hypervisors() []common.CIDR {
	var out []common.CIDR
	for _, c := range m.spec.Cells {
		out = append(out, c.HypervisorNetworks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// options returns the options of the processes above the cells.
func (m *model) options() oslo.Config {
	c := compute.Options(m.Base, m.spec.Consoles).Merge(compute.SchedulerOptions()).Merge(oslo.Config{
		// A server may be resized on its host: a pool with one node has no other host, and nothing is copied. Only the API reads the option; the
		// scheduler still prefers the node with the most free capacity, and a cold migration always changes the host.
		"DEFAULT":   {"allow_resize_to_same_host": true},
		"api":       {},
		"conductor": {"workers": compute.Workers},
		"scheduler": {
			"workers": compute.Workers,
			// Concurrent discoveries of hosts fail except for one: the companion runs them, one at a time.
			"discover_hosts_in_cells_interval": -1,
		},
	})
	if m.spec.Metadata != nil {
		c = c.Merge(compute.MetadataOptions(false))
	}
	if e := m.spec.Exposure; e != nil && e.Path != "" {
		// The Gateway strips the path, so that Nova cannot derive the URL from requests.
		c["api"]["compute_link_prefix"] = strings.TrimSuffix(string(m.spec.Endpoints.Public), novav1.Version)
	}
	if q := m.spec.Quotas; q != nil {
		quota := oslo.Options{}
		for option, limit := range map[string]*int32{"instances": q.Instances, "cores": q.Cores, "ram": q.MemoryMiB} {
			if limit != nil {
				quota[option] = int(*limit)
			}
		}
		c["quota"] = quota
	}
	return c.Merge(keymanager.Options(m.spec.KeyManager, m.Spec.Region, string(m.Spec.Identity.InternalURL), m.TrustedFile()))
}

// checkEvery is the interval of checks of Nova's processes.
const checkEvery = 60 * time.Second

func status(m *model, plan compose.Plan) any {
	return novav1.NovaStatus{ServiceStatus: m.Status(plan), Cells: m.cellStates()}
}
