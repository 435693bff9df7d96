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
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// foregroundFinalizer makes the garbage collector wait for a nested composite resource's children, also where the claim
// was deleted in the background.
const foregroundFinalizer = metav1.FinalizerDeleteDependents

// A service is what a control plane knows of an OpenStack service: a row of the table.
type service struct {
	// name of its component, its composite resource, its Service and its section of the claim's spec.services.
	name string
	// kind of its composite resource.
	kind schema.GroupVersionKind
	// phase of the claim while it is not ready.
	phase string
	// needs are the components that must be ready before it is created.
	needs []string
	// path is where it lies below a host name that services share, version how its addresses in the catalog end. One without a path has a
	// host name of its own in any case.
	path, version string
	// internal is its address inside the cluster.
	internal func(name, namespace string) string
	// specOf is what the claim says of it.
	specOf func(*controlplanev1.Services) serviceSpec
	// build returns its composite resource, without what all have: it is named and labelled by whoever calls.
	build func(*model, *serviceState) runtime.Object
	// check refuses what the service would refuse in a release, so that the claim reports it and nothing is composed of a claim that is half
	// right.
	check func(*model, *serviceState, release.Release) error
	// secrets are the places of the spec that name its Secrets. Nil: none.
	secrets func(*controlplanev1.Services) []secretReference
	// pools are the places of the spec that name pools of StorageClusters for it. Nil: none.
	pools func(*controlplanev1.Services) []poolReference
	// externalReferences are what a value of its types names outside of a control plane. Nil: none.
	externalReferences func(path string, value any) []externalReference
	// pods are those that it runs. Nil: those of its API.
	pods func(*model, *serviceState) []costItem
	// volumes are what it keeps data on, besides the database. Nil: nothing.
	volumes func(*model, *serviceState) []costItem
	// locations are where it keeps data outside of the database, so that no two parts keep theirs in one. Nil: nowhere.
	locations func(*model, *serviceState) []location
	// connections is how many it opens to the database at most. Nil: one for each thread of its API.
	connections func(*model, *serviceState) int64
	// hosts are the public host names that it has besides its API's. Nil: none.
	hosts func(*model, *serviceState) []host
	// databases are those that it has besides that of the control plane. Nil: none.
	databases func(*model, *serviceState) []databaseServer
	// inspectors are the components of those of its Jobs that look into all of them.
	inspectors []string
	// unrestricted says that pods of it are not as the restricted Pod Security Standard wants them. Nil: all are.
	unrestricted func(*controlplanev1.Services) bool
	// report repeats in the claim's status what it reports besides what every service does. Nil: nothing.
	report func(*serviceState, *controlplanev1.ControlPlaneClusterStatus)
	// describeForHypervisors adds what hypervisors are told of it. Nil: nothing.
	describeForHypervisors func(*model, *serviceState, *controlplanev1.HypervisorAccess)
	// ssoOrigins is where it takes the tokens of users who have logged in at an identity provider. Nil: nowhere.
	ssoOrigins func(*model, *serviceState) []common.URL
	// remarks are conditions of the claim on what it reports, and nobody waits for.
	remarks []function.AdvisoryCondition[*model]
}

// An order is what a claim says of a service, as far as every service has it.
type serviceSpec struct {
	enabled bool
	// elsewhere is the address of one that somebody else runs. Empty: it runs here.
	elsewhere common.URL
	basics    common.Service
	workload  common.Workload
	uwsgi     *common.UWSGI
}

// serviceState is what is derived of a service that is enabled.
type serviceState struct {
	*service
	serviceSpec
	// endpoints are its addresses, exposure how it is reached from outside (nil: it is not).
	endpoints endpoints
	exposure  *common.ServiceExposure
	// seen is what is observed of it, told the release that it is told.
	seen          *observe.Object
	targetRelease release.Release
}

// public says that clients outside have an address of the service.
func (s *serviceState) public() bool { return s.exposure != nil || s.elsewhere != "" }

type endpoints struct{ public, internal string }

