package compose_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// TestInvariantsHoldForRandomGraphs tests the invariants of the package with random graphs in random states, and then makes all objects
// ready.
func TestInvariantsHoldForRandomGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawToy(t)
		plan := m.compute(t)
		m.checkRetained(t, plan)
		m.checkGates(t, plan)
		m.checkSame(t, plan)
		m.checkBodies(t, plan)
		m.checkErrors(t)
		m.checkConverges(t)
	})
}

func drawToy(t *rapid.T) *toy {
	m := &toy{current: map[string]string{}, old: map[string]string{}, unknown: map[string]string{}}
	var names, resources []string
	for i := range rapid.IntRange(0, 5).Draw(t, "components") {
		c := component{name: fmt.Sprintf("c%d", i), disabled: rapid.IntRange(0, 4).Draw(t, "disabled") == 4}
		for _, earlier := range names {
			switch rapid.IntRange(0, 4).Draw(t, "after") {
			case 3:
				c.needs = append(c.needs, earlier)
			case 4:
				c.follows = append(c.follows, earlier)
			}
		}
		names = append(names, c.name)
		for s := range rapid.IntRange(0, 3).Draw(t, "stages") {
			var stage []resource
			for r := range rapid.IntRange(0, 3).Draw(t, "resources") {
				one := m.drawResource(t, fmt.Sprintf("%s-%d%d", c.name, s, r))
				if len(resources) > 0 && rapid.IntRange(0, 4).Draw(t, "comes after one") == 4 {
					one.after = []string{rapid.SampledFrom(resources).Draw(t, "after resource")}
				}
				if !c.disabled {
					resources = append(resources, one.name)
				}
				stage = append(stage, one)
			}
			c.stages = append(c.stages, stage)
		}
		m.components = append(m.components, c)
	}
	for _, name := range []string{"other", "c9-00", "c0"} {
		if rapid.Bool().Draw(t, "unknown") {
			m.unknown[name] = rapid.SampledFrom(configMapStates).Draw(t, "state of "+name)
		}
	}
	return m
}

