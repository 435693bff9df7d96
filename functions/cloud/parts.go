package cloud

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// part is a claim of the cloud.
type part struct {
	// name is the name of the part, and of the composed resource.
	name string
	// field is the path of the part in the spec of the cloud.
	field string
	kind  schema.GroupVersionKind
	claim common.ClaimReference
	// spec is the spec of the composed claim. Nil: the claim exists, and the cloud refers to it.
	spec object.Map
	// to is the reference to an existing claim, with its state: its phase, a reason for waiting (empty: it is ready), and the status of a
	// control plane.
	to           reference.ClaimReference
	phase, waits string
	controlPlane controlplanev1.ControlPlaneClusterStatus
}

func isPool(part string) bool { return strings.HasPrefix(part, cloudv1.PoolPrefix) }

func poolName(part string) string { return strings.TrimPrefix(part, cloudv1.PoolPrefix) }

// component returns the name of the component of a composed part.
func (p *part) component() string {
	if isPool(p.name) {
		return poolsComponent
	}
	return p.name
}

// partsOf returns the parts of a cloud in the order of creation. It sets the fields of inline specs that follow from the cloud: the release
// and the size, the control plane of pools, and the storage of pools that name none.
func partsOf(claim function.Claim, spec *cloudv1.OpenStackClusterSpec) ([]part, error) {
	named := func(name string) common.ClaimReference {
		return common.ClaimReference{Namespace: common.NamespaceName(claim.Namespace), Name: common.ObjectName(name)}
	}
	var out []part
	add := func(p part, ref *common.ClaimReference, inline any) error {
		if ref != nil {
			p.claim = *ref
		} else {
			encoded, err := encode.Struct(inline)
			if err != nil {
				return fmt.Errorf("cannot encode %s: %w", p.field, err)
			}
			p.spec = encoded.Map()
		}
		p.to = reference.ClaimReference{
			Kind: p.kind.Kind, Ref: p.claim, Namespace: claim.Namespace, Claim: p.name + "-claim", Composite: p.name,
		}
		out = append(out, p)
		return nil
	}
	var storage, controlPlane common.ClaimReference
	if s := spec.Storage; s != nil {
		p := part{
			name: storageComponent, field: spec.Field(storageComponent), kind: storagev1.GroupVersionKind, claim: named(claim.Name + "-storage"),
		}
		if err := add(p, s.Ref, s.Spec); err != nil {
			return nil, err
		}
		storage = out[0].claim
	}
	c := spec.ControlPlane
	if inline := c.Spec; inline != nil {
		inline.OpenStackRelease, inline.Size = spec.OpenStackRelease, spec.Size
		for _, pool := range controlPlanePools(inline) {
			setStorage(pool, storage)
		}
	}
	p := part{
		name: controlPlaneComponent, field: spec.Field(controlPlaneComponent), kind: controlplanev1.GroupVersionKind, claim: named(claim.Name),
	}
	if err := add(p, c.Ref, c.Spec); err != nil {
		return nil, err
	}
	controlPlane = out[len(out)-1].claim
	for _, h := range spec.HypervisorPools {
		if h.Spec != nil {
			h.Spec.ControlPlaneRef = controlPlane
			setStorage(h.Spec.Storage, storage)
		}
		p := part{
			name: cloudv1.PoolPrefix + h.Name, field: spec.Field(cloudv1.PoolPrefix + h.Name), kind: hypervisorv1.GroupVersionKind,
			claim: named(claim.Name + "-" + h.Name),
		}
		if err := add(p, h.Ref, h.Spec); err != nil {
			return nil, err
		}
		out[len(out)-1].to.Consents = belongsTo(controlPlane)
	}
	return out, nil
}

// controlPlanePools returns the pools of StorageClusters that the services of a control plane use.
func controlPlanePools(spec *controlplanev1.ControlPlaneClusterSpec) []*common.StoragePool {
	var out []*common.StoragePool
	if g := spec.Services.Glance; g != nil {
		for i := range g.Stores {
			out = append(out, g.Stores[i].Ceph)
		}
	}
	if c := spec.Services.Cinder; c != nil {
		for i := range c.Backends {
			out = append(out, c.Backends[i].Ceph)
		}
		if c.Backup != nil {
			out = append(out, c.Backup.Ceph)
		}
	}
	return out
}

// setStorage sets the StorageCluster of a pool that names none.
func setStorage(pool *common.StoragePool, storage common.ClaimReference) {
	if pool != nil && pool.ClusterRef == (common.ClaimReference{}) {
		pool.ClusterRef = storage
	}
}

