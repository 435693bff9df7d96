// Package nova composes one Nova: what every service has, the daemons above the cells, a composite resource for each cell, and what keeps
// books of them.
package nova

import (
	"errors"
	"slices"
	"strings"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/keymanager"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// New returns the function of Nova composite resources.
func New() function.Runner {
	return function.Kind[novav1.Nova, *model]{Graph: graph, Derive: derive, Target: service.Target[*model], Status: status}
}

// definition is what is the same for every Nova.
var definition = service.Definition{
	App:         compute.App,
	Title:       "Nova",
	Outage:      "no virtual machine can be started, changed or looked at",
	CatalogType: novav1.ServiceType,
	Description: "Virtual machines",
	Port:        novav1.Port,
	Module:      "nova.wsgi.osapi_compute:application",
	// The list of its versions needs neither a login nor the database.
	HealthPath:             "/",
	TerminationGracePeriod: compute.TerminationGracePeriod,
	// Properties of images, which requests of virtual machines hold, are read by no release before the one that wrote them.
	NeedsCutover: true,
	Queue:        true,
	Databases:    []service.Database{apiDatabase, compute.ManageDatabase(compute.Cell0Database)},
}

// apiDatabase is what cells have in common. Its upgrade is refused by what is found in all cells, before anything is changed: of the tables
// that are read for that, no release that is supported has changed any.
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

// Components, which are named as the processes are that run in them.
const (
	cell0Component = "cell0"
	cellsComponent = "cells"
	conductor      = "conductor"
	scheduler      = "scheduler"
	metadata       = "metadata"
	archive        = "archive"

	computeCatalogComponent = "flavors-and-aggregates"
)

// pods are what comes before those of each process.
var pods = []string{"schema", "certificate", "identity", "queue", cellsComponent}

// graph is what a Nova consists of besides what every service does, and what needs what. What has read which cells there are does not look
// again, so the cells come first.
//
// It is in the catalog when it can do what it is asked for, which takes all of its processes. New versions go from the cells up: conductors
// speak to the database for all others, and understand those that are a release behind.
// https://docs.openstack.org/nova/latest/admin/upgrades.html
var graph = service.Graph(
	&definition,
	service.ExtraComponent[*model]{Component: compose.Component[*model]{Name: "jobs", Build: jobs}, Before: "schema"},
	service.ExtraComponent[*model]{
		Component: compose.Component[*model]{Name: cell0Component, Needs: []string{"schema"}, Build: cell0}, Before: "api",
	},
	service.ExtraComponent[*model]{
		Component: compose.Component[*model]{
			Name: cellsComponent, Needs: []string{cell0Component}, RolloutAfter: []string{"schema"}, Build: cells,
		},
		Before: "api", NeededBy: "api",
	},
	service.ExtraComponent[*model]{
		Component: service.Daemon[*model](conductor, pods, cellsComponent), Before: "api", NeededBy: "catalog",
	},
	service.ExtraComponent[*model]{
		Component: service.Daemon[*model](scheduler, pods, conductor), Before: "api", NeededBy: "catalog", RolloutBefore: "api",
	},
	service.ExtraComponent[*model]{
		Component: service.Daemon[*model](metadata, pods, scheduler), Before: "catalog", NeededBy: "catalog",
	},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{
		Name: "services", Needs: []string{"api", conductor, scheduler, "catalog"}, Build: services,
	}},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{
		Name: computeCatalogComponent, Needs: []string{"api", "catalog"}, Enabled: (*model).hasComputeCatalog, Build: offers,
	}},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{Name: archive, Needs: []string{"api"}, Build: archival}},
)

// model is everything that builders read, derived once.
type model struct {
	*service.Service
	spec *novav1.NovaSpec
	// uwsgi is what the spec says, without what follows from the API's memory.
	uwsgi common.UWSGI
	seen  observe.State
}

