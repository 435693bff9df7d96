// Package claimed reads the inputs that functions of claimed kinds share: the claim, the platform and the admission policies.
package claimed

import (
	"cmp"

	"google.golang.org/protobuf/types/known/structpb"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// Base is the part of a model that all claimed kinds share.
type Base struct {
	// Claim of the composite resource, as Of returns it.
	Claim function.Claim
	// Instance is the unique prefix of the names of composed objects.
	Instance string
	// Platform is the spec of the PlatformConfig.
	Platform *platformv1.PlatformConfigSpec
}

// Read returns the shared part of a model for a composite resource with the given name. It returns an error without a PlatformConfig, and
// unless the admission policies are in force.
func Read(required map[string][]*structpb.Struct, claim function.Claim, composite string) (Base, error) {
	p, err := platform.Read(required)
	if err != nil {
		return Base{}, err
	}
	if err := admission.Check(required); err != nil {
		return Base{}, err
	}
	claim = Of(claim, composite)
	return Base{Claim: claim, Instance: names.Instance(claim.Namespace, claim.Name), Platform: p}, nil
}

// Of returns the claim of a composite resource with the given name. A composite resource without a claim belongs to the platform team: its
// own name stands for the name of the claim, and there is no namespace.
func Of(claim function.Claim, composite string) function.Claim {
	claim.Name = cmp.Or(claim.Name, composite)
	return claim
}