// drawResource draws a resource, its observed state and its older revisions.
func (m *toy) drawResource(t *rapid.T, name string) resource {
	r := resource{
		name: name, kind: "Certificate",
		retain: rapid.Bool().Draw(t, "retain"), management: rapid.Bool().Draw(t, "management"),
	}
	possible := slices.Sorted(maps.Keys(states))
	if rapid.Bool().Draw(t, "revisions") {
		r.kind, r.revisions, r.name = "ConfigMap", name, name+"-new"
		possible = configMapStates
		for i := range rapid.IntRange(0, 2).Draw(t, "older revisions") {
			old := fmt.Sprintf("%s-old%d", name, i)
			m.old[old] = rapid.SampledFrom(possible).Draw(t, "state of "+old)
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "observed") {
	case 1:
		m.current[r.name] = "ready"
	case 2, 3:
		m.current[r.name] = rapid.SampledFrom(possible).Draw(t, "state of "+r.name)
	}
	return r
}

// observed is everything that is observed.
func (m *toy) observed(t tb) map[string]*structpb.Struct {
	t.Helper()
	out := map[string]*structpb.Struct{}
	for _, c := range m.components {
		for _, r := range slices.Concat(c.stages...) {
			if s, ok := m.current[r.name]; ok {
				out[r.name] = states[s].observed(t, object(r.kind, r.name))
			}
		}
	}
	for _, others := range []map[string]string{m.old, m.unknown} {
		for name, s := range others {
			out[name] = states[s].observed(t, object("ConfigMap", name))
		}
	}
	return out
}

func (m *toy) compute(t tb) compose.Plan {
	t.Helper()
	plan, err := m.graph().Compute(m, newState(t, m.observed(t), false), readiness.Rules, compose.Item.Reference)
	if err != nil {
		t.Fatalf("Compute(...): %v", err)
	}
	return plan
}

// exists and ready return the drawn state of a resource.
func (m *toy) exists(r resource) bool {
	_, ok := m.current[r.name]
	return ok
}

func (m *toy) ready(r resource) bool {
	s, ok := m.current[r.name]
	return ok && states[s].wrong == ""
}

// replaces: there are older revisions of a resource.
func (m *toy) replaces(r resource) bool {
	for old := range m.old {
		if r.revisions != "" && strings.HasPrefix(old, r.revisions+"-") {
			return true
		}
	}
	return false
}

// done is ready, by name.
func (m *toy) done(name string) bool { return m.ready(resource{name: name}) }

// all reports whether a predicate is true for all resources of a component. It is true for a disabled component.
func (m *toy) all(name string, holds func(resource) bool) bool {
	i := slices.IndexFunc(m.components, func(c component) bool { return c.name == name })
	c := m.components[i]
	return c.disabled || !slices.ContainsFunc(slices.Concat(c.stages...), func(r resource) bool { return !holds(r) })
}

// checkRetained tests invariant 1: observed objects stay desired, except objects of disabled components, and older revisions once
// everything is ready.
func (m *toy) checkRetained(t *rapid.T, plan compose.Plan) {
	desired := map[string]compose.Item{}
	for _, i := range plan.Items() {
		if _, exists := desired[i.Name]; exists {
			t.Errorf("%s is desired twice", i.Name)
		}
		desired[i.Name] = i
	}
	for _, c := range m.components {
		for _, r := range slices.Concat(c.stages...) {
			i, ok := desired[r.name]
			switch {
			case c.disabled && ok:
				t.Errorf("%s is desired, but its component is switched off", r.name)
			case !c.disabled && !ok && m.exists(r):
				t.Errorf("%s is observed and enabled, but not desired: it would be deleted", r.name)
			case ok && (i.Retain != r.retain || i.Management != r.management || i.Observed != m.exists(r)):
				t.Errorf("%s is desired as %+v", r.name, i)
			}
			if r.revisions == "" {
				continue
			}
			for old := range m.old {
				i, ok := desired[old]
				if revision := old[:len(old)-1] == r.revisions+"-old"; !revision {
					continue
				}
				if desired := !c.disabled && !plan.Ready(); ok != desired {
					t.Errorf("older revision %s: desired is %t, want %t", old, ok, desired)
				}
				if ok && (i.Retain != r.retain || i.Management != r.management) {
					t.Errorf("older revision %s is desired as %+v, other than %+v", old, i, r)
				}
			}
		}
	}
	for name := range m.unknown {
		if _, ok := desired[name]; ok {
			t.Errorf("%s is desired, but belongs to no component", name)
		}
	}
}

// checkGates tests invariant 6: all needs of a new object are ready and up to date. It also tests the reverse: an object with ready needs
// is created.
func (m *toy) checkGates(t *rapid.T, plan compose.Plan) {
	allReady := true
	for _, c := range m.components {
		part, ok := plan.ComponentStatus(c.name)
		if ok == c.disabled {
			t.Fatalf("Part(%s) exists: %t", c.name, ok)
		}
		if c.disabled {
			continue
		}
		open := true
		for _, need := range c.needs {
			open = open && m.all(need, m.ready)
		}
		for _, first := range c.follows {
			open = open && m.all(first, m.exists)
		}
		if waiting := len(part.Needs) > 0; waiting == open {
			t.Errorf("%s waits for %v, but open is %t", c.name, part.Needs, open)
		}
		total, ready, held := 0, 0, false
		for _, stage := range c.stages {
			next := open
			for _, r := range stage {
				desired := slices.ContainsFunc(part.Items, func(i compose.Item) bool { return i.Name == r.name })
				waiting := slices.ContainsFunc(r.after, func(name string) bool { return !m.done(name) })
				existing := m.exists(r) || m.replaces(r)
				held = held || open && waiting && !existing
				if want := open && !waiting || existing; desired != want {
					t.Errorf("%s: desired is %t, want %t", r.name, desired, want)
				}
				total++
				if m.ready(r) {
					ready++
				}
				next = next && m.ready(r)
			}
			open = next
		}
		if held != (len(part.BlockedBy) > 0) {
			t.Errorf("%s is held by %v, want any: %t", c.name, part.BlockedBy, held)
		}
		if _, message := part.Waiting(); (message == "") != (ready == total) {
			t.Errorf("%s: %d of %d are ready, and it waits for %q", c.name, ready, total, message)
		}
		if part.Ready != ready || part.Total != total {
			t.Errorf("%s: %d of %d are ready, want %d of %d", c.name, part.Ready, part.Total, ready, total)
		}
		allReady = allReady && ready == total
		for _, i := range part.Items {
			want := "NotCreated"
			if s, ok := m.current[i.Name]; ok {
				want = states[s].wrong
			}
			if i.Readiness.Ready != (want == "") || !i.Readiness.Ready && i.Readiness.Reason != want {
				t.Errorf("%s is %s: result %+v, want reason %q", i.Name, m.current[i.Name], i.Readiness, want)
			}
		}
	}
	if plan.Ready() != allReady {
		t.Errorf("Ready() is %t, want %t", plan.Ready(), allReady)
	}
}

// samePlan compares plans. Rules hold functions, which nothing compares; they follow from the kind.
var samePlan = cmpopts.IgnoreFields(compose.Item{}, "Rule")

// checkSame is invariant 3, with the request's maps filled second and its objects left as bytes.
func (m *toy) checkSame(t *rapid.T, plan compose.Plan) {
	second, err := m.graph().Compute(m, newState(t, m.observed(t), true), readiness.Rules, compose.Item.Reference)
	if err != nil {
		t.Fatalf("Compute(...), lazily: %v", err)
	}
	if diff := cmp.Diff(plan, second, samePlan); diff != "" {
		t.Errorf("the same state gave another plan: -first, +second:\n%s", diff)
	}
}

// checkBodies tests that an object is the output of its builder with its hash.
func (m *toy) checkBodies(t *rapid.T, plan compose.Plan) {
	items := plan.Items()
	for _, i := range items[:len(items)-len(plan.RetainedRevisions)] {
		want, err := encode.Object(object(i.Kind.Kind, i.Name))
		if err != nil {
			t.Fatalf("Object(...): %v", err)
		}
		o := want.Map()
		o["metadata"].(map[string]any)["annotations"] = map[string]any{compose.HashAnnotation: want.Hash()}
		if diff := cmp.Diff(o, i.Body.Map()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", i.Name, diff)
		}
	}
}

// checkErrors is invariant 2: an error of any builder leaves no plan.
func (m *toy) checkErrors(t *rapid.T) {
	for _, c := range m.components {
		if c.disabled {
			continue
		}
		broken := *m
		broken.broken = c.name
		plan, err := broken.graph().Compute(&broken, newState(t, m.observed(t), false), readiness.Rules, compose.Item.Reference)
		want := fmt.Sprintf("cannot compose %[1]s: %[1]s is broken", c.name)
		if err == nil || err.Error() != want {
			t.Errorf("Compute(...), %s fails: %v, want %s", c.name, err, want)
		}
		if diff := cmp.Diff(compose.Plan{}, plan, samePlan); diff != "" {
			t.Errorf("%s fails, but there is a plan: %s", c.name, diff)
		}
	}
}

// checkConverges: when everything desired is made to exist and be ready, second and second, all is ready before long.
func (m *toy) checkConverges(t *rapid.T) {
	rounds := 1
	for _, c := range m.components {
		rounds += 1 + len(c.stages) + len(slices.Concat(c.stages...))
	}
	for range rounds {
		plan := m.compute(t)
		if plan.Ready() {
			return
		}
		for _, i := range plan.Items() {
			m.current[i.Name] = "ready"
		}
	}
	t.Errorf("not ready after %d rounds", rounds)
}
