package simulate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// spec contains the fields of composite resources of both kinds.
type spec struct {
	Spec struct {
		// Fail selects an error: "parent", "child", "never", "no rule".
		Fail string `json:"fail"`
		Text string `json:"text"`
	} `json:"spec"`
	Status struct {
		Calls int `json:"calls"`
	} `json:"status"`
}

func newObject(apiVersion, kind, name string, body map[string]any) *unstructured.Unstructured {
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": "cloud"}}
	if body != nil {
		o["spec"] = body
	}
	return &unstructured.Unstructured{Object: o}
}

func stages(stages ...compose.Stage) ([]compose.Stage, error) { return stages, nil }

// parent composes a certificate, in an Object that is retained, then a Keystone and a ConfigMap, unless it fails.
var parent = compose.Graph[spec]{
	{Name: "certificate", Build: func(m spec) ([]compose.Stage, error) {
		if m.Spec.Fail == "parent" {
			return nil, errors.New("it is broken")
		}
		r := compose.Resource{Name: "certificate", Object: newObject("cert-manager.io/v1", "Certificate", "cert", nil), Retain: true}
		never := func(*observe.Object) ready.Result { return ready.Wait("Never", "it never is") }
		switch m.Spec.Fail {
		case "never":
			r.Ready = never
		case "no rule":
			r.Object, r.Ready = newObject("example.org/v1", "Unsimulated", "unsimulated", nil), never
		}
		return stages(compose.Stage{r})
	}},
	{Name: "service", Needs: []string{"certificate"}, Build: func(m spec) ([]compose.Stage, error) {
		return stages(compose.Stage{
			{Name: "keystone", Object: newObject("keystone.openstack.c5c3.io/v1alpha1", "Keystone", "keystone", map[string]any{
				"fail": m.Spec.Fail, "text": m.Spec.Text,
			})},
			{Name: "config", Object: newObject("v1", "ConfigMap", "config", map[string]any{"text": m.Spec.Text})},
		})
	}},
}

// child composes two ConfigMaps, one after the other.
var child = compose.Graph[spec]{
	{Name: "configs", Build: func(m spec) ([]compose.Stage, error) {
		if m.Spec.Fail == "child" {
			return nil, errors.New("it is broken")
		}
		return stages(
			compose.Stage{{Name: "one", Object: newObject("v1", "ConfigMap", "one", map[string]any{"text": m.Spec.Text})}},
			compose.Stage{{Name: "two", Object: newObject("v1", "ConfigMap", "two", nil)}},
		)
	}},
}

func runner(g compose.Graph[spec]) function.Runner {
	return function.Kind[spec, spec]{
		Rules:  readiness.Rules,
		Graph:  g,
		Derive: func(in function.Input[spec]) (spec, error) { return in.XR, nil },
		Target: func(spec) respond.Target { return respond.Target{Prefix: "cloud", Management: "here"} },
		Status: func(m spec, _ compose.Plan) any { return map[string]any{"calls": m.Status.Calls + 1} },
	}
}

// newCluster returns a cluster with a parent and nothing composed for it.
func newCluster(t *testing.T, spec map[string]any) *simulate.Cluster {
	t.Helper()
	return &simulate.Cluster{
		XR: structOf(t, map[string]any{"apiVersion": "example.org/v1", "kind": "Parent", "metadata": map[string]any{"name": "parent"}, "spec": spec}),
		Kinds: map[string]function.Runner{
			"Parent.example.org": runner(parent), "Keystone.keystone.openstack.c5c3.io": runner(child),
		},
	}
}

