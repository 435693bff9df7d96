// Package simulate simulates Kubernetes for composition functions: it calls a function, creates the desired objects and makes them ready
// like their owners, and calls again until no more objects are added. It simulates nested composite resources in the same way,
// concurrently if they are added together.
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

// Cluster contains one composite resource and its composed resources.
type Cluster struct {
	// XR is the composite resource, with the status that the function returned.
	XR *structpb.Struct
	// Required contains the required resources of the Composition, by requirement name, and other resources that are already known.
	Required map[string][]*structpb.Struct
	// Nested contains the required resources of nested composite resources' Compositions, by kind as in Kinds and by requirement name.
	Nested map[string]map[string][]*structpb.Struct
	// RequiredResources contains other existing resources, for functions that require one by name.
	RequiredResources []*structpb.Struct
	// Observed contains the observed composed resources, by resource name.
	Observed map[string]encoded.Struct
	// Kinds contains the functions by kind of composite resource.
	Kinds map[string]function.Runner
	// Reconcile is called with new or changed desired objects, without wrappers, before they become ready. Fake owners use it, for several
	// composite resources concurrently. Nil: no owners.
	Reconcile func(desired []map[string]any) error
	// Remove is called in the same way with the last desired state of removed objects, except retained ones. Nil: no owners.
	Remove func(removed []map[string]any) error

	// Reports returns additional status fields of an object that are not in package fake and may change at any time (Refresh). Nil: none.
	Reports func(kind, name string) map[string]any

	children map[string]*Cluster      // nested composite resources, by resource name
	applied  map[string]appliedObject // by resource name

	requirements map[string]wire.Selector // the last ones of the function, by requirement name
}

// appliedObject is a desired object and its observed state.
type appliedObject struct {
	desired, observed encoded.Struct
}

// Step is the result of one call of a function.
type Step struct {
	// Owner is the name of the composite resource, and Depth its nesting level.
	Owner string
	Depth int
	// Plan is the plan behind the call.
	Plan compose.Plan
	// New contains the names of added resources, in the order of the plan.
	New []string
	// Response of the function.
	Response *wire.Response
}

// maxCalls is the maximum number of calls for one composite resource: each call must add an object or make it ready.
const maxCalls = 100

// Desired returns the last desired state of a resource, by the names of the composite resource and the resource: later steps may have
// changed it.
func (w *Cluster) Desired(owner, resource string) (encoded.Struct, bool) {
	if nameOf(w.XR) == owner {
		m, ok := w.applied[resource]
		return m.desired, ok
	}
	for _, name := range slices.Sorted(maps.Keys(w.children)) {
		if d, ok := w.children[name].Desired(owner, resource); ok {
			return d, true
		}
	}
	return nil, false
}

// Clone returns an independent copy of the cluster and of its nested composite resources, with other owners of objects.
func (w *Cluster) Clone(reconcile func(desired []map[string]any) error) *Cluster {
	c := *w
	c.XR = proto.CloneOf(w.XR)
	c.Reconcile = reconcile
	c.Observed, c.applied, c.requirements = maps.Clone(w.Observed), maps.Clone(w.applied), maps.Clone(w.requirements)
	if w.children != nil {
		c.children = make(map[string]*Cluster, len(w.children))
	}
	for name, child := range w.children {
		c.children[name] = child.Clone(reconcile)
	}
	return &c
}

// Request returns the next request of Crossplane, with the last requirements of the function.
func (w *Cluster) Request() *wire.Request {
	req := &wire.Request{Composite: w.XR, Observed: w.Observed, Required: w.Required}
	if len(w.requirements) == 0 {
		return req
	}
	req.Required = maps.Clone(w.Required)
	if req.Required == nil {
		req.Required = map[string][]*structpb.Struct{}
	}
	for name, s := range w.requirements {
		if _, provided := w.Required[name]; !provided {
			req.Required[name] = w.find(s)
		}
	}
	return req
}

// find returns the selected resources: one or none.
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

