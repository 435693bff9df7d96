// Package kindregistry lists the kinds that this project defines. A new kind is registered here, and its function in functions/kinds; a
// kind of the companion is registered by AddToScheme in its package of apis/. The definitions, readiness rules, permissions, simulation,
// documentation and tests range over this list.
package kindregistry

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	ovnchassisv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
)

// Form is the way in which a kind is defined.
type Form int

const (
	// Claimed is the form of kinds whose claims tenants create. Crossplane creates a cluster-scoped composite resource for each claim.
	Claimed Form = iota + 1
	// Namespaced is the form of kinds that tenants create as namespaced composite resources. Each creates the claim of the same name.
	Namespaced
	// Composed is the form of kinds whose namespaced composite resources functions create.
	Composed
	// Platform is the form of kinds whose cluster-scoped composite resources the platform team creates.
	Platform
	// CustomResource is the form of kinds with a CustomResourceDefinition, which no function composes.
	CustomResource
)

// Kind is a kind that this project defines.
type Kind struct {
	// Folder of the definition below apis/. For a composite resource, it is also the name of its Composition. For all forms but Namespaced,
	// it is the folder of the Go types, of the function and of the examples, too.
	Folder string
	// GroupVersionKind that users and functions create: the claim of a claimed kind.
	schema.GroupVersionKind
	Form

	// Type is the Go type.
	Type reflect.Type
}

// Composite returns the kind of the composite resource.
func (k Kind) Composite() schema.GroupVersionKind {
	if k.Form == Claimed {
		return common.CompositeOf(k.GroupVersionKind)
	}
	return k.GroupVersionKind
}

// all lists the kinds. The documents of a folder's definition are in this order.
var all = slices.Concat(listed,
	customResources("openstack", openstackv1.GroupVersion, openstackv1.AddToScheme),
	customResources("ovnchassis", ovnchassisv1.GroupVersion, ovnchassisv1.AddToScheme),
	customResources("c5c3", c5c3v1.GroupVersion, c5c3v1.AddToScheme))

var listed = []Kind{
	of[controlplanev1.ControlPlaneCluster]("controlplane", controlplanev1.GroupVersionKind, Claimed),
	of[hypervisorv1.HypervisorCluster]("hypervisor", hypervisorv1.GroupVersionKind, Claimed),
	of[storagev1.StorageCluster]("storage", storagev1.GroupVersionKind, Claimed),
	of[keystoneservicev1.KeystoneService]("keystoneservice", keystoneservicev1.GroupVersionKind, Claimed),
	of[cloudv1.OpenStackCluster]("cloud", cloudv1.GroupVersionKind, Claimed),

	namespaced[controlplanev1.ControlPlaneCluster]("controlplane", controlplanev1.GroupVersionKind),
	namespaced[hypervisorv1.HypervisorCluster]("hypervisor", hypervisorv1.GroupVersionKind),
	namespaced[storagev1.StorageCluster]("storage", storagev1.GroupVersionKind),
	namespaced[keystoneservicev1.KeystoneService]("keystoneservice", keystoneservicev1.GroupVersionKind),
	namespaced[cloudv1.OpenStackCluster]("cloud", cloudv1.GroupVersionKind),

	of[keystonev1.Keystone]("keystone", keystonev1.GroupVersionKind, Composed),
	of[catalogv1.IdentityCatalog]("catalog", catalogv1.GroupVersionKind, Composed),
	of[placementv1.Placement]("placement", placementv1.GroupVersionKind, Composed),
	of[glancev1.Glance]("glance", glancev1.GroupVersionKind, Composed),
	of[novav1.Nova]("nova", novav1.GroupVersionKind, Composed),
	of[novacellv1.NovaCell]("novacell", novacellv1.GroupVersionKind, Composed),
	of[neutronv1.Neutron]("neutron", neutronv1.GroupVersionKind, Composed),
	of[horizonv1.Horizon]("horizon", horizonv1.GroupVersionKind, Composed),
	of[barbicanv1.Barbican]("barbican", barbicanv1.GroupVersionKind, Composed),
	of[heatv1.Heat]("heat", heatv1.GroupVersionKind, Composed),
	of[cinderv1.Cinder]("cinder", cinderv1.GroupVersionKind, Composed),
	of[tempestv1.Tempest]("tempest", tempestv1.GroupVersionKind, Composed),
	of[ovnv1.OVNCluster]("ovn", ovnv1.GroupVersionKind, Composed),

	of[workloadclusterv1.WorkloadCluster]("workloadcluster", workloadclusterv1.GroupVersionKind, Platform),

	of[platformv1.PlatformConfig]("platform", platformv1.GroupVersionKind, CustomResource),
}

// namespacedSuffix follows the claim's folder in the folder of its namespaced form.
const namespacedSuffix = "-namespaced"

// Claim returns the kind of the claim that a kind of the form Namespaced creates.
func (k Kind) Claim() Kind {
	i := slices.IndexFunc(all, func(claim Kind) bool { return claim.Form == Claimed && claim.Type == k.Type })
	return all[i]
}

func namespaced[T any](folder string, claim schema.GroupVersionKind) Kind {
	return of[T](folder+namespacedSuffix, common.NamespacedOf(claim), Namespaced)
}

func of[T any](folder string, kind schema.GroupVersionKind, form Form) Kind {
	return Kind{Folder: folder, GroupVersionKind: kind, Form: form, Type: reflect.TypeFor[T]()}
}

// customResources returns the kinds that a package adds to a scheme, in alphabetical order: the types that have a list.
func customResources(folder string, version schema.GroupVersion, add func(*runtime.Scheme) error) []Kind {
	scheme := runtime.NewScheme()
	utilruntime.Must(add(scheme))
	types := scheme.KnownTypes(version)
	var out []Kind
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if types[name+"List"] != nil {
			out = append(out, Kind{Folder: folder, GroupVersionKind: version.WithKind(name), Form: CustomResource, Type: types[name]})
		}
	}
	return out
}

// All returns all kinds. The kinds of a folder have the order of its definition.
func All() []Kind { return slices.Clone(all) }

// WithForm returns the kinds of the given forms.
func WithForm(forms ...Form) []Kind {
	return slices.DeleteFunc(All(), func(k Kind) bool { return !slices.Contains(forms, k.Form) })
}

// OfCompanion returns the kinds that controllers of the companion reconcile: their groups have no other kinds.
func OfCompanion() []Kind {
	return slices.DeleteFunc(All(), func(k Kind) bool {
		return k.GroupVersion() != openstackv1.GroupVersion && k.GroupVersion() != c5c3v1.GroupVersion
	})
}

// Composites returns the kinds with a function of their own. A kind of the form Namespaced has none: it only creates a claim.
func Composites() []Kind { return WithForm(Claimed, Composed, Platform) }
