package controlplane

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// foregroundFinalizer makes the garbage collector wait for a nested composite resource's children, also where the claim
// was deleted in the background.
const foregroundFinalizer = metav1.FinalizerDeleteDependents

// service describes an OpenStack service to the control plane: a row of the table.
type service struct {
	// name of its component, its composite resource, its Service and its section of the claim's spec.services.
	name string
	// kind of its composite resource.
	kind schema.GroupVersionKind
	// phase of the claim while it is not ready.
	phase string
	// needs are the components that must be ready before it is created.
	needs []string
	// path is the URL path below a shared host name, version the suffix of the addresses in the catalog. A service without a path always has
	// its own host name.
	path, version string
	// internal returns the address inside the cluster.
	internal func(name, namespace string) string
	// specOf returns the settings of the claim.
	specOf func(*controlplanev1.Services) serviceSpec
	// build returns the composite resource, without the settings that all services share; the caller names and labels it.
	build func(*model, *serviceState) runtime.Object
	// check returns an error for settings that the service rejects in a release, so that the claim reports it before anything is composed.
	check func(*model, *serviceState, release.Release) error
	// secrets lists the fields of the spec that name Secrets of the service. Nil: none.
	secrets func(*controlplanev1.Services) []secretReference
	// pools lists the fields of the spec that name pools of StorageClusters for the service. Nil: none.
	pools func(*controlplanev1.Services) []poolReference
	// externalReferences lists the references to external systems in a value of the service's types. Nil: none.
	externalReferences func(path string, value any) []externalReference
	// pods returns the costs of its pods. Nil: its API is the only workload.
	pods func(*model, *serviceState) []costItem
	// volumes returns the costs of its volumes, without the database. Nil: none.
	volumes func(*model, *serviceState) []costItem
	// locations lists where it stores data outside of the database, so that no two parts use the same location. Nil: none.
	locations func(*model, *serviceState) []location
	// connections returns the maximum number of its database connections. Nil: one for each thread of its API.
	connections func(*model, *serviceState) int64
	// hosts lists the public host names in addition to the API's. Nil: none.
	hosts func(*model, *serviceState) []host
	// databases lists the database servers in addition to the control plane's. Nil: none.
	databases func(*model, *serviceState) []databaseServer
	// inspectors are the components of its Jobs that connect to all of these databases.
	inspectors []string
	// unrestricted reports whether pods violate the restricted Pod Security Standard. Nil: none do.
	unrestricted func(*controlplanev1.Services) bool
	// report copies service-specific status to the status of the claim. Nil: nothing to copy.
	report func(*serviceState, *controlplanev1.ControlPlaneClusterStatus)
	// describeForHypervisors adds the settings that hypervisors need. Nil: none.
	describeForHypervisors func(*model, *serviceState, *controlplanev1.HypervisorAccess)
	// ssoOrigins lists the addresses that receive the tokens of users after login at an identity provider. Nil: none.
	ssoOrigins func(*model, *serviceState) []common.URL
	// advisoryConditions are conditions of the claim that do not affect its readiness.
	advisoryConditions []function.AdvisoryCondition[*model]
}

// serviceSpec holds the settings of the claim that all services have.
type serviceSpec struct {
	enabled bool
	// externalURL is the address of an external service. Empty: the control plane runs the service.
	externalURL common.URL
	basics      common.Service
	workload    common.Workload
	uwsgi       *common.UWSGI
}

// serviceState is the derived state of an enabled service.
type serviceState struct {
	*service
	serviceSpec
	// endpoints are its addresses. exposure is nil if the service is not reachable from outside.
	endpoints endpoints
	exposure  *common.ServiceExposure
	// observed is the observed composite resource, targetRelease the release in the desired one.
	observed      *observe.Object
	targetRelease release.Release
}

// public reports whether clients outside of the cluster have an address of the service.
func (s *serviceState) public() bool { return s.exposure != nil || s.externalURL != "" }

type endpoints struct{ public, internal string }

// sortServices collects the enabled services and merges the settings of the claim with the defaults of the size.
func (m *model) sortServices() {
	for _, row := range services {
		o := row.specOf(&m.spec.Services)
		if !o.enabled {
			continue
		}
		o.workload.Replicas = new(ptr.Deref(o.workload.Replicas, m.size.api))
		o.workload.Resources = merge.Overlay(o.workload.Resources, m.size.apiResources)
		s := &serviceState{service: row, serviceSpec: o}
		s.observed, _ = m.observed.Get(row.name)
		m.services = append(m.services, s)
	}
	m.identity = m.services[0]
}

// field returns the path of a field of the service in the claim.
func (s *service) field(name string) string { return "spec.services." + s.name + name }

// stateOf returns the derived state of a service, nil if it is disabled.
func (m *model) stateOf(row *service) *serviceState {
	i := slices.IndexFunc(m.services, func(s *serviceState) bool { return s.service == row })
	if i < 0 {
		return nil
	}
	return m.services[i]
}

