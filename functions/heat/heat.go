// Package heat composes one Heat: what every service has, the engines that make what stacks say, the API by which virtual machines report,
// and the domain of the users that stacks make.
package heat

import (
	"errors"
	"strings"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// New returns the function of Heat composite resources.
func New() function.Runner {
	return function.Kind[heatv1.Heat, *model]{Graph: graph, Derive: derive, Target: service.Target[*model], Status: status}
}

// terminationGracePeriod is how long requests may go on while a pod of an API stops, engineMercy how long an engine may work on what it has begun. What it
// has not finished by then stays in progress until somebody updates or deletes the stack.
const (
	terminationGracePeriod       = 60 * time.Second
	engineTerminationGracePeriod = 5 * time.Minute
)

// definition is what is the same for every Heat.
var definition = service.Definition{
	App:         heatv1.ServiceName,
	Title:       "Heat",
	Outage:      "no stack can be made, changed or looked at; what stacks have made goes on",
	CatalogType: heatv1.ServiceType,
	Description: "Stacks of resources",
	CatalogPath: "/%(project_id)s",
	// Stacks are kept with trusts by which Heat acts for whoever made them.
	NeedsStableUserID:      true,
	Port:                   heatv1.Port,
	Module:                 "heat.wsgi.api:application",
	HealthPath:             healthPath,
	TerminationGracePeriod: terminationGracePeriod,
	Queue:                  true,
	Databases: []service.Database{{
		Group: "database",
		// Migrations rebuild tables that engines write (https://docs.openstack.org/heat/latest/operating_guides/upgrades_guide.html).
		Schema: service.Schema{
			Sync:    []openstackv1.Step{quiesced(service.Step("db-sync", "heat-manage", "db_sync"))},
			Check:   []openstackv1.Argument{"heat-status", "upgrade", "check"},
			Version: []openstackv1.Argument{"heat-manage", "db_version"},
			Empty:   "None",
		},
	}},
}

func quiesced(s openstackv1.Step) openstackv1.Step { s.Quiesced = true; return s }

// Components, which are named as the processes are that run in them, and the domain of stacks' users.
const (
	domainComponent = "domain"
	engine          = "engine"
	cfn             = heatv1.CFNName
	archive         = "archive"
)

// pods are what comes before those of each process.
var pods = []string{"schema", "certificate", "identity", "queue"}

// graph is what a Heat consists of besides what every service does. It is in the catalog when it can do what it is asked for. Engines go
// first: they understand what APIs of an earlier release ask.
var graph = service.Graph(
	&definition,
	service.ExtraComponent[*model]{
		Component: compose.Component[*model]{Name: domainComponent, Needs: []string{"companion-access", "credentials"}, Build: domain},
		Before:    "schema",
	},
	service.ExtraComponent[*model]{
		Component: service.Daemon[*model](engine, append([]string{domainComponent}, pods...)), Before: "api", NeededBy: "catalog", RolloutBefore: "api",
	},
	service.ExtraComponent[*model]{Component: service.Daemon[*model](cfn, pods, engine), Before: "catalog", NeededBy: "catalog"},
	service.ExtraComponent[*model]{Component: compose.Component[*model]{Name: archive, Needs: []string{"api"}, Build: archival}},
)

// model is everything that builders read, derived once.
type model struct {
	*service.Service
	spec *heatv1.HeatSpec
	seen observe.State
}

func derive(in function.Input[heatv1.Heat]) (*model, error) {
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
	if err = errors.Join(err, checkProcesses(m.spec)); err != nil {
		return nil, err
	}
	m.Accounts = []service.Account{
		{Resource: "domain-admin", Secret: m.adminSecret(), User: domainAdmin},
		// What stacks keep of users is encrypted with it: who loses it loses that. Heat takes exactly 32 characters, as each password here has.
		{Resource: "encryption-key", Secret: m.keySecret(), User: m.App},
	}
	m.Jobs = []string{archive}
	m.Processes = m.processes()
	if m.spec.CFN != nil {
		m.Entries = []service.Entry{{
			Process: cfn, Name: heatv1.ServiceName + "-" + heatv1.CFNName, Type: heatv1.CFNType,
			Description: "Stacks, as AWS CloudFormation has them", Endpoints: m.spec.CFN.Endpoints,
		}}
	}
	m.Options = m.options()
	return m, m.Render()
}

// setDefaults repeats the defaults of the schema, for callers that do not go through an API server.
func setDefaults(s *heatv1.HeatSpec) {
	const month = 30
	if s.Archive.Schedule == "" {
		s.Archive.Schedule = "30 3 * * *"
	}
	if s.Archive.AfterDays == 0 {
		s.Archive.AfterDays = month
	}
}

// checkProcesses refuses processes that have no room.
func checkProcesses(s *heatv1.HeatSpec) error {
	errs := []error{service.CheckAmounts("spec.api", s.API), service.CheckProcess("spec.engine", s.Engine)}
	if s.CFN != nil {
		errs = append(errs, service.CheckProcess("spec.cfn", s.CFN.Process))
	}
	return errors.Join(errs...)
}

// files are where the image has Heat's own: pipelines of its APIs, and what its resources are called.
const files = "/opt/openstack/etc/heat/"

// options are those of all processes. Services are asked as whoever made a stack, at the cluster's own addresses. Virtual machines are told
// the public ones, also those of Heat itself, by the group of its own client.
func (m *model) options() oslo.Config {
	keystone := string(m.Spec.Identity.InternalURL)
	out := oslo.Config{
		"DEFAULT": {
			"environment_dir":               files + "environment.d",
			"num_engine_workers":            int(m.workers()),
			"region_name_for_services":      m.Spec.Region,
			"server_keystone_endpoint_type": "public",
			"stack_domain_admin":            domainAdmin,
			"stack_user_domain_name":        m.domainName(),
		},
		"cache":            m.CacheOptions(),
		"clients":          {"ca_file": m.AuthOptions()["cafile"], "endpoint_type": "internalURL"},
		"clients_heat":     {"endpoint_type": "publicURL"},
		"clients_keystone": {"auth_uri": keystone},
		"paste_deploy":     {"api_paste_config": files + "api-paste.ini"},
		// Application credentials can neither make trusts nor log in by them
		// (https://docs.openstack.org/keystone/latest/user/application_credentials.html).
		trusteeGroup: {
			"auth_type": "v3password", "auth_url": keystone, "username": m.Spec.Identity.NameOf(m.App), "user_domain_name": common.DefaultDomain,
		},
	}
	c := m.spec.CFN
	if c == nil {
		return out
	}
	public := strings.TrimSuffix(string(c.Endpoints.Public), heatv1.Version)
	secure := "0"
	if strings.HasPrefix(public, "https:") {
		secure = "1"
	}
	report := m.AuthOptions()
	// It adds a version to the address of the catalog, which has one already.
	report["endpoint_override"] = strings.TrimSuffix(keystone, "/v3")
	return out.Merge(oslo.Config{
		"DEFAULT": {
			"heat_metadata_server_url":      public,
			"heat_waitcondition_server_url": public + heatv1.Version + "/waitcondition",
			"instance_connection_is_secure": secure,
		},
		reportGroup: report,
	})
}

// Groups of options by which Heat logs in: whoever delegated to it, and those who check what virtual machines sign.
const (
	trusteeGroup = "trustee"
	reportGroup  = "ec2authtoken"
	tokenGroup   = "keystone_authtoken"
)

func status(m *model, plan compose.Plan) any { return heatv1.HeatStatus{ServiceStatus: m.Status(plan)} }
