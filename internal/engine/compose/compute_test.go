package compose_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// TestReportsReadinessOfEachState gives the verdict on a resource in each state.
func TestReportsReadinessOfEachState(t *testing.T) {
	for name, s := range states {
		t.Run(name, func(t *testing.T) {
			m := &toy{
				components: []component{{name: "c", stages: [][]resource{{{name: "r", kind: "Certificate"}}}}},
				current:    map[string]string{"r": name},
			}
			plan := m.compute(t)
			item := plan.Items()[0]
			if item.Readiness.Ready != (s.wrong == "") || s.wrong != "" && item.Readiness.Reason != s.wrong {
				t.Errorf("the verdict is %+v, want reason %q", item.Readiness, s.wrong)
			}
			if !item.Readiness.Ready && item.Readiness.Message == "" {
				t.Errorf("the result %+v has no message", item.Readiness)
			}
			if plan.Ready() != item.Readiness.Ready {
				t.Errorf("Ready() = %t of %+v", plan.Ready(), item.Readiness)
			}
		})
	}
}

// one returns a graph with one component.
func one(stages ...compose.Stage) compose.Graph[struct{}] {
	build := func(struct{}) ([]compose.Stage, error) { return stages, nil }
	return compose.Graph[struct{}]{{Name: "all", Phase: "Building", Build: build}}
}

func TestComputeRejectsInvalidResources(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	withStatus := object("ConfigMap", "a")
	withStatus.Object["status"] = map[string]any{"phase": "Done"}
	cases := map[string]struct {
		reason string
		stage  compose.Stage
		want   string
	}{
		"NoName": {
			reason: "Crossplane finds an object by its resource name.",
			stage:  compose.Stage{{Object: object("ConfigMap", "a")}},
			want:   `cannot compose all: resource name "" is empty or used twice`,
		},
		"SameName": {
			reason: "One of the two resources would be lost.",
			stage:  compose.Stage{{Name: "a", Object: object("ConfigMap", "a")}, {Name: "a", Object: object("ConfigMap", "b")}},
			want:   `cannot compose all: resource name "a" is empty or used twice`,
		},
		"NoRule": {
			reason: "Without a rule, readiness is undefined.",
			stage:  compose.Stage{{Name: "a", Object: secret}},
			want:   `cannot compose all: a has no readiness rule for its kind Secret`,
		},
		"Status": {
			reason: "An object that cannot be encoded is an error, not omitted.",
			stage:  compose.Stage{{Name: "a", Object: withStatus}},
			want:   `cannot compose all: cannot encode a: cannot encode ConfigMap "a": field status`,
		},
		"AfterNothing": {
			reason: "A resource after one that does not exist would wait forever.",
			stage:  compose.Stage{{Name: "a", Object: object("ConfigMap", "a"), After: []string{"b"}}, {Name: "b", Object: object("ConfigMap", "b")}},
			want:   `cannot compose all: a comes after b, which is not declared before it`,
		},
		"ReferToNothing": {
			reason: "A resource must be declared before it is referred to.",
			stage: compose.Stage{{Name: "a", Refer: func(to func(string) compose.Reference) runtime.Object {
				return object("ConfigMap", to("b").Name)
			}}, {Name: "b", Object: object("ConfigMap", "b")}},
			want: `cannot compose all: a refers to b, which is not declared before it`,
		},
		"NoObject": {
			reason: "A builder's mistake is an error, not a crash.",
			stage:  compose.Stage{{Name: "a"}},
			want:   `cannot compose all: cannot encode a: cannot encode an object that is nil`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan, err := one(tc.stage).Compute(struct{}{}, observe.State{}, readiness.Rules, compose.Item.Reference)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s\nCompute(...): %v, want %s", tc.reason, err, tc.want)
			}
			if diff := cmp.Diff(compose.Plan{}, plan, samePlan); diff != "" {
				t.Errorf("%s\nthere is a plan: %s", tc.reason, diff)
			}
		})
	}
}

