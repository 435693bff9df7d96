// Package barbican composes a Barbican: the components of every service, the workers that generate keys, and the keys that encrypt the keys
// of projects.
package barbican

import (
	"strconv"
	"time"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Barbican composite resources.
func New() function.Runner {
	return function.Kind[barbicanv1.Barbican, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
	}
}

// terminationGracePeriod is the time for requests, and for a worker's operations, to complete while a pod stops.
const terminationGracePeriod = 60 * time.Second

// sync only adds to the schema: the previous release keeps working with it. No release from 2025.1 to 2026.2 changes the schema.
var sync = []openstackv1.Step{service.Step("db-upgrade", "barbican-manage", "db", "upgrade")}

// empty is the printed version of an empty database.
const empty = "None"

// definition is the part that all Barbicans have in common.
var definition = service.Definition{
	App:         barbicanv1.ServiceName,
	Title:       "Barbican",
	Outage:      "secrets cannot be stored or read, and encrypted volumes cannot be created or attached",
	CatalogType: barbicanv1.ServiceType,
	Description: "Secrets and keys",
	Port:        barbicanv1.Port,
	// barbican.wsgi.api, which 2025.1 lacks, calls the same function.
	Module:                 "barbican.api.app:get_api_wsgi_script()",
	HealthPath:             "/healthcheck",
	TerminationGracePeriod: terminationGracePeriod,
	Queue:                  true,
	Databases: []service.Database{{
		Group: "database",
		// https://docs.openstack.org/barbican/latest/cli/barbican-manage.html
		Schema: service.Schema{
			Sync:   sync,
			Expand: sync,
			Check:  []openstackv1.Argument{"barbican-status", "upgrade", "check"},
			// For an empty database, the command prints nothing.
			Version: []openstackv1.Argument{"sh", "-c", "barbican-manage db current && echo " + empty},
			Empty:   empty,
		},
	}},
}

// Components: processes, by their names, the keys, and the Vault.
const (
	keysComponent  = "keys"
	vaultComponent = "vault"
	worker         = "worker"
)

// pods are the dependencies of the API and of each process.
var pods = []string{keysComponent, vaultComponent, "schema", "certificate", "identity", "queue"}

// graph lists the components of a Barbican and their dependencies. It is added to the catalog when it can generate keys.
// Workers are updated first: they support requests of APIs of the previous release.
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	service.Credentials[*model](),
	service.Certificate[*model](),
	service.DatabaseAccount[*model]("credentials"),
	service.QueueAccount[*model]("companion-access"),
	service.User[*model]("companion-access", "credentials"),
	{Name: keysComponent, Needs: []string{"companion-access"}, Build: keys},
	{
		Name: vaultComponent, Needs: []string{"companion-access"}, Build: vault,
		Enabled: func(m *model) bool { return m.spec.Vault != nil },
	},
	service.Config[*model]("companion-access", "credentials"),
	service.DatabaseSchema[*model]("database", "config"),
	service.Daemon[*model](worker, pods),
	service.API[*model](pods, worker),
	service.Exposure[*model]("certificate"),
	service.Catalog[*model](worker, "api"),
	service.Archival(archive, "api"),
	service.Alerts[*model](),
})

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec     *barbicanv1.BarbicanSpec
	observed observe.State
}

func derive(in function.Input[barbicanv1.Barbican]) (*model, error) {
	m := &model{spec: &in.XR.Spec, observed: in.Observed}
	complete(&in.XR)
	var err error
	m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.QueuedSpec(&m.spec.ServiceSpec, &m.spec.Identity, &m.spec.Queue, &m.spec.UWSGI, m.spec.API, m.spec.Placement),
	}, service.CheckProcess("spec.worker", m.spec.Worker))
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

// extension returns the additions of a Barbican.
func (m *model) extension() (service.Extension, error) {
	x := service.Extension{
		Config: service.Configuration{Options: m.options(), Files: m.programs()},
		API:    service.APIPods{Volumes: m.keyVolumes()},
		Jobs:   service.Jobs{Names: []string{service.ArchiveJob}},
	}
	if m.spec.Vault != nil {
		if err := m.keepInVault(&x); err != nil {
			return service.Extension{}, err
		}
	}
	x.Processes = []service.Process{m.worker(x.API)}
	return x, nil
}

// complete adds the keys of a spec without any: the default of their rotation is set only if they exist.
func complete(xr *barbicanv1.Barbican) {
	if xr.Spec.Keys == nil {
		xr.Spec.Keys = &barbicanv1.Keys{}
		function.SetDefaults(xr)
	}
}

// keysPerWorkerRun is the number of keys that a worker generates concurrently, each with a database connection.
const keysPerWorkerRun = 5

// options returns the options of all processes. The policies are Barbican's new defaults, which use the roles of every Keystone: with the
// old defaults, which Barbican uses unless it is configured otherwise, a member cannot store secrets
// (https://docs.openstack.org/barbican/latest/configuration/policy.html).
//
// Responses contain addresses below the public one for all clients.
func (m *model) options() oslo.Config {
	return oslo.Config{
		"DEFAULT": {
			"host_href":                 string(m.Spec.Endpoints.Public),
			"executor_thread_pool_size": keysPerWorkerRun,
		},
		"oslo_policy": {"enforce_new_defaults": true},
		"queue":       {"enable": true},
		"secretstore": {"enabled_secretstore_plugins": oslo.Multi{databaseStore}},
	}
}

// databaseStore stores secrets in the database, encrypted with the keys of their projects.
const databaseStore = "store_crypto"

// worker generates keys. The retry scheduler is not run: no order type is retried (barbican.tasks.resources). The Keystone listener is not
// run either: Keystone has no message queue here, and sends no notifications of deleted projects. It reads the same keys and logins as the
// API.
func (m *model) worker(api service.APIPods) service.Process {
	queue := m.Spec.Queue
	p := service.Process{
		Process: m.spec.Worker, Name: worker, Title: "Barbican's worker", Command: m.start("barbican-worker"),
		Outage:                 "keys and encrypted volumes cannot be created; secrets can be stored and read",
		TerminationGracePeriod: terminationGracePeriod, Mounts: api.Volumes, Env: api.Env,
		Ready: workload.Connected(queue.Port), Alive: workload.Attached(queue.Host, queue.Port),
	}
	if m.spec.Vault != nil {
		p.Annotations = service.StartupAnnotations(m.observed, worker, vaultRead)
	}
	return p
}

// APIPod returns a pod of the API, which receives its keys before it starts.
func (m *model) APIPod() workload.Pod {
	p := m.Service.APIPod()
	c := &p.Containers[0]
	c.Command = m.start(c.Command...)
	return p
}

// archive purges deleted rows from the database, and deletes expired secrets.
// https://docs.openstack.org/barbican/latest/admin/database_cleaning.html
func archive(m *model) (service.Archive, error) {
	a := m.spec.Archive
	return service.Archive{Archive: a, Command: []string{
		"barbican-manage", "db", "clean", "--min-days", strconv.Itoa(int(a.AfterDays)), "--soft-delete-expired-secrets",
	}}, nil
}

func status(m *model, plan compose.Plan) any {
	return barbicanv1.BarbicanStatus{ServiceStatus: m.Status(plan)}
}
