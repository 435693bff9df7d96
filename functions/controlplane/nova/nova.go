// Package nova derives the composite resource of Nova from a claim.
package nova

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// Service is Nova, the compute service.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: novav1.ServiceName, Kind: novav1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent, placementv1.ServiceName, glancev1.ServiceName},
		PublicPath: "/compute", Version: novav1.Version, Internal: internalURL, Inspectors: []string{"archive", "schema-check"},
		CompanionPorts: []int32{novav1.Port, placementv1.Port, neutronv1.Port}, // Records of hypervisors.
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	n := s.Nova
	if n == nil || !n.Enabled {
		return services.Requested{}
	}
	return services.Requested{Enabled: true, Basics: n.Service, Workload: services.APIWorkload(n.API, n.Placement), UWSGI: n.UWSGI}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	spec, err := specOf(m, s)
	return model{services.Common{Cloud: m, State: s}, spec, err}
}

// model is the derived state of Nova.
type model struct {
	services.Common
	// spec contains the settings of the claim, without those that all services share. err is the error of servers of cells.
	spec novav1.NovaSpec
	err  error
}

// firstCell is the default cell.
const firstCell = "cell1"

// Object returns the composite resource of the compute service.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	xr := &novav1.Nova{TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name), Spec: x.spec}
	xr.Spec.ServiceSpec, xr.Spec.Identity = m.QueuedServiceSpec(s), m.IdentitySpec()
	return xr, x.err
}

// internalURL returns the address of the API inside the cluster as it appears in the catalog.
func internalURL(name, namespace string) string {
	return novav1.InternalURL(name, namespace) + novav1.Version
}

// Pods returns the costs of all processes.
func (x model) Pods() []cost.Item {
	s, spec := x.State, x.spec
	var out []cost.Item
	add := func(field string, p *common.Process, times int32) {
		if p != nil && times > 0 {
			out = append(out, cost.Item{
				Field: s.FieldPath(field), Replicas: *p.Replicas, Times: times, Resources: openstack.Resources(*p), Short: true,
			})
		}
	}
	add(".api", &spec.API, 1)
	add(".scheduler", &spec.Scheduler, 1)
	add(".conductor", &spec.Conductor, 1)
	add(".metadata", spec.Metadata, 1)
	for i, c := range spec.Cells {
		in := fmt.Sprintf(".cells[%d]", i)
		add(in+".conductor", &c.Conductor, 1)
		add(in+".metadata", c.Metadata, 1)
		add(in+".consoles", &c.Consoles.Process, proxiesOf(spec.Consoles))
		if own := c.Infrastructure; own != nil {
			in := s.FieldPath(in + ".infrastructure.")
			if own.Database != nil {
				out = append(out, cost.Of(in+"mariadb", minimum.MariaDB, own.Database.Members))
			}
			if own.Queue != nil {
				out = append(out, cost.Of(in+"rabbitmq", minimum.RabbitMQ, own.Queue.Members))
			}
		}
	}
	// All APIs use the same number of uWSGI processes, so it is listed once.
	return append(out, cost.Item{Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes})
}

// proxiesOf returns the number of console proxies of a cell.
func proxiesOf(c novav1.Consoles) int32 {
	out := int32(0)
	if c.Graphical != novav1.None {
		out++
	}
	if c.Serial {
		out++
	}
	return out
}

// Connections returns the maximum number of connections that Nova opens to the shared database server.
func (x model) Connections() int64 {
	s, spec := x.State, x.spec
	databases, out := int64(2), int64(0) //nolint:mnd // the API's and cell0
	for _, c := range spec.Cells {
		if c.Infrastructure == nil || c.Infrastructure.Database == nil {
			databases++
			out += cellConnections(s, &spec, c)
		}
	}
	return out + databases*superConductorConnections(s, &spec)
}

// superConductorConnections returns the number of connections that processes above the cells open to each database: they connect to the
// database of every cell.
func superConductorConnections(s *services.State, spec *novav1.NovaSpec) int64 {
	out := s.ThreadsOf(spec.API) + claim.PoolConnections(spec.Scheduler) + claim.PoolConnections(spec.Conductor)
	if spec.Metadata != nil {
		out += s.ThreadsOf(*spec.Metadata)
	}
	return out
}

// cellConnections returns the number of connections that a cell's own processes open to its database.
func cellConnections(s *services.State, spec *novav1.NovaSpec, c novav1.Cell) int64 {
	out := claim.PoolConnections(c.Conductor) + int64(*c.Consoles.Replicas)*int64(proxiesOf(spec.Consoles))*claim.PoolSize
	if c.Metadata != nil {
		out += s.ThreadsOf(*c.Metadata)
	}
	return out
}

// Hosts lists the host names of consoles.
func (x model) Hosts() []services.Host {
	s := x.State
	var out []services.Host
	for i, c := range x.spec.Cells {
		at := fmt.Sprintf(".cells[%d].consoles.", i)
		out = append(out,
			services.Host{Owner: "consoles of " + c.Name, Field: s.FieldPath(at + "hostname"), Exposure: c.Consoles.Exposure},
			services.Host{
				Owner: "serial consoles of " + c.Name, Field: s.FieldPath(at + "serialHostname"), Exposure: c.Consoles.SerialExposure,
			},
		)
	}
	return out
}

// ExternalReferences lists the references to external systems in a value of the service's types.
func (Service) ExternalReferences(path string, value any) []bounds.ExternalReference {
	switch v := value.(type) {
	case controlplanev1.Nova:
		return bounds.ListEntries(&bounds.HypervisorNetworks, path+".hypervisorNetworks", v.HypervisorNetworks)
	case controlplanev1.NovaCell:
		return bounds.ListEntries(&bounds.HypervisorNetworks, path+".hypervisorNetworks", v.HypervisorNetworks)
	}
	return nil
}

// Locations lists where backups of the databases of cells are stored.
func (x model) Locations() []bounds.Location {
	m, s := x.Cloud, x.State
	backup := m.Spec.Infrastructure.MariaDB.Backup
	if backup == nil {
		return nil
	}
	var out []bounds.Location
	for i, c := range m.Spec.Services.Nova.Cells {
		if c.Infrastructure != nil && c.Infrastructure.MariaDB != nil {
			field := s.FieldPath(fmt.Sprintf(".cells[%d].infrastructure.mariadb", i))
			out = append(out, bounds.BucketLocation(field, backup.S3.Endpoint, backup.S3.Bucket,
				bounds.Joined(backup.S3.Prefix, "cells", c.Name)))
		}
	}
	return out
}