func structOf(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRemove tests that removed objects of all composite resources are passed to their owners, except retained ones.
func TestRemove(t *testing.T) {
	w := newCluster(t, nil)
	var removed []string
	w.Remove = func(objects []map[string]any) error {
		for _, o := range objects {
			u := unstructured.Unstructured{Object: o}
			removed = append(removed, u.GetKind()+" "+u.GetName())
		}
		return nil
	}
	if err := w.Run(func(simulate.Step) {}); err != nil || removed != nil {
		t.Fatalf("at first: removed %v (%v), want nothing", removed, err)
	}
	w.Kinds["Parent.example.org"] = runner(compose.Graph[spec]{})
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	// The certificate is retained.
	if diff := cmp.Diff([]string{"ConfigMap one", "ConfigMap two", "ConfigMap config"}, removed); diff != "" {
		t.Errorf("removed (-want, +got):\n%s", diff)
	}
	if len(w.Observed) != 0 {
		t.Errorf("%d objects exist, want none", len(w.Observed))
	}
}

// TestClone tests that an edit in a copy calls the copy's owners, also for nested composite resources, and does not change the original.
func TestClone(t *testing.T) {
	original := newCluster(t, map[string]any{"text": "old"})
	names := func(into *[]string) func([]map[string]any) error {
		return func(desired []map[string]any) error {
			for _, o := range desired {
				u := unstructured.Unstructured{Object: o}
				*into = append(*into, u.GetKind()+" "+u.GetName())
			}
			return nil
		}
	}
	var before, after []string
	original.Reconcile = names(&before)
	if err := original.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	before = nil
	text := func(w *simulate.Cluster, owner, resource string) string {
		o, _ := w.Desired(owner, resource)
		return o.At("spec", "text").Text()
	}
	c := original.Clone(names(&after))
	c.XR.GetFields()["spec"] = structpb.NewStructValue(structOf(t, map[string]any{"text": "new"}))
	if err := c.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap config", "ConfigMap one"}, slices.Sorted(slices.Values(after))); diff != "" || len(before) > 0 {
		t.Errorf("owners of the original were called with %v, owners of the copy with (-want, +got):\n%s", before, diff)
	}
	for _, at := range [][2]string{{"parent", "config"}, {"keystone", "one"}} {
		if got, want := text(c, at[0], at[1])+" "+text(original, at[0], at[1]), "new old"; got != want {
			t.Errorf("texts of %v in the copy and the original are %q, want %q", at, got, want)
		}
	}
	if got := original.XR.GetFields()["spec"].GetStructValue().GetFields()["text"].GetStringValue(); got != "old" {
		t.Errorf("the original's spec is %q, want old", got)
	}
}

// recordSteps records the owner, depth and new resources of each step.
func recordSteps(steps *[]string) func(simulate.Step) {
	return func(s simulate.Step) {
		*steps = append(*steps, fmt.Sprintf("%d %s: %s", s.Depth, s.Owner, strings.Join(s.New, " ")))
	}
}

// TestReconcile tests that owners are called with new and changed objects only, without wrappers, and that their error ends the run.
func TestReconcile(t *testing.T) {
	w := newCluster(t, map[string]any{"text": "a"})
	var reconciled []string
	w.Reconcile = func(desired []map[string]any) error {
		for _, o := range desired {
			u := unstructured.Unstructured{Object: o}
			reconciled = append(reconciled, u.GetKind()+" "+u.GetName())
		}
		return nil
	}
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Certificate cert", "ConfigMap config", "ConfigMap one", "ConfigMap two"}
	if diff := cmp.Diff(want, reconciled); diff != "" {
		t.Errorf("reconciled (-want, +got):\n%s", diff)
	}
	reconciled = nil
	if err := w.Run(func(simulate.Step) {}); err != nil || reconciled != nil {
		t.Errorf("a world that is ready: reconciled %v (%v), want nothing", reconciled, err)
	}
	w.XR.Fields["spec"] = structpb.NewStructValue(structOf(t, map[string]any{"text": "b"}))
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap config", "ConfigMap one"}, reconciled); diff != "" {
		t.Errorf("reconciled after a change (-want, +got):\n%s", diff)
	}
	w.XR.Fields["spec"] = structpb.NewStructValue(structOf(t, map[string]any{"text": "c"}))
	w.Reconcile = func([]map[string]any) error { return errors.New("the owner cannot") }
	if err := w.Run(func(simulate.Step) {}); err == nil || !strings.Contains(err.Error(), "the owner cannot") {
		t.Errorf("got %v, want the owner's error", err)
	}
}

