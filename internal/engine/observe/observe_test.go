package observe_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: keystone-api
  namespace: cloud
  generation: 5
  labels: {app: keystone}
  annotations: {example.org/hash: "0123"}
  managedFields: [{manager: crossplane, fieldsV1: {"f:spec": {}}}]
spec:
  replicas: 3
  paused: false
  ratio: 0.5
  huge: 36893488147419103232
  template: {spec: {containers: [{name: api, args: [a, 1, true, null]}]}}
status:
  observedGeneration: 4
  conditions:
  - no condition at all
  - {type: Progressing, status: "True", observedGeneration: "4"}
  - {type: Available, status: "False", reason: MinimumReplicasUnavailable, message: Not yet., observedGeneration: 4}
  - {type: Available, status: "True"}
`

const wrapper = `
apiVersion: kubernetes.m.crossplane.io/v1alpha1
kind: Object
metadata:
  name: wrapper
  generation: 2
  deletionTimestamp: "2025-10-01T12:00:00Z"
  annotations: {example.org/hash: "4567"}
spec:
  forProvider: {manifest: {apiVersion: apps/v1, kind: Deployment, metadata: {name: keystone-api}}}
status:
  conditions:
  - {type: Synced, status: "True", observedGeneration: 2}
  - {type: Ready, status: "False"}
