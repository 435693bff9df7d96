// Package barbican composes one Barbican: what every service has, the workers that make keys, and the keys that those of projects are
// encrypted with.
package barbican

import (
	"cmp"
	"errors"
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
)

// New returns the function of Barbican composite resources.
func New() function.Runner {
	return function.Kind[barbicanv1.Barbican, *model]{Graph: graph, Derive: derive, Target: service.Target[*model], Status: status}
}

// terminationGracePeriod is how long requests may go on while a pod of the API stops, and what a worker has begun.
const terminationGracePeriod = 60 * time.Second

// sync only adds: a release that is older by one goes on with it. No release from 2025.1 to 2026.2 changes the schema.
var sync = []openstackv1.Step{service.Step("db-upgrade", "barbican-manage", "db", "upgrade")}

// empty is said of the schema of an empty database.
const empty = "None"

// definition is what is the same for every Barbican.
var definition = service.Definition{
	App:         barbicanv1.ServiceName,
	Title:       "Barbican",
	Outage:      "no secret can be stored or read, and no encrypted volume can be made or attached",
	CatalogType: barbicanv1.ServiceType,
	Description: "Secrets and keys",
	Port:        barbicanv1.Port,
	// barbican.wsgi.api, which 2025.1 does not have, calls the same.
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
			// Of an empty database, it prints nothing.
			Version: []openstackv1.Argument{"sh", "-c", "barbican-manage db current && echo " + empty},
			Empty:   empty,
		},
	}},
}

// Components, which are named as the processes are that run in them, the keys, and the Vault.
const (
	keysComponent  = "keys"
	vaultComponent = "vault"
	worker         = "worker"
	archive        = "archive"
)

// pods are what comes before those of each process.
var pods = []string{keysComponent, vaultComponent, "schema", "certificate", "identity", "queue"}

// graph is what a Barbican consists of besides what every service does. It is in the catalog when it can make keys. Workers go first: they
// understand what APIs of an earlier release ask.
var graph = service.Graph(
	&definition,
	service.ExtraComponent[*model]{
		Component: compose.Component[*model]{Name: keysComponent, Needs: []string{"companion-access"}, Build: keys}, Before: "config", NeededBy: "api",
	},
	service.ExtraComponent[*model]{
		Component: compose.Component[*model]{
			Name: vaultComponent, Needs: []string{"companion-access"}, Build: vault,
			Enabled: func(m *model) bool { return m.spec.Vault != nil },
		},
		Before: "config", NeededBy: "api",
	},
	service.ExtraComponent[*model]{Component: service.Daemon[*model](worker, pods), Before: "api", NeededBy: "catalog", RolloutBefore: "api"},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{Name: archive, Needs: []string{"api"}, Build: archival}},
)

// model is everything that builders read, derived once.
type model struct {
	*service.Service
	spec *barbicanv1.BarbicanSpec
	seen observe.State
}

func derive(in function.Input[barbicanv1.Barbican]) (*model, error) {
	m := &model{spec: &in.XR.Spec, seen: in.Observed}
	setDefaults(m.spec)
	var err error
	m.Service, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.Spec{
			ServiceSpec: &m.spec.ServiceSpec, Workload: service.PlacedWorkload(m.spec.API, m.spec.Placement), UWSGI: &m.spec.UWSGI,
			Identity: &m.spec.Identity, Queue: &m.spec.Queue, MemoryField: "api.memory",
		},
	})
	if err = errors.Join(err, service.CheckAmounts("spec.api", m.spec.API), service.CheckProcess("spec.worker", m.spec.Worker)); err != nil {
		return nil, err
	}
	m.Options = m.options()
	m.ExtraFiles = m.programs()
	m.Mounts = m.keyVolumes()
	if err := m.keepInVault(); err != nil {
		return nil, err
	}
	m.Jobs = []string{archive}
	m.Processes = []service.Process{m.worker()}
	return m, m.Render()
}

// setDefaults repeats the defaults of the schema, for callers that do not go through an API server.
func setDefaults(s *barbicanv1.BarbicanSpec) {
	const month = 30
	if s.Keys == nil {
		s.Keys = &barbicanv1.Keys{}
	}
	s.Keys.RotationSchedule = cmp.Or(s.Keys.RotationSchedule, "0 2 1 * *")
	if v := s.Vault; v != nil {
		v.Mount = cmp.Or(v.Mount, "secret")
	}
	s.Archive.Schedule = cmp.Or(s.Archive.Schedule, "30 3 * * *")
	s.Archive.AfterDays = cmp.Or(s.Archive.AfterDays, month)
}

// keysPerWorkerRun is how many keys a worker makes at once, each with a connection to the database.
const keysPerWorkerRun = 5

// options are those of all processes. The access rules are those of Barbican's own that know the roles which every Keystone has: by the
// others, which it takes unless it is told, a member may store nothing
// (https://docs.openstack.org/barbican/latest/configuration/policy.html).
//
// Requests are answered with addresses below the public one, whoever asks.
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

// databaseStore keeps secrets in the database, encrypted with the keys of their projects.
const databaseStore = "store_crypto"

// worker makes keys. What tries again what failed is left out: nothing that can be ordered is tried again (barbican.tasks.resources).
// Nor is anybody told of projects that Keystone deletes: it has no message queue here.
func (m *model) worker() service.Process {
	queue := m.Spec.Queue
	p := service.Process{
		Process: m.spec.Worker, Name: worker, Title: "Barbican's worker", Command: m.start("barbican-worker"),
		Outage:                 "no key is made, and so no encrypted volume; secrets can be stored and read",
		TerminationGracePeriod: terminationGracePeriod, Mounts: m.Mounts, Env: m.Env,
		Ready: workload.Connected(queue.Port), Alive: workload.Attached(queue.Host, queue.Port),
	}
	if m.spec.Vault != nil {
		p.Annotations = service.StartupAnnotations(m.seen, worker, vaultRead)
	}
	return p
}

// APIPod is a pod of the API, which has its keys before it starts.
func (m *model) APIPod() workload.Pod {
	p := m.Service.APIPod()
	c := &p.Containers[0]
	c.Command = m.start(c.Command...)
	return p
}

// archival removes from the database what was deleted, and deletes what has expired.
// https://docs.openstack.org/barbican/latest/admin/database_cleaning.html
func archival(m *model) ([]compose.Stage, error) {
	a := m.spec.Archive
	w := m.Workload.With(m.Sub(archive), archive)
	pod := m.JobPod(m.Image, m.Files, []string{
		"barbican-manage", "db", "clean", "--min-days", strconv.Itoa(int(a.AfterDays)), "--soft-delete-expired-secrets",
	})
	return service.SingleObjectComponent(archive, w.CronJob(pod, string(a.Schedule), a.Suspend)), nil
}

func status(m *model, plan compose.Plan) any {
	return barbicanv1.BarbicanStatus{ServiceStatus: m.Status(plan)}
}
