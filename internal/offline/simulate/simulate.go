// Package simulate stands in for Kubernetes around composition functions: it calls a function, makes what it desires exist and be ready
// as its owner would make it, and calls again until nothing more appears. Nested composite resources are simulated in the same way, those
// that appear together side by side.
package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Cluster is one composite resource and what is composed for it.
type Cluster struct {
	// XR is the composite resource, with the status that the function gave it.
	XR *structpb.Struct
	// Required are the resources that the Composition asks for, by requirement name, and those that somebody has looked for already.
	Required map[string][]*structpb.Struct
	// Nested are the resources that the Compositions of nested composite resources ask for, by kind as in Kinds and by requirement name.
	Nested map[string]map[string][]*structpb.Struct
	// RequiredResources are the resources that are there besides, for functions that ask for one by its name.
	RequiredResources []*structpb.Struct
	// Observed are the composed resources as they are observed, by resource name.
	Observed map[string]encoded.Struct
	// Kinds are the functions by kind of composite resource.
	Kinds map[string]function.Runner
	// Reconcile is called with the objects that are new or whose desired state has changed, bare or as they are wrapped in Objects, before
	// they become ready: fake owners do their work here, for several composite resources at a time. Nil: there are none.
	Reconcile func(desired []map[string]any) error
	// Remove is called in the same way with the objects that are not desired any more, as they were desired last, but those that are kept in
	// the cluster. Nil: nobody has anything to do.
	Remove func(gone []map[string]any) error

	// Reports is what the owner of an object reports of it that nobody fakes: fields of its status, which may change while nothing else
	// does (Refresh). Nil: nothing.
	Reports func(kind, name string) map[string]any

	children map[string]*Cluster // nested composite resources, by resource name
	made     map[string]made     // by resource name

	asked map[string]wire.Selector // by requirement name, as the function asked last
}

// made is what became of a desired object.
type made struct {
	desired, observed encoded.Struct
}

// Step is what one call of a function brought.
type Step struct {
	// Owner is the name of the composite resource, and Depth how many are above it.
	Owner string
	Depth int
	// Plan is the plan behind the call.
	Plan compose.Plan
	// New are the names of the resources that appeared, in the order of the plan.
	New []string
	// Response is the answer.
	Response *wire.Response
}

// maxCalls bounds the calls for one composite resource: each has to bring something new or make it ready.
const maxCalls = 100

// Desired is how a resource of a composite resource, by the names of both, was desired last: what came later may have changed it since it
// appeared.
func (w *Cluster) Desired(owner, resource string) (encoded.Struct, bool) {
	if nameOf(w.XR) == owner {
		m, ok := w.made[resource]
		return m.desired, ok
	}
	for _, name := range slices.Sorted(maps.Keys(w.children)) {
		if d, ok := w.children[name].Desired(owner, resource); ok {
			return d, true
		}
	}
	return nil, false
}

// Clone returns a copy of the world and of the composite resources in it, with other owners of objects. What happens in the copy does not
// happen in the original.
func (w *Cluster) Clone(reconcile func(desired []map[string]any) error) *Cluster {
	c := *w
	c.XR = proto.CloneOf(w.XR)
	c.Reconcile = reconcile
	c.Observed, c.made, c.asked = maps.Clone(w.Observed), maps.Clone(w.made), maps.Clone(w.asked)
	if w.children != nil {
		c.children = make(map[string]*Cluster, len(w.children))
	}
	for name, child := range w.children {
		c.children[name] = child.Clone(reconcile)
	}
	return &c
}

// Request is the request that Crossplane would make now, with what the function asked for last.
func (w *Cluster) Request() *wire.Request {
	req := &wire.Request{Composite: w.XR, Observed: w.Observed, Required: w.Required}
	if len(w.asked) == 0 {
		return req
	}
	req.Required = maps.Clone(w.Required)
	if req.Required == nil {
		req.Required = map[string][]*structpb.Struct{}
	}
	for name, s := range w.asked {
		if _, provided := w.Required[name]; !provided {
			req.Required[name] = w.find(s)
		}
	}
	return req
}

// find is what there is of a selector: one resource, or none.
func (w *Cluster) find(s wire.Selector) []*structpb.Struct {
	out := []*structpb.Struct{}
	for _, o := range w.RequiredResources {
		if f := o.GetFields(); f["apiVersion"].GetStringValue() == s.APIVersion && f["kind"].GetStringValue() == s.Kind &&
			metadataOf(o, "namespace") == s.Namespace && metadataOf(o, "name") == s.Name {
			out = append(out, o)
		}
	}
	return out
}

