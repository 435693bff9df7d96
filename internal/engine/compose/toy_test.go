package compose_test

import (
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// tb is a test, or a check of rapid.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// object returns an object of a builder: a Certificate, which its owner makes ready, or a ConfigMap, which is ready once it exists.
func object(kind, name string) *unstructured.Unstructured {
	apiVersion := map[string]string{"Certificate": "cert-manager.io/v1", "ConfigMap": "v1"}[kind]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "cloud"},
		"data":     map[string]any{"name": name},
	}}
}

// applied returns an object as stored by an API server, with its hash and the fields of the server.
func applied(t tb, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	body, err := encode.Object(o)
	if err != nil {
		t.Fatalf("cannot encode: %v", err)
	}
	out := body.Map()
	meta := out["metadata"].(map[string]any)
	meta["annotations"] = map[string]any{
		compose.HashAnnotation:                    body.Hash(),
		"crossplane.io/composition-resource-name": "x",
		"example.org/kept":                        "yes",
	}
	meta["labels"] = map[string]any{
		"crossplane.io/composite": "x", "crossplane.io/claim-name": "x", "crossplane.io/claim-namespace": "x", "example.org/kept": "yes",
	}
	meta["generation"] = int64(3)
	meta["uid"] = "0b5f7a3c"
	meta["resourceVersion"] = "1"
	meta["managedFields"] = []any{map[string]any{"manager": "crossplane"}}
	out["status"] = status("Ready", "True", 3)
	return out
}

func status(typ, value string, generation int64) map[string]any {
	return map[string]any{"conditions": []any{map[string]any{
		"type": typ, "status": value, "reason": "Why", "message": "A sentence.", "observedGeneration": generation,
		"lastTransitionTime": "2025-01-01T00:00:00Z",
	}}}
}

// wrapped is an Object around an existing object, which provider-kubernetes has applied and seen.
func wrapped(inner map[string]any) map[string]any {
	desired := maps.Clone(inner)
	delete(desired, "status")
	desired["metadata"] = map[string]any{
		"name": inner["metadata"].(map[string]any)["name"], "namespace": "cloud",
		"annotations": inner["metadata"].(map[string]any)["annotations"],
	}
	o := map[string]any{
		"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
		"metadata": map[string]any{"name": "wrapper", "generation": int64(5)},
		"spec":     map[string]any{"forProvider": map[string]any{"manifest": desired}},
		"status":   status("Synced", "True", 5),
	}
	o["status"].(map[string]any)["atProvider"] = map[string]any{"manifest": inner}
	return o
}

// A state is how a resource may be observed.
type state struct {
	// wrong is the reason of the verdict, or empty if the resource is ready.
	wrong string
	// spoil changes the object, the one inside where it is wrapped, and around the wrapper.
	spoil, around func(o map[string]any)
	wraps         bool
}

func set(value any, path ...string) func(map[string]any) {
	return func(o map[string]any) {
		if err := unstructured.SetNestedField(o, value, path...); err != nil {
			panic(err)
		}
	}
}

// without takes fields from the wrapper's condition.
func without(fields ...string) func(map[string]any) {
	return func(o map[string]any) {
		for _, f := range fields {
			delete(syncedOf(o), f)
		}
	}
}

// refuse sets the status of a wrapper that could not apply its object.
func refuse(o map[string]any) { syncedOf(o)["status"] = "False" }

