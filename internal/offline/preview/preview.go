// Package preview shows all objects that are composed from a claim, without a cluster: it validates the claim like the API server, converts
// it to a composite resource like Crossplane, and runs the functions until no more objects are added.
package preview

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
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

	desired encoded.Struct // Manifest in its encoded form
}

// Component is a component of one composite resource.
type Component struct {
	// Owner is the name of the composite resource.
	Owner string `json:"owner"`
	Name  string `json:"name"`
	// After lists its enabled predecessors.
	After []string `json:"after,omitempty"`
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

	cluster *simulate.Cluster
	claim   map[string]any // with defaults
	kinds   map[string]function.Runner
	// otherVersion means that another version of the functions composed the objects.
	otherVersion bool
}

// Run previews a claim (YAML or JSON) on a platform (a PlatformConfig), with the functions of composite resources by "<Kind>.<group>".
// It returns ValidationErrors if the claim or the platform is invalid; any other error is a bug.
func Run(claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	return RunWithClaims(nil, claim, platform, kinds)
}

// RunWithClaims previews a claim together with existing claims, to which it may refer.
func RunWithClaims(existing []*structpb.Struct, claim, platform []byte, kinds map[string]function.Runner) (*Result, error) {
	return RunInstance(existing, claim, platform, "", kinds)
}

// RunInstance previews a claim that exists in a cluster with the name of an instance, which an earlier version may have set. An empty name
// means a new claim.
func RunInstance(
	existing []*structpb.Struct, claim, platform []byte, instance string, kinds map[string]function.Runner,
) (*Result, error) {
	w, c, err := clusterFor(claim, platform, kinds)
	if err != nil {
		return nil, err
	}
	if instance != "" {
		if w.XR.Fields["status"], err = instanceStatus(instance); err != nil {
			return nil, fmt.Errorf("cannot encode the status of %s: %w", input(c), err)
		}
	}
	w.RequiredResources = existing
	meta, _ := c["metadata"].(map[string]any)
	r := &Result{Kind: str(c["kind"]), Name: str(meta["name"]), Namespace: str(meta["namespace"]), cluster: w, claim: c, kinds: kinds}
	if err := r.compose(claim, func() error { return w.Run(r.add) }); err != nil {
		return nil, err
	}
	return r, nil
}

// instanceStatus returns the part of a status from which the functions read the name of an instance.
func instanceStatus(instance string) (*structpb.Value, error) {
	return structpb.NewValue(map[string]any{
		"instance":   instance,
		"components": []any{map[string]any{"name": "namespace", "phase": common.ComponentReady}},
	})
}

// compose calls the functions until everything is ready, and reads the result.
func (r *Result) compose(claim []byte, call func() error) error {
	err := inCloud(r.claim, call())
	switch rejected := (*ValidationErrors)(nil); {
	case errors.As(err, &rejected):
		return rejected.at(claim, input(r.claim))
	case invalid.Is(err):
		return newFieldErrors(claim, input(r.claim), sentences(err)...)
	case err != nil:
		return fmt.Errorf("cannot preview %s: %w", input(r.claim), err)
	}
	if err := r.read(); err != nil || !composesClaims(r.claim) {
		return err
	}
	return Shared(nil, r.Usage(), claim) // The composed claims are compared with each other.
}

// read reads the result from the cluster.
func (r *Result) read() error {
	r.refresh()
	r.Status = r.cluster.XR.GetFields()["status"].GetStructValue().AsMap()
	delete(r.Status, "lastValidSpec") // the claim itself
	r.Instance = str(r.Status["instance"])
	r.Secrets = r.secrets()
	var err error
	r.Existing, err = bound(r.claim, r.cluster.XR)
	for _, part := range r.cluster.Parts() {
		r.Existing = append(r.Existing, simulate.Bound(part.Claim, part.XR), part.XR)
	}
	return err
}

// refresh reads the final state of all objects: later stages may have changed or removed objects of earlier ones.
func (r *Result) refresh() {
	type key struct{ owner, resource string }
	last := map[key]encoded.Struct{}
	for _, c := range r.cluster.Composed() {
		last[key{c.Owner, c.Resource}] = c.Desired
	}
	var objects []Object
	for _, o := range r.Objects {
		desired, ok := last[key{o.Owner, o.Resource}]
		if !ok {
			continue
		}
		delete(last, key{o.Owner, o.Resource}) // An object that was removed and added again has two entries.
		objects = append(objects, o.with(desired))
	}
	r.Objects = objects
}

