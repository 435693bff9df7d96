package compose_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// item is an object with a verdict.
func item(name string, v ready.Result) compose.Item {
	body := encoded.Struct{}.With(encoded.Text("my-"+name), "metadata", "name")
	return compose.Item{Name: name, Kind: schema.GroupVersionKind{Kind: "Thing"}, Body: body, Readiness: v}
}

func TestWaiting(t *testing.T) {
	done, waiting, failed := ready.Yes, ready.Wait("Later", "it takes its time"), ready.Fail("Broken", "it is broken")
	cases := map[string]struct {
		reason        string
		part          compose.ComponentStatus
		want, message string
	}{
		"Ready": {
			reason: "A ready component has no message.",
			part:   compose.ComponentStatus{Items: []compose.Item{item("a", done)}, Ready: 1, Total: 1},
		},
		"Needs": {
			reason: "A blocked part lists its missing needs.",
			part:   compose.ComponentStatus{Needs: []string{"database", "cache"}, Total: 1},
			want:   "WaitingForDependencies", message: "waits for database, cache",
		},
		"ReadyWithoutNeeds": {
			reason: "Existing objects stay ready when a dependency is not.",
			part:   compose.ComponentStatus{Needs: []string{"database"}, Items: []compose.Item{item("a", done)}, Ready: 1, Total: 1},
		},
		"Held": {
			reason: "A part whose other objects are ready lists the components that block the rest.",
			part:   compose.ComponentStatus{BlockedBy: []string{"database", "cache"}, Items: []compose.Item{item("a", done)}, Ready: 1, Total: 2},
			want:   "WaitingForDependencies", message: "waits for database, cache",
		},
		"One": {
			reason: "The object's own message.",
			part:   compose.ComponentStatus{Items: []compose.Item{item("a", done), item("b", waiting)}, Ready: 1, Total: 2},
			want:   "Later", message: "Thing my-b: it takes its time",
		},
		"Several": {
			reason: "The first in full, the others by name.",
			part:   compose.ComponentStatus{Items: []compose.Item{item("a", waiting), item("b", done), item("c", waiting), item("d", waiting)}, Ready: 1, Total: 4},
			want:   "Later", message: "Thing my-a: it takes its time; 2 more are not ready: c, d",
		},
		"Lifted": {
			reason: "A propagated message already contains the name of its object.",
			part:   compose.ComponentStatus{Items: []compose.Item{item("a", ready.Result{Reason: "Later", Message: "api: Thing b: it takes its time", Propagated: true})}, Total: 1},
			want:   "Later", message: "api: Thing b: it takes its time",
		},
		"Failed": {
			reason: "A failure takes precedence, also over needs.",
			part:   compose.ComponentStatus{Needs: []string{"x"}, Items: []compose.Item{item("a", waiting), item("b", failed)}, Total: 2},
			want:   "Broken", message: "Thing my-b: it is broken",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, text := tc.part.Waiting()
			if diff := cmp.Diff([]string{tc.want, tc.message}, []string{got, text}); diff != "" {
				t.Errorf("%s\nWaiting(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWaitingReportsFailureFirst tests which component determines the message of the plan.
func TestWaitingReportsFailureFirst(t *testing.T) {
	done := compose.ComponentStatus{Name: "done", Items: []compose.Item{item("a", ready.Yes)}, Ready: 1, Total: 1}
	waiting := compose.ComponentStatus{Name: "database", Items: []compose.Item{item("b", ready.Wait("Later", "it takes its time"))}, Total: 1}
	needs := compose.ComponentStatus{Name: "api", Needs: []string{"database"}, Total: 1}
	failed := compose.ComponentStatus{Name: "cache", Items: []compose.Item{item("c", ready.Fail("Broken", "it is broken"))}, Total: 1}
	for name, tc := range map[string]struct {
		reason        string
		parts         []compose.ComponentStatus
		want, message string
	}{
		"Ready":  {"A ready plan has no message.", []compose.ComponentStatus{done}, "", ""},
		"First":  {"The others wait for it.", []compose.ComponentStatus{done, waiting, needs}, "Later", "database: Thing my-b: it takes its time"},
		"Failed": {"A failure takes precedence.", []compose.ComponentStatus{waiting, needs, failed}, "Broken", "cache: Thing my-c: it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			got, text := compose.Plan{Parts: tc.parts}.Waiting()
			if diff := cmp.Diff([]string{tc.want, tc.message}, []string{got, text}); diff != "" {
				t.Errorf("%s\nWaiting(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	observed := compose.Item{Name: "b", Observed: true}
	plan := compose.Plan{
		Parts: []compose.ComponentStatus{
			{Name: "first", Phase: "One", Items: []compose.Item{{Name: "a", Observed: true}}, Ready: 1, Total: 1},
			{Name: "second", Phase: "Two", Items: []compose.Item{observed}, Total: 2},
			{Name: "third", Phase: "Three", Total: 1},
		},
		RetainedRevisions: []compose.Item{{Name: "old"}},
	}
	var names []string
	for _, i := range plan.Items() {
		names = append(names, i.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "old"}, names); diff != "" {
		t.Errorf("Items(): -want, +got:\n%s", diff)
	}
	if plan.Ready() {
		t.Error("Ready(), but two parts are not")
	}
	if got := plan.Phase("Done"); got != "Two" {
		t.Errorf("Phase(Done) = %s, want the phase of the first part that is not ready", got)
	}
	if got := (compose.Plan{Parts: plan.Parts[:1]}).Phase("Done"); got != "Done" {
		t.Errorf("Phase(Done) = %s of a plan that is ready", got)
	}
	if p, ok := plan.ComponentStatus("second"); !ok || p.Phase != "Two" || p.Exists() || p.IsReady() {
		t.Errorf("Part(second) = %+v, %t: half of it exists", p, ok)
	}
	if p, ok := plan.ComponentStatus("first"); !ok || !p.Exists() || !p.IsReady() {
		t.Errorf("Part(first) = %+v, %t: all of it exists and is ready", p, ok)
	}
	if p, ok := plan.ComponentStatus("fourth"); ok {
		t.Errorf("Part(fourth) = %+v, want none", p)
	}
}

// TestParts tests that a part has the values of its component, and the time of its last change.
func TestParts(t *testing.T) {
	build := func(m string) ([]compose.Stage, error) {
		return []compose.Stage{{{Name: m, Object: object("Certificate", m)}}}, nil
	}
	g := compose.Graph[string]{
		{Name: "off", Build: build, Enabled: func(string) bool { return false }},
		{Name: "on", Phase: "Working", Build: build, Needs: []string{"off"}, Version: func(m string) string { return "1-" + m }},
	}
	plan, err := g.Compute("m", newState(t, map[string]*structpb.Struct{"m": states["failing"].observed(t, object("Certificate", "m"))}, false), readiness.Rules, compose.Item.Reference)
	if err != nil {
		t.Fatalf("Compute(...): %v", err)
	}
	if len(plan.Parts) != 1 {
		t.Fatalf("%d parts, want 1: a disabled component has no part", len(plan.Parts))
	}
	p := plan.Parts[0]
	got := []any{p.Name, p.Phase, p.Version, p.After, p.Needs, p.Ready, p.Total, p.Items[0].Since, p.Items[0].Kind.Kind}
	want := []any{"on", "Working", "1-m", []string{"off"}, []string(nil), 0, 1, "2025-01-01T00:00:00Z", "Certificate"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
