package service

import (
	"cmp"
	"errors"
	"net/url"

	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Two workers with a loaded service use about 200 MiB on a real node (docs/performance.md). With less than least for each
// worker, the kernel kills one before it serves a request. With comfortable, memory remains for the requests.
const (
	least       = 128 << 20
	comfortable = 256 << 20
)

// Defaults that no schema contains, for a service that is created manually. A control plane sets these fields.
const (
	defaultReplicas  = 1
	defaultProcesses = 2
)

// Spec contains the parts of a composite resource's spec that all services have.
type Spec struct {
	*common.ServiceSpec
	Workload *common.Workload
	UWSGI    *common.UWSGI
	// Identity is nil for a service that maintains the catalog itself.
	Identity *common.Identity
	// Queue is nil for a service without a queue.
	Queue *common.Queue
	// MemoryField is the field that limits the memory of the API's pods. Empty: resources.limits.memory.
	MemoryField string
	// Groups are option groups whose names the tenant chooses, such as stores.
	Groups []registry.Group

	// api is the process in the field api that Workload is derived from. Nil: the spec has a workload.
	api *common.Process
}

// QueuedSpec returns the Spec of a service that has a queue and several processes on the same nodes. One of the processes is the API.
func QueuedSpec(
	s *common.ServiceSpec, identity *common.Identity, queue *common.Queue, uwsgi *common.UWSGI, api common.Process, on common.Placement,
) Spec {
	return Spec{ServiceSpec: s, Identity: identity, Queue: queue, UWSGI: uwsgi}.WithAPI(api, on)
}

// WithAPI returns the spec of a service whose API is the process in the field api.
func (s Spec) WithAPI(api common.Process, on common.Placement) Spec {
	s.api, s.Workload, s.MemoryField = &api, PlacedWorkload(api, on), "api.memory"
	return s
}

// Complete sets the number of uWSGI processes, which depends on the memory, if the spec has none.
func (s Spec) Complete() {
	s.UWSGI.Processes = cmp.Or(s.UWSGI.Processes, Processes(s.Workload.Resources))
}

// Check returns all errors in a spec for a release, as joined invalid.Spec errors. The defaults of the spec must be set.
// base is the path of the spec, app the service.
func (s Spec) Check(base, app string, r release.Release) error {
	_, options := override.Options(app, string(r), s.Overrides, base, s.Groups...)
	_, rules := override.Rules(app, string(r), s.Overrides, base)
	return errors.Join(s.checkImage(base, app, r), options, rules, s.checkMemory(base), s.checkInternalURL(base), s.CheckAPI(base))
}

// CheckAPI returns an error for invalid quantities of the process of the API; base is the path of the spec. Check includes it.
func (s Spec) CheckAPI(base string) error {
	if s.api == nil {
		return nil
	}
	return CheckAmounts(base+".api", *s.api)
}

// checkInternalURL returns an error for a URL of the schema's form that cannot be parsed, such as http://[.
func (s Spec) checkInternalURL(base string) error {
	if _, err := url.Parse(string(s.Endpoints.Internal)); err != nil {
		return invalid.Field(base+".endpoints.internal", "%s is not a valid URL; set the address at which pods reach the service",
			s.Endpoints.Internal)
	}
	return nil
}

// checkImage returns an error if the image tag belongs to another release, because schema steps and program would not
// match.
func (s Spec) checkImage(base, app string, r release.Release) error {
	if s.Image == nil {
		return nil
	}
	if err := release.CheckTag(app, r, s.Image.Tag); err != nil {
		return invalid.Field(base+".image.tag", "%s", err)
	}
	return nil
}

// checkMemory returns an error for a memory limit that is too low for the workers to start.
func (s Spec) checkMemory(base string) error {
	limit := amount(s.Workload.Resources, func(r *common.Resources) *common.ResourceAmounts { return r.Limits })
	need := int64(s.UWSGI.Processes) * least
	if limit == nil || limit.Value() >= need {
		return nil
	}
	return invalid.Field(base+"."+cmp.Or(s.MemoryField, "resources.limits.memory"),
		"%s cannot hold %d uWSGI processes, each of which needs %s; give %s or more, or lower uwsgi.processes",
		limit, s.UWSGI.Processes, bytes(least), bytes(need))
}

// Processes returns the default number of workers of a pod: as many as fit comfortably into its guaranteed memory. Two
// workers can wait for the database alternately; instead of more than eight workers, more pods are better.
func Processes(r *common.Resources) int32 {
	const fewest, most = 1, 8
	memory := amount(r, func(r *common.Resources) *common.ResourceAmounts { return r.Requests })
	if memory == nil {
		memory = amount(r, func(r *common.Resources) *common.ResourceAmounts { return r.Limits })
	}
	if memory == nil {
		return defaultProcesses
	}
	return int32(min(max(memory.Value()/comfortable, fewest), most)) //nolint:gosec // bounded in the line itself
}

func amount(r *common.Resources, of func(*common.Resources) *common.ResourceAmounts) *resource.Quantity {
	if r == nil || of(r) == nil {
		return nil
	}
	return of(r).Memory
}

func bytes(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