// with returns an object with another desired state.
func (o Object) with(desired encoded.Struct) Object {
	if bytes.Equal(o.desired, desired) {
		return o
	}
	o.desired = desired
	o.Manifest, o.Cluster = desired.Tree(), wrapper.ProviderConfig(desired)
	o.Wrapped, o.Retained = wrapper.IsObject(desired), wrapper.OrphansOnDelete(desired)
	inner := o.inner()
	o.APIVersion, o.Kind = inner.At("apiVersion").Text(), inner.At("kind").Text()
	o.Name, o.Namespace = inner.At("metadata", "name").Text(), inner.At("metadata", "namespace").Text()
	return o
}

// inner returns the object without its wrapper.
func (o Object) inner() encoded.Struct {
	desired := o.desired
	if desired == nil {
		desired = encoded.Of(o.Manifest)
	}
	if inner, ok := wrapper.Desired(desired); ok {
		return inner
	}
	return desired
}

// Bound returns a claim, which NewCluster has accepted, and its composite resource, bound as by Crossplane, for the cluster of another
// claim.
func Bound(claim []byte, xr *structpb.Struct) ([]*structpb.Struct, error) {
	c := map[string]any{}
	if err := yaml.Unmarshal(claim, &c); err != nil {
		return nil, fmt.Errorf("cannot read the claim: %w", err)
	}
	asClaim(c)
	return bound(c, xr)
}

// bound returns a claim and its composite resource, bound as by Crossplane. A composite resource of the platform team has no claim.
func bound(claim map[string]any, xr *structpb.Struct) ([]*structpb.Struct, error) {
	if isPlatforms(claim) {
		return []*structpb.Struct{xr}, nil
	}
	c, err := structpb.NewStruct(claim)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", input(claim), err)
	}
	return []*structpb.Struct{simulate.Bound(c, xr), xr}, nil
}

// NewCluster returns a simulated cluster with the composite resource of a claim on a platform, before anything is composed. It returns the
// errors of Run.
func NewCluster(claim, platform []byte, kinds map[string]function.Runner) (*simulate.Cluster, error) {
	w, _, err := clusterFor(claim, platform, kinds)
	return w, err
}

// clusterFor returns a simulated cluster for a claim on a platform, and the claim with its defaults.
func clusterFor(claim, platform []byte, kinds map[string]function.Runner) (*simulate.Cluster, map[string]any, error) {
	required, err := requiredPlatform(platform)
	if err != nil {
		return nil, nil, err
	}
	c, err := readClaim(claim, kinds)
	if err != nil {
		return nil, nil, err
	}
	xr, err := compositeOf(c)
	if err != nil {
		return nil, nil, err
	}
	// A preview does not check whether the chart is installed.
	w := &simulate.Cluster{XR: xr, Kinds: kinds, Required: admission.Requirements(), Admit: admitComposed}
	w.Required["platform"] = []*structpb.Struct{required}
	if composesClaims(c) {
		w.Nested = map[string]map[string][]*structpb.Struct{}
		for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
			w.Nested[k.Composite().GroupKind().String()] = w.Required
		}
	}
	return w, c, nil
}

// requiredPlatform returns a PlatformConfig as the functions require it. The claims of a command have one PlatformConfig, so that each
// valid one is read once. The result is shared: it must not be changed.
func requiredPlatform(doc []byte) (*structpb.Struct, error) {
	if known, ok := validPlatforms.Load(string(doc)); ok {
		return known.(*structpb.Struct), nil //nolint:forcetypeassert // Nothing else is stored.
	}
	p, err := readPlatform(doc)
	if err != nil {
		return nil, from(SourcePlatform, err)
	}
	required, err := structpb.NewStruct(p)
	if err != nil {
		return nil, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	validPlatforms.Store(string(doc), required)
	return required, nil
}

// validPlatforms contains valid PlatformConfigs by their text: string to *structpb.Struct.
var validPlatforms sync.Map

// add adds the result of one call of a function: its new objects are one stage.
func (r *Result) add(s simulate.Step) {
	if len(s.New) == 0 {
		return
	}
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
			r.Objects = append(r.Objects, Object{Stage: r.Stages, Component: componentName(s, part), Owner: s.Owner, Resource: i.Name})
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