// selectorOf names an object.
func selectorOf(o encoded.Struct) wire.Selector {
	return wire.Selector{
		APIVersion: o.At("apiVersion").Text(), Kind: o.At("kind").Text(),
		Namespace: o.At("metadata", "namespace").Text(), Name: o.At("metadata", "name").Text(),
	}
}

// maxQuestions is how often Crossplane 2.3 calls for one answer, while each call asks for something else than the one before.
const maxQuestions = 5

// Explain calls the function as Crossplane does: again, with what it asks for, until it asks for nothing else.
func (w *Cluster) Explain(runner function.Runner) (*wire.Response, compose.Plan, error) {
	for range maxQuestions {
		rsp, plan, err := runner.Explain(w.Request())
		if err != nil || maps.Equal(rsp.Requirements, w.asked) {
			return rsp, plan, err
		}
		w.asked = rsp.Requirements
	}
	return nil, compose.Plan{}, fmt.Errorf("%s asks for something else in every one of %d calls", nameOf(w.XR), maxQuestions)
}

// Run calls the function until the composite resource is ready, and passes every step to visit. The errors are those of the function, and
// that something never becomes ready.
func (w *Cluster) Run(visit func(Step)) error { return w.run(visit, 0) }

func (w *Cluster) run(visit func(Step), depth int) error {
	for range maxCalls {
		done, err := w.call(visit, depth)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s never becomes ready: %s", nameOf(w.XR), w.waiting())
}

// Call calls the function once and makes what it desires exist and be ready. It reports whether all was ready before.
func (w *Cluster) Call(visit func(Step)) (done bool, err error) { return w.call(visit, 0) }

func (w *Cluster) call(visit func(Step), depth int) (bool, error) {
	runner, err := w.runner()
	if err != nil {
		return false, err
	}
	rsp, plan, err := w.Explain(runner)
	if err != nil {
		return false, err
	}
	w.XR.Fields["status"] = rsp.Composite.Object.Tree().GetFields()["status"]
	if err := w.setStatus(rsp.Conditions); err != nil {
		return false, err
	}
	step := Step{Owner: nameOf(w.XR), Depth: depth, Plan: plan, Response: rsp}
	for _, i := range plan.Items() {
		if _, observed := w.Observed[i.Name]; !observed {
			step.New = append(step.New, i.Name)
		}
	}
	if len(step.New) > 0 {
		visit(step)
	}
	if rsp.Composite.Ready {
		return true, w.remove(rsp.Composed)
	}
	return false, w.apply(rsp.Composed, visit, depth)
}

// setStatus lets the composite resource say what the function has told of it.
func (w *Cluster) setStatus(conditions []*fnv1.Condition) error {
	var requested []any
	for _, c := range conditions {
		requested = append(requested, map[string]any{
			"type": c.GetType(), "status": statuses[c.GetStatus()], "reason": c.GetReason(), "message": c.GetMessage(), "lastTransitionTime": readyTime,
		})
	}
	list, err := structpb.NewValue(requested)
	if status := w.XR.GetFields()["status"].GetStructValue(); err == nil && status != nil && requested != nil {
		status.Fields["conditions"] = list
	}
	return err
}

// statuses are those of a condition, as a composite resource has them.
var statuses = map[fnv1.Status]string{
	fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False", fnv1.Status_STATUS_CONDITION_UNKNOWN: "Unknown",
}

func (w *Cluster) runner() (function.Runner, error) {
	kind := compose.KindOf(w.XR).GroupKind()
	runner, ok := w.Kinds[kind.String()]
	if !ok {
		return nil, fmt.Errorf("there is no function for composite resources of kind %s", kind)
	}
	return runner, nil
}

// apply makes everything desired exist and be ready, and removes what is not desired.
func (w *Cluster) apply(desired map[string]wire.Resource, visit func(Step), depth int) error {
	if w.Observed == nil {
		w.Observed = map[string]encoded.Struct{}
	}
	if w.made == nil {
		w.made = map[string]made{}
	}
	if err := w.remove(desired); err != nil {
		return err
	}
	if err := w.reconcile(desired); err != nil {
		return err
	}
	nested, err := w.compose(desired, visit, depth)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		body := desired[name].Object
		if w.isApplied(name, body) && !ofKind(body, w.Reports) {
			continue
		}
		o := Exist(body)
		if xr, ok := nested[name]; ok {
			o = encoded.Of(xr)
		}
		if wrapper.IsObserveOnly(body) {
			there := w.find(selectorOf(bare(body)))
			if len(there) == 0 {
				w.Observed[name] = body.With(encoded.Number(1), "metadata", "generation")
				continue
			}
			o = wrapper.WithObserved(o, encoded.Of(there[0]))
		}
		if err := w.finish(name, body, o); err != nil {
			return err
		}
	}
	return nil
}

