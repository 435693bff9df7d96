package services

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// Host is a public host name with its owner and the field that sets it. A nil exposure means that it is not exposed.
type Host struct {
	Owner, Field string
	Exposure     *common.ServiceExposure
}

// CheckedSpec returns the settings that are checked for every service.
func (s *State) CheckedSpec() openstack.Spec {
	return openstack.Spec{
		ServiceSpec: &common.ServiceSpec{ServiceBase: common.ServiceBase{Image: s.Basics.Image}, Overrides: s.Basics.Overrides},
		Workload:    &s.Workload, UWSGI: new(s.Processes()),
	}
}

// ThreadsOf returns the number of threads in all pods of another API of the service.
func (s *State) ThreadsOf(p common.Process) int64 {
	return int64(*p.Replicas) * s.Threads() / int64(*s.Workload.Replicas)
}

// Info holds the properties of a service that are the same for every control plane.
type Info struct {
	// Name of its component, its composite resource, its Service and its section of the claim's spec.services.
	Name string
	// Kind of its composite resource.
	Kind schema.GroupVersionKind
	// Phase of the claim while it is not ready.
	Phase string
	// Needs are the components that must be ready before it is created.
	Needs []string
	// PublicPath is the URL path below a shared host name, Version the suffix of the addresses in the catalog. A service without a path always
	// has its own host name.
	PublicPath, Version string
	// Internal returns the address inside the cluster.
	Internal func(name, namespace string) string
	// Inspectors are the components of its Jobs that connect to all of its own databases.
	Inspectors []string
	// CompanionPorts are the ports of the services that the companion calls for this one. It always calls the identity service.
	CompanionPorts []int32
}

// Requested holds the settings of the claim that all services have.
type Requested struct {
	Enabled bool
	// ExternalURL is the address of an external service. Empty: the control plane runs the service.
	ExternalURL common.URL
	Basics      common.Service
	Workload    common.Workload
	UWSGI       *common.UWSGI
}

// APIWorkload returns the settings of the API's pods of a service that has several processes on the same nodes.
func APIWorkload(api *common.Process, on common.Placement) common.Workload {
	return *openstack.PlacedWorkload(ptr.Deref(api, common.Process{}), on)
}

// State is the derived state of an enabled service.
type State struct {
	Info
	Requested
	Service Service
	// Model is derived from the state and from the cloud that contains it.
	Model Model
	// Endpoints are its addresses. Exposure is nil if the service is not reachable from outside.
	Endpoints Endpoints
	Exposure  *common.ServiceExposure
	// Observed is the observed composite resource, TargetRelease the release in the desired one.
	Observed      *observe.Object
	TargetRelease release.Release
}

// IsPublic reports whether clients outside of the cluster have an address of the service.
func (s *State) IsPublic() bool { return s.Exposure != nil || s.ExternalURL != "" }

// Endpoints are the addresses of a service.
type Endpoints struct{ Public, Internal string }

// FieldPath returns the path of a field of the service in the claim.
func (s Info) FieldPath(name string) string { return "spec.services." + s.Name + name }

// TypeMeta returns the TypeMeta of the service's composite resource.
func (s *State) TypeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: s.Kind.GroupVersion().String(), Kind: s.Kind.Kind}
}

// Processes returns the uWSGI settings of each pod. The number of processes is always set: an existing service would otherwise keep a
// number that its definition once had as a default.
func (s *State) Processes() common.UWSGI {
	u := ptr.Deref(s.UWSGI, common.UWSGI{})
	u.Processes = cmp.Or(u.Processes, openstack.Processes(s.Workload.Resources))
	return u
}

// Threads returns the number of threads in all pods of the service's API.
func (s *State) Threads() int64 {
	const threads = 1
	u := s.Processes()
	return int64(*s.Workload.Replicas) * int64(u.Processes) * int64(cmp.Or(u.Threads, threads))
}

// Ready reports whether all pods of the service match its spec.
func (s *State) Ready() bool {
	rule, ok := readiness.Rules.For(s.Kind.GroupKind())
	return ok && rule.Check(s.Observed).Ready
}

// ReportedRelease returns the release that the service reports; empty: none.
func (s *State) ReportedRelease() string { return s.Observed.String("status", "release") }

// PreviousRelease returns the release to which the upgrade can still be aborted; empty: none.
func (s *State) PreviousRelease() string { return s.Observed.String("status", "previousRelease") }
