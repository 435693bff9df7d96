// Package namespaced composes the namespaced form of a claim: it creates the claim of the same name, and repeats its status. Namespaced
// composite resources cannot compose objects of other namespaces, and claims can.
package namespaced

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// New returns the function of the namespaced form of a claim.
func New(claim schema.GroupVersionKind) function.Runner { return runner{claim: claim} }

type runner struct{ claim schema.GroupVersionKind }

// resource is the name of the claim among the composed resources.
const resource = "claim"

// Run handles one request.
func (r runner) Run(req *wire.Request) *wire.Response {
	rsp, _, err := r.Explain(req)
	if err != nil {
		return respond.Fatal(req, err)
	}
	return rsp
}

// Explain handles one request. The plan is empty: the claim's own composite resource has one.
func (r runner) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	composite := req.Composite.GetFields()
	name := composite["metadata"].GetStructValue().GetFields()["name"].GetStringValue()
	if name == "" {
		return nil, compose.Plan{}, invalid.Field("metadata.name", "is empty; set the name of the claim")
	}
	desired := r.desired(composite)
	m := respond.Mirror{Resource: resource, Desired: encoded.Of(desired)}
	subject := fmt.Sprintf("%s %s", r.claim.GroupKind(), name)
	observed, ok := req.Observed[resource]
	if !ok {
		m.Wait("ClaimMissing", subject+" does not exist yet, or another object controls it; see the Events of this resource")
		return respond.Mirrored(req, m), compose.Plan{}, nil
	}
	m.Observed = observed.Tree()
	m.Outdated = outdated(desired, m.Observed)
	switch differences := differences(desired, m.Observed); {
	case deleted(m.Observed):
		m.Wait("ClaimDeleted", subject+" is being deleted; it is created again afterwards, because this resource still exists")
	case len(differences) > 0:
		m.Wait("ClaimDiffers", fmt.Sprintf("%s does not have the values of this resource yet: %s; if this does not change, another client "+
			"sets them: remove them from the claim", subject, strings.Join(differences, ", ")))
	}
	return respond.Mirrored(req, m), compose.Plan{}, nil
}

// desired returns the claim. Labels and annotations of Kubernetes and Crossplane belong to one object, and are not repeated.
func (r runner) desired(composite map[string]*structpb.Value) *structpb.Struct {
	from := composite["metadata"].GetStructValue().GetFields()
	metadata := map[string]*structpb.Value{"name": from["name"], "namespace": from["namespace"]}
	for _, field := range []string{"labels", "annotations"} {
		if own := ownKeys(from[field].GetStructValue()); len(own) > 0 {
			metadata[field] = structOf(own)
		}
	}
	// Crossplane creates the claim, and the admission policies trust it: fields of Crossplane are never taken over, except the channel below.
	spec := ownSpec(composite["spec"]).GetFields()
	delete(spec, crossplaneField)
	// The platform team selects a channel of Compositions, which is meant for the claim.
	crossplane := composite["spec"].GetStructValue().GetFields()[crossplaneField].GetStructValue().GetFields()
	if selector, ok := crossplane[channelField]; ok {
		spec[channelField] = selector
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		"apiVersion": structpb.NewStringValue(r.claim.GroupVersion().String()),
		"kind":       structpb.NewStringValue(r.claim.Kind),
		"metadata":   structOf(metadata),
		"spec":       structOf(spec),
	}}
}

// Fields of Crossplane in a namespaced composite resource.
const (
	crossplaneField = "crossplane"
	channelField    = "compositionRevisionSelector"
)

// ownKeys returns the labels or annotations that belong neither to Kubernetes nor to Crossplane.
func ownKeys(all *structpb.Struct) map[string]*structpb.Value {
	out := map[string]*structpb.Value{}
	for key, value := range all.GetFields() {
		domain, _, qualified := strings.Cut(key, "/")
		reserved := slices.ContainsFunc([]string{"kubernetes.io", "k8s.io", "crossplane.io"}, func(owner string) bool {
			return domain == owner || strings.HasSuffix(domain, "."+owner)
		})
		if !qualified || !reserved {
			out[key] = value
		}
	}
	return out
}

// maxDifferences is the number of fields that a message names.
const maxDifferences = 5

// differences returns the paths of fields in which the spec of the claim differs, without the fields that Crossplane sets in a claim.
func differences(desired, observed *structpb.Struct) []string {
	out := differ("spec", ownSpec(desired.GetFields()["spec"]), ownSpec(observed.GetFields()["spec"]))
	slices.Sort(out)
	if more := len(out) - maxDifferences; more > 0 {
		out = append(out[:maxDifferences], fmt.Sprintf("%d more", more))
	}
	return out
}

// outdated reports whether the status of the claim describes another spec. Crossplane copies the condition Ready of the claim's composite
// resource before this one has read an edit, so that condition is not sufficient.
func outdated(desired, observed *structpb.Struct) bool {
	composed := observed.GetFields()["status"].GetStructValue().GetFields()["lastValidSpec"]
	return composed != nil && len(differ("spec", ownSpec(desired.GetFields()["spec"]), ownSpec(composed))) > 0
}

// ownSpec returns a claim's spec without the fields that Crossplane sets.
func ownSpec(spec *structpb.Value) *structpb.Struct {
	crossplane := xcrd.CompositeResourceClaimSpecProps(nil)
	fields := union(spec.GetStructValue().GetFields(), nil)
	maps.DeleteFunc(fields, func(name string, _ *structpb.Value) bool { _, ok := crossplane[name]; return ok })
	return &structpb.Struct{Fields: fields}
}

// differ returns the paths below a path in which two objects differ. Lists are compared as a whole.
func differ(path string, a, b *structpb.Struct) []string {
	var out []string
	for name := range union(a.GetFields(), b.GetFields()) {
		field := path + "." + name
		x, y := a.GetFields()[name], b.GetFields()[name]
		switch {
		case proto.Equal(x, y):
		case x.GetStructValue() != nil && y.GetStructValue() != nil:
			out = append(out, differ(field, x.GetStructValue(), y.GetStructValue())...)
		default:
			out = append(out, field)
		}
	}
	return out
}

func union(a, b map[string]*structpb.Value) map[string]*structpb.Value {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]*structpb.Value{}
	}
	maps.Copy(out, b)
	return out
}

func deleted(observed *structpb.Struct) bool {
	_, ok := observed.GetFields()["metadata"].GetStructValue().GetFields()["deletionTimestamp"]
	return ok
}

func structOf(fields map[string]*structpb.Value) *structpb.Value {
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}