// TestObjectRefersToComposedForm tests that an object refers to other resources in their composed form, which the caller of Compute
// determines.
func TestObjectRefersToComposedForm(t *testing.T) {
	var of []compose.Reference
	g := one(compose.Stage{{Name: "a", Object: object("ConfigMap", "my-a")}, {Name: "b", Refer: func(to func(string) compose.Reference) runtime.Object {
		of = append(of, to("a"))
		return object("ConfigMap", to("a").Name)
	}}})
	direct := compose.Reference{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "cloud", Name: "my-a"}
	other := compose.Reference{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Holder"}, Name: "holder-of-a"}
	for _, as := range []func(compose.Item) compose.Reference{compose.Item.Reference, func(compose.Item) compose.Reference { return other }} {
		plan, err := g.Compute(struct{}{}, observe.State{}, readiness.Rules, as)
		if err != nil {
			t.Fatalf("Compute(...): %v", err)
		}
		if got, want := plan.Items()[1].Body.At("metadata", "name").Text(), of[len(of)-1].Name; got != want {
			t.Errorf("the object refers to %q, want %q", got, want)
		}
	}
	if diff := cmp.Diff([]compose.Reference{direct, other}, of); diff != "" {
		t.Errorf("references: -want, +got:\n%s", diff)
	}
}

// TestResourceCheckReplacesKindRule tests that a resource's check replaces the rule of its kind, and is required for a kind without a rule.
func TestResourceCheckReplacesKindRule(t *testing.T) {
	never := func(*observe.Object) ready.Result { return ready.Fail("Never", "it never is") }
	secret := object("ConfigMap", "r")
	secret.SetKind("Unheard")
	for name, o := range map[string]*unstructured.Unstructured{"known kind": object("ConfigMap", "r"), "unknown kind": secret} {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{"r": states["ready"].observed(t, o)}
			plan, err := one(compose.Stage{{Name: "r", Object: o, Ready: never}}).Compute(struct{}{}, newState(t, observed, false), readiness.Rules, compose.Item.Reference)
			if err != nil {
				t.Fatalf("Compute(...): %v", err)
			}
			if got := plan.Items()[0].Readiness.Reason; got != "Never" {
				t.Errorf("the reason is %q, want the one of the resource's check", got)
			}
		})
	}
}

// TestRetainedRevisionFails tests that an older revision that cannot be composed is an error, because a missing one would be deleted.
func TestRetainedRevisionFails(t *testing.T) {
	for name, observed := range map[string]map[string]any{
		"NoMetadata": {"apiVersion": "v1", "kind": "ConfigMap"},
		"NoNumber":   {"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "old"}, "data": math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := structpb.NewStruct(observed)
			if err != nil {
				t.Fatal(err)
			}
			g := one(compose.Stage{{Name: "config-new", Object: object("ConfigMap", "new"), Revisions: "config"}})
			plan, err := g.Compute(struct{}{}, newState(t, map[string]*structpb.Struct{"config-old": o}, true), readiness.Rules, compose.Item.Reference)
			if err == nil || !strings.Contains(err.Error(), "cannot keep the older revision config-old: ") {
				t.Errorf("Compute(...) = %d objects, %v, want an error", len(plan.Items()), err)
			}
		})
	}
}

