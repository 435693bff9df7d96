// Package simulate simulates Kubernetes for composition functions: it calls a function, creates the desired objects and makes them ready
// like their owners, and calls again until no more objects are added. It simulates nested composite resources in the same way,
// concurrently if they are added together.
package simulate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
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

	// Admit returns a composed claim with the defaults of its schema, or the errors of its schema. Nil: claims stay as they are.
	Admit func(claim map[string]any) (map[string]any, error)

	// Edit means that the composite resource was ready before its spec changed: steps that only change objects are visited, too, and nested
	// composite resources keep their status.
	Edit bool

	// Reports returns additional status fields of an object that are not in package fake and may change at any time (Refresh). Nil: none.
	Reports func(kind, name string) map[string]any

	children map[string]*Cluster      // nested composite resources, by resource name
	applied  map[string]appliedObject // by resource name

	owned []*structpb.Struct // created by owners of objects

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
	// Changed contains the names of existing resources whose desired state has changed, in the order of the plan.
	Changed []string
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

// NestedCluster returns the cluster of a nested composite resource by its resource name, or nil.
func (w *Cluster) NestedCluster(resource string) *Cluster { return w.children[resource] }

// Composed is the last desired state of a composed resource.
type Composed struct {
	// Owner is the name of the composite resource, and Resource the name of the resource in it.
	Owner, Resource string
	Desired         encoded.Struct
}

// Composed returns all composed resources, also of nested composite resources, by the names of their owners and resources.
func (w *Cluster) Composed() []Composed {
	var out []Composed
	for _, name := range slices.Sorted(maps.Keys(w.applied)) {
		out = append(out, Composed{nameOf(w.XR), name, w.applied[name].desired})
	}
	for _, name := range slices.Sorted(maps.Keys(w.children)) {
		out = append(out, w.children[name].Composed()...)
	}
	return out
}

// Replace replaces the existing resources that functions can require, except objects that owners of composed objects have created.
func (w *Cluster) Replace(resources []*structpb.Struct) {
	w.RequiredResources = append(slices.Clone(resources), w.owned...)
	for _, child := range w.children {
		child.Replace(w.RequiredResources)
	}
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
		applied, exists := w.applied[i.Name]
		if _, observed := w.Observed[i.Name]; !observed {
			step.New = append(step.New, i.Name)
		} else if exists && !bytes.Equal(applied.desired, rsp.Composed[i.Name].Object) {
			step.Changed = append(step.Changed, i.Name)
		}
	}
	if len(step.New) > 0 || w.Edit && len(step.Changed) > 0 {
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

// child returns the cluster of a nested composite resource, with its previous state.
func (w *Cluster) child(name string, xr *structpb.Struct) *Cluster {
	if w.children == nil {
		w.children = map[string]*Cluster{}
	}
	c := w.children[name]
	if c == nil {
		kind := compose.KindOf(xr).GroupKind().String()
		c = &Cluster{
			Kinds: w.Kinds, Required: w.Nested[kind], RequiredResources: w.RequiredResources,
			Reconcile: w.Reconcile, Remove: w.Remove, Reports: w.Reports,
		}
		w.children[name] = c
	}
	w.setInputs(c)
	if status, ok := c.XR.GetFields()["status"]; ok && w.Edit {
		xr.Fields["status"] = status
	}
	c.XR = xr
	return c
}

// setInputs passes on the inputs of a cluster that an edit changes to the cluster of a nested composite resource.
func (w *Cluster) setInputs(child *Cluster) {
	child.Edit, child.Admit, child.Nested = w.Edit, w.Admit, w.Nested
	if kind := compose.KindOf(child.XR).GroupKind().String(); w.Nested[kind] != nil {
		child.Required = w.Nested[kind]
	}
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