`

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// wrap returns a wrapper with an observed object, as written by provider-kubernetes.
func wrap(t testing.TB, inner string) map[string]any {
	t.Helper()
	o := parse(t, wrapper)
	o["status"].(map[string]any)["atProvider"] = map[string]any{"manifest": parse(t, inner)}
	return o
}

func structOf(t testing.TB, o map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lazily is a request after the way over the wire.
func lazily(t testing.TB, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionRequest {
	t.Helper()
	b, err := proto.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	lazy := &fnv1.RunFunctionRequest{}
	if err := wire.UnmarshalRequest(b, lazy); err != nil {
		t.Fatal(err)
	}
	return lazy
}

// each runs a test with one object that is observed decoded, and as bytes.
func each(t *testing.T, o map[string]any, test func(t *testing.T, o *observe.Object)) {
	t.Helper()
	decoded := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{"o": {Resource: structOf(t, o)}}}}
	for source, req := range map[string]*fnv1.RunFunctionRequest{"Decoded": decoded, "Lazy": lazily(t, decoded)} {
		t.Run(source, func(t *testing.T) {
			s, err := observe.New(wire.RequestOf(req).Observed)
			if err != nil {
				t.Fatalf("New(...): %v", err)
			}
			o, ok := s.Get("o")
			if !ok {
				t.Fatal("Get(o): not found")
			}
			test(t, o)
		})
	}
}

func TestObject(t *testing.T) {
	for name, o := range map[string]map[string]any{"Direct": parse(t, deployment), "Wrapped": wrap(t, deployment)} {
		t.Run(name, func(t *testing.T) {
			each(t, o, func(t *testing.T, o *observe.Object) {
				got := map[string]any{
					"exists": o.Exists(), "wrapped": o.Wrapped(), "apiVersion": o.APIVersion(), "kind": o.Kind(), "name": o.Name(), "namespace": o.Namespace(),
					"hash": o.Annotation("example.org/hash"), "noAnnotation": o.Annotation("x"), "app": o.String("metadata", "labels", "app"), "generation": o.Generation(), "deleting": o.Deleting(),
				}
				want := map[string]any{
					"exists": true, "wrapped": name == "Wrapped", "apiVersion": "apps/v1", "kind": "Deployment", "name": "keystone-api", "namespace": "cloud",
					"hash": "0123", "noAnnotation": "", "app": "keystone", "generation": int64(5), "deleting": false,
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want, +got:\n%s", diff)
				}
				full := parse(t, deployment)
				delete(full["metadata"].(map[string]any), "managedFields")
				if diff := cmp.Diff(full, o.Full()); diff != "" {
					t.Errorf("Full(): -want, +got:\n%s", diff)
				}
			})
		})
	}
}

func TestObjectReadsValuesByPath(t *testing.T) {
	type values struct {
		String string
		Int    int64
		IsInt  bool
		Bool   bool
		IsBool bool
		List   []any
		Map    map[string]any
	}
	cases := map[string]struct {
		reason string
		args   string
		want   values
	}{
		"String":   {"A text.", "metadata/name", values{String: "keystone-api"}},
		"Int":      {"A whole number, which arrives as a float64.", "spec/replicas", values{Int: 3, IsInt: true}},
		"Fraction": {"A fraction is no whole number.", "spec/ratio", values{}},
		"Huge":     {"A number beyond 2^53 is not exact.", "spec/huge", values{}},
		"False":    {"A false value is not absent.", "spec/paused", values{IsBool: true}},
		"List":     {"A list, nulls included.", "spec/template/spec/containers", values{List: []any{map[string]any{"name": "api", "args": []any{"a", 1.0, true, nil}}}}},
		"Map":      {"An object.", "metadata/labels", values{Map: map[string]any{"app": "keystone"}}},
		"Absent":   {"Nothing there.", "spec/nothing/at/all", values{}},
		"Through":  {"A path through a text leads nowhere.", "metadata/name/first", values{}},
		"ByIndex":  {"Lists have no fields.", "status/conditions/0", values{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			each(t, parse(t, deployment), func(t *testing.T, o *observe.Object) {
				path := strings.Split(tc.args, "/")
				var got values
				got.String = o.String(path...)
				got.Int, got.IsInt = o.Int(path...)
				got.Bool, got.IsBool = o.Bool(path...)
				got.List, got.Map = o.List(path...), o.Map(path...)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, tc.args, diff)
				}
			})
		})
	}
}

func TestCondition(t *testing.T) {
	type result struct {
		Condition observe.Condition
		OK        bool
	}
	cases := map[string]struct {
		reason string
		args   string
		want   result
	}{
		"First":         {"The first of its type counts, with all its fields.", "Available", result{observe.Condition{Status: "False", Reason: "MinimumReplicasUnavailable", Message: "Not yet.", ObservedGeneration: 4}, true}},
		"NoGeneration":  {"A generation that is no number is none.", "Progressing", result{observe.Condition{Status: "True"}, true}},
		"Absent":        {"The condition does not exist.", "Ready", result{}},
		"OfTheWrappers": {"The wrapper's conditions are its own.", "Synced", result{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			each(t, wrap(t, deployment), func(t *testing.T, o *observe.Object) {
				var got result
				got.Condition, got.OK = o.Condition(tc.args)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s\nCondition(%q): -want, +got:\n%s", tc.reason, tc.args, diff)
				}
			})
		})
	}
}

func TestWrapper(t *testing.T) {
	change := func(f func(o map[string]any)) map[string]any {
		o := wrap(t, deployment)
		f(o)
		return o
	}
	type facts struct{ Wrapped, Exists bool }
	cases := map[string]struct {
		reason string
		args   map[string]any
		want   facts
	}{
		"Namespaced":    {"The group of namespaced managed resources.", wrap(t, deployment), facts{true, true}},
		"ClusterScoped": {"The group of cluster-scoped ones, in any version.", change(func(o map[string]any) { o["apiVersion"] = "kubernetes.crossplane.io/v1alpha2" }), facts{true, true}},
		"Unseen":        {"An object that the provider has not observed does not exist.", parse(t, wrapper), facts{true, false}},
		"NoManifest": {"A value that is not an object does not exist.", change(func(o map[string]any) {
			o["status"].(map[string]any)["atProvider"] = map[string]any{"manifest": "text"}
		}), facts{true, false}},
		"OtherKind":  {"Another kind of the provider is itself.", change(func(o map[string]any) { o["kind"] = "ProviderConfig" }), facts{false, true}},
		"OtherGroup": {"An Object of another group is not a wrapper.", change(func(o map[string]any) { o["apiVersion"] = "kubernetes.example.org/v1" }), facts{false, true}},
		"Nested": {"A nested wrapper is unwrapped once.", change(func(o map[string]any) {
			o["status"].(map[string]any)["atProvider"] = map[string]any{"manifest": wrap(t, deployment)}
		}), facts{true, true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			each(t, tc.args, func(t *testing.T, o *observe.Object) {
				if diff := cmp.Diff(tc.want, facts{o.Wrapped(), o.Exists()}); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
				if w := o.Wrapper(); tc.want.Wrapped {
					synced, _ := w.Condition("Synced")
					ready, _ := w.Condition("Ready")
					got := []any{w.Name(), w.Generation(), w.Annotation("example.org/hash"), w.Deleting(), w.Wrapped(), synced.ObservedGeneration, ready}
					want := []any{"wrapper", int64(2), "4567", true, false, int64(2), observe.Condition{Status: "False"}}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s\nWrapper(): -want, +got:\n%s", tc.reason, diff)
					}
				}
				if !tc.want.Exists {
					if got := fmt.Sprint(o.Kind(), o.Name(), o.Generation(), o.Full() == nil); got != "0 true" {
						t.Errorf("%s\nwhat does not exist has fields: %s", tc.reason, got)
					}
				}
			})
		})
	}
}

// TestNilObjectIsAbsent calls all methods of a nil Object.
func TestNilObjectIsAbsent(t *testing.T) {
	var o *observe.Object
	_, isInt := o.Int("a")
	_, isBool := o.Bool("a")
	_, isCondition := o.Condition("Ready")
	if o.Exists() || o.Wrapped() || o.Wrapper() != nil || o.Deleting() || isInt || isBool || isCondition || o.Generation() != 0 ||
		o.Kind()+o.Name()+o.Annotation("a")+o.String("a") != "" || o.List("a") != nil || o.Map() != nil || o.Full() != nil {
		t.Error("a nil Object is not absent")
	}
}

func TestState(t *testing.T) {
	req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{
		"b": {Resource: structOf(t, parse(t, deployment))}, "a": {Resource: structOf(t, parse(t, wrapper))}, "c": {}, "d": nil,
	}}}
	s, err := observe.New(wire.RequestOf(req).Observed)
	if err != nil {
		t.Fatalf("New(...): %v", err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, s.Names()); diff != "" || s.Len() != 4 {
		t.Errorf("Names(): -want, +got:\n%s\nLen() = %d", diff, s.Len())
	}
	if o, ok := s.Get("c"); !ok || o.Kind() != "" {
		t.Errorf("Get(c) = %v, %t, want an object without fields", o, ok)
	}
	if o, ok := s.Get("x"); ok || o != nil {
		t.Errorf("Get(x) = %v, %t, want none", o, ok)
	}
	for name, empty := range map[string]*fnv1.RunFunctionRequest{"nil": nil, "empty": {}} {
		if s, err := observe.New(wire.RequestOf(empty).Observed); err != nil || s.Len() != 0 || len(s.Names()) != 0 {
			t.Errorf("New(%s): %v, %v", name, s, err)
		}
	}
	if o, ok := (observe.State{}).Get("x"); ok || o != nil {
		t.Error("the zero State is not empty")
	}
}

func TestNewRejectsMalformedResources(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []byte
	}{
		"NoTag":    {"No message.", []byte{0xff}},
		"TooShort": {"A field that ends too soon.", []byte{0x0a, 0x7f, 0x00}},
		"BadEntry": {"A field without a name or a value.", []byte{0x0a, 0x02, 0x0a, 0x05}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := observe.New(map[string]encoded.Struct{"keystone": tc.args})
			if err == nil || !strings.Contains(err.Error(), `cannot read the observed resource "keystone"`) {
				t.Errorf("%s\nNew(...): got error %v", tc.reason, err)
			}
		})
	}
}

// TestDesired tests that the desired and the observed state of a wrapped object differ, and that an unwrapped object is its own.
func TestDesired(t *testing.T) {
	observed := get(t, wrapper+"  atProvider: {manifest: {apiVersion: apps/v1, kind: Deployment, metadata: {name: seen}}}\n")
	unseen, direct, bare := get(t, wrapper), get(t, deployment), get(t, "{apiVersion: kubernetes.m.crossplane.io/v1alpha1, kind: Object}")
	for name, tc := range map[string]struct {
		o      *observe.Object
		want   string
		exists bool
	}{
		"seen": {observed, "keystone-api", true}, "unseen": {unseen, "keystone-api", true}, "direct": {direct, "keystone-api", true}, "bare": {bare, "", false},
	} {
		got := tc.o.Desired()
		if got.String("metadata", "name") != tc.want || got.Exists() != tc.exists || got.Wrapper() != nil {
			t.Errorf("%s: Desired() is %q, exists: %t", name, got.String("metadata", "name"), got.Exists())
		}
	}
	if direct.Desired() != direct || observed.String("metadata", "name") != "seen" || unseen.Exists() {
		t.Error("observed and desired state are swapped")
	}
}

// TestSinceReturnsLatestConditionChange tests that Since returns the time of the latest change of all conditions.
func TestSinceReturnsLatestConditionChange(t *testing.T) {
	for conditions, want := range map[string]string{
		"[]": "",
		`[{type: A}, {type: B, lastTransitionTime: "2025-10-01T12:00:00Z"}]`:                                                                     "2025-10-01T12:00:00Z",
		`[{type: A, lastTransitionTime: "2025-10-02T12:00:00Z"}, {type: B, lastTransitionTime: "2025-10-01T12:00:00Z"}, none, {status: "True"}]`: "2025-10-02T12:00:00Z",
	} {
		if got := get(t, "{apiVersion: v1, kind: A, status: {conditions: "+conditions+"}}").Since(); got != want {
			t.Errorf("Since() = %q, want %q: %s", got, want, conditions)
		}
	}
}

// get observes one object.
func get(t *testing.T, text string) *observe.Object {
	t.Helper()
	s, err := structpb.NewStruct(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	observed, err := observe.New(map[string]encoded.Struct{"o": encoded.Of(s)})
	if err != nil {
		t.Fatal(err)
	}
	o, ok := observed.Get("o")
	if !ok {
		t.Fatal("it is not observed")
	}
	return o
}