func syncedOf(o map[string]any) map[string]any {
	return o["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)
}

func both(a, b func(map[string]any)) func(map[string]any) {
	return func(o map[string]any) {
		a(o)
		b(o)
	}
}

// states are all states of a Certificate that exists. A ConfigMap has no conditions.
var states = map[string]state{
	"ready":             {},
	"outdated":          {wrong: "Outdated", spoil: set("0", "metadata", "annotations", compose.HashAnnotation)},
	"without a hash":    {wrong: "Outdated", spoil: set(map[string]any{}, "metadata", "annotations")},
	"deleting":          {wrong: "Deleting", spoil: set("2025-10-01T12:00:00Z", "metadata", "deletionTimestamp")},
	"unfinished":        {wrong: "Waiting", spoil: set(map[string]any{}, "status")},
	"of an older spec":  {wrong: "Reconciling", spoil: set(int64(4), "metadata", "generation")},
	"failing":           {wrong: "Why", spoil: set(status("Ready", "False", 3), "status")},
	"wrapped ready":     {wraps: true},
	"wrapped outdated":  {wraps: true, wrong: "Outdated", spoil: set("0", "metadata", "annotations", compose.HashAnnotation)},
	"wrapped deleting":  {wraps: true, wrong: "Deleting", spoil: set("2025-10-01T12:00:00Z", "metadata", "deletionTimestamp")},
	"wrapped failing":   {wraps: true, wrong: "Why", spoil: set(status("Ready", "False", 3), "status")},
	"wrapper deleting":  {wraps: true, wrong: "Deleting", around: set("2025-10-01T12:00:00Z", "metadata", "deletionTimestamp")},
	"wrapper new":       {wraps: true, wrong: "NotApplied", around: set(map[string]any{}, "status")},
	"wrapper not tried": {wraps: true, wrong: "Outdated", around: set(int64(6), "metadata", "generation")},
	"wrapper refused":   {wraps: true, wrong: "Why", around: set(status("Synced", "False", 5), "status")},
	"wrapper unspoken":  {wraps: true, around: without("observedGeneration")},
	"wrapper wordless":  {wraps: true, wrong: "NotApplied", around: both(without("reason", "message"), refuse)},
	"wrapper blind":     {wraps: true, wrong: "NotApplied", around: set(status("Synced", "True", 5), "status")},
}

// configMapStates lists the possible states of a ConfigMap.
var configMapStates = func() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(states)), func(name string) bool {
		return slices.Contains([]string{"unfinished", "of an older spec", "failing", "wrapped failing"}, name)
	})
}()

// observed is a resource in a state.
func (s state) observed(t tb, o *unstructured.Unstructured) *structpb.Struct {
	t.Helper()
	out := applied(t, o)
	if s.spoil != nil {
		s.spoil(out)
	}
	if s.wraps {
		out = wrapped(out)
	}
	if s.around != nil {
		s.around(out)
	}
	body, err := structpb.NewStruct(out)
	if err != nil {
		t.Fatalf("cannot make a Struct: %v", err)
	}
	return body
}

// newState returns the state of observed resources; lazily: after an encoding in a request.
func newState(t tb, observed map[string]*structpb.Struct, lazily bool) observe.State {
	t.Helper()
	req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Resources: map[string]*fnv1.Resource{}}}
	for name, o := range observed {
		req.Observed.Resources[name] = &fnv1.Resource{Resource: o}
	}
	if lazily {
		b, err := proto.Marshal(req)
		if err == nil {
			err = wire.UnmarshalRequest(b, req)
		}
		if err != nil {
			t.Fatalf("cannot send the request: %v", err)
		}
	}
	s, err := observe.New(wire.RequestOf(req).Observed)
	if err != nil {
		t.Fatalf("cannot observe: %v", err)
	}
	return s
}

// toy is a graph with enabled components and an observed state.
type toy struct {
	components []component
	// current contains the states of resources, by name. Missing ones do not exist.
	current map[string]string
	// old contains the states of revisions of earlier specs, and unknown the states of resources of no spec, by name.
	old, unknown map[string]string
	// broken is the component whose builder fails, if any.
	broken string
}

type component struct {
	name           string
	needs, follows []string
	disabled       bool
	stages         [][]resource
}

type resource struct {
	name, kind, revisions string
	after                 []string
	retain, management    bool
}

// graph is the toy's graph, whose model is the toy itself.
func (m *toy) graph() compose.Graph[*toy] {
	var g compose.Graph[*toy]
	for _, c := range m.components {
		g = append(g, compose.Component[*toy]{
			Name: c.name, Needs: c.needs, Follows: c.follows,
			Enabled: func(*toy) bool { return !c.disabled },
			Build:   c.build,
		})
	}
	return g.MustValidate()
}

func (c component) build(m *toy) ([]compose.Stage, error) {
	if c.disabled {
		panic("a disabled component is built")
	}
	if m.broken == c.name {
		return []compose.Stage{{{Name: "half", Object: object("ConfigMap", "half")}}}, fmt.Errorf("%s is broken", c.name)
	}
	var stages []compose.Stage
	for _, s := range c.stages {
		var stage compose.Stage
		for _, r := range s {
			stage = append(stage, compose.Resource{
				Name: r.name, Object: object(r.kind, r.name), After: r.after, Revisions: r.revisions, Retain: r.retain, Management: r.management,
			})
		}
		stages = append(stages, stage)
	}
	return stages, nil
}
