package livecloud

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// drift compares the existing objects of a cloud with the objects that functions compose.
type drift struct {
	*reader
	kinds map[string]function.Runner
	// required contains the resources that the Compositions of claims require.
	required map[string][]*structpb.Struct
	out      []plan.Drift
}

// Drift returns the objects that differ from the objects which the functions compose from the observed state of the cluster: each function
// is called with its composite resource and the existing objects, as by Crossplane. platform is used if the cluster's PlatformConfig could
// not be read. The result is not nil. Requests that fail are a ReadError.
func (c *Cloud) Drift(ctx context.Context, kinds map[string]function.Runner, platform map[string]any) ([]plan.Drift, error) {
	d := &drift{reader: c.reader, kinds: kinds, required: admission.Requirements(), out: []plan.Drift{}}
	if c.platform != nil {
		platform = c.platform
	}
	if err := d.require("platform", platform); err != nil {
		return nil, err
	}
	cronJob := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	clock, err := d.get(ctx, cronJob, freshness.ClockNamespace, freshness.ClockName)
	if err == nil {
		err = d.require(freshness.Requirement, clock.Object)
	}
	if err != nil && !isMissing(err) {
		d.fail(err)
	}
	for _, claim := range c.claims {
		name, _, _ := unstructured.NestedString(claim.Object, "spec", "resourceRef", "name")
		if name == "" {
			continue // Crossplane has not created the composite resource.
		}
		xr, err := d.get(ctx, common.CompositeOf(claim.GroupVersionKind()), "", name)
		switch {
		case isMissing(err):
		case err != nil:
			d.fail(err)
		default:
			if err := d.composite(ctx, xr.Object); err != nil {
				return nil, err
			}
		}
	}
	return d.out, d.err()
}

func (d *drift) require(name string, o map[string]any) error {
	s, err := structpb.NewStruct(o)
	if err != nil {
		return fmt.Errorf("cannot encode the required resource %s: %w", name, err)
	}
	d.required[name] = []*structpb.Struct{s}
	return nil
}

