package service

import (
	"cmp"
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Two workers that have loaded a service have about 200 MiB on a real node (docs/performance.md): with less than least for each, the
// kernel ends one before it has answered. With comfortable, there is room for what requests need.
const (
	least       = 128 << 20
	comfortable = 256 << 20
)

// Defaults of a spec apply to a service that is made by hand; a control plane names them all.
const (
	defaultReplicas  = 1
	defaultProcesses = 2
	defaultThreads   = 1
	databasePort     = 3306
	// defaultInterval and the others, in days, are those of a CredentialRotation.
	defaultInterval    = 90
	defaultPreRotation = 7
	defaultGrace       = 1
)

// Spec are the parts of a composite resource's spec that are every service's.
type Spec struct {
	*common.ServiceSpec
	Workload *common.Workload
	UWSGI    *common.UWSGI
	// Identity is nil for a service that keeps the catalog itself.
	Identity *common.Identity
	// Queue is nil for a service that has none.
	Queue *common.Queue
	// MemoryField is the field that limits the memory of the API's pods. Empty: resources.limits.memory.
	MemoryField string
	// Groups of options whose names are the tenant's, such as those of stores.
	Groups []registry.Group
}

// SetDefaults repeats the defaults of the schema, for callers that do not go through an API server, and adds those that no schema has.
func (s Spec) SetDefaults() {
	s.Database.Port = cmp.Or(s.Database.Port, databasePort)
	s.UWSGI.Processes = cmp.Or(s.UWSGI.Processes, Processes(s.Workload.Resources))
	s.UWSGI.Threads = cmp.Or(s.UWSGI.Threads, defaultThreads)
	if s.Queue != nil {
		s.Queue.Port = cmp.Or(s.Queue.Port, common.QueuePort)
	}
	if s.Identity != nil {
		SetRotation(&s.Identity.CredentialRotation)
	}
}

// SetRotation sets the defaults of a rotation.
func SetRotation(r *common.Rotation) {
	r.IntervalDays = cmp.Or(r.IntervalDays, defaultInterval)
	r.PreRotationDays = new(ptr.Deref(r.PreRotationDays, defaultPreRotation))
	r.GracePeriodDays = new(ptr.Deref(r.GracePeriodDays, defaultGrace))
}

// Check returns everything that is wrong with a spec in a release, as invalid.Spec errors, all of them joined. The spec has its defaults;
// base is its path, and app the service.
func (s Spec) Check(base, app string, r release.Release) error {
	_, options := override.Options(app, string(r), s.Overrides, base, s.Groups...)
	_, rules := override.Rules(app, string(r), s.Overrides, base)
	return errors.Join(s.checkImage(base, app, r), options, rules, s.checkMemory(base))
}

// checkImage refuses the image of another release: its schema's steps would be those of the one, and its program the other's.
func (s Spec) checkImage(base, app string, r release.Release) error {
	if s.Image == nil {
		return nil
	}
	if err := release.CheckTag(app, r, s.Image.Tag); err != nil {
		return invalid.Field(base+".image.tag", "%s", err)
	}
	return nil
}

// checkMemory refuses a limit that ends the workers as they start.
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

// Processes is how many workers a pod gets by default: as many as its memory holds comfortably, as far as it is guaranteed. Two of them
// wait for the database in turns; beyond eight, further pods are worth more.
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
