// Package preview shows all objects that are composed from a claim, without a cluster: it validates the claim like the API server, converts
// it to a composite resource like Crossplane, and runs the functions until no more objects are added.
package preview

import (
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// Object is a composed object.
type Object struct {
	// Stage in which it is added, counted over all composite resources, and its component.
	Stage     int
	Component string
	// Resource is its name among the composed resources of Owner.
	Owner, Resource string
	// Kind, Name and Namespace of the object itself, even if it is wrapped.
	APIVersion, Kind, Name, Namespace string
	// Cluster is the provider config of its cluster, if it is wrapped; empty: the management cluster.
	Cluster string
	// Wrapped: it is composed as an Object of provider-kubernetes. Retained: it is kept when the claim is deleted.
	Wrapped, Retained bool
	// Manifest is the final manifest when everything is ready: later stages may change objects of earlier ones.
	Manifest *structpb.Struct
}

// Component is a component of one composite resource.
type Component struct {
	// Owner is the name of the composite resource.
	Owner, Name string
	// After lists its enabled predecessors.
	After []string
}

// Result is the preview of a claim.
type Result struct {
	// Claim, Kind and Instance of the cloud.
	Kind, Namespace, Name, Instance string
	// Objects in the order in which they are added.
	Objects []Object
	// Components in the order in which they are declared.
	Components []Component
	// Secrets lists required Secrets that no composed object creates.
	Secrets []Secret
	// Stages is the number of stages.
	Stages int
	// Status of the composite resource when everything is ready.
	Status map[string]any
	// Existing contains the claim and its composite resource when everything is ready, for claims that refer to it.
	Existing []*structpb.Struct
}

// Run previews a claim (YAML or JSON) on a platform (a PlatformConfig), with the functions of composite resources by "<Kind>.<group>".
// It returns ValidationErrors if the claim or the platform is invalid; any other error is a bug.
func Run(claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	return RunEdit(nil, claim, platform, kinds)
}

// RunEdit previews a change of an existing, ready claim, old: it also rejects changes of immutable fields. A nil old means a new claim.
func RunEdit(old, claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	return run(nil, old, claim, platform, kinds)
}

// RunWithClaims previews a claim together with existing claims, to which it may refer.
func RunWithClaims(existing []*structpb.Struct, claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	return run(existing, nil, claim, platform, kinds)
}

func run(existing []*structpb.Struct, old, claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	w, c, err := clusterFor(claim, platform, kinds)
	if err != nil {
		return nil, err
	}
	w.RequiredResources = existing
	meta, _ := c["metadata"].(map[string]any)
	r := &Result{Kind: str(c["kind"]), Name: str(meta["name"]), Namespace: str(meta["namespace"])}
	if old != nil {
		if w, err = r.edit(old, claim, c, platform, kinds); err != nil {
			return nil, err
		}
	}
	switch err := w.Run(r.add); {
	case invalid.Is(err):
		return nil, newFieldErrors(claim, input(c), sentences(err)...)
	case err != nil:
		return nil, fmt.Errorf("cannot preview %s: %w", input(c), err)
	}
	for i, o := range r.Objects {
		if last, ok := w.Desired(o.Owner, o.Resource); ok {
			r.Objects[i].Manifest, r.Objects[i].Retained = last.Tree(), wrapper.OrphansOnDelete(last)
		}
	}
	r.Status = w.XR.GetFields()["status"].GetStructValue().AsMap()
	delete(r.Status, "lastValidSpec") // the claim itself
	r.Instance = str(r.Status["instance"])
	r.Secrets = r.secrets()
	r.Existing, err = bound(c, w.XR)
	return r, err
}

// Bound returns a claim, which NewCluster has accepted, and its composite resource, bound as by Crossplane, for the cluster of another
// claim.
func Bound(claim []byte, xr *structpb.Struct) ([]*structpb.Struct, error) {
	c := map[string]any{}
	if err := yaml.Unmarshal(claim, &c); err != nil {
		return nil, fmt.Errorf("cannot read the claim: %w", err)
	}
	return bound(c, xr)
}

// bound returns a claim and its composite resource, bound as by Crossplane.
func bound(claim map[string]any, xr *structpb.Struct) ([]*structpb.Struct, error) {
	c, err := structpb.NewStruct(claim)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", input(claim), err)
	}
	spec := c.GetFields()["spec"].GetStructValue()
	if spec == nil {
		spec = &structpb.Struct{}
	}
	spec = &structpb.Struct{Fields: maps.Clone(spec.GetFields())}
	if spec.Fields == nil {
		spec.Fields = map[string]*structpb.Value{}
	}
	fields := xr.GetFields()
	spec.Fields["resourceRef"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"apiVersion": fields["apiVersion"], "kind": fields["kind"], "name": fields["metadata"].GetStructValue().GetFields()["name"],
	}})
	c.Fields["spec"] = structpb.NewStructValue(spec)
	return []*structpb.Struct{c, xr}, nil
}