// TestRetainsFieldsOfOlderRevision tests that an older revision is composed without fields of the server or Crossplane, and with all
// others, because a missing field would be removed.
func TestRetainsFieldsOfOlderRevision(t *testing.T) {
	direct := applied(t, object("ConfigMap", "old"))
	hash := direct["metadata"].(map[string]any)["annotations"].(map[string]any)[compose.HashAnnotation]
	direct["extra"] = map[string]any{"creationTimestamp": nil, "list": []any{map[string]any{"a": nil, "b": "c"}}}
	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "old", "namespace": "cloud",
			"labels":      map[string]any{"example.org/kept": "yes"},
			"annotations": map[string]any{compose.HashAnnotation: hash, "example.org/kept": "yes"},
		},
		"data":  map[string]any{"name": "old"},
		"extra": map[string]any{"list": []any{map[string]any{"b": "c"}}},
	}
	asWrapped := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "old"}, "data": map[string]any{"name": "old"},
	}
	wrapper := func(status map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": map[string]any{"name": "wrapper"},
			"spec": map[string]any{
				"forProvider": map[string]any{"manifest": asWrapped}, "providerConfigRef": map[string]any{"name": "east"},
			}, "status": status,
		}
	}
	job := func(spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "old"}, "spec": spec}
	}
	cases := map[string]struct {
		reason   string
		observed map[string]any
		want     []map[string]any
		cluster  string
	}{
		"Direct": {
			reason:   "Fields that the server and Crossplane add, and nulls, are removed.",
			observed: direct,
			want:     []map[string]any{want},
		},
		"Wrapped": {
			reason:   "The wrapper contains the desired object, so that its own spec does not change.",
			observed: wrapper(map[string]any{"atProvider": map[string]any{"manifest": direct}}),
			want:     []map[string]any{asWrapped},
			cluster:  "east", // The current revision may be in another one.
		},
		"WrappedUnseen": {
			reason:   "A wrapper that has not seen its object yet keeps it all the same.",
			observed: wrapper(nil),
			want:     []map[string]any{asWrapped},
			cluster:  "east",
		},
		"Job": {
			reason: "A manager that applied the selector of a Job cannot omit it later, and a re-created Job has none.",
			observed: job(map[string]any{
				"selector": map[string]any{"matchLabels": map[string]any{"batch.kubernetes.io/controller-uid": "u"}},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{
					"app": "a", "batch.kubernetes.io/controller-uid": "u", "controller-uid": "u", "batch.kubernetes.io/job-name": "old", "job-name": "old",
				}}},
			}),
			want: []map[string]any{job(map[string]any{
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "a"}}},
			})},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := structpb.NewStruct(tc.observed)
			if err != nil {
				t.Fatal(err)
			}
			observed := map[string]*structpb.Struct{"config-old": o, "configuration": o, "others-old": o}
			for desired, stage := range map[string]compose.Stage{
				"one revision": {{Name: "config-new", Object: object("ConfigMap", "new"), Revisions: "config", Retain: true, Management: true}},
				"no revision":  {{Revisions: "config", Retain: true, Management: true}, {Name: "new", Object: object("ConfigMap", "new")}},
			} {
				plan, err := one(stage).Compute(struct{}{}, newState(t, observed, true), readiness.Rules, compose.Item.Reference)
				if err != nil {
					t.Fatalf("Compute(...): %v", err)
				}
				var got []map[string]any
				for _, i := range plan.RetainedRevisions {
					got = append(got, i.Body.Map())
					if i.Name != "config-old" || i.Kind.Kind != i.Body.Map()["kind"] || !i.Retain || !i.Management || !i.Observed || !i.Readiness.Ready ||
						i.Cluster != tc.cluster {
						t.Errorf("%s\ncurrent: %s, kept as %+v", tc.reason, desired, i)
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s\ncurrent: %s: -want, +kept:\n%s", tc.reason, desired, diff)
				}
				// None of the wrappers orphans its object, so data is deleted with the composite resource.
				if plan.DataPolicy() != compose.Deleted {
					t.Errorf("%s\ncurrent: %s: the data policy is %v", tc.reason, desired, plan.DataPolicy())
				}
				if plan.Parts[0].Total != 1 {
					t.Errorf("%s\ncurrent: %s: %d objects in total", tc.reason, desired, plan.Parts[0].Total)
				}
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	want := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	body := object("ConfigMap", "a")
	body.SetGroupVersionKind(want)
	s, err := structpb.NewStruct(body.Object)
	if err != nil {
		t.Fatal(err)
	}
	if got := compose.KindOf(s); got != want {
		t.Errorf("KindOf(...) = %v, want %v", got, want)
	}
}

func TestValidate(t *testing.T) {
	build := func(struct{}) ([]compose.Stage, error) { return nil, errors.New("not called") }
	cases := map[string]struct {
		reason string
		graph  compose.Graph[struct{}]
		want   string
	}{
		"Good": {
			reason: "Needed and followed components are declared earlier.",
			graph: compose.Graph[struct{}]{
				{Name: "a", Build: build}, {Name: "b", Build: build, Needs: []string{"a"}}, {Name: "c", Build: build, Follows: []string{"b", "a"}},
			},
		},
		"NoName": {
			reason: "A component's name stands in conditions.",
			graph:  compose.Graph[struct{}]{{Build: build}},
			want:   `component 0 ("") needs a name and a builder`,
		},
		"NoBuilder": {
			reason: "A call would crash.",
			graph:  compose.Graph[struct{}]{{Name: "a"}},
			want:   `component 0 ("a") needs a name and a builder`,
		},
		"Twice": {
			reason: "Needs are by name.",
			graph:  compose.Graph[struct{}]{{Name: "a", Build: build}, {Name: "a", Build: build}},
			want:   `component "a" is declared twice`,
		},
		"RollsAfterLater": {
			reason: "The readiness of a later component is not known yet.",
			graph:  compose.Graph[struct{}]{{Name: "a", Build: build, RolloutAfter: []string{"b"}}, {Name: "b", Build: build}},
			want:   `component "a" needs "b", which is not declared before it`,
		},
		"NeedsLater": {
			reason: "The order prevents cycles.",
			graph:  compose.Graph[struct{}]{{Name: "a", Build: build, Needs: []string{"b"}}, {Name: "b", Build: build}},
			want:   `component "a" needs "b", which is not declared before it`,
		},
		"FollowsItself": {
			reason: "This is a cycle, too.",
			graph:  compose.Graph[struct{}]{{Name: "a", Build: build, Follows: []string{"a"}}},
			want:   `component "a" needs "a", which is not declared before it`,
		},
		"Both": {
			reason: "All errors are reported at once.",
			graph:  compose.Graph[struct{}]{{Name: "a", Needs: []string{"b"}}},
			want:   "component 0 (\"a\") needs a name and a builder\ncomponent \"a\" needs \"b\", which is not declared before it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.graph.Validate(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nValidate(): -want, +got:\n%s", tc.reason, diff)
			}
			defer func() {
				if panicked := recover() != nil; panicked != (tc.want != "") {
					t.Errorf("%s\nMustValidate() panics: %t", tc.reason, panicked)
				}
			}()
			tc.graph.MustValidate()
		})
	}
}

