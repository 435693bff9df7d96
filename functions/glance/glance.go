// Package glance composes a Glance: the components of every service, its stores, and its staging volumes.
package glance

import (
	"time"

	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/image"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/keymanager"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Glance composite resources.
func New() function.Runner {
	return function.Kind[glancev1.Glance, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
	}
}

// terminationGracePeriod is the time for requests and imports to complete while a pod stops: an interrupted import must be requested again.
const terminationGracePeriod = 5 * time.Minute

// definition is the part that all Glances have in common.
var definition = service.Definition{
	App:                    glancev1.ServiceName,
	Title:                  "Glance",
	Outage:                 "images cannot be uploaded or downloaded, and servers cannot be created from images",
	CatalogType:            glancev1.ServiceType,
	Description:            "Images of virtual machines",
	Port:                   glancev1.Port,
	Module:                 "glance.wsgi.api:application",
	HealthPath:             "/healthcheck",
	ConfigFile:             "glance-api.conf",
	Stateful:               true, // An image staged for import is on one pod, which the other pods address by name.
	TerminationGracePeriod: terminationGracePeriod,
	Databases: []service.Database{{
		Group: "database",
		// https://docs.openstack.org/glance/latest/admin/db.html, https://docs.openstack.org/glance/latest/cli/glancemanage.html
		Schema: service.Schema{
			Sync:     []openstackv1.Step{service.Step("db-sync", "glance-manage", "db", "sync"), metadefs},
			Expand:   []openstackv1.Step{manage("expand"), manage("migrate")},
			Contract: []openstackv1.Step{manage("contract"), metadefs},
			Check:    []openstackv1.Argument{"glance-status", "upgrade", "check"},
			// It always exits with 255: it does not support the option enabled_backends.
			Unchecked: []release.Release{"2026.2"},
			Version:   []openstackv1.Argument{"glance-manage", "db", "version"},
			Empty: "Database is either not under migration control or under legacy migration control, please run " +
				`"glance-manage db sync" to place the database under alembic migration control.`,
		},
	}},
}

// metadefs loads the metadata definitions of image properties. Existing ones are not changed.
var metadefs = service.Step("metadefs", "glance-manage", "db", "load_metadefs")

func manage(command openstackv1.Argument) openstackv1.Step {
	return service.Step(string(command), "glance-manage", "db", command)
}

// Components in addition to the common ones: the stores of images, and the purge of deleted rows.
const (
	storesComponent = "stores"
)

// graph lists the components of a Glance and their dependencies.
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	service.Credentials[*model](),
	service.Certificate[*model](),
	service.DatabaseAccount[*model]("credentials"),
	service.User[*model]("companion-access", "credentials"),
	service.Config[*model]("companion-access", "credentials"),
	service.DatabaseSchema[*model]("database", "config"),
	{Name: storesComponent, Needs: []string{"companion-access"}, Build: storage},
	service.API[*model]([]string{"schema", "certificate", "identity", storesComponent}),
	service.Exposure[*model]("certificate"),
	service.Catalog[*model]("api"),
	service.Archival(archive, "api"),
	service.Alerts[*model](),
})

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec   *glancev1.GlanceSpec
	stores []store
}

func derive(in function.Input[glancev1.Glance]) (*model, error) {
	m := &model{spec: &in.XR.Spec}
	image.Complete(&m.spec.Storage)
	complete(&m.spec.Archive)
	spec := image.Spec(m.spec)
	var err error
	m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Spec: spec, Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Check: func(r release.Release) error { return image.Check("spec", r, spec, &m.spec.Storage) },
	})
	if err != nil {
		return nil, err
	}
	if err := m.findStores(); err != nil {
		return nil, err
	}
	x, err := m.extension(in.Observed)
	if err != nil {
		return nil, err
	}
	m.Service, err = m.With(x)
	return m, err
}

// extension returns the additions of a Glance.
func (m *model) extension(observed observe.State) (service.Extension, error) {
	x := service.Extension{
		Config: service.Configuration{
			Options: m.options().Merge(
				keymanager.Options(m.spec.KeyManager, m.Spec.Region, string(m.Spec.Identity.InternalURL), m.TrustedFile())),
			// A location may point to any data that the service can read, regardless of its owner.
			Rules: map[string]string{"add_image_location": "rule:service_api"},
			Files: []service.ExtraFile{{Name: workload.ChunksFile, Text: workload.Chunks}},
		},
		Jobs: service.Jobs{Names: []string{service.ArchiveJob}},
		// The certificates of image signatures are stored there.
		Keystone: service.Keystone{Logins: keymanager.Logins(m.spec.KeyManager)},
		Alerts:   m.watches(),
	}
	server := m.Server
	server.Import = m.Path(workload.ChunksFile)
	x.API.Server = &server
	if err := m.addUploadVolumes(&x, observed); err != nil {
		return service.Extension{}, err
	}
	m.addStores(&x, observed)
	reached, err := keymanager.Reached(m.spec.KeyManager)
	if err != nil {
		return service.Extension{}, err
	}
	x.Network.Egress = append(x.Network.Egress, reached...)
	m.download(&x)
	return x, nil
}

// complete raises the age of rows of images to the age of the rows that refer to them.
func complete(a *glancev1.Archive) { a.ImagesAfterDays = max(a.ImagesAfterDays, a.AfterDays) }

func status(m *model, plan compose.Plan) any {
	s := glancev1.GlanceStatus{ServiceStatus: m.Status(plan)}
	if part, _ := plan.ComponentStatus(storesComponent); part.IsReady() {
		for _, store := range m.stores {
			s.Stores = append(s.Stores, store.Name)
		}
	}
	return s
}
