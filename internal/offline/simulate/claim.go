package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// composedClaims are the kinds of claims that are composed in turn if a function composes them, each before the kinds that refer to it. A
// KeystoneService is not composed: package fake has its status, because its control plane may be unknown.
var composedClaims = []string{
	storagev1.GroupVersionKind.Kind, controlplanev1.GroupVersionKind.Kind, hypervisorv1.GroupVersionKind.Kind,
}

// ClaimError is the error of a composed claim.
type ClaimError struct {
	// Resource is the name of the claim among the composed resources.
	Resource string
	Err      error
}

// Error returns the message of the claim.
func (e *ClaimError) Error() string { return fmt.Sprintf("cannot compose %s: %v", e.Resource, e.Err) }

// Unwrap returns the error of the claim alone.
func (e *ClaimError) Unwrap() error { return e.Err }

// Composite returns the composite resource that Crossplane creates for a claim, with a name.
func Composite(claim map[string]any, name string) (*structpb.Struct, error) {
	meta, _ := claim["metadata"].(map[string]any)
	spec, _ := claim["spec"].(map[string]any)
	spec = maps.Clone(spec)
	if spec == nil {
		spec = map[string]any{}
	}
	// Of the claim's fields for Crossplane, only these are copied to the composite resource.
	for field := range xcrd.CompositeResourceClaimSpecProps(nil) {
		if !slices.Contains(xcrd.PropagateSpecProps, field) {
			delete(spec, field)
		}
	}
	spec["claimRef"] = map[string]any{
		"apiVersion": claim["apiVersion"], "kind": claim["kind"], "name": meta["name"], "namespace": meta["namespace"],
	}
	return structpb.NewStruct(map[string]any{
		"apiVersion": claim["apiVersion"],
		"kind":       fmt.Sprintf("X%v", claim["kind"]),
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	})
}

// isClaim reports whether an object is a claim that is composed in turn.
func (w *Cluster) isClaim(o encoded.Struct) bool {
	kind := kindOf(o)
	if kind.Group != common.GroupVersion.Group || !slices.Contains(composedClaims, kind.Kind) {
		return false
	}
	kind.Kind = "X" + kind.Kind
	_, ok := w.Kinds[kind.String()]
	return ok
}

// composeClaims runs the clusters of claims that are not up to date, one after the other, because they refer to each other. A claim that
// was composed is composed again after a claim to which it may refer. It returns the claims with the status of their composite resources.
func (w *Cluster) composeClaims(desired map[string]wire.Resource, visit func(Step), depth int) (map[string]*structpb.Struct, error) {
	claims := map[string]encoded.Struct{}
	for name, r := range desired {
		if w.isClaim(r.Object) {
			claims[name] = r.Object
		}
	}
	out := map[string]*structpb.Struct{}
	for _, name := range inOrder(claims) {
		body := claims[name]
		if w.isApplied(name, body) && len(out) == 0 {
			continue
		}
		claim := Exist(body)
		if w.Admit != nil {
			admitted, err := w.Admit(claim.Map())
			if err != nil {
				return nil, &ClaimError{name, err}
			}
			tree, err := structpb.NewStruct(admitted)
			if err != nil {
				return nil, fmt.Errorf("cannot encode %s: %w", name, err)
			}
			claim = encoded.Of(tree)
		}
		xr, err := Composite(claim.Map(), nameOf(w.XR)+"-"+name)
		if err != nil {
			return nil, fmt.Errorf("cannot encode %s: %w", name, err)
		}
		child := w.child(name, xr)
		child.Replace(w.RequiredResources)
		if err := child.run(visit, depth+1); err != nil {
			return nil, &ClaimError{name, err}
		}
		out[name] = w.bind(claim, child.XR).Tree()
	}
	return out, nil
}

// bind returns a claim with the status of its composite resource, and adds both to the resources that functions can require.
func (w *Cluster) bind(claim encoded.Struct, xr *structpb.Struct) encoded.Struct {
	claim = claim.With(encoded.Of(xr).At("status"), "status")
	bound := Bound(claim.Tree(), xr)
	for _, o := range []*structpb.Struct{bound, xr} {
		same := func(other *structpb.Struct) bool {
			return selectorOf(encoded.Of(other)) == selectorOf(encoded.Of(o))
		}
		w.RequiredResources = append(slices.DeleteFunc(slices.Clone(w.RequiredResources), same), o)
		w.owned = append(slices.DeleteFunc(slices.Clone(w.owned), same), o)
	}
	return claim
}

// Part is a composed claim: the claim, its composite resource with the status, and the objects of that.
type Part struct {
	// Resource is the name of the claim among the composed resources.
	Resource string
	Claim    *structpb.Struct
	*Cluster
}

// Parts returns the composed claims in the order of their references.
func (w *Cluster) Parts() []Part {
	claims := map[string]encoded.Struct{}
	for name := range w.children {
		if o := w.applied[name].observed; w.isClaim(o) {
			claims[name] = o
		}
	}
	var out []Part
	for _, name := range inOrder(claims) {
		out = append(out, Part{name, claims[name].Tree(), w.children[name]})
	}
	return out
}

// Owners returns the names of the composite resource and of all nested ones.
func (w *Cluster) Owners() map[string]bool {
	out := map[string]bool{nameOf(w.XR): true}
	for _, child := range w.children {
		maps.Copy(out, child.Owners())
	}
	return out
}

// Bound returns a claim that refers to its composite resource, as Crossplane binds them.
func Bound(claim, xr *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: maps.Clone(claim.GetFields())}
	spec := &structpb.Struct{Fields: maps.Clone(claim.GetFields()["spec"].GetStructValue().GetFields())}
	if spec.Fields == nil {
		spec.Fields = map[string]*structpb.Value{}
	}
	fields := xr.GetFields()
	spec.Fields["resourceRef"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"apiVersion": fields["apiVersion"], "kind": fields["kind"], "name": fields["metadata"].GetStructValue().GetFields()["name"],
	}})
	out.Fields["spec"] = structpb.NewStructValue(spec)
	return out
}

// nestedError returns the error of a nested composite resource, which names its claim if it has one.
func (w *Cluster) nestedError(name string, err error) error {
	if w.isClaim(w.applied[name].desired) {
		return &ClaimError{name, err}
	}
	return err
}

// inOrder returns the names of resources with claims after the claims to which they refer, and then all others.
func inOrder(resources map[string]encoded.Struct) []string {
	rank := func(name string) int {
		i := slices.Index(composedClaims, resources[name].At("kind").Text())
		if i < 0 {
			return len(composedClaims)
		}
		return i
	}
	return slices.SortedFunc(maps.Keys(resources), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
}
