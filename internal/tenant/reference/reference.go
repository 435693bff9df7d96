// Package reference resolves a reference from one claim to another. The other claim allows it with spec.allowedNamespaces;
// references from its own namespace are always allowed. A claim that does not exist and one that does not allow the
// reference look the same, so that tenants cannot discover the claims of others.
//
// First the claim is required by its name, then the composite resource in its resourceRef. The owner of a claim could set
// the resourceRef to the composite resource of another tenant, and labels are copied from claims. Therefore the claimRef of
// the composite resource, which only Crossplane writes, must reference the claim.
package reference

import (
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// APIVersion of the referenced claims.
var APIVersion = common.GroupVersion.String()

// Required contains the resources that a function required, by requirement name.
type Required = map[string][]*structpb.Struct

// ClaimReference is a reference from a claim to a claim of another kind.
type ClaimReference struct {
	// Kind of the referenced claim, such as ControlPlaneCluster. The kind of its composite resource has the prefix X.
	Kind string
	// Ref is the name of the referenced claim.
	Ref common.ClaimReference
	// Namespace of the referring claim.
	Namespace string
	// Claim and Composite are the requirement names of both resources. They must be unique for each reference.
	Claim, Composite string
	// Consents reports whether the other claim allows the reference, based on its spec. Nil: spec.allowedNamespaces and its
	// own namespace.
	Consents func(spec *structpb.Struct) bool
}

// Requires adds the requirements for the claim and, once the claim has been read and allows the reference, for its
// composite resource.
func (t ClaimReference) Requires(required Required, into map[string]wire.Selector) {
	into[t.Claim] = wire.Selector{APIVersion: APIVersion, Kind: t.Kind, Namespace: string(t.Ref.Namespace), Name: string(t.Ref.Name)}
	if name := boundTo(t.allowsNamespace(required)); name != "" {
		into[t.Composite] = wire.Selector{APIVersion: APIVersion, Kind: "X" + t.Kind, Name: name}
	}
}

// Find returns the composite resource, or nil while it does not exist yet. ok is false if the claim does not exist or does
// not allow the reference.
func (t ClaimReference) Find(required Required) (composite *structpb.Struct, ok bool) {
	claim := t.allowsNamespace(required)
	if claim == nil {
		return nil, false
	}
	if boundTo(claim) == "" || len(required[t.Composite]) == 0 {
		return nil, true
	}
	found := required[t.Composite][0]
	if back := claimRef(found); back.Namespace != string(t.Ref.Namespace) || back.Name != string(t.Ref.Name) {
		return nil, false
	}
	return found, true
}

// Exists reports whether the claim exists, even if it does not allow the reference. Only claims that were allowed before
// may use the result.
func (t ClaimReference) Exists(required Required) bool {
	found := required[t.Claim]
	return len(found) > 0 && isNamed(found[0], t.Ref)
}

// allowsNamespace returns the claim if it allows references from the namespace. Otherwise it returns nil.
func (t ClaimReference) allowsNamespace(required Required) *structpb.Struct {
	if !t.Exists(required) {
		return nil
	}
	found := required[t.Claim]
	if t.Consents != nil {
		if !t.Consents(found[0].GetFields()["spec"].GetStructValue()) {
			return nil
		}
		return found[0]
	}
	if string(t.Ref.Namespace) == t.Namespace {
		return found[0]
	}
	for _, v := range found[0].GetFields()["spec"].GetStructValue().GetFields()["allowedNamespaces"].GetListValue().GetValues() {
		if limit.Namespace([]string{v.GetStringValue()}, t.Namespace) {
			return found[0]
		}
	}
	return nil
}

// isNamed compares the resource with the reference: Crossplane returns the result of the previous requirement, which may be
// for another one.
func isNamed(claim *structpb.Struct, ref common.ClaimReference) bool {
	meta := claim.GetFields()["metadata"].GetStructValue().GetFields()
	return meta["namespace"].GetStringValue() == string(ref.Namespace) && meta["name"].GetStringValue() == string(ref.Name)
}

// boundTo returns the name of the composite resource in a claim's resourceRef.
func boundTo(claim *structpb.Struct) string {
	return claim.GetFields()["spec"].GetStructValue().GetFields()["resourceRef"].GetStructValue().GetFields()["name"].GetStringValue()
}

func claimRef(xr *structpb.Struct) function.Claim {
	ref := xr.GetFields()["spec"].GetStructValue().GetFields()["claimRef"].GetStructValue().GetFields()
	return function.Claim{Namespace: ref["namespace"].GetStringValue(), Name: ref["name"].GetStringValue()}
}
