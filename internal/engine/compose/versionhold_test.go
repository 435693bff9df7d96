package compose_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// process is a component with one Deployment of the same name.
type process struct {
	name         string
	rolloutAfter []string
	desired      version
	// now is the running state, nil if the Deployment does not exist.
	now *running
}

// version contains the relevant fields of a Deployment.
type version struct {
	image, config string
	replicas      int64
}

// running is a version and how it does.
type running struct {
	version

	available int64
	wrapped   bool
}

func (v version) deployment(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": "cloud"},
		"spec": map[string]any{"replicas": v.replicas, "template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "main", "image": v.image, "env": []any{map[string]any{"name": "CONFIG", "value": v.config}}},
		}}}},
	}}
}

// observed is the Deployment as a cluster has it when its controller has seen it.
func (r running) observed(t tb, name string) *structpb.Struct {
	t.Helper()
	o := applied(t, r.deployment(name))
	o["status"] = map[string]any{
		"observedGeneration": int64(3), "replicas": r.replicas, "updatedReplicas": r.replicas, "availableReplicas": r.available,
	}
	if r.wrapped {
		o = wrapped(o)
	}
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatalf("cannot make a Struct: %v", err)
	}
	return s
}

// service is some processes that are rolled out in an order.
type service []*process

func (s service) plan(t tb, lazily bool) compose.Plan {
	t.Helper()
	var g compose.Graph[struct{}]
	observed := map[string]*structpb.Struct{}
	for _, p := range s {
		g = append(g, compose.Component[struct{}]{Name: p.name, RolloutAfter: p.rolloutAfter, Build: func(struct{}) ([]compose.Stage, error) {
			return []compose.Stage{{{Name: p.name, Object: p.desired.deployment(p.name)}}}, nil
		}})
		if p.now != nil {
			observed[p.name] = p.now.observed(t, p.name)
		}
	}
	plan, err := g.MustValidate().Compute(struct{}{}, newState(t, observed, lazily), readiness.Rules, compose.Item.Reference)
	if err != nil {
		t.Fatalf("Compute(...): %v", err)
	}
	return plan
}

// versionOf returns the version in the desired Deployment of a plan.
func versionOf(t tb, item compose.Item) version {
	t.Helper()
	replicas, _ := item.Body.At("spec", "replicas").Int64()
	v := version{replicas: replicas}
	for c := range item.Body.At("spec", "template", "spec", "containers").Elements() {
		v.image = c.Field("image").Text()
		for e := range c.Field("env").Elements() {
			v.config = e.Field("value").Text()
		}
	}
	body, err := encode.Object(v.deployment(item.Name))
	if err != nil {
		t.Fatalf("cannot encode: %v", err)
	}
	if got := item.Body.At("metadata", "annotations", compose.HashAnnotation).Text(); got != body.Hash() {
		t.Fatalf("%s has the hash %q of something else than %+v", item.Name, got, v)
	}
	return v
}