// finish lets an object be ready as its owner leaves it.
func (w *Cluster) finish(name string, desired, existing encoded.Struct) error {
	o, err := Finish(existing)
	if err == nil && w.Reports != nil {
		o, err = reported(o, w.Reports)
	}
	if err != nil {
		return fmt.Errorf("cannot make %s ready: %w", name, err)
	}
	w.Observed[name] = o
	w.made[name] = made{desired: desired, observed: o}
	return w.addOwned(bare(desired).Map())
}

// addOwned adds what the owner of an object makes of it, for functions that ask for that.
func (w *Cluster) addOwned(object map[string]any) error {
	for _, o := range fake.OwnedObjects(object) {
		created, err := structpb.NewStruct(o)
		if err != nil {
			return fmt.Errorf("cannot make what a fake owner makes: %w", err)
		}
		same := func(other *structpb.Struct) bool {
			return other.GetFields()["kind"].GetStringValue() == o["kind"] && nameOf(other) == nameOf(created) &&
				metadataOf(other, "namespace") == metadataOf(created, "namespace")
		}
		w.RequiredResources = append(slices.DeleteFunc(slices.Clone(w.RequiredResources), same), created)
	}
	return nil
}

// Refresh takes over what the owners of objects report by now, from the innermost composite resource to this one, and lets each of the
// functions draw its conclusions.
func (w *Cluster) Refresh(visit func(Step)) error {
	for _, name := range slices.Sorted(maps.Keys(w.made)) {
		existing := Exist(w.made[name].desired)
		if child := w.children[name]; child != nil {
			if err := child.Refresh(visit); err != nil {
				return err
			}
			existing = encoded.Of(child.XR)
		} else if !ofKind(existing, w.Reports) {
			continue
		}
		if err := w.finish(name, w.made[name].desired, existing); err != nil {
			return err
		}
	}
	return w.Run(visit)
}

// ofKind says whether the owner of an object reports something of it.
func ofKind(o encoded.Struct, reports func(kind, name string) map[string]any) bool {
	o = bare(o)
	return reports != nil && len(reports(o.At("kind").Text(), o.At("metadata", "name").Text())) > 0
}

// reported is an object with what its owner reports besides.
func reported(o encoded.Struct, reports func(kind, name string) map[string]any) (encoded.Struct, error) {
	if observed, ok := wrapper.Observed(o); ok && wrapper.IsObject(o) {
		inner, err := reported(observed, reports)
		return wrapper.WithObserved(o, inner), err
	}
	for field, value := range reports(o.At("kind").Text(), o.At("metadata", "name").Text()) {
		s, err := encode.Struct(map[string]any{"value": value})
		if err != nil {
			return nil, err
		}
		o = o.With(s.At("value"), "status", field)
	}
	return o, nil
}

// compose runs the worlds of all nested composite resources that are not up to date at once, because none of them waits for another: what
// has to come later, the function does not desire yet. Their steps are visited one world after the other, by name.
func (w *Cluster) compose(desired map[string]wire.Resource, visit func(Step), depth int) (map[string]*structpb.Struct, error) {
	type run struct {
		name  string
		world *Cluster
		steps []Step
		err   error
	}
	var runs []*run
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		if body := desired[name].Object; w.isNested(body) && !w.isApplied(name, body) {
			runs = append(runs, &run{name: name, world: w.child(name, Exist(body).Tree())})
		}
	}
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() { r.err = r.world.run(func(s Step) { r.steps = append(r.steps, s) }, depth+1) })
	}
	all.Wait()
	out := map[string]*structpb.Struct{}
	var errs []error
	for _, r := range runs {
		for _, s := range r.steps {
			visit(s)
		}
		if r.err != nil {
			errs = append(errs, fmt.Errorf("cannot compose %s: %w", nameOf(r.world.XR), r.err))
		}
		out[r.name] = r.world.XR
	}
	return out, errors.Join(errs...)
}

// isApplied reports whether a desired object is there, and ready, as it is desired.
func (w *Cluster) isApplied(name string, desired encoded.Struct) bool {
	m, ok := w.made[name]
	return ok && bytes.Equal(m.observed, w.Observed[name]) && bytes.Equal(m.desired, desired)
}

// isNested reports whether an object is a composite resource that there is a function for.
func (w *Cluster) isNested(o encoded.Struct) bool {
	_, nested := w.Kinds[kindOf(o).String()]
	return nested
}