// twins composes two composite resources at once.
var twins = compose.Graph[spec]{
	{Name: "services", Build: func(m spec) ([]compose.Stage, error) {
		var stage compose.Stage
		for _, name := range []string{"a", "b"} {
			stage = append(stage, compose.Resource{Name: name, Object: newObject("keystone.openstack.c5c3.io/v1alpha1", "Keystone", name, map[string]any{
				"fail": m.Spec.Fail, "text": name,
			})})
		}
		return stages(stage)
	}},
}

// fromRequired composes a ConfigMap for each required resource of its Composition.
var fromRequired = function.Kind[spec, function.Input[spec]]{
	Rules: readiness.Rules,
	Graph: compose.Graph[function.Input[spec]]{
		{Name: "configs", Build: func(in function.Input[spec]) ([]compose.Stage, error) {
			var stage compose.Stage
			for name := range in.Required {
				stage = append(stage, compose.Resource{Name: name, Object: newObject("v1", "ConfigMap", in.XR.Spec.Text+"-"+name, nil)})
			}
			return stages(stage)
		}},
	},
	Derive: func(in function.Input[spec]) (function.Input[spec], error) {
		if in.XR.Spec.Fail == "child" {
			return in, errors.New(in.XR.Spec.Text + " is broken")
		}
		return in, nil
	},
	Target: func(function.Input[spec]) respond.Target { return respond.Target{Prefix: "cloud", Management: "here"} },
	Status: func(function.Input[spec], compose.Plan) any { return map[string]any{} },
}

// TestNested tests that composite resources of one stage are composed concurrently, each with the required resources of its Composition,
// and that their steps and errors are in order.
func TestNested(t *testing.T) {
	const kind = "Keystone.keystone.openstack.c5c3.io"
	nested := func(spec map[string]any) *simulate.Cluster {
		w := newCluster(t, spec)
		w.Kinds = map[string]function.Runner{"Parent.example.org": runner(twins), kind: fromRequired}
		w.Required = map[string][]*structpb.Struct{"parents": nil}
		w.Nested = map[string]map[string][]*structpb.Struct{kind: {"platform": nil}}
		return w
	}
	synctest.Test(t, func(t *testing.T) {
		w, steps := nested(nil), []string{}
		var both sync.WaitGroup
		both.Add(2)
		w.Reconcile = func([]map[string]any) error {
			both.Done()
			both.Wait() // for ever, if one is composed after the other
			return nil
		}
		if err := w.Run(recordSteps(&steps)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"0 parent: a b", "1 a: platform", "1 b: platform"}, steps); diff != "" {
			t.Errorf("steps: -want, +got:\n%s", diff)
		}
		for owner, want := range map[string]string{"a": "a-platform", "b": "b-platform"} {
			o, _ := w.Desired(owner, "platform")
			if got := o.At("metadata", "name").Text(); got != want {
				t.Errorf("%s has composed %q, want %q", owner, got, want)
			}
		}
	})
	err := nested(map[string]any{"fail": "child"}).Run(func(simulate.Step) {})
	if want := "cannot compose a: a is broken\ncannot compose b: b is broken"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// TestParentReadsConditionsOfNested tests that the function of the parent reads the conditions of a nested composite resource.
