// Package placement composes a Placement, which has only the components of every service.
package placement

import (
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Placement composite resources.
func New() function.Runner {
	return function.Kind[placementv1.Placement, *service.Service]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*service.Service], Status: service.Status[*service.Service],
	}
}

// definition is the part that all Placements have in common.
var definition = service.Definition{
	App:         placementv1.ServiceName,
	Title:       "Placement",
	Outage:      "servers cannot be created, migrated or resized",
	CatalogType: placementv1.ServiceType,
	Description: "Inventory of what virtual machines use",
	Port:        placementv1.Port,
	Module:      "placement.wsgi.api:application",
	// It has no health check; the version list requires neither a login nor the database.
	HealthPath:             "/",
	TerminationGracePeriod: 60 * time.Second,
	Databases: []service.Database{{
		Group: "placement_database", NoWsrepSyncWait: true,
		// https://docs.openstack.org/placement/latest/cli/placement-manage.html. Migrations only add columns, so no contract step is required.
		Schema: service.Schema{
			Sync: []openstackv1.Step{service.Step("db-sync", "placement-manage", "db", "sync")},
			OnlineMigrations: []openstackv1.Step{
				service.UntilDone("online-data-migrations", "placement-manage", "db", "online_data_migrations"),
			},
			Check:   []openstackv1.Argument{"placement-status", "upgrade", "check"},
			Version: []openstackv1.Argument{"placement-manage", "db", "version"},
			Empty:   "None",
		},
	}},
}

// graph lists the components of every service, and what each of them needs.
var graph = service.Graph(compose.Graph[*service.Service]{
	service.CompanionAccess[*service.Service](),
	service.Credentials[*service.Service](),
	service.Certificate[*service.Service](),
	service.DatabaseAccount[*service.Service]("credentials"),
	service.User[*service.Service]("companion-access", "credentials"),
	service.Config[*service.Service]("companion-access", "credentials"),
	service.DatabaseSchema[*service.Service]("database", "config"),
	service.API[*service.Service]([]string{"schema", "certificate", "identity"}),
	service.Exposure[*service.Service]("certificate"),
	service.Catalog[*service.Service]("api"),
	service.Alerts[*service.Service](),
})

func derive(in function.Input[placementv1.Placement]) (*service.Service, error) {
	x := &in.XR
	base, err := definition.Derive(service.Input{
		Meta: x.ObjectMeta, Previous: x.Status.ServiceStatus, Observed: in.Observed,
		Spec: service.Spec{ServiceSpec: &x.Spec.ServiceSpec, Workload: &x.Spec.Workload, UWSGI: &x.Spec.UWSGI, Identity: &x.Spec.Identity},
	})
	if err != nil {
		return nil, err
	}
	s, err := base.With(service.Extension{})
	return &s, err
}