// components returns two components for each row: the service, and the Usages that keep its dependencies until it is deleted.
func components(rows []*service) compose.Graph[*model] {
	var out compose.Graph[*model]
	for _, row := range rows {
		enabled := func(m *model) bool { return m.stateOf(row) != nil }
		out = append(out, compose.Component[*model]{
			Name: row.name, Phase: row.phase, Needs: row.needs, Enabled: enabled,
			Build:   func(m *model) ([]compose.Stage, error) { return m.compose(m.stateOf(row)), nil },
			Version: func(m *model) string { return m.stateOf(row).observed.String("status", "version") },
		})
		if row.name != identityService {
			out = append(out, compose.Component[*model]{
				Name: row.name + "-deletion-order", Phase: row.phase, Follows: []string{row.name}, Enabled: enabled,
				Build: func(m *model) ([]compose.Stage, error) { return m.serviceDeletionOrder(m.stateOf(row)), nil },
			})
		}
	}
	return out
}

// compose returns the service's composite resource, which is created after the copies of the Secrets that it reads.
func (m *model) compose(s *serviceState) []compose.Stage {
	return []compose.Stage{{{Name: s.name, Object: s.build(m, s), Management: true, After: m.copiesFor(s)}}}
}

// typeMeta returns the TypeMeta of the service's composite resource.
func (s *serviceState) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind}
}

// objectMeta returns the metadata of a composite resource.
func (m *model) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: m.instance, Labels: m.workload(name).Labels(), Finalizers: []string{foregroundFinalizer},
	}
}

// serviceSpec returns the settings of the control plane for a service with a database.
func (m *model) serviceSpec(s *serviceState) common.ServiceSpec {
	return common.ServiceSpec{
		ServiceBase: m.serviceBase(s),
		Overrides:   s.basics.Overrides,
		Database:    m.databaseSpec(),
	}
}

// queuedServiceSpec is serviceSpec for a service with a message queue.
func (m *model) queuedServiceSpec(s *serviceState) common.ServiceSpec {
	out := m.serviceSpec(s)
	if m.runsQueue() {
		out.StreamBytes = rabbitmq.StreamLimit(m.queue.storage)
	}
	return out
}

// serviceBase returns the settings of the control plane for any service.
func (m *model) serviceBase(s *serviceState) common.ServiceBase {
	return common.ServiceBase{
		Crossplane:       m.crossplane(),
		OpenStackRelease: string(s.targetRelease),
		Target:           m.workloadCluster(),
		Image:            s.basics.Image,
		Images:           m.images,
		Region:           m.spec.Global.Region,
		Cache:            common.Cache{Servers: m.cacheServers()},
		Endpoints:        common.Endpoints{Public: common.URL(s.endpoints.public), Internal: common.URL(s.endpoints.internal)},
		Exposure:         s.exposure,
		IssuerRef:        m.issuer(),
		ClusterDomain:    m.otherDomain(),
		Monitoring:       m.monitoring,
		SecretStore:      m.secretStore,
		DeletionPolicy:   m.spec.DeletionPolicy,
	}
}

// workloadCluster returns the target cluster of the workloads.
func (m *model) workloadCluster() common.Target {
	return common.Target{ProviderConfig: common.ObjectName(m.providerConfig), Remote: m.remote}
}

// crossplane binds a service to the channel of the control plane, so that a new function version can be tried for some control planes
// without affecting others.
func (m *model) crossplane() *common.Crossplane {
	if len(m.channel) == 0 {
		return nil
	}
	return &common.Crossplane{CompositionRevisionSelector: &metav1.LabelSelector{MatchLabels: m.channel}}
}

// processes returns the uWSGI settings of each pod. The number of processes is always set: an existing service would otherwise keep a
// number that its definition once had as a default.
func (s *serviceState) processes() common.UWSGI {
	u := ptr.Deref(s.uwsgi, common.UWSGI{})
	u.Processes = cmp.Or(u.Processes, openstack.Processes(s.workload.Resources))
	return u
}

// connectionsOf returns the maximum number of connections that a service opens to the database.
func (m *model) connectionsOf(s *serviceState) int64 {
	if s.externalURL != "" {
		return 0
	}
	if s.connections != nil {
		return s.connections(m, s)
	}
	return s.threads()
}

// threads returns the number of threads in all pods of the service's API.
func (s *serviceState) threads() int64 {
	const threads = 1
	u := s.processes()
	return int64(*s.workload.Replicas) * int64(u.Processes) * int64(cmp.Or(u.Threads, threads))
}

// partsOf returns the costs of a service.
func (m *model) partsOf(s *serviceState) []costItem {
	var out []costItem
	if s.externalURL != "" {
		return nil
	}
	if s.pods != nil {
		out = s.pods(m, s)
	} else {
		out = append(out, costItem{
			field: s.field(""), replicas: *s.workload.Replicas, resources: s.workload.Resources,
			processes: ptr.Deref(s.uwsgi, common.UWSGI{}).Processes,
		})
	}
	if s.volumes != nil {
		out = append(out, s.volumes(m, s)...)
	}
	return out
}

// ready reports whether all pods of the service match its spec.
func (s *serviceState) ready() bool {
	rule, ok := rules.For(s.kind.GroupKind())
	return ok && rule.Check(s.observed).Ready
}