func TestParentReadsConditionsOfNested(t *testing.T) {
	remarked := function.Kind[spec, spec]{
		Rules: readiness.Rules,
		Graph: child, Derive: func(in function.Input[spec]) (spec, error) { return in.XR, nil },
		Target: func(spec) respond.Target { return respond.Target{Prefix: "cloud", Management: "here"} },
		Status: func(spec, compose.Plan) any { return map[string]any{} },
		AdvisoryConditions: []function.AdvisoryCondition[spec]{{Type: "Tried", Verdict: func(spec) ready.Result {
			return ready.Wait("NotYet", "not tried yet")
		}}},
	}
	w := newCluster(t, nil)
	w.Kinds["Keystone.keystone.openstack.c5c3.io"] = remarked
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	requested := map[string]string{}
	for _, c := range w.Observed["keystone"].At("status", "conditions").List() {
		is, _ := c.(map[string]any)
		requested[fmt.Sprint(is["type"])] = fmt.Sprintf("%v %v: %v", is["status"], is["reason"], is["message"])
	}
	for typ, want := range map[string]string{
		"Tried": "False NotYet: not tried yet", "SpecValid": "True Valid: ", "Ready": "True Available: ",
	} {
		if requested[typ] != want {
			t.Errorf("the composite resource around it reads %s %q, want %q", typ, requested[typ], want)
		}
	}
}

func TestRun(t *testing.T) {
	w := newCluster(t, map[string]any{"text": "a"})
	var steps []string
	if err := w.Run(recordSteps(&steps)); err != nil {
		t.Fatalf("Run(...): %v", err)
	}
	want := []string{"0 parent: certificate", "0 parent: keystone config", "1 keystone: one", "1 keystone: two"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps: -want, +got:\n%s", diff)
	}
	// It is ready in the third call: the first two brought something.
	if got := w.XR.AsMap()["status"].(map[string]any)["calls"]; got != 3.0 {
		t.Errorf("the composite resource's status has %v calls, want 3", got)
	}
	for _, name := range []string{"certificate", "keystone", "config"} {
		if w.Observed[name] == nil {
			t.Errorf("%s does not exist", name)
		}
	}
	if got := w.Observed["keystone"].Map()["status"].(map[string]any)["calls"]; got != 3.0 {
		t.Errorf("the nested composite resource's own status is lost: %v", w.Observed["keystone"])
	}

	// A ready cluster does not change; changed, missing or additional objects are corrected.
	for name, change := range map[string]func(){
		"nothing":    func() {},
		"a lost one": func() { delete(w.Observed, "config") },
		"a stale one": func() {
			w.Observed["config"] = encoded.Of(structOf(t, map[string]any{"kind": "ConfigMap"}))
		},
		"a stray one":  func() { w.Observed["stray"] = w.Observed["config"]; delete(w.Observed, "config") },
		"another spec": func() { w.XR.Fields["spec"] = structpb.NewStructValue(structOf(t, map[string]any{"text": "b"})) },
	} {
		change()
		if err := w.Run(func(simulate.Step) {}); err != nil {
			t.Errorf("Run(...) after %s: %v", name, err)
		}
		if done, err := w.Call(func(simulate.Step) {}); !done || err != nil {
			t.Errorf("Call(...) after %s = %t, %v", name, done, err)
		}
		if len(w.Observed) != 3 {
			t.Errorf("after %s: %d objects", name, len(w.Observed))
		}
	}
	if got := w.Observed["config"].Map()["spec"]; !cmp.Equal(got, map[string]any{"text": "b"}) {
		t.Errorf("the other spec did not arrive: %v", got)
	}
}

// TestCall goes step by step.
func TestCall(t *testing.T) {
	w := newCluster(t, nil)
	for i, want := range []int{1, 3, 3} {
		done, err := w.Call(func(simulate.Step) {})
		if err != nil {
			t.Fatalf("Call(...): %v", err)
		}
		if done != (i == 2) || len(w.Observed) != want {
			t.Errorf("call %d: done is %t and %d objects exist, want %d", i, done, len(w.Observed), want)
		}
	}
}