// selectorOf returns a selector of an object.
func selectorOf(o encoded.Struct) wire.Selector {
	return wire.Selector{
		APIVersion: o.At("apiVersion").Text(), Kind: o.At("kind").Text(),
		Namespace: o.At("metadata", "namespace").Text(), Name: o.At("metadata", "name").Text(),
	}
}

// maxQuestions is the number of times that Crossplane 2.3 calls a function whose requirements change with each call.
const maxQuestions = 5

// Explain calls the function as Crossplane does: again with the required resources, until the requirements do not change.
func (w *Cluster) Explain(runner function.Runner) (*wire.Response, compose.Plan, error) {
	for range maxQuestions {
		rsp, plan, err := runner.Explain(w.Request())
		if err != nil || maps.Equal(rsp.Requirements, w.requirements) {
			return rsp, plan, err
		}
		w.requirements = rsp.Requirements
	}
	return nil, compose.Plan{}, fmt.Errorf("the requirements of %s change in each of %d calls", nameOf(w.XR), maxQuestions)
}

// Run calls the function until the composite resource is ready, and passes every step to visit. It returns errors of the function, and an
// error if the composite resource never becomes ready.
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

// Call calls the function once, creates the desired objects and makes them ready. It reports whether everything was ready before.
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

// setStatus sets the conditions of the composite resource.
func (w *Cluster) setStatus(conditions []*fnv1.Condition) error {
	var requested []any
	for _, c := range conditions {
		requested = append(requested, map[string]any{
			"type": c.GetType(), "status": statuses[c.GetStatus()], "reason": c.GetReason(), "message": c.GetMessage(),
			"lastTransitionTime": readyTime,
		})
	}
	list, err := structpb.NewValue(requested)
	if status := w.XR.GetFields()["status"].GetStructValue(); err == nil && status != nil && requested != nil {
		status.Fields["conditions"] = list
	}
	return err
}

// statuses converts the status of a condition.
var statuses = map[fnv1.Status]string{
	fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False", fnv1.Status_STATUS_CONDITION_UNKNOWN: "Unknown",
}

func (w *Cluster) runner() (function.Runner, error) {
	kind := compose.KindOf(w.XR).GroupKind()
	runner, ok := w.Kinds[kind.String()]
	if !ok {
		return nil, fmt.Errorf("no function for composite resources of kind %s", kind)
	}
	return runner, nil
}

// apply creates all desired objects and makes them ready, and removes other objects.
func (w *Cluster) apply(desired map[string]wire.Resource, visit func(Step), depth int) error {
	if w.Observed == nil {
		w.Observed = map[string]encoded.Struct{}
	}
	if w.applied == nil {
		w.applied = map[string]appliedObject{}
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
			existing := w.find(selectorOf(bare(body)))
			if len(existing) == 0 {
				w.Observed[name] = body.With(encoded.Number(1), "metadata", "generation")
				continue
			}
			o = wrapper.WithObserved(o, encoded.Of(existing[0]))
		}
		if err := w.finish(name, body, o); err != nil {
			return err
		}
	}
	return nil
}

// finish sets the final status of an object.
func (w *Cluster) finish(name string, desired, existing encoded.Struct) error {
	o, err := Finish(existing)
	if err == nil && w.Reports != nil {
		o, err = reported(o, w.Reports)
	}
	if err != nil {
		return fmt.Errorf("cannot make %s ready: %w", name, err)
	}
	w.Observed[name] = o
	w.applied[name] = appliedObject{desired: desired, observed: o}
	return w.addOwned(bare(desired).Map())
}

// addOwned adds the objects that the owner of an object creates, for functions that require them.
func (w *Cluster) addOwned(object map[string]any) error {
	for _, o := range fake.OwnedObjects(object) {
		created, err := structpb.NewStruct(o)
		if err != nil {
			return fmt.Errorf("cannot encode an object of a fake owner: %w", err)
		}
		same := func(other *structpb.Struct) bool {
			return other.GetFields()["kind"].GetStringValue() == o["kind"] && nameOf(other) == nameOf(created) &&
				metadataOf(other, "namespace") == metadataOf(created, "namespace")
		}
		w.RequiredResources = append(slices.DeleteFunc(slices.Clone(w.RequiredResources), same), created)
	}
	return nil
}