// TestObserve tests that an external object is only observed. It has no hash, its readiness is the check of the resource, and annotations
// on it have no effect.
func TestObserve(t *testing.T) {
	check := func(o *observe.Object) ready.Result {
		if o.String("data", "text") == "" {
			return ready.Wait("Empty", "it has no text")
		}
		return ready.Yes
	}
	g := one(compose.Stage{{Name: "a", Observe: true, Object: object("ConfigMap", "a"), Ready: check}})
	wrapped := func(synced string, inner map[string]any) map[string]any {
		o := map[string]any{
			"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": map[string]any{"name": "x-a", "generation": 1.0},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Synced", "status": synced, "reason": "Why", "message": "external resource does not exist"}}},
		}
		if inner != nil {
			o["status"].(map[string]any)["atProvider"] = map[string]any{"manifest": inner}
		}
		return o
	}
	for name, tc := range map[string]struct {
		reason   string
		observed map[string]any
		want     string
	}{
		"New":     {"The Object does not exist yet.", nil, "NotCreated"},
		"Missing": {"The object does not exist.", wrapped("False", nil), "Why"},
		"Empty":   {"The object exists without the value.", wrapped("True", map[string]any{"kind": "ConfigMap"}), "Empty"},
		"Filled":  {"The object has the value.", wrapped("True", map[string]any{"kind": "ConfigMap", "data": map[string]any{"text": "yes"}}), ""},
		"Written": {"The object has an annotation of this project.", wrapped("True", map[string]any{
			"kind": "ConfigMap", "metadata": map[string]any{"annotations": map[string]any{compose.HashAnnotation: "x"}}, "data": map[string]any{"text": "yes"},
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]*structpb.Struct{}
			if tc.observed != nil {
				s, err := structpb.NewStruct(tc.observed)
				if err != nil {
					t.Fatal(err)
				}
				all["a"] = s
			}
			plan, err := g.Compute(struct{}{}, newState(t, all, false), readiness.Rules, compose.Item.Reference)
			if err != nil {
				t.Fatal(err)
			}
			item := plan.Items()[0]
			if item.Readiness.Ready != (tc.want == "") || !item.Readiness.Ready && item.Readiness.Reason != tc.want {
				t.Errorf("%s\nthe verdict is %+v, want reason %q", tc.reason, item.Readiness, tc.want)
			}
			if !item.Observe || item.Body.At("metadata", "annotations", compose.HashAnnotation).Text() != "" {
				t.Errorf("%s\nit is to be written: %s", tc.reason, item.Body)
			}
		})
	}
}
