// Package preview shows the whole cloud that a claim becomes, with no cluster: it checks the claim as the API server would,
// makes it a composite resource as Crossplane would, and plays the functions until nothing more appears.
package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/schema"
	"github.com/c5c3/crossplane-cobaltcore/internal/simulate"
)

// Refused is an input that the API server or the function refuses: one sentence for each mistake.
type Refused struct {
	// Input names what is refused: the kind and name.
	Input string
	// Sentences name the field, what is wrong and what to do.
	Sentences []string
}

// Error is the sentences, one a line.
func (e *Refused) Error() string {
	lines := make([]string, len(e.Sentences))
	for i, s := range e.Sentences {
		lines[i] = e.Input + ": " + s
	}
	return strings.Join(lines, "\n")
}

// Object is one object that is composed.
type Object struct {
	// Stage in which it appears, counted over the whole cloud, and the component it belongs to.
	Stage     int
	Component string
	// Resource is its name among the composed resources of Owner.
	Owner, Resource string
	// Kind, Name and Namespace are those of the object itself, wherever it is wrapped.
	APIVersion, Kind, Name, Namespace string
	// Wrapped: it is composed as an Object of provider-kubernetes. Retained: it outlives the claim.
	Wrapped, Retained bool
	// Manifest is what Crossplane applies.
	Manifest *structpb.Struct
}

// Component is a component of one composite resource.
type Component struct {
	// Owner is the name of the composite resource.
	Owner, Name string
	// After are the components that come first.
	After []string
}

// Result is the whole cloud.
type Result struct {
	// Claim, Kind and Instance of the cloud.
	Kind, Namespace, Name, Instance string
	// Objects in the order in which they appear.
	Objects []Object
	// Components in the order in which they are declared.
	Components []Component
	// Stages is the number of stages.
	Stages int
	// Status of the composite resource when all is ready.
	Status map[string]any
}

// Run plays a claim (YAML or JSON) on a platform (a PlatformConfig). Its errors are Refused where the input is at fault.
func Run(claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	p, err := checked(platform, "PlatformConfig")
	if err != nil {
		return nil, err
	}
	c, err := checked(claim, "")
	if err != nil {
		return nil, err
	}
	xr, err := composite(c)
	if err != nil {
		return nil, err
	}
	required, err := structpb.NewStruct(p)
	if err != nil {
		return nil, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	w := &simulate.World{XR: xr, Kinds: kinds, Required: map[string][]*structpb.Struct{"platform": {required}}}
	meta, _ := c["metadata"].(map[string]any)
	r := &Result{Kind: fmt.Sprint(c["kind"]), Name: str(meta["name"]), Namespace: str(meta["namespace"])}
	if err := w.Run(r.add); err != nil {
		return nil, &Refused{Input: input(c), Sentences: strings.Split(err.Error(), "\n")}
	}
	r.Status = w.XR.Fields["status"].GetStructValue().AsMap()
	r.Instance = str(r.Status["instance"])
	return r, nil
}

// checked reads a document and checks it against the schema that an API server has for it, with defaults filled in.
func checked(doc []byte, kind string) (map[string]any, error) {
	m := map[string]any{}
	if err := yaml.UnmarshalStrict(doc, &m); err != nil {
		return nil, &Refused{Input: "the input", Sentences: []string{"it is not valid YAML: " + oneLine(err.Error())}}
	}
	if kind != "" && m["kind"] != kind {
		return nil, &Refused{Input: input(m), Sentences: []string{fmt.Sprintf("kind: it has to be a %s", kind)}}
	}
	crd, version, err := definition.For(str(m["apiVersion"]), str(m["kind"]))
	if err != nil {
		return nil, &Refused{Input: input(m), Sentences: []string{err.Error()}}
	}
	v, err := schema.New(crd, version)
	if err != nil {
		return nil, fmt.Errorf("cannot check %s: %w", input(m), err)
	}
	if m, err = schema.Normalize(m); err != nil {
		return nil, &Refused{Input: "the input", Sentences: []string{err.Error()}}
	}
	v.Default(m)
	if errs := v.Validate(m); len(errs) > 0 {
		return nil, &Refused{Input: input(m), Sentences: sentences(errs)}
	}
	return m, nil
}

// XR checks a claim and makes the composite resource of it.
func XR(claim []byte) (*structpb.Struct, error) {
	c, err := checked(claim, "")
	if err != nil {
		return nil, err
	}
	return composite(c)
}

// composite makes a composite resource of a claim, as Crossplane does.
func composite(claim map[string]any) (*structpb.Struct, error) {
	meta, _ := claim["metadata"].(map[string]any)
	spec, _ := claim["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
	}
	spec = maps.Clone(spec)
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

// add takes what one call of a function brought: its new objects are one stage.
func (r *Result) add(s simulate.Step) {
	r.Stages++
	desired := s.Response.GetDesired().GetResources()
	for _, part := range s.Plan.Parts {
		c := Component{Owner: s.Owner, Name: part.Name, After: part.After}
		if !slices.ContainsFunc(r.Components, func(o Component) bool { return o.Owner == c.Owner && o.Name == c.Name }) {
			r.Components = append(r.Components, c)
		}
		for _, i := range part.Items {
			if !slices.Contains(s.New, i.Name) {
				continue
			}
			manifest := desired[i.Name].GetResource()
			meta := i.Body.GetFields()["metadata"].GetStructValue().GetFields()
			r.Objects = append(r.Objects, Object{
				Stage: r.Stages, Component: componentName(s, part), Owner: s.Owner, Resource: i.Name,
				APIVersion: i.Kind.GroupVersion().String(), Kind: i.Kind.Kind,
				Name: meta["name"].GetStringValue(), Namespace: meta["namespace"].GetStringValue(),
				Wrapped: simulate.IsObject(manifest), Retained: i.Retain, Manifest: manifest,
			})
		}
	}
}

// componentName tells apart the components of nested composite resources.
func componentName(s simulate.Step, p compose.Part) string {
	if s.Depth == 0 {
		return p.Name
	}
	return s.Owner + "-" + p.Name
}

func sentences(errs field.ErrorList) []string {
	out := make([]string, len(errs))
	for i, e := range errs {
		out[i] = oneLine(e.Error())
	}
	return out
}

func input(m map[string]any) string {
	meta, _ := m["metadata"].(map[string]any)
	return strings.TrimSpace(str(m["kind"]) + " " + str(meta["name"]))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func str(v any) string {
	s, _ := v.(string)
	return s
}