func TestRunReportsReasonOfFailure(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   map[string]any
		kind   string
		want   string
	}{
		"Function": {
			reason: "An error of the function ends the simulation.",
			spec:   map[string]any{"fail": "parent"},
			want:   "cannot compose certificate: it is broken",
		},
		"Nested": {
			reason: "An error further down names where it is.",
			spec:   map[string]any{"fail": "child"},
			want:   "cannot compose keystone: cannot compose configs: it is broken",
		},
		"Never": {
			reason: "The simulation ends with an error if an object never becomes ready.",
			spec:   map[string]any{"fail": "never"},
			want: "parent never becomes ready: certificate: Certificate cert: it never is; " +
				"service: waits for certificate",
		},
		"NoRule": {
			reason: "The final status of the object is unknown.",
			spec:   map[string]any{"fail": "no rule"},
			want:   "cannot make certificate ready: the owner of Unsimulated.example.org is not simulated; add its status to the table of internal/offline/fake",
		},
		"NoFunction": {
			reason: "Only kinds that have a function can be simulated.",
			kind:   "Other",
			want:   "no function for composite resources of kind Other.example.org",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newCluster(t, tc.spec)
			if tc.kind != "" {
				w.XR.Fields["kind"] = structpb.NewStringValue(tc.kind)
			}
			err := w.Run(func(simulate.Step) {})
			if err == nil || err.Error() != tc.want {
				t.Errorf("%s\nRun(...): %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
}

func TestExistAndFinish(t *testing.T) {
	meta := func(generation int) map[string]any {
		if generation == 0 {
			return map[string]any{"name": "a"}
		}
		return map[string]any{"name": "a", "generation": float64(generation)}
	}
	certificate := func(generation int) map[string]any {
		return map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": meta(generation)}
	}
	object := func(generation int, inner map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object", "metadata": meta(generation),
			"spec": map[string]any{"forProvider": map[string]any{"manifest": inner}},
		}
	}
	with := func(o map[string]any, status map[string]any) map[string]any {
		o["status"] = status
		return o
	}
	condition := func(typ, reason, message string) map[string]any {
		return map[string]any{
			"type": typ, "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2025-01-01T00:00:00Z", "observedGeneration": 1.0,
		}
	}
	issued := map[string]any{
		"conditions": []any{condition("Ready", "Ready", "Certificate is up to date and has not expired")},
		"notBefore":  "2025-01-01T00:00:00Z", "revision": 1.0,
	}
	available := condition("Ready", "Available", "")
	delete(available, "observedGeneration") // provider-kubernetes does not report it
	objectStatus := map[string]any{
		"conditions": []any{condition("Synced", "ReconcileSuccess", ""), available},
		"atProvider": map[string]any{"manifest": with(certificate(1), issued)},
	}

	cases := map[string]struct {
		reason                    string
		desired, exists, finished map[string]any
	}{
		"Direct": {
			reason:   "A server adds the generation, the owner its status.",
			desired:  certificate(0),
			exists:   certificate(1),
			finished: with(certificate(1), issued),
		},
		"Wrapped": {
			reason:   "The wrapper contains the observed object, and both have a status.",
			desired:  object(0, certificate(0)),
			exists:   with(object(1, certificate(0)), map[string]any{"atProvider": map[string]any{"manifest": certificate(1)}}),
			finished: with(object(1, certificate(0)), objectStatus),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired := encoded.Of(structOf(t, tc.desired))
			exists := simulate.Exist(desired)
			if diff := cmp.Diff(tc.exists, exists.Map()); diff != "" {
				t.Errorf("%s\nExist(...): -want, +got:\n%s", tc.reason, diff)
			}
			finished, err := simulate.Finish(exists)
			if err != nil {
				t.Fatalf("Finish(...): %v", err)
			}
			if diff := cmp.Diff(tc.finished, finished.Map()); diff != "" {
				t.Errorf("%s\nFinish(...): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.exists, exists.Map()); diff != "" {
				t.Errorf("Finish changed its argument: %s", diff)
			}
			if diff := cmp.Diff(tc.desired, desired.Map()); diff != "" {
				t.Errorf("Exist changed its argument: %s", diff)
			}
		})
	}

	nobodys := encoded.Of(structOf(t, map[string]any{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}}))
	if got, err := simulate.Finish(nobodys); err == nil {
		t.Errorf("Finish(...) of a kind that is not simulated = %v", got)
	}
	unseen := encoded.Of(structOf(t, object(1, certificate(0))))
	if got, err := simulate.Finish(unseen); err == nil {
		t.Errorf("Finish(...) of an Object that has seen nothing = %v", got)
	}
}

// TestObserved tests that a function reads an external object; until it exists, the function waits and is called again.
func TestObserved(t *testing.T) {
	graph := compose.Graph[spec]{{Name: "looks", Build: func(spec) ([]compose.Stage, error) {
		return stages(compose.Stage{{
			Name: "external", Observe: true, Object: newObject("v1", "ConfigMap", "external", nil),
			Ready: func(o *observe.Object) ready.Result {
				if o.String("data", "text") == "" {
					return ready.Wait("Empty", "it has no text")
				}
				return ready.Yes
			},
		}})
	}}}.MustValidate()
	runner := function.Kind[spec, spec]{
		Rules: readiness.Rules,
		Graph: graph, Derive: func(in function.Input[spec]) (spec, error) { return in.XR, nil },
		Target: func(spec) respond.Target { return respond.Target{Management: "here", Workload: "here"} },
		Status: func(spec, compose.Plan) any { return map[string]any{} },
	}
	xr := structOf(t, map[string]any{"apiVersion": "example.org/v1", "kind": "Looker", "metadata": map[string]any{"name": "looker"}})
	w := &simulate.Cluster{XR: xr, Kinds: map[string]function.Runner{"Looker.example.org": runner}}
	for range 5 {
		if done, err := w.Call(func(simulate.Step) {}); done || err != nil {
			t.Fatalf("before the object exists: done %t, %v", done, err)
		}
	}
	w.RequiredResources = []*structpb.Struct{structOf(t, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "external", "namespace": "cloud"}, "data": map[string]any{"text": "yes"},
	})}
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Error(err)
	}
	observed, _ := wrapper.Observed(w.Observed["external"])
	if got := observed.At("data", "text").Text(); got != "yes" {
		t.Errorf("the text is %q", got)
	}
}

