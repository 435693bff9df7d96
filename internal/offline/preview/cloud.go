package preview

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// composesClaims reports whether the function of a claim composes claims, which are previewed with it.
func composesClaims(claim map[string]any) bool { return claim["kind"] == cloudv1.GroupVersionKind.Kind }

// admitComposed returns a composed claim with its defaults, or the errors of its schema.
func admitComposed(claim map[string]any) (map[string]any, error) {
	v, err := definition.Validator(str(claim["apiVersion"]), str(claim["kind"]))
	if err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", input(claim), err)
	}
	v.Default(claim)
	if errs := v.Validate(claim); len(errs) > 0 {
		return nil, newSchemaErrors(v, nil, input(claim), errs)
	}
	return claim, nil
}

// inCloud returns errors of the claims of an OpenStackCluster with the fields of the OpenStackCluster. Other errors do not change.
func inCloud(claim map[string]any, err error) error {
	part := (*simulate.ClaimError)(nil)
	if !errors.As(err, &part) {
		return err
	}
	field := partField(claim, part.Resource)
	if rejected := (*ValidationErrors)(nil); errors.As(part.Err, &rejected) {
		out := *rejected
		out.Sentences = nil
		for _, s := range rejected.Sentences {
			out.Sentences = append(out.Sentences, cloudv1.InCloud(field, s))
		}
		return &out
	}
	if !invalid.Is(part.Err) {
		return err
	}
	var errs []error
	for _, s := range sentences(part.Err) {
		path, sentence, _ := strings.Cut(cloudv1.InCloud(field, s), ": ")
		errs = append(errs, invalid.Field(path, "%s", sentence))
	}
	return errors.Join(errs...)
}

// partField returns the field of a composed claim in an OpenStackCluster. Empty: it has no such field.
func partField(claim map[string]any, resource string) string {
	cloud := cloudv1.OpenStackCluster{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(claim, &cloud) != nil {
		return ""
	}
	return cloud.Spec.Field(resource)
}

// at returns the errors with the lines of the fields in the document of another object, which contains the rejected one.
func (e *ValidationErrors) at(doc []byte, input string) *ValidationErrors {
	out := newFieldErrors(doc, input, e.Sentences...)
	out.hints = e.hints
	return out
}

// Parts returns the claims that the function of the claim has composed, each as the result of a preview. Nil: it composes none.
func (r *Result) Parts() []*Result {
	var out []*Result
	for _, part := range r.cluster.Parts() {
		claim := part.Claim.AsMap()
		p := &Result{
			Kind: str(claim["kind"]), Namespace: str(metadata(claim)["namespace"]), Name: str(metadata(claim)["name"]),
			Existing: []*structpb.Struct{simulate.Bound(part.Claim, part.XR), part.XR}, cluster: part.Cluster, claim: claim, kinds: r.kinds,
		}
		p.Status = part.XR.GetFields()["status"].GetStructValue().AsMap()
		p.Instance = str(p.Status["instance"])
		owners := part.Owners()
		p.Objects = slices.DeleteFunc(slices.Clone(r.Objects), func(o Object) bool { return !owners[o.Owner] })
		out = append(out, p)
	}
	return out
}

// Composes reports whether an object belongs to the claim.
func (r *Result) Composes(o Object) bool { return r.cluster.Owners()[o.Owner] }

// Own returns the result without the objects of composed claims.
func (r *Result) Own() *Result {
	out := *r
	for _, part := range r.cluster.Parts() {
		owners := part.Owners()
		out.Objects = slices.DeleteFunc(slices.Clone(out.Objects), func(o Object) bool { return owners[o.Owner] })
	}
	return &out
}