// sortServices finds the services that the claim enables, and lays what it says of each over its size.
func (m *model) sortServices() {
	for _, row := range services {
		o := row.specOf(&m.spec.Services)
		if !o.enabled {
			continue
		}
		o.workload.Replicas = new(ptr.Deref(o.workload.Replicas, m.size.api))
		o.workload.Resources = merge.Overlay(o.workload.Resources, m.size.apiResources)
		s := &serviceState{service: row, serviceSpec: o}
		s.seen, _ = m.seen.Get(row.name)
		m.services = append(m.services, s)
	}
	m.identity = m.services[0]
}

// field is a field of the service in the claim.
func (s *service) field(name string) string { return "spec.services." + s.name + name }

// stateOf is what is derived of a service, nil if it is not enabled.
func (m *model) stateOf(row *service) *serviceState {
	i := slices.IndexFunc(m.services, func(s *serviceState) bool { return s.service == row })
	if i < 0 {
		return nil
	}
	return m.services[i]
}

// components are a service and what keeps what it uses until it is gone, for each of some rows of the table.
func components(rows []*service) compose.Graph[*model] {
	var out compose.Graph[*model]
	for _, row := range rows {
		enabled := func(m *model) bool { return m.stateOf(row) != nil }
		out = append(out, compose.Component[*model]{
			Name: row.name, Phase: row.phase, Needs: row.needs, Enabled: enabled,
			Build:   func(m *model) ([]compose.Stage, error) { return m.compose(m.stateOf(row)), nil },
			Version: func(m *model) string { return m.stateOf(row).seen.String("status", "version") },
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

// compose is the service's composite resource, which comes after the copies of the Secrets that it reads.
func (m *model) compose(s *serviceState) []compose.Stage {
	return []compose.Stage{{{Name: s.name, Object: s.build(m, s), Management: true, After: m.copiesFor(s)}}}
}

// typeMeta is that of a service's composite resource.
func (s *serviceState) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind}
}

// objectMeta is that of a composite resource.
func (m *model) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: m.instance, Labels: m.workload(name).Labels(), Finalizers: []string{foregroundFinalizer},
	}
}

// serviceSpec is what every service with a database is told: all of the control plane that it needs to know.
func (m *model) serviceSpec(s *serviceState) common.ServiceSpec {
	return common.ServiceSpec{
		ServiceBase: m.serviceBase(s),
		Overrides:   s.basics.Overrides,
		Database:    m.databaseSpec(),
	}
}

// serviceBase is what every service is told.
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

// workloadCluster is where the workloads run.
func (m *model) workloadCluster() common.Target {
	return common.Target{ProviderConfig: common.ObjectName(m.providerConfig), Remote: m.remote}
}

// crossplane binds a service to the channel that the control plane is bound to, so that a new function that is tried for some
// control planes composes theirs alone.
func (m *model) crossplane() *common.Crossplane {
	if len(m.channel) == 0 {
		return nil
	}
	return &common.Crossplane{CompositionRevisionSelector: &metav1.LabelSelector{MatchLabels: m.channel}}
}

// processes shape each pod. Their number is always set: a service that is there would keep one that its definition once had as a default.
func (s *serviceState) processes() common.UWSGI {
	u := ptr.Deref(s.uwsgi, common.UWSGI{})
	u.Processes = cmp.Or(u.Processes, openstack.Processes(s.workload.Resources))
	return u
}

// connectionsOf is how many a service opens to the database at most.
func (m *model) connectionsOf(s *serviceState) int64 {
	if s.elsewhere != "" {
		return 0
	}
	if s.connections != nil {
		return s.connections(m, s)
	}
	return s.threads()
}

// threads is how many there are in all pods of a service's API.
func (s *serviceState) threads() int64 {
	const threads = 1
	u := s.processes()
	return int64(*s.workload.Replicas) * int64(u.Processes) * int64(cmp.Or(u.Threads, threads))
}

// partsOf is what a service orders.
func (m *model) partsOf(s *serviceState) []costItem {
	var out []costItem
	if s.elsewhere != "" {
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

// ready reports whether all of a service's pods are as it says.
func (s *serviceState) ready() bool {
	rule, ok := rules.For(s.kind.GroupKind())
	return ok && rule.Check(s.seen).Ready
}