// TestRequiredResourcesCauseAnotherCall tests that a function that requires a resource by name is called again with the existing one.
func TestRequiredResourcesCauseAnotherCall(t *testing.T) {
	selector := wire.Selector{APIVersion: "v1", Kind: "Book", Namespace: "shelf", Name: "first"}
	calls, found := 0, 0
	queries := func(more bool) function.Runner {
		return function.Kind[spec, spec]{
			Rules: readiness.Rules,
			Graph: child,
			Requires: func(function.Input[spec]) map[string]wire.Selector {
				if calls++; more {
					return map[string]wire.Selector{fmt.Sprint(calls): selector}
				}
				return map[string]wire.Selector{"book": selector}
			},
			Derive: func(in function.Input[spec]) (spec, error) {
				found = len(in.Required["book"])
				return in.XR, nil
			},
			Target: func(spec) respond.Target { return respond.Target{} },
			Status: func(spec, compose.Plan) any { return map[string]any{} },
		}
	}
	w := newCluster(t, nil)
	kind := compose.KindOf(w.XR).GroupKind().String()
	w.Kinds = map[string]function.Runner{kind: queries(false)}
	for _, name := range []string{"second", "first"} {
		w.RequiredResources = append(w.RequiredResources, structOf(t, map[string]any{
			"apiVersion": "v1", "kind": "Book", "metadata": map[string]any{"name": name, "namespace": "shelf"},
		}))
	}
	if err := w.Run(func(simulate.Step) {}); err != nil || found != 1 {
		t.Errorf("%d resources were found (%v)", found, err)
	}
	w.RequiredResources = nil
	if _, err := w.Call(func(simulate.Step) {}); err != nil || found != 0 {
		t.Errorf("%d resources were found (%v)", found, err)
	}
	w.Kinds[kind] = queries(true)
	if err := w.Run(func(simulate.Step) {}); err == nil || !strings.Contains(err.Error(), "the requirements of") {
		t.Errorf("a function with changing requirements returns %v", err)
	}
}
