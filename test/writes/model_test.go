package writes

import (
	"bytes"
	"container/heap"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// write is the time that an API server takes for a write, one after the other: as on the two cores of
// docs/performance.md.
const write = 6 * time.Millisecond

// model simulates the part of Crossplane's core that decides about writes
// (https://github.com/crossplane/crossplane/tree/v2.4.0/internal/controller/apiextensions):
//
//   - A pass over a composite resource (XR) applies its references, all composed resources, and its status, changed or
//     not.
//   - Each change of the XR or of its composed resources triggers a pass, after the running one.
//   - The status is written twice. First the function's part is applied, with the previous conditions; then the whole
//     status is updated with the new conditions. The update takes ownership of changed conditions, the next pass takes
//     it back, and that is a change of the XR: a condition that changes costs two further passes.
//   - A pass over the claim updates it, applies the XR, and updates the claim's status twice.
//
// Crossplane's controller of Usages is not included.
type model struct {
	kinds    map[string]function.Runner
	required map[string][]*structpb.Struct
	others   []*structpb.Struct
	duration pace

	now    time.Duration
	events events

	root   *xr
	claim  worker
	copied map[string]any // the status that the claim has

	writes, objects, ordered int
	passes                   map[string]int // by XR
	err                      error
}

// pace returns when the owner of an object writes its status, relative to the write of the object. With the last status
// the object is ready.
type pace func(kind string) []time.Duration

// event is an event at a time.
type event struct {
	at    time.Duration
	order int
	do    func()
}

// events are sorted by time, and events of one time by insertion.
type events []event

func (e *events) Len() int      { return len(*e) }
func (e *events) Swap(i, j int) { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }
func (e *events) Less(i, j int) bool {
	a, b := (*e)[i], (*e)[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}
func (e *events) Push(v any) { *e = append(*e, v.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// worker runs one pass at a time. All events during a pass trigger one further pass.
type worker struct{ busy, pending bool }

// converge creates a claim, next to the claims of others, and returns when nothing changes any more.
func converge(t *testing.T, claim []byte, delays pace, others ...*structpb.Struct) *model {
	t.Helper()
	w, err := preview.NewCluster(claim, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	m := &model{kinds: w.Kinds, required: w.Required, others: others, duration: delays, passes: map[string]int{}}
	m.root = m.newXR(w.XR.AsMap(), nil, "")
	m.root.changed()
	for len(m.events) > 0 {
		e, _ := heap.Pop(&m.events).(event)
		m.now = e.at
		e.do()
		if m.err != nil {
			t.Fatal(m.err)
		}
	}
	return m
}

// after schedules a function.
func (m *model) after(d time.Duration, do func()) {
	heap.Push(&m.events, event{at: m.now + d, order: m.order(), do: do})
}

// order returns the number of the next event.
func (m *model) order() int {
	m.ordered++
	return m.ordered
}

// start makes a worker run a pass, now or after the running one. A pass calls its argument at the end.
func (m *model) start(w *worker, pass func(over func())) {
	if w.busy {
		w.pending = true
		return
	}
	w.busy, w.pending = true, false
	m.after(0, func() {
		pass(func() {
			w.busy = false
			if w.pending {
				m.start(w, pass)
			}
		})
	})
}

// passOverClaim copies the XR's status to the claim, which is a change of the claim.
func (m *model) passOverClaim(over func()) {
	const each = 4
	m.writes += each
	m.after(each*write, func() {
		if status, _ := m.root.object["status"].(map[string]any); !reflect.DeepEqual(status, m.copied) {
			m.copied = maps.Clone(status)
			m.claim.pending = true
		}
		over()
	})
}

// xr is a composite resource.
type xr struct {
	worker
	model    *model
	object   map[string]any
	parent   *xr
	resource string // its name among the resources of the parent
	composed map[string]*composed
	// retaken: the next pass takes conditions back.
	retaken bool
	ready   bool
}

// composed is a composed resource, as it was applied last and as observed.
type composed struct {
	desired, observed encoded.Struct
	generation        int
	nested            *xr
}

func (m *model) newXR(object map[string]any, parent *xr, resource string) *xr {
	x := &xr{model: m, object: object, parent: parent, resource: resource, composed: map[string]*composed{}}
	x.setGeneration(1)
	return x
}

func (x *xr) setGeneration(n int) {
	meta, _ := x.object["metadata"].(map[string]any)
	meta["generation"] = float64(n)
}

// changed handles a change of the XR.
func (x *xr) changed() {
	m := x.model
	m.start(&x.worker, x.pass)
	if x.parent == nil {
		m.start(&m.claim, m.passOverClaim)
		return
	}
	x.parent.composed[x.resource].observed = encoded.Of(x.tree())
	m.start(&x.parent.worker, x.parent.pass)
}

func (x *xr) tree() *structpb.Struct {
	s, err := structpb.NewStruct(x.object)
	if err != nil {
		x.model.err = err
	}
	return s
}

func (x *xr) pass(over func()) {
	m := x.model
	tree := x.tree()
	m.passes[compose.KindOf(tree).Kind]++
	cluster := &simulate.Cluster{XR: tree, Observed: map[string]encoded.Struct{}, Required: m.required, RequiredResources: m.others}
	for name, c := range x.composed {
		cluster.Observed[name] = c.observed
	}
	response, plan, err := cluster.Explain(m.kinds[compose.KindOf(tree).GroupKind().String()])
	if err != nil {
		m.err = err
		return
	}
	items := plan.Items()
	at := write
	m.writes++ // references
	if slices.ContainsFunc(items, func(i compose.Item) bool { return x.composed[i.Name] == nil }) {
		m.after(at, x.changed)
	}
	for _, i := range items {
		at += write
		m.after(at, func() { x.apply(i.Name, response.Composed[i.Name].Object) })
	}
	m.after(at+write, func() {
		x.writeStatus(response)
		over()
	})
}

// apply writes a composed resource. If it is new or has changed, its owner starts to work.
func (x *xr) apply(name string, desired encoded.Struct) {
	m := x.model
	m.writes++
	c := x.composed[name]
	switch {
	case c == nil:
		c = &composed{}
		x.composed[name] = c
		m.objects++
	case bytes.Equal(c.desired, desired):
		return
	}
	c.desired = desired
	c.generation++
	if kind := kindOf(desired); m.kinds[kind] != nil {
		x.nest(name, c)
		return
	}
	c.observed = simulate.Exist(desired)
	generation, event := c.generation, func() { m.start(&x.worker, x.pass) }
	event()
	inner, wrapped := wrapper.Desired(desired)
	if !wrapped {
		inner = desired
	} else {
		// The provider records whose configuration it uses, adds a finalizer, and remembers the object that it is about
		// to create and the created one.
		const notes, changes = 5, 4
		m.writes += notes
		for n := range changes {
			m.after(time.Duration(n+1)*write, func() {
				m.writes++
				event()
			})
		}
	}
	delays := m.duration(kindOf(inner))
	for n, d := range delays {
		m.after(d, func() {
			if wrapped {
				m.writes++
			}
			if n == len(delays)-1 && c.generation == generation {
				if c.observed, m.err = simulate.Finish(c.observed); m.err != nil {
					return
				}
			}
			event()
		})
	}
}

// nest composes another XR, whose status is kept.
func (x *xr) nest(name string, c *composed) {
	object := c.desired.Map()
	if c.nested == nil {
		c.nested = x.model.newXR(object, x, name)
	} else if status, ok := c.nested.object["status"]; ok {
		object["status"] = status
	}
	c.nested.object = object
	c.nested.setGeneration(c.generation)
	c.nested.changed()
}

// writeStatus ends a pass.
func (x *xr) writeStatus(response *wire.Response) {
	before, _ := x.object["status"].(map[string]any)
	previous, _ := before["conditions"].([]any)
	conditions, changed := x.conditions(previous, response)
	status := response.Composite.Object.At("status").Map()

	rest := maps.Clone(before)
	delete(rest, "conditions")
	applied := x.retaken || !reflect.DeepEqual(rest, status)
	x.model.writes++
	if applied || changed {
		x.model.writes++
	}
	x.retaken, x.ready = changed, response.Composite.Ready
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	x.object["status"] = status
	if applied || changed {
		x.changed()
	}
}

var statuses = map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False"}

// conditions returns the conditions of an XR after a pass, and whether one of them has changed.
func (x *xr) conditions(previous []any, response *wire.Response) (conditions []any, changed bool) {
	conditions = slices.Clone(previous)
	set := func(typ, status, reason, message string) {
		c := map[string]any{"type": typ, "status": status, "reason": reason, "message": message}
		if typ == "Synced" || typ == "Ready" {
			meta, _ := x.object["metadata"].(map[string]any)
			c["observedGeneration"] = meta["generation"]
		}
		at := slices.IndexFunc(conditions, func(o any) bool { return o.(map[string]any)["type"] == typ })
		if at < 0 {
			at, conditions = len(conditions), append(conditions, map[string]any{})
		}
		old, _ := conditions[at].(map[string]any)
		c["lastTransitionTime"] = old["lastTransitionTime"]
		if reflect.DeepEqual(old, c) {
			return
		}
		c["lastTransitionTime"] = time.Unix(0, 0).UTC().Add(x.model.now).Format(time.RFC3339)
		conditions[at], changed = c, true
	}
	for _, c := range response.Conditions {
		set(c.GetType(), statuses[c.GetStatus()], c.GetReason(), c.GetMessage())
	}
	set("Synced", "True", "ReconcileSuccess", "")
	if response.Composite.Ready {
		set("Ready", "True", "Available", "")
	} else {
		set("Ready", "False", "Creating", "")
	}
	return conditions, changed
}

func kindOf(o encoded.Struct) string { return compose.KindOf(o.Tree()).GroupKind().String() }
