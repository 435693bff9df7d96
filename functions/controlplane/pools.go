package controlplane

import (
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/storagepool"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// requires selects the claims of the StorageClusters that services reference, and then the composite resources of these claims.
func requires(in function.Input[controlplanev1.ControlPlaneCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	for _, s := range services {
		if s.pools == nil {
			continue
		}
		for _, p := range s.pools(&in.XR.Spec.Services) {
			storagepool.Requires(in.Required, in.Claim.Namespace, p.Pool, out)
		}
	}
	return out
}