// Refresh updates the reported fields of objects, from the innermost composite resource to this one, and runs each of the functions
// again.
func (w *Cluster) Refresh(visit func(Step)) error {
	for _, name := range slices.Sorted(maps.Keys(w.applied)) {
		existing := Exist(w.applied[name].desired)
		if child := w.children[name]; child != nil {
			if err := child.Refresh(visit); err != nil {
				return err
			}
			existing = encoded.Of(child.XR)
		} else if !ofKind(existing, w.Reports) {
			continue
		}
		if err := w.finish(name, w.applied[name].desired, existing); err != nil {
			return err
		}
	}
	return w.Run(visit)
}

// ofKind reports whether reports has fields for an object.
func ofKind(o encoded.Struct, reports func(kind, name string) map[string]any) bool {
	o = bare(o)
	return reports != nil && len(reports(o.At("kind").Text(), o.At("metadata", "name").Text())) > 0
}

// reported returns an object with the additional status fields.
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

// compose runs the clusters of all nested composite resources that are not up to date concurrently, because they do not depend on each
// other: the function desires dependent ones later. Their steps are visited cluster by cluster, by name.
func (w *Cluster) compose(desired map[string]wire.Resource, visit func(Step), depth int) (map[string]*structpb.Struct, error) {
	type run struct {
		name    string
		cluster *Cluster
		steps   []Step
		err     error
	}
	var runs []*run
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		if body := desired[name].Object; w.isNested(body) && !w.isApplied(name, body) {
			runs = append(runs, &run{name: name, cluster: w.child(name, Exist(body).Tree())})
		}
	}
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() { r.err = r.cluster.run(func(s Step) { r.steps = append(r.steps, s) }, depth+1) })
	}
	all.Wait()
	out := map[string]*structpb.Struct{}
	var errs []error
	for _, r := range runs {
		for _, s := range r.steps {
			visit(s)
		}
		if r.err != nil {
			errs = append(errs, fmt.Errorf("cannot compose %s: %w", nameOf(r.cluster.XR), r.err))
		}
		out[r.name] = r.cluster.XR
	}
	return out, errors.Join(errs...)
}

// isApplied reports whether a desired object exists and is ready in its desired state.
func (w *Cluster) isApplied(name string, desired encoded.Struct) bool {
	m, ok := w.applied[name]
	return ok && bytes.Equal(m.observed, w.Observed[name]) && bytes.Equal(m.desired, desired)
}

// isNested reports whether an object is a composite resource with a function.
func (w *Cluster) isNested(o encoded.Struct) bool {
	_, nested := w.Kinds[kindOf(o).String()]
	return nested
}

// reconcile calls the owners of objects that are not up to date. The only owner of a composite resource is its function.
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

// remove deletes objects that are not desired any more, including nested ones.
func (w *Cluster) remove(desired map[string]wire.Resource) error {
	var removed []map[string]any
	for _, name := range slices.Sorted(maps.Keys(w.Observed)) {
		if _, ok := desired[name]; ok {
			continue
		}
		if child := w.children[name]; child != nil {
			if err := child.remove(nil); err != nil {
				return err
			}
			delete(w.children, name)
		} else if m, ok := w.applied[name]; ok && !wrapper.OrphansOnDelete(m.desired) {
			removed = append(removed, bare(m.desired).Map())
		}
		delete(w.Observed, name)
		delete(w.applied, name)
	}
	if w.Remove == nil || len(removed) == 0 {
		return nil
	}
	return w.Remove(removed)
}

// bare returns an object without its wrapper.
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

// child returns the cluster of a nested composite resource, with its previous state.
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

// waiting returns the message of each component that is not ready.
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

// Exist returns a desired object as stored by an API server: with a generation, and for an Object with the object inside in its status. An
// object that is only observed has content of package fake.
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

// readyTime is the time in all statuses.
const readyTime = "2025-01-01T00:00:00Z"

// Finish returns an existing object with its owner's final status. It returns an error if the owner is not simulated.
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

// finished returns an object with its owner's status. m is the object as read by the owner.
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