// edit returns a cluster in which the old claim is ready and the composite resource has the spec of the new one.
func (r *Result) edit(
	old, doc []byte, claim map[string]any, platform []byte, kinds map[string]function.Runner,
) (*simulate.Cluster, error) {
	w, previous, err := clusterFor(old, platform, kinds)
	if err != nil {
		return nil, from(SourceOldClaim, err)
	}
	if a, b := input(previous), input(claim); a != b || str(metadata(previous)["namespace"]) != r.Namespace {
		return nil, from(SourceOldClaim, newError("the old claim",
			"metadata: is %s in namespace %s, but the new claim is %s in %s; pass two versions of one claim",
			a, str(metadata(previous)["namespace"]), b, r.Namespace))
	}
	v, err := definition.Validator(str(claim["apiVersion"]), str(claim["kind"]))
	if err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", input(claim), err)
	}
	if errs := v.ValidateUpdate(claim, previous); len(errs) > 0 {
		return nil, newSchemaErrors(v, doc, input(claim), errs)
	}
	switch err := w.Run(func(simulate.Step) {}); {
	case invalid.Is(err):
		return nil, from(SourceOldClaim, newFieldErrors(old, input(previous), sentences(err)...))
	case err != nil:
		return nil, fmt.Errorf("cannot preview the old %s: %w", input(previous), err)
	}
	xr, err := composite(claim)
	if err != nil {
		return nil, err
	}
	w.XR.Fields["spec"] = xr.GetFields()["spec"]
	return w, nil
}

// NewCluster returns a simulated cluster with the composite resource of a claim on a platform, before anything is composed. It returns the
// errors of Run.
func NewCluster(claim, platform []byte, kinds map[string]function.Runner) (*simulate.Cluster, error) {
	w, _, err := clusterFor(claim, platform, kinds)
	return w, err
}

// clusterFor returns a simulated cluster for a claim on a platform, and the claim with its defaults.
func clusterFor(claim, platform []byte, kinds map[string]function.Runner) (*simulate.Cluster, map[string]any, error) {
	p, err := readPlatform(platform)
	if err != nil {
		return nil, nil, from(SourcePlatform, err)
	}
	c, err := readClaim(claim, kinds)
	if err != nil {
		return nil, nil, err
	}
	xr, err := composite(c)
	if err != nil {
		return nil, nil, err
	}
	required, err := structpb.NewStruct(p)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	// A preview does not check whether the chart is installed.
	w := &simulate.Cluster{XR: xr, Kinds: kinds, Required: admission.Requirements()}
	w.Required["platform"] = []*structpb.Struct{required}
	return w, c, nil
}

// composite returns the composite resource that Crossplane creates for a claim.
func composite(claim map[string]any) (*structpb.Struct, error) {
	meta, _ := claim["metadata"].(map[string]any)
	spec, _ := claim["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
	}
	spec = maps.Clone(spec)
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
		"kind":       "X" + str(claim["kind"]),
		"metadata":   map[string]any{"name": meta["name"]},
		"spec":       spec,
	})
}

// add adds the result of one call of a function: its new objects are one stage.
func (r *Result) add(s simulate.Step) {
	r.Stages++
	for _, part := range s.Plan.Parts {
		c := Component{Owner: s.Owner, Name: part.Name, After: slices.DeleteFunc(slices.Clone(part.After), func(name string) bool {
			_, on := s.Plan.ComponentStatus(name)
			return !on
		})}
		if !slices.ContainsFunc(r.Components, func(o Component) bool { return o.Owner == c.Owner && o.Name == c.Name }) {
			r.Components = append(r.Components, c)
		}
		for _, i := range part.Items {
			if !slices.Contains(s.New, i.Name) {
				continue
			}
			manifest := s.Response.Composed[i.Name].Object
			r.Objects = append(r.Objects, Object{
				Stage: r.Stages, Component: componentName(s, part), Owner: s.Owner, Resource: i.Name,
				APIVersion: i.Kind.GroupVersion().String(), Kind: i.Kind.Kind,
				Name: i.Body.At("metadata", "name").Text(), Namespace: i.Body.At("metadata", "namespace").Text(),
				Cluster: wrapper.ProviderConfig(manifest),
				Wrapped: wrapper.IsObject(manifest), Retained: wrapper.OrphansOnDelete(manifest), Manifest: manifest.Tree(),
			})
		}
	}
}

// componentName distinguishes the components of nested composite resources.
func componentName(s simulate.Step, p compose.ComponentStatus) string {
	if s.Depth == 0 {
		return p.Name
	}
	return s.Owner + "-" + p.Name
}

func str(v any) string {
	s, _ := v.(string)
	return s
}
