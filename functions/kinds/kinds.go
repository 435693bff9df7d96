// Package kinds lists the functions of all kinds: the one place where a new kind is entered.
package kinds

import (
	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/barbican"
	"github.com/c5c3/crossplane-cobaltcore/functions/catalog"
	"github.com/c5c3/crossplane-cobaltcore/functions/cinder"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane"
	"github.com/c5c3/crossplane-cobaltcore/functions/glance"
	"github.com/c5c3/crossplane-cobaltcore/functions/heat"
	"github.com/c5c3/crossplane-cobaltcore/functions/horizon"
	"github.com/c5c3/crossplane-cobaltcore/functions/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/functions/keystone"
	"github.com/c5c3/crossplane-cobaltcore/functions/keystoneservice"
	"github.com/c5c3/crossplane-cobaltcore/functions/neutron"
	"github.com/c5c3/crossplane-cobaltcore/functions/nova"
	"github.com/c5c3/crossplane-cobaltcore/functions/novacell"
	"github.com/c5c3/crossplane-cobaltcore/functions/ovn"
	"github.com/c5c3/crossplane-cobaltcore/functions/placement"
	"github.com/c5c3/crossplane-cobaltcore/functions/storage"
	"github.com/c5c3/crossplane-cobaltcore/functions/tempest"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// Runners returns the function of each kind of composite resource, by "<Kind>.<group>".
func Runners() map[string]function.Runner {
	return map[string]function.Runner{
		"XControlPlaneCluster.crossplane.c5c3.io":         controlplane.New(),
		"XHypervisorCluster.crossplane.c5c3.io":           hypervisor.New(),
		"XStorageCluster.crossplane.c5c3.io":              storage.New(),
		"XKeystoneService.crossplane.c5c3.io":             keystoneservice.New(),
		keystonev1.GroupVersionKind.GroupKind().String():  keystone.New(),
		catalogv1.GroupVersionKind.GroupKind().String():   catalog.New(),
		placementv1.GroupVersionKind.GroupKind().String(): placement.New(),
		barbicanv1.GroupVersionKind.GroupKind().String():  barbican.New(),
		glancev1.GroupVersionKind.GroupKind().String():    glance.New(),
		novav1.GroupVersionKind.GroupKind().String():      nova.New(),
		novacellv1.GroupVersionKind.GroupKind().String():  novacell.New(),
		neutronv1.GroupVersionKind.GroupKind().String():   neutron.New(),
		horizonv1.GroupVersionKind.GroupKind().String():   horizon.New(),
		heatv1.GroupVersionKind.GroupKind().String():      heat.New(),
		cinderv1.GroupVersionKind.GroupKind().String():    cinder.New(),
		ovnv1.GroupVersionKind.GroupKind().String():       ovn.New(),
		tempestv1.GroupVersionKind.GroupKind().String():   tempest.New(),
	}
}
