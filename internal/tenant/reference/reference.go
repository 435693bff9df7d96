// Package reference follows a reference from one claim to another. The other claim consents by spec.allowedNamespaces, and its own
// namespace always may. What does not exist and what does not consent look the same: what others have is nobody's business.
//
// The claim is asked for by its name, and then the composite resource that it says is its own. A claim's owner could name somebody else's,
// and labels are copied from claims; so the composite resource has to name the claim in its claimRef, which Crossplane alone writes.
package reference

import (
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// APIVersion of claims that are referred to.
const APIVersion = "crossplane.c5c3.io/v1alpha1"

// Required are the resources that a function asked for, by requirement name.
type Required = map[string][]*structpb.Struct

// ClaimReference is a reference of a claim to a claim of another kind.
type ClaimReference struct {
	// Kind of the claim that is referred to, such as ControlPlaneCluster. Its composite resource is of the same with an X before it.
	Kind string
	// Ref names it.
	Ref common.ClaimReference
	// Namespace of the claim that refers.
	Namespace string
	// Claim and Composite are the names under which the two are asked for: each of one reference alone.
	Claim, Composite string
	// Consents says whether the other claim consents, by its spec. Nil: it consents by spec.allowedNamespaces, and to its own namespace.
	Consents func(spec *structpb.Struct) bool
}

// Requires adds what has to be asked for: the claim and, as soon as that is known and consents, the composite resource that it names.
func (t ClaimReference) Requires(required Required, into map[string]wire.Selector) {
	into[t.Claim] = wire.Selector{APIVersion: APIVersion, Kind: t.Kind, Namespace: string(t.Ref.Namespace), Name: string(t.Ref.Name)}
	if name := boundTo(t.allowsNamespace(required)); name != "" {
		into[t.Composite] = wire.Selector{APIVersion: APIVersion, Kind: "X" + t.Kind, Name: name}
	}
}

// Find returns the composite resource, which is nil while nothing is composed of the claim yet. False: there is no such claim, or it does
// not consent.
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

// Exists says that there is such a claim, whether it consents or not. That is nobody's business but of those who had its consent before.
func (t ClaimReference) Exists(required Required) bool {
	found := required[t.Claim]
	return len(found) > 0 && isNamed(found[0], t.Ref)
}

// allowsNamespace is the claim, if it lets claims of the namespace use it. Nil: there is none.
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

// isNamed holds an answer to the question: it is the one that Crossplane asked last, which was about the reference of that time.
func isNamed(claim *structpb.Struct, ref common.ClaimReference) bool {
	meta := claim.GetFields()["metadata"].GetStructValue().GetFields()
	return meta["namespace"].GetStringValue() == string(ref.Namespace) && meta["name"].GetStringValue() == string(ref.Name)
}

// boundTo is the composite resource that a claim says is its own.
func boundTo(claim *structpb.Struct) string {
	return claim.GetFields()["spec"].GetStructValue().GetFields()["resourceRef"].GetStructValue().GetFields()["name"].GetStringValue()
}

func claimRef(xr *structpb.Struct) function.Claim {
	ref := xr.GetFields()["spec"].GetStructValue().GetFields()["claimRef"].GetStructValue().GetFields()
	return function.Claim{Namespace: ref["namespace"].GetStringValue(), Name: ref["name"].GetStringValue()}
}