// claimsOf returns the builder of a component's claims.
func claimsOf(component string) func(*model) ([]compose.Stage, error) {
	return func(m *model) ([]compose.Stage, error) {
		var stage compose.Stage
		for _, p := range m.parts {
			if p.spec == nil || p.component() != component {
				continue
			}
			apiVersion, kind := p.kind.ToAPIVersionAndKind()
			spec := maps.Clone(p.spec)
			if len(m.channel) > 0 { // The platform team selects a channel of Compositions for the whole cloud.
				spec["compositionRevisionSelector"] = object.Map{"matchLabels": object.Strings(m.channel)}
			}
			stage = append(stage, compose.Resource{
				Name: p.name, Object: object.New(apiVersion, kind, m.meta(string(p.claim.Name)), spec), Ready: p.ready(),
			})
		}
		return []compose.Stage{stage}, nil
	}
}

// ready returns the readiness check of a composed claim. Errors name the field of the cloud. Crossplane copies the condition Ready of the
// claim's composite resource before this one has read an edit, so that condition is not sufficient.
func (p *part) ready() ready.Check {
	rule, _ := readiness.Rules.For(p.kind.GroupKind())
	return func(o *observe.Object) ready.Result {
		v := rule.Check(o)
		v.Message = cloudv1.InCloud(p.field, v.Message)
		if v.Ready && outdated(o) {
			return ready.Wait("Outdated", "its last change is not composed yet")
		}
		return v
	}
}

// outdated reports whether the status of a claim describes another spec.
func outdated(o *observe.Object) bool {
	composed := o.Map("status", "lastValidSpec")
	if composed == nil {
		return false
	}
	spec := o.Map("spec")
	for field := range xcrd.CompositeResourceClaimSpecProps(nil) {
		delete(spec, field)
	}
	return !reflect.DeepEqual(spec, composed)
}

// usages returns the Usages that delete composed claims in order: pools, then the control plane, then the storage. The claims protect each
// other, too, but do not repeat a deletion that was rejected.
func (m *model) usages() compose.Stage {
	composed := func(name string) bool {
		p, ok := m.part(name)
		return ok && p.spec != nil
	}
	var out compose.Stage
	for _, p := range m.parts {
		for _, used := range []string{controlPlaneComponent, storageComponent} {
			if p.spec == nil || p.name == used || p.name == storageComponent || !composed(used) {
				continue
			}
			uses := p.name + "-uses-" + used
			r := usage.Of(m.meta(m.claim.Name+"-"+uses), p.name, used, fmt.Sprintf("it is deleted after %s", p.name))
			r.Name = "order-" + uses
			out = append(out, r)
		}
	}
	return out
}

func (m *model) part(name string) (part, bool) {
	for _, p := range m.parts {
		if p.name == name {
			return p, true
		}
	}
	return part{}, false
}

// noVirtualMachines is the condition by which the policy cobaltcore-deletion of the chart rejects a deletion.
const noVirtualMachines = "NoVirtualMachines"

// empty reports whether a deletion of the cloud leaves no virtual machines without management: no pool that is composed has any, or each
// one allows it.
func (m *model) empty() ready.Result {
	for _, p := range m.parts {
		if o, ok := m.observed.Get(p.name); ok && p.spec != nil && isPool(p.name) {
			if v := machines(o); !v.Ready {
				v.Message = fmt.Sprintf("pool %s: %s", poolName(p.name), v.Message)
				return v
			}
		}
	}
	return ready.Result{Ready: true, Reason: "Counted", Message: "no virtual machine is on nodes of the cloud's pools, or the pools allow it"}
}

// machines reports whether the deletion of a pool leaves no virtual machines without management, as the policy cobaltcore-deletion does.
func machines(pool *observe.Object) ready.Result {
	c, ok := pool.Condition(noVirtualMachines)
	if allowed, _ := pool.Bool("spec", "allowDeletionWithVirtualMachines"); allowed || !ok || c.Status == "True" {
		return ready.Yes
	}
	if c.Status == "False" {
		return ready.Wait(c.Reason, "%s", c.Message)
	}
	return ready.Wait("CountUnknown", "it is unknown whether virtual machines are on nodes of the pool, because the pool cannot be composed; "+
		"resolve the cause in the pool's conditions, or first set allowDeletionWithVirtualMachines: true in its spec")
}