// composite compares the objects of a composite resource, and of the composite resources below it.
func (d *drift) composite(ctx context.Context, xr map[string]any) error {
	body, err := encode.Struct(xr)
	if err != nil {
		return fmt.Errorf("cannot encode a composite resource: %w", err)
	}
	owner := body.At("metadata", "name").Text()
	observed, err := d.observe(ctx, doctor.ComposedRefs(xr))
	if err != nil || d.failed() {
		return err
	}
	rsp, err := d.call(ctx, body.Tree(), observed)
	if d.failed() {
		return nil
	}
	if rsp == nil {
		d.out = append(d.out, plan.NotComposed(owner, body, fmt.Sprintf("the functions cannot compose its objects: %v", err)))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(rsp.Composed)) {
		composed := rsp.Composed[name].Object
		existing, ok := observed[name]
		if !ok {
			d.out = append(d.out, plan.Missing(owner, composed))
		} else if difference, found := plan.Compare(owner, existing, composed); found {
			d.out = append(d.out, difference)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(observed)) {
		if _, composed := rsp.Composed[name]; !composed {
			d.out = append(d.out, plan.Extra(owner, observed[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(observed)) {
		kind := schema.FromAPIVersionAndKind(observed[name].At("apiVersion").Text(), observed[name].At("kind").Text())
		if d.kinds[kind.GroupKind().String()] == nil {
			continue
		}
		if err := d.composite(ctx, observed[name].Map()); err != nil {
			return err
		}
	}
	return nil
}

// maxCalls is the number of times that Crossplane calls a function whose requirements change with each call.
const maxCalls = 5

// call calls the function of a composite resource until its requirements do not change.
func (d *drift) call(ctx context.Context, xr *structpb.Struct, observed map[string]encoded.Struct) (*wire.Response, error) {
	kind := schema.FromAPIVersionAndKind(xr.GetFields()["apiVersion"].GetStringValue(), xr.GetFields()["kind"].GetStringValue()).GroupKind()
	runner := d.kinds[kind.String()]
	if runner == nil {
		return nil, fmt.Errorf("no function composes %s", kind)
	}
	req := &wire.Request{Composite: xr, Observed: observed, Required: map[string][]*structpb.Struct{}}
	if isClaimed(kind) { // Only the Compositions of claims have requirements.
		req.Required = maps.Clone(d.required)
	}
	var requirements map[string]wire.Selector
	for range maxCalls {
		rsp, _, err := runner.Explain(req)
		if rsp == nil || maps.Equal(rsp.Requirements, requirements) {
			return rsp, err
		}
		requirements = rsp.Requirements
		for name, s := range requirements {
			found, err := d.find(ctx, s)
			if err != nil {
				return nil, err
			}
			req.Required[name] = found
		}
	}
	return nil, fmt.Errorf("the function requests other objects in each of %d calls; report this as a bug", maxCalls)
}

// isClaimed reports whether a composite resource belongs to a claim.
func isClaimed(composite schema.GroupKind) bool {
	return slices.ContainsFunc(kindregistry.WithForm(kindregistry.Claimed), func(k kindregistry.Kind) bool {
		return k.Composite().GroupKind() == composite
	})
}

// find returns a list with the required resource, or an empty one if it does not exist.
func (d *drift) find(ctx context.Context, s wire.Selector) ([]*structpb.Struct, error) {
	o, err := d.get(ctx, schema.FromAPIVersionAndKind(s.APIVersion, s.Kind), s.Namespace, s.Name)
	if isMissing(err) {
		return []*structpb.Struct{}, nil
	}
	if err != nil {
		d.fail(err)
		return nil, err
	}
	out, err := structpb.NewStruct(o.Object)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return []*structpb.Struct{out}, nil
}

// failed reports whether a request has failed: the result would be incomplete.
func (d *drift) failed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.other != nil
}

// fewObjects is the number of objects of a kind and namespace up to which they are read one by one.
const fewObjects = 2

// observe reads composed objects, by the name of their resource. An object that does not exist is omitted.
func (d *drift) observe(ctx context.Context, refs []doctor.Ref) (map[string]encoded.Struct, error) {
	found := d.read(ctx, refs)
	out := map[string]encoded.Struct{}
	for _, r := range refs {
		o, ok := found[r]
		if !ok {
			continue
		}
		body, err := encode.Struct(o)
		if err != nil {
			return nil, fmt.Errorf("cannot encode %s: %w", r, err)
		}
		u := unstructured.Unstructured{Object: o}
		out[cmp.Or(u.GetAnnotations()[xcrd.AnnotationKeyCompositionResourceName], r.String())] = body
	}
	return out, nil
}

// place is a kind in a namespace, or in the whole cluster.
type place struct {
	kind      schema.GroupVersionKind
	namespace string
}

// read reads objects in parallel, but no Secrets.
func (d *drift) read(ctx context.Context, refs []doctor.Ref) map[doctor.Ref]map[string]any {
	groups := map[place][]doctor.Ref{}
	for _, r := range refs {
		if p := (place{r.GroupVersionKind(), r.Namespace}); !isSecret(p.kind) {
			groups[p] = append(groups[p], r)
		}
	}
	var mu sync.Mutex
	found := map[doctor.Ref]map[string]any{}
	var all sync.WaitGroup
	for p, wanted := range groups {
		all.Go(func() {
			objects, err := d.readPlace(ctx, p, wanted)
			if err != nil {
				d.fail(err)
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(found, objects)
		})
	}
	all.Wait()
	return found
}

// readPlace reads objects of a kind and namespace. Namespaced objects are listed: a control plane has hundreds of them. Cluster-scoped
// objects are read one by one, because a list has the objects of all claims.
func (d *drift) readPlace(ctx context.Context, p place, wanted []doctor.Ref) (map[doctor.Ref]map[string]any, error) {
	found := map[doctor.Ref]map[string]any{}
	if p.namespace != "" && len(wanted) > fewObjects {
		items, err := d.list(ctx, p.kind, p.namespace)
		if err != nil && !isMissing(err) {
			return nil, err
		}
		for _, o := range items {
			found[refOf(&o)] = o.Object
		}
	}
	for _, r := range wanted {
		if found[r] != nil {
			continue // Others are read one by one, because a list of a very large namespace is not complete.
		}
		o, err := d.get(ctx, p.kind, r.Namespace, r.Name)
		if err == nil {
			found[r] = o.Object
		} else if !isMissing(err) {
			return nil, err
		}
	}
	return found, nil
}

func refOf(o *unstructured.Unstructured) doctor.Ref {
	return doctor.Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}