// TestWaitingComponentRetainsVersion tests that a component that waits for a rollout keeps its version and nothing else, and never a broken
// version.
func TestWaitingComponentRetainsVersion(t *testing.T) {
	v := func(image string) version { return version{image: image, config: "a", replicas: 3} }
	well := func(v version) *running { return &running{version: v, available: v.replicas} }
	const waiting = "Deployment api: its new version waits for the roll-out of conductor"
	for name, tc := range map[string]struct {
		reason         string
		conductor, api *running
		desired, want  version
		conductorWants version
		message        string
	}{
		"first": {
			reason:    "The conductor is rolled out first, with its config.",
			conductor: well(v("1")), api: well(v("1")), conductorWants: v("2"),
			desired: version{"2", "b", 3}, want: v("1"), message: waiting,
		},
		"then": {
			reason:    "The conductor's desired state is ready.",
			conductor: well(v("2")), api: well(v("1")), conductorWants: v("2"),
			desired: v("2"), want: v("2"), message: "Deployment api: the last change of it is not applied yet",
		},
		"rolling": {
			reason:    "Some of its pods are not there yet.",
			conductor: &running{version: v("2"), available: 2}, api: well(v("1")), conductorWants: v("2"),
			desired: v("2"), want: v("1"), message: waiting,
		},
		"scaled": {
			reason:    "Fewer pods may free capacity for the component that is rolled out.",
			conductor: &running{version: v("2"), available: 2}, api: well(v("1")), conductorWants: v("2"),
			desired: version{"2", "a", 1}, want: version{"1", "a", 1}, message: waiting,
		},
		"config": {
			reason:    "It is not another version, and its configuration may be the reason for which the conductor fails.",
			conductor: &running{version: v("1")}, api: well(v("1")), conductorWants: v("1"),
			desired: version{"1", "b", 3}, want: version{"1", "b", 3}, message: "Deployment api: the last change of it is not applied yet",
		},
		"dead": {
			reason:    "An image that does not start is replaced, regardless of the conductor.",
			conductor: &running{version: v("1")}, api: &running{version: v("bad")}, conductorWants: v("2"),
			desired: v("2"), want: v("2"), message: "Deployment api: the last change of it is not applied yet",
		},
		"back": {
			reason:    "An upgrade that is given up waits for nothing.",
			conductor: &running{version: v("2")}, api: well(v("1")), conductorWants: v("1"),
			desired: v("1"), want: v("1"),
		},
		"new": {
			reason:    "A new Deployment has no version to keep.",
			conductor: &running{version: v("2")}, conductorWants: v("2"),
			desired: v("2"), want: v("2"), message: "Deployment api: it is not created yet",
		},
		"wrapped": {
			reason:    "In another cluster it is the same.",
			conductor: well(v("1")), api: &running{version: v("1"), available: 3, wrapped: true}, conductorWants: v("2"),
			desired: v("2"), want: v("1"), message: waiting,
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := service{
				{name: "conductor", desired: tc.conductorWants, now: tc.conductor},
				{name: "api", rolloutAfter: []string{"conductor"}, desired: tc.desired, now: tc.api},
			}.plan(t, false)
			part, _ := plan.ComponentStatus("api")
			if diff := cmp.Diff(tc.want, versionOf(t, part.Items[0]), cmp.AllowUnexported(version{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if _, text := part.Waiting(); text != tc.message {
				t.Errorf("%s\nthe message is %q, want %q", tc.reason, text, tc.message)
			}
		})
	}
}

// TestDisabledComponentBlocksNoRollout tests that a disabled component blocks no other.
func TestDisabledComponentBlocksNoRollout(t *testing.T) {
	old := running{version: version{"1", "a", 1}, available: 1}
	desired := version{"2", "a", 1}
	build := func(struct{}) ([]compose.Stage, error) {
		return []compose.Stage{{{Name: "api", Object: desired.deployment("api")}}}, nil
	}
	plan, err := compose.Graph[struct{}]{
		{Name: "conductor", Build: build, Enabled: func(struct{}) bool { return false }},
		{Name: "api", Build: build, RolloutAfter: []string{"conductor"}},
	}.MustValidate().Compute(struct{}{}, newState(t, map[string]*structpb.Struct{"api": old.observed(t, "api")}, false), readiness.Rules, compose.Item.Reference)
	if err != nil {
		t.Fatal(err)
	}
	if got := versionOf(t, plan.Items()[0]); got != desired {
		t.Errorf("%+v is desired, want %+v", got, desired)
	}
}

// TestWaitingServiceRetainsReleaseAndImages tests that a service keeps its release and images, and gets all other changes.
func TestWaitingServiceRetainsReleaseAndImages(t *testing.T) {
	keystone := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone", "metadata": map[string]any{"name": "k", "namespace": "cloud"},
			"spec": spec,
		}}
	}
	last := applied(t, keystone(map[string]any{"openStackRelease": "2025.1", "images": map[string]any{"api": "1"}, "region": "a"}))
	last["status"] = map[string]any{"release": "2025.1"}
	observed, err := structpb.NewStruct(last)
	if err != nil {
		t.Fatal(err)
	}
	object := func(o *unstructured.Unstructured) func(struct{}) ([]compose.Stage, error) {
		return func(struct{}) ([]compose.Stage, error) { return []compose.Stage{{{Name: o.GetName(), Object: o}}}, nil }
	}
	desired := keystone(map[string]any{"openStackRelease": "2025.2", "image": map[string]any{"tag": "2"}, "region": "b"})
	plan, err := compose.Graph[struct{}]{
		{Name: "first", Build: object(version{}.deployment("first"))},
		{Name: "second", Build: object(desired), RolloutAfter: []string{"first"}},
	}.MustValidate().Compute(struct{}{}, newState(t, map[string]*structpb.Struct{"k": observed}, false), readiness.Rules, compose.Item.Reference)
	if err != nil {
		t.Fatal(err)
	}
	part, _ := plan.ComponentStatus("second")
	want := map[string]any{"openStackRelease": "2025.1", "images": map[string]any{"api": "1"}, "region": "b"}
	if diff := cmp.Diff(want, part.Items[0].Body.Map()["spec"]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// drawService draws processes in random states, and an order of their roll-outs.
func drawService(t *rapid.T) service {
	image, config := rapid.SampledFrom([]string{"1", "2"}), rapid.SampledFrom([]string{"a", "b"})
	replicas := rapid.Int64Range(1, 3)
	draw := func() version {
		return version{image.Draw(t, "image"), config.Draw(t, "config"), replicas.Draw(t, "replicas")}
	}
	var s service
	for i := range rapid.IntRange(1, 5).Draw(t, "processes") {
		p := &process{name: fmt.Sprintf("c%d", i), desired: draw()}
		for _, earlier := range s {
			if rapid.Bool().Draw(t, "rolls after") {
				p.rolloutAfter = append(p.rolloutAfter, earlier.name)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "runs") > 0 {
			r := running{version: draw(), wrapped: rapid.Bool().Draw(t, "wrapped")}
			r.available = rapid.Int64Range(0, r.replicas).Draw(t, "available")
			p.now = &r
		}
		s = append(s, p)
	}
	return s
}

// done reports whether a process is ready in its desired state.
func (p *process) done() bool {
	return p.now != nil && p.now.version == p.desired && p.now.available == p.desired.replicas
}

// waitsFor are the processes that a process rolls after and that are not done.
func (s service) waitsFor(p *process) []string {
	var out []string
	for _, earlier := range s {
		if slices.Contains(p.rolloutAfter, earlier.name) && !earlier.done() {
			out = append(out, earlier.name)
		}
	}
	return out
}

// wrong returns the difference between a plan and the rule, or "".
func (s service) wrong(t tb, plan compose.Plan) string {
	t.Helper()
	for _, p := range s {
		part, _ := plan.ComponentStatus(p.name)
		if len(part.Items) != 1 {
			return p.name + " is not desired"
		}
		want := p.desired
		held := len(s.waitsFor(p)) > 0 && p.now != nil && p.now.available > 0 && p.now.image != p.desired.image
		if held {
			want.image, want.config = p.now.image, p.now.config
		}
		got := versionOf(t, part.Items[0])
		switch {
		case got != want:
			return fmt.Sprintf("%s is desired as %+v, want %+v", p.name, got, want)
		case part.IsReady() != p.done():
			return fmt.Sprintf("%s is ready: %t, want %t", p.name, part.IsReady(), p.done())
		case held != (part.Items[0].Readiness.Reason == "WaitingForRollout"):
			return fmt.Sprintf("%s has result %+v, and is blocked: %t", p.name, part.Items[0].Readiness, held)
		}
	}
	return ""
}

// TestVersionsChangeInOrder tests from random states that versions change in order, that the same input gives the same plan, and that the
// plan becomes ready if all desired objects become ready.
func TestVersionsChangeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawService(t)
		for range len(s) + 2 {
			plan := s.plan(t, false)
			if diff := cmp.Diff(plan, s.plan(t, true), samePlan); diff != "" {
				t.Fatalf("the same state gave another plan: -first, +second:\n%s", diff)
			}
			if wrong := s.wrong(t, plan); wrong != "" {
				t.Fatal(wrong)
			}
			if plan.Ready() {
				return
			}
			next := map[string]*running{}
			for _, p := range s {
				part, _ := plan.ComponentStatus(p.name)
				v := versionOf(t, part.Items[0])
				if waiting := s.waitsFor(p); p.now != nil && p.now.available > 0 && v.image != p.now.image && len(waiting) > 0 {
					t.Fatalf("%s gets another version before %v", p.name, waiting)
				}
				next[p.name] = &running{version: v, available: v.replicas, wrapped: p.now != nil && p.now.wrapped}
			}
			for _, p := range s {
				p.now = next[p.name]
			}
		}
		t.Fatalf("it is not ready after %d rounds", len(s)+2)
	})
}

// TestVersionHoldBreaks tests that the check detects a plan without order, and a component that waits without need.
func TestVersionHoldBreaks(t *testing.T) {
	old, desired := version{"1", "a", 1}, version{"2", "a", 1}
	two := func(rollsAfter []string, api version) service {
		return service{
			{name: "conductor", desired: desired, now: &running{version: old, available: 1}},
			{name: "api", rolloutAfter: rollsAfter, desired: api, now: &running{version: old, available: 1}},
		}
	}
	ordered, unordered := two([]string{"conductor"}, desired), two(nil, desired)
	if wrong := ordered.wrong(t, ordered.plan(t, false)); wrong != "" {
		t.Errorf("an ordered plan is wrong: %s", wrong)
	}
	if ordered.wrong(t, unordered.plan(t, false)) == "" {
		t.Error("a component that does not wait is not detected")
	}
	if unordered.wrong(t, ordered.plan(t, false)) == "" {
		t.Error("a component that waits without need is not detected")
	}
}