func derive(in function.Input[novav1.Nova]) (*model, error) {
	m := &model{spec: &in.XR.Spec, uwsgi: in.XR.Spec.UWSGI, seen: in.Observed}
	if q := m.spec.Quotas; q != nil && q.UnifiedLimits {
		return nil, invalid.Field("spec.quotas.unifiedLimits", "limits in Keystone are not built yet; leave it out, and Nova keeps them itself")
	}
	setDefaults(m.spec)
	var err error
	m.Service, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.Spec{
			ServiceSpec: &m.spec.ServiceSpec, Workload: service.PlacedWorkload(m.spec.API, m.spec.Placement), UWSGI: &m.spec.UWSGI,
			Identity: &m.spec.Identity, Queue: &m.spec.Queue, MemoryField: "api.memory",
		},
	})
	if err = errors.Join(err, checkProcesses(m.spec)); err != nil {
		return nil, err
	}
	m.Accounts = []service.Account{{Resource: "metadata", Secret: m.Sub(compute.MetadataSecret), User: metadata}}
	m.Logins = append(compute.Logins(compute.APIEndpoints()), keymanager.Logins(m.spec.KeyManager)...)
	m.CredentialConsumers = m.cellWorkloads()
	m.Env = compute.WSGIEnv(m.Service, m.Name)
	m.Vhosts = m.vhosts()
	m.Volumes = m.authorities()
	// The API deletes keys of virtual machines that their hypervisor is not there to delete. Everything else is the hypervisors'.
	reached, err := keymanager.Reached(m.spec.KeyManager)
	if err != nil {
		return nil, err
	}
	m.APIEgress = append([]workload.Flow{compute.EndpointFlow(compute.APIEndpoints())}, reached...)
	if ports := m.servers(); len(ports) > 0 {
		m.Egress = []workload.Flow{{Ports: ports}}
	}
	m.Jobs = []string{archive}
	m.Processes = m.processes()
	m.Options = m.options()
	m.annotateStartupCells()
	for annotation, version := range compute.Pin(m.seen, "deployment", m.oldestCompute(), m.Effective) {
		m.Annotate(annotation, version)
	}
	return m, m.Render()
}

// servers are the ports of the cells' own servers, where they are others than those of Nova's.
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

// setDefaults repeats the defaults of the schema, for callers that do not go through an API server.
func setDefaults(s *novav1.NovaSpec) {
	const month = 30
	if s.Consoles.Graphical == "" {
		s.Consoles.Graphical = novav1.VNC
	}
	if s.Archive.Schedule == "" {
		s.Archive.Schedule = "30 3 * * *"
	}
	if s.Archive.AfterDays == 0 {
		s.Archive.AfterDays = month
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Database != nil && c.Database.Port == 0 {
			c.Database.Port = common.DatabasePort
		}
		if c.Queue != nil && c.Queue.Port == 0 {
			c.Queue.Port = common.QueuePort
		}
	}
}

// checkProcesses refuses daemons that have no room.
func checkProcesses(s *novav1.NovaSpec) error {
	errs := []error{
		service.CheckAmounts("spec.api", s.API),
		service.CheckProcess("spec.scheduler", s.Scheduler), service.CheckProcess("spec.conductor", s.Conductor),
	}
	if s.Metadata != nil {
		errs = append(errs, service.CheckProcess("spec.metadata", *s.Metadata))
	}
	return errors.Join(errs...)
}

// processes are those besides the API.
func (m *model) processes() []service.Process {
	out := []service.Process{
		compute.Daemon(m.Service, service.Process{
			Process: m.spec.Conductor, Name: conductor, Title: "Nova's conductor above the cells", Command: []string{"nova-conductor"},
			Outage: "no virtual machine is started or moved",
		}, compute.APIEndpoints()),
		compute.Daemon(m.Service, service.Process{
			Process: m.spec.Scheduler, Name: scheduler, Title: "Nova's scheduler", Command: []string{"nova-scheduler"},
			Outage: "no virtual machine gets a hypervisor",
		}, compute.SchedulerEndpoints()),
	}
	if p := m.spec.Metadata; p != nil {
		api := compute.Metadata(m.Name, *p, m.hypervisors())
		api.Server = m.Serve(m.seen, api, compute.MetadataModule)
		api.Env = append(api.Env, compute.WSGIEnv(m.Service, m.Sub(metadata))...)
		out = append(out, api)
	}
	return out
}

// hypervisors are the networks of all cells'.
func (m *model) hypervisors() []common.CIDR {
	var out []common.CIDR
	for _, c := range m.spec.Cells {
		out = append(out, c.HypervisorNetworks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// options are those of what is above the cells.
func (m *model) options() oslo.Config {
	c := compute.Options(m.Service, m.spec.Consoles).Merge(compute.SchedulerOptions()).Merge(oslo.Config{
		// A server may be resized where it is: a pool of one node has no other, and nothing is copied. The API alone reads it; the scheduler
		// still prefers the node with the most room, and a cold migration always leaves its node.
		"DEFAULT":   {"allow_resize_to_same_host": true},
		"api":       {},
		"conductor": {"workers": compute.Workers},
		"scheduler": {
			"workers": compute.Workers,
			// Of those who look for hypervisors at once, all but one fail: the companion does, one search at a time.
			"discover_hosts_in_cells_interval": -1,
		},
	})
	if m.spec.Metadata != nil {
		c = c.Merge(compute.MetadataOptions(false))
	}
	if e := m.spec.Exposure; e != nil && e.Path != "" {
		// The Gateway takes the path away, so that Nova cannot see it in requests.
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

// checkEvery is how often Nova is asked for its processes.
const checkEvery = 60 * time.Second

func status(m *model, plan compose.Plan) any {
	return novav1.NovaStatus{ServiceStatus: m.Status(plan), Cells: m.cellStates()}
}