// reconcile lets the owners of what is not up to date do their work. Composite resources have no owner but their function.
func (w *Cluster) reconcile(desired map[string]wire.Resource) error {
	if w.Reconcile == nil {
		return nil
	}
	var batch []map[string]any
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		body := desired[name].Object
		if w.isApplied(name, body) || w.isNested(body) {
			continue
		}
		batch = append(batch, bare(body).Map())
	}
	if len(batch) == 0 {
		return nil
	}
	return w.Reconcile(batch)
}

// remove lets go of what is not desired any more, and of all that belongs to it.
func (w *Cluster) remove(desired map[string]wire.Resource) error {
	var gone []map[string]any
	for _, name := range slices.Sorted(maps.Keys(w.Observed)) {
		if _, ok := desired[name]; ok {
			continue
		}
		if child := w.children[name]; child != nil {
			if err := child.remove(nil); err != nil {
				return err
			}
			delete(w.children, name)
		} else if m, ok := w.made[name]; ok && !wrapper.OrphansOnDelete(m.desired) {
			gone = append(gone, bare(m.desired).Map())
		}
		delete(w.Observed, name)
		delete(w.made, name)
	}
	if w.Remove == nil || len(gone) == 0 {
		return nil
	}
	return w.Remove(gone)
}

// bare is an object as its owner sees it, outside of the Object around it.
func bare(o encoded.Struct) encoded.Struct {
	if inner, ok := wrapper.Desired(o); ok {
		return inner
	}
	return o
}

func nameOf(xr *structpb.Struct) string { return metadataOf(xr, "name") }

func metadataOf(o *structpb.Struct, field string) string {
	return o.GetFields()["metadata"].GetStructValue().GetFields()[field].GetStringValue()
}

// child is the world of a nested composite resource, which goes on from where it was.
func (w *Cluster) child(name string, xr *structpb.Struct) *Cluster {
	if w.children == nil {
		w.children = map[string]*Cluster{}
	}
	c := w.children[name]
	if c == nil {
		kind := compose.KindOf(xr).GroupKind().String()
		c = &Cluster{
			Kinds: w.Kinds, Required: w.Nested[kind], Nested: w.Nested, RequiredResources: w.RequiredResources,
			Reconcile: w.Reconcile, Remove: w.Remove, Reports: w.Reports,
		}
		w.children[name] = c
	}
	c.XR = xr
	return c
}

// waiting says what each component waits for.
func (w *Cluster) waiting() string {
	runner, err := w.runner()
	if err != nil {
		return err.Error()
	}
	_, plan, err := w.Explain(runner)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, p := range plan.Parts {
		if _, message := p.Waiting(); message != "" {
			out = append(out, p.Name+": "+message)
		}
	}
	return strings.Join(out, "; ")
}

// Exist is a desired object as an API server has it: with a generation, and for an Object with the object in its status. One that is only
// looked at somebody has made.
func Exist(desired encoded.Struct) encoded.Struct {
	o := desired.With(encoded.Number(1), "metadata", "generation")
	inner, ok := wrapper.Desired(o)
	if !ok {
		return o
	}
	inner = inner.With(encoded.Number(1), "metadata", "generation")
	if wrapper.IsObserveOnly(o) {
		for key, text := range fake.Data(inner.At("metadata", "name").Text()) {
			inner = inner.With(encoded.Text(text), "data", key)
		}
	}
	return wrapper.WithObserved(o, inner)
}

// readyTime is when everything here is done.
const readyTime = "2025-01-01T00:00:00Z"

// Finish is an existing object as its owner leaves it when it is done. The error is that nobody fakes the owner.
func Finish(existing encoded.Struct) (encoded.Struct, error) {
	if !wrapper.IsObject(existing) {
		return finished(existing, existing.Map())
	}
	observed, _ := wrapper.Observed(existing)
	inner, err := Finish(observed)
	if err != nil {
		return nil, err
	}
	o, err := finished(existing, map[string]any{
		"apiVersion": existing.At("apiVersion").Text(), "kind": existing.At("kind").Text(), "metadata": existing.At("metadata").Map(),
	})
	if err != nil {
		return nil, err
	}
	return wrapper.WithObserved(o, inner), nil
}

// finished is an object with the status that its owner gives it. What the owner sees of the object is m.
func finished(o encoded.Struct, m map[string]any) (encoded.Struct, error) {
	if err := fake.Finish(m, readyTime); err != nil {
		return nil, err
	}
	if m["status"] == nil {
		return o, nil
	}
	status, err := encode.Struct(m["status"])
	return o.With(status.Value(), "status"), err
}

func kindOf(o encoded.Struct) schema.GroupKind {
	return schema.FromAPIVersionAndKind(o.At("apiVersion").Text(), o.At("kind").Text()).GroupKind()
}
