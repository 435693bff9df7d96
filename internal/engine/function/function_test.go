package function_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

// testXR is a composite resource whose function composes one ConfigMap, or fails as set in its spec.
type testXR struct {
	Spec struct {
		Fail     string `json:"fail"`
		Replicas int    `json:"replicas"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// kind returns the function of testXR. It stores its input in provided.
func kind(provided *function.Input[testXR]) function.Runner {
	return function.Kind[testXR, testXR]{
		Rules: readiness.Rules,
		Graph: compose.Graph[testXR]{{Name: "config", Build: build}},
		Derive: func(in function.Input[testXR]) (testXR, error) {
			*provided = in
			switch in.XR.Spec.Fail {
			case "invalid":
				return testXR{}, invalid.Field("spec.fail", "it is invalid")
			case "derive":
				return testXR{}, errors.New("cannot derive")
			case "panic":
				panic("out of order")
			}
			return in.XR, nil
		},
		Target: func(testXR) respond.Target { return respond.Target{} },
		Status: func(m testXR, _ compose.Plan) any { return map[string]any{"phase": "Next", "previous": m.Status.Phase} },
	}
}

func build(m testXR) ([]compose.Stage, error) {
	switch m.Spec.Fail {
	case "build":
		return nil, errors.New("it is broken")
	case "build panic":
		var none *testXR
		return nil, errors.New(none.Spec.Fail) //nolint:govet // the panic is what is tested
	}
	return []compose.Stage{{{Name: "config", Object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "config"}, "replicas": m.Spec.Replicas,
	}}}}}, nil
}

func structOf(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request is a request about a thing.
func request(t *testing.T, spec, status any) *fnv1.RunFunctionRequest {
	t.Helper()
	return &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: structOf(t, map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "one"}, "spec": spec, "status": status,
	})}}}
}

func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason       string
		spec, status any
		// typ is the condition that is False, with the message; none if the response is successful.
		typ, message string
	}{
		"Good": {
			reason: "The object of the builder is desired.",
			spec:   map[string]any{"replicas": 3},
		},
		"StatusUnreadable": {
			reason: "A status of another version is no reason to stop: it is rewritten.",
			spec:   map[string]any{"replicas": 3},
			status: map[string]any{"phase": []any{"not", "a", "string"}},
		},
		"SpecUnreadable": {
			reason: "A spec that the schema would have rejected is an error.",
			spec:   map[string]any{"replicas": "three"},
			typ:    "Composed",
			message: "cannot read the composite resource: " +
				"json: cannot unmarshal string into Go struct field .spec.replicas of type int",
		},
		"Invalid": {
			reason: "An invalid spec is reported as such.",
			spec:   map[string]any{"fail": "invalid"},
			typ:    "SpecValid", message: "spec.fail: it is invalid",
		},
		"DeriveFails": {
			reason: "So is one that is not the tenant's.",
			spec:   map[string]any{"fail": "derive"},
			typ:    "Composed", message: "cannot derive",
		},
		"DerivePanics": {
			reason: "A panic is reported as an error.",
			spec:   map[string]any{"fail": "panic"},
			typ:    "Composed", message: "cannot compose: out of order; this is a bug of the function",
		},
		"BuildFails": {
			reason: "A partial plan would delete the other objects.",
			spec:   map[string]any{"fail": "build"},
			typ:    "Composed", message: "cannot compose config: it is broken",
		},
		"BuildPanics": {
			reason: "Nor does a crash further down.",
			spec:   map[string]any{"fail": "build panic"},
			typ:    "Composed", message: "cannot compose: runtime error: invalid memory address or nil pointer dereference; this is a bug of the function",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := kind(&function.Input[testXR]{}).Run(wire.RequestOf(request(t, tc.spec, tc.status))).Message()
			if tc.typ == "" {
				if n := len(rsp.GetResults()); n != 0 {
					t.Fatalf("%s\nthere are %d results: %v", tc.reason, n, rsp.GetResults())
				}
				config := rsp.GetDesired().GetResources()["config"].GetResource().AsMap()
				if config["replicas"] != 3.0 || conditionsOf(rsp)["SpecValid"] != "True: " {
					t.Errorf("%s\nRun(...) = %v", tc.reason, rsp)
				}
				return
			}
			c := rsp.GetConditions()[0]
			if c.GetType() != tc.typ || c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetMessage() != tc.message {
				t.Errorf("%s\nthe condition is %v, want %s: %s", tc.reason, c, tc.typ, tc.message)
			}
			if rsp.GetDesired() != nil || len(rsp.GetResults()) != 2 {
				t.Errorf("%s\nRun(...) = %v, want two results and nothing desired", tc.reason, rsp)
			}
		})
	}
}

// conditionsOf returns the conditions of a response, as "<status>: <message>" by type.
func conditionsOf(rsp *fnv1.RunFunctionResponse) map[string]string {
	text := map[fnv1.Status]string{
		fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False", fnv1.Status_STATUS_CONDITION_UNKNOWN: "Unknown",
	}
	out := map[string]string{}
	for _, c := range rsp.GetConditions() {
		out[c.GetType()] = text[c.GetStatus()] + ": " + c.GetMessage()
	}
	return out
}

// TestInput tests that a function gets the claim from the fields of Crossplane, and the required resources, existing or not.
func TestInput(t *testing.T) {
	req := request(t, map[string]any{
		"replicas": 2, "claimRef": map[string]any{"kind": "Thing", "namespace": "tenant", "name": "mine"},
		"compositionRevisionSelector": map[string]any{"matchLabels": map[string]any{"channel": "stable"}},
	}, map[string]any{"phase": "Before"})
	req.GetObserved().GetComposite().GetResource().Fields["metadata"] = structpb.NewStructValue(structOf(t, map[string]any{
		"name": "mine-x7k2p", "labels": map[string]any{"crossplane.io/claim-namespace": "someone-else", "crossplane.io/claim-name": "theirs"},
	}))
	platform := structOf(t, map[string]any{"kind": "PlatformConfig"})
	req.RequiredResources = map[string]*fnv1.Resources{"absent": {}, "platform": {Items: []*fnv1.Resource{{Resource: platform}}}}
	req.Observed.Resources = map[string]*fnv1.Resource{"config": {Resource: structOf(t, map[string]any{"kind": "ConfigMap"})}}

	in := function.Input[testXR]{}
	rsp, plan, err := kind(&in).Explain(wire.RequestOf(req))
	if err != nil {
		t.Fatalf("Explain(...): %v", err)
	}
	if in.XR.Spec.Replicas != 2 || in.XR.Status.Phase != "Before" {
		t.Errorf("the composite resource is read as %+v", in.XR)
	}
	if diff := cmp.Diff(function.Claim{Namespace: "tenant", Name: "mine"}, in.Claim); diff != "" {
		t.Errorf("Claim: -want, +got: labels are a tenant's to write\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"channel": "stable"}, in.Channel); diff != "" {
		t.Errorf("Channel: -want, +got:\n%s", diff)
	}
	want := map[string][]*structpb.Struct{"absent": {}, "platform": {platform}}
	if diff := cmp.Diff(want, in.Required, protocmp.Transform()); diff != "" {
		t.Errorf("Required: -want, +got:\n%s", diff)
	}
	if o, ok := in.Observed.Get("config"); !ok || o.Kind() != "ConfigMap" {
		t.Error("Observed does not contain the observed object")
	}
	if i := plan.Items()[0]; i.Name != "config" || !i.Observed || i.Readiness.Ready {
		t.Errorf("the plan does not match the response: %+v", plan)
	}
	wantStatus := structOf(t, map[string]any{
		"phase": "Next", "previous": "Before", "deletionPolicy": "Retain", "lastValidSpec": map[string]any{"replicas": 2},
	})
	if diff := cmp.Diff(wantStatus, rsp.Message().GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue(), protocmp.Transform()); diff != "" {
		t.Errorf("status: -want, +got:\n%s", diff)
	}
}

// TestDecodeMatchesEncodingJSON compares the JSON of Decode with encoding/json.
func TestDecodeMatchesEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &structpb.Struct{}
		wiretest.Fill(t, s.ProtoReflect())
		got := map[string]any{}
		if err := function.Decode(s, &got); err != nil {
			t.Fatalf("Decode(%v): %v", s, err)
		}
		if diff := cmp.Diff(s.AsMap(), got); diff != "" {
			t.Errorf("Decode(%v): -want, +got:\n%s", s, diff)
		}
	})
}

func TestDecode(t *testing.T) {
	s := structOf(t, map[string]any{
		`"a"`: "a\\b\n\t\x01<é\u2028", "b": float64(1<<53 - 1), "c": float64(-1 << 31), "d": 0.5, "e": 1e300, "f": []any{nil, true, map[string]any{}},
	})
	got := map[string]json.RawMessage{}
	if err := function.Decode(s, &got); err != nil {
		t.Fatalf("Decode(...): %v", err)
	}
	want := map[string]json.RawMessage{
		`"a"`: json.RawMessage(`"a\\b\n\t\u0001\u003cé\u2028"`), "b": json.RawMessage("9007199254740991"), "c": json.RawMessage("-2147483648"),
		"d": json.RawMessage("0.5"), "e": json.RawMessage("1e+300"), "f": json.RawMessage("[null,true,{}]"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Decode(...): -want, +got:\n%s", diff)
	}
}

// TestDecodeIsDeterministic tests that the same error, and the same spelling of a name, always takes precedence.
func TestDecodeIsDeterministic(t *testing.T) {
	type some struct{ A, B, C, D int }
	invalidFields := structOf(t, map[string]any{"a": "x", "b": "x", "c": "x", "d": "x"})
	spellings := structOf(t, map[string]any{"A": 1, "a": 2})
	for range 20 {
		err := function.Decode(invalidFields, &some{})
		if err == nil || !strings.Contains(err.Error(), "some.A ") {
			t.Fatalf("Decode(...): %v, want the mistake in A", err)
		}
		got := some{}
		if err := function.Decode(spellings, &got); err != nil || got.A != 2 {
			t.Fatalf("Decode(...) = %+v, %v, want the last in order to count", got, err)
		}
	}
}

// journal stores log messages.
type journal struct {
	logging.Logger
	lines [][]any
}

func (j *journal) Info(message string, keysAndValues ...any) {
	j.lines = append(j.lines, append([]any{message}, keysAndValues...))
}

func TestServer(t *testing.T) {
	cases := map[string]struct {
		reason string
		req    *fnv1.RunFunctionRequest
		want   string // of the fatal result
		logged [][]any
	}{
		"Known": {
			reason: "The function of the composite resource's kind handles the request.",
			req:    request(t, nil, nil),
		},
		"Fails": {
			reason: "Fatal results are logged, because only the tenant gets them.",
			req:    request(t, map[string]any{"fail": "derive"}, nil),
			want:   "cannot derive",
			logged: [][]any{{"cannot compose", "kind", "Thing.example.org", "name", "one", "message", "cannot derive"}},
		},
		"Unknown": {
			reason: "A Composition may name the wrong function.",
			req: &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: structOf(t, map[string]any{
				"apiVersion": "example.org/v1", "kind": "Other",
			})}}},
			want: "there is no function for composite resources of kind Other.example.org",
		},
		"Empty": {
			reason: "Even nothing gets an answer.",
			req:    &fnv1.RunFunctionRequest{},
			want:   "there is no function for composite resources of kind ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log := &journal{Logger: logging.NewNopLogger()}
			s := &function.Server{Kinds: map[string]function.Runner{"Thing.example.org": kind(&function.Input[testXR]{})}, Log: log}
			rsp, err := s.RunFunction(context.Background(), tc.req)
			if err != nil {
				t.Fatalf("%s\nRunFunction(...): %v", tc.reason, err)
			}
			got := ""
			for _, r := range rsp.GetResults() {
				if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
					got = r.GetMessage()
				}
			}
			if got != tc.want {
				t.Errorf("%s\nthe fatal result is %q, want %q", tc.reason, got, tc.want)
			}
			if diff := cmp.Diff(tc.logged, log.lines); diff != "" {
				t.Errorf("%s\nlogged: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// broken panics outside of everything that recovers.
type broken struct{ function.Runner }

// TestServerRecoversFromPanic tests that a panic fails one call, and that the process continues to serve.
func TestServerRecoversFromPanic(t *testing.T) {
	log := &journal{Logger: logging.NewNopLogger()}
	s := &function.Server{Kinds: map[string]function.Runner{"Thing.example.org": broken{}}, Log: log}
	rsp, err := s.RunFunction(context.Background(), request(t, nil, nil))
	if rsp != nil || err == nil || !strings.Contains(err.Error(), "a bug of the function") {
		t.Errorf("RunFunction(...) = %v, %v, want an error and no answer, which would delete something", rsp, err)
	}
	if len(log.lines) != 1 {
		t.Errorf("logged: %v", log.lines)
	}
}

// TestUnusedFieldsAreNotDecoded tests that large unused fields are not decoded, that all others are, and that the request is not changed.
func TestUnusedFieldsAreNotDecoded(t *testing.T) {
	type m = map[string]any
	in := function.Input[m]{}
	runner := function.Kind[m, m]{
		Rules:  readiness.Rules,
		Graph:  compose.Graph[m]{{Name: "none", Build: func(m) ([]compose.Stage, error) { return nil, nil }}},
		Derive: func(provided function.Input[m]) (m, error) { in = provided; return provided.XR, nil },
		Target: func(m) respond.Target { return respond.Target{DeleteData: true} },
		Status: func(m, compose.Plan) any { return m{} },
	}
	req := request(t, m{"a": "b"}, m{"phase": "Before", "lastValidSpec": m{"a": "c"}})
	composite := req.GetObserved().GetComposite().GetResource()
	composite.Fields["metadata"] = structpb.NewStructValue(structOf(t, m{"name": "one", "labels": m{"a": "b"}, "managedFields": []any{m{"manager": "x"}}}))
	before := proto.CloneOf(composite)
	rsp, _, err := runner.Explain(wire.RequestOf(req))
	if err != nil {
		t.Fatal(err)
	}
	want := m{
		"apiVersion": "example.org/v1", "kind": "Thing", "metadata": m{"name": "one", "labels": m{"a": "b"}},
		"spec": m{"a": "b"}, "status": m{"phase": "Before"},
	}
	if diff := cmp.Diff(want, in.XR); diff != "" {
		t.Errorf("the composite resource: -want, +read:\n%s", diff)
	}
	if diff := cmp.Diff(before, composite, protocmp.Transform()); diff != "" {
		t.Errorf("the request was changed:\n%s", diff)
	}
	// The status contains the deletion policy if data may be deleted.
	status := rsp.Message().GetDesired().GetComposite().GetResource().AsMap()["status"].(m)
	if status["deletionPolicy"] != "Delete" {
		t.Errorf("the status is %v, want the deletion policy of the place", status)
	}
}

// TestUnreadableStatusDroppedCompletely tests that a partially readable status is dropped completely.
func TestUnreadableStatusDroppedCompletely(t *testing.T) {
	type x struct {
		Spec   struct{ Replicas int }
		Status struct{ A, B string }
	}
	var got, want x
	want.Spec.Replicas = 3
	_, _, err := function.Kind[x, x]{
		Rules:  readiness.Rules,
		Derive: func(in function.Input[x]) (x, error) { got = in.XR; return x{}, errors.New("enough") },
	}.Explain(wire.RequestOf(request(t, map[string]any{"replicas": 3}, map[string]any{"a": "left", "b": []any{}})))
	if err == nil || err.Error() != "enough" {
		t.Fatalf("Explain(...): %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the composite resource: -want, +read:\n%s", diff)
	}
}

// TestAdvisoryConditions tests that an advisory condition is set on claim and composite resource, blocks nothing, and is retired.
func TestAdvisoryConditions(t *testing.T) {
	result := ready.Result{}
	advisory := function.Kind[testXR, testXR]{
		Rules:  readiness.Rules,
		Graph:  compose.Graph[testXR]{{Name: "config", Build: build}},
		Derive: func(in function.Input[testXR]) (testXR, error) { return in.XR, nil },
		Target: func(testXR) respond.Target { return respond.Target{} },
		Status: func(testXR, compose.Plan) any { return map[string]any{} },
		AdvisoryConditions: []function.AdvisoryCondition[testXR]{{
			Type: "WellFed", Former: "Fed", Verdict: func(testXR) ready.Result { return result },
		}},
	}
	before := map[string]any{"conditions": []any{map[string]any{"type": "WellFed", "status": "False", "reason": "Hungry"}}}
	former := map[string]any{"conditions": []any{map[string]any{"type": "Fed", "status": "True", "reason": "Full"}}}
	const retired = "Unknown: the component is disabled, or the condition was renamed"
	for name, tc := range map[string]struct {
		reason string
		status any
		result ready.Result
		want   string
		former string
	}{
		"Nothing":   {reason: "No reason, and no previous condition."},
		"Renamed":   {reason: "Its last state is not kept.", status: former, result: ready.Yes, want: "True: ", former: retired},
		"Something": {reason: "The condition is set.", result: ready.Wait("Hungry", "it is hungry"), want: "False: it is hungry"},
		"Good":      {reason: "A true condition is also set.", status: before, result: ready.Yes, want: "True: "},
		"NoMore":    {reason: "Crossplane keeps a condition that is not set again.", status: before, want: retired},
	} {
		result = tc.result
		rsp := advisory.Run(wire.RequestOf(request(t, map[string]any{"replicas": 1}, tc.status))).Message()
		got := conditionsOf(rsp)
		if got["WellFed"] != tc.want || got["Fed"] != tc.former {
			t.Errorf("%s: %s\n got %s and %s\nwant %s and %s", name, tc.reason, got["WellFed"], got["Fed"], tc.want, tc.former)
		}
	}
}
