// Package heat composes a Heat: the components of every service, the engines that create the resources of stacks, the API for reports of
// servers, and the domain of the users that stacks create.
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
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Heat composite resources.
func New() function.Runner {
	return function.Kind[heatv1.Heat, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
	}
}

// terminationGracePeriod is the time for requests to complete while a pod of an API stops, engineTerminationGracePeriod the time for an
// engine's operations. An operation that is interrupted stays in progress until a user updates or deletes the stack.
const (
	terminationGracePeriod       = 60 * time.Second
	engineTerminationGracePeriod = 5 * time.Minute
)

// definition is the part that all Heats have in common.
var definition = service.Definition{
	App:         heatv1.ServiceName,
	Title:       "Heat",
	Outage:      "stacks cannot be created, changed or listed; existing resources keep working",
	CatalogType: heatv1.ServiceType,
	Description: "Stacks of resources",
	CatalogPath: "/%(project_id)s",
	// Stacks are stored with trusts by which Heat acts for their owner.
	NeedsStableUserID:      true,
	Port:                   heatv1.Port,
	Module:                 "heat.wsgi.api:application",
	HealthPath:             healthPath,
	TerminationGracePeriod: terminationGracePeriod,
	Queue:                  true,
	Databases: []service.Database{{
		Group: "database",
		// Migrations rebuild tables that engines write to (https://docs.openstack.org/heat/latest/operating_guides/upgrades_guide.html).
		Schema: service.Schema{
			Sync:    []openstackv1.Step{quiesced(service.Step("db-sync", "heat-manage", "db_sync"))},
			Check:   []openstackv1.Argument{"heat-status", "upgrade", "check"},
			Version: []openstackv1.Argument{"heat-manage", "db_version"},
			Empty:   "None",
		},
	}},
}

func quiesced(s openstackv1.Step) openstackv1.Step { s.Quiesced = true; return s }

// Components: processes, by their names, and the domain of stacks' users.
const (
	domainComponent = "domain"
	engine          = "engine"
	cfn             = heatv1.CFNName
)

// pods are the dependencies of the API and of each process.
var pods = []string{"schema", "certificate", "identity", "queue"}

// graph lists the components of a Heat and their dependencies. It is added to the catalog when all processes are ready.
// Engines are updated first: they support requests of APIs of the previous release.
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	service.Credentials[*model](),
	service.Certificate[*model](),
	service.DatabaseAccount[*model]("credentials"),
	service.QueueAccount[*model]("companion-access"),
	service.User[*model]("companion-access", "credentials"),
	service.Config[*model]("companion-access", "credentials"),
	{Name: domainComponent, Needs: []string{"companion-access", "credentials"}, Build: domain},
	service.DatabaseSchema[*model]("database", "config"),
	service.Daemon[*model](engine, append([]string{domainComponent}, pods...)),
	service.API[*model](pods, engine),
	service.Exposure[*model]("certificate"),
	service.Daemon[*model](cfn, pods, engine),
	service.Catalog[*model](engine, "api", cfn),
	service.Archival(archive, "api"),
	service.Alerts[*model](),
})

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec *heatv1.HeatSpec
}

func derive(in function.Input[heatv1.Heat]) (*model, error) {
	m := &model{spec: &in.XR.Spec}
	var err error
	m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.QueuedSpec(&m.spec.ServiceSpec, &m.spec.Identity, &m.spec.Queue, &m.spec.UWSGI, m.spec.API, m.spec.Placement),
	}, checkProcesses(m.spec))
	if err != nil {
		return nil, err
	}
	m.Service, err = m.With(m.extension())
	return m, err
}

// extension returns the additions of a Heat.
func (m *model) extension() service.Extension {
	x := service.Extension{
		Config: service.Configuration{Options: m.options()},
		Jobs:   service.Jobs{Names: []string{service.ArchiveJob}},
		Access: service.Access{Accounts: []service.Account{
			{Resource: "domain-admin", Secret: m.adminSecret(), User: domainAdmin},
			// It encrypts user data of stacks, which is lost with it. Heat requires exactly 32 characters, the length of generated passwords.
			{Resource: "encryption-key", Secret: m.keySecret(), User: m.App},
		}},
		Processes: m.processes(),
	}
	if m.spec.CFN != nil {
		x.Keystone.Entries = []service.Entry{{
			Process: cfn, Name: heatv1.ServiceName + "-" + heatv1.CFNName, Type: heatv1.CFNType,
			Description: "Stacks, as AWS CloudFormation has them", Endpoints: m.spec.CFN.Endpoints,
		}}
	}
	return x
}

// checkProcesses rejects processes with insufficient memory.
func checkProcesses(s *heatv1.HeatSpec) error {
	err := service.CheckProcess("spec.engine", s.Engine)
	if s.CFN != nil {
		err = errors.Join(err, service.CheckProcess("spec.cfn", s.CFN.Process))
	}
	return err
}

// files is the folder of Heat's files in the image: pipelines of its APIs, and the names of its resource types.
const files = "/opt/openstack/etc/heat/"

// options returns the options of all processes. Heat calls services with the token of the stack's owner, at internal addresses. Servers
// receive the public addresses; for Heat itself, they are from the options of its client.
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
		// Application credentials can neither create trusts nor authenticate with them
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
	// It appends a version to the address of the catalog, which already has one.
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

// Option groups with Heat's logins: for delegated trusts, and for verification of servers' signatures.
const (
	trusteeGroup = "trustee"
	reportGroup  = "ec2authtoken"
	tokenGroup   = "keystone_authtoken"
)

func status(m *model, plan compose.Plan) any { return heatv1.HeatStatus{ServiceStatus: m.Status(plan)} }
