package wire_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

// TestRequestOf checks that decoded and encoded requests result in equal values.
func TestRequestOf(t *testing.T) {
	o := func(kind string) *structpb.Struct { return object(t, map[string]any{"kind": kind}) }
	decoded := &fnv1.RunFunctionRequest{
		Meta: &fnv1.RequestMeta{Tag: "tag"},
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: o("XThing")},
			Resources: map[string]*fnv1.Resource{"a": {Resource: o("A")}, "empty": {Resource: &structpb.Struct{}}, "none": {}},
		},
		Desired:           &fnv1.State{Resources: map[string]*fnv1.Resource{"earlier": {Resource: o("Earlier"), Ready: fnv1.Ready_READY_TRUE}}},
		Context:           o("Context"),
		RequiredResources: map[string]*fnv1.Resources{"r": {Items: []*fnv1.Resource{{Resource: o("R")}}}, "absent": {}},
	}
	want := &wire.Request{
		Tag: "tag", Composite: o("XThing"),
		Observed: map[string]encoded.Struct{"a": encoded.Of(o("A")), "empty": nil, "none": nil},
		Required: map[string][]*structpb.Struct{"r": {o("R")}, "absent": {}},
		Desired:  map[string]*fnv1.Resource{"earlier": {Resource: o("Earlier"), Ready: fnv1.Ready_READY_TRUE}},
		Context:  o("Context"),
	}
	remaining := &fnv1.RunFunctionRequest{}
	if err := wire.UnmarshalRequest(marshal(t, decoded), remaining); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*fnv1.RunFunctionRequest{"decoded": decoded, "left as bytes": remaining} {
		sameBytes := cmp.Comparer(func(a, b encoded.Struct) bool { return bytes.Equal(a, b) })
		if diff := cmp.Diff(want, wire.RequestOf(m), protocmp.Transform(), sameBytes); diff != "" {
			t.Errorf("RequestOf(...), %s: -want, +got:\n%s", name, diff)
		}
	}
	if got := wire.RequestOf(nil); got.Composite != nil || len(got.Observed)+len(got.Required)+len(got.Desired) > 0 {
		t.Errorf("RequestOf(nil) = %v", got)
	}
}

// TestMessage checks the message of a response.
func TestMessage(t *testing.T) {
	o := func(kind string) *structpb.Struct { return object(t, map[string]any{"kind": kind}) }
	word := "word"
	rsp := &wire.Response{
		Tag: "tag", TTL: time.Minute, Context: o("Context"),
		Conditions: []*fnv1.Condition{{Type: "Ready", Message: &word}},
		Results:    []*fnv1.Result{{Message: word}},
	}
	want := &fnv1.RunFunctionResponse{
		Meta: &fnv1.ResponseMeta{Tag: "tag", Ttl: durationpb.New(time.Minute)}, Context: o("Context"), Conditions: rsp.Conditions, Results: rsp.Results,
	}
	if diff := cmp.Diff(want, rsp.Message(), protocmp.Transform()); diff != "" {
		t.Errorf("Message() of a fatal response, which desires nothing: -want, +got:\n%s", diff)
	}
	rsp.Composite = &wire.Resource{Object: encoded.Of(o("XThing"))}
	rsp.Composed = map[string]wire.Resource{"a": {Object: encoded.Of(o("A")), Ready: true}, "b": {Object: encoded.Of(o("B"))}}
	rsp.Desired = map[string]*fnv1.Resource{"earlier": {Resource: o("Earlier")}, "a": {Resource: o("Earlier")}}
	want.Desired = &fnv1.State{
		Composite: &fnv1.Resource{Resource: o("XThing"), Ready: fnv1.Ready_READY_FALSE},
		Resources: map[string]*fnv1.Resource{
			"a": {Resource: o("A"), Ready: fnv1.Ready_READY_TRUE}, "b": {Resource: o("B"), Ready: fnv1.Ready_READY_FALSE}, "earlier": {Resource: o("Earlier")},
		},
	}
	if diff := cmp.Diff(want, rsp.Message(), protocmp.Transform()); diff != "" {
		t.Errorf("Message(): -want, +got:\n%s", diff)
	}
}

// TestHandle checks that receivers decode the message of a handler to the response, whether it is written by the codec or
// by the protobuf library.
func TestHandle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &structpb.Struct{}
		wiretest.Fill(t, s.ProtoReflect())
		rsp := &wire.Response{
			Composite: &wire.Resource{Object: encoded.Of(s)}, Composed: map[string]wire.Resource{"a": {Object: encoded.Of(s)}},
		}
		handed, err := wire.Handle(&fnv1.RunFunctionRequest{}, func(*wire.Request) (*wire.Response, error) { return rsp, nil })
		if err != nil {
			t.Fatal(err)
		}
		if n := len(handed.GetDesired().GetResources()["a"].GetResource().GetFields()); n > 0 {
			t.Errorf("%d fields are decoded on the way out", n)
		}
		want, err := wire.MarshalResponse(rsp.Message())
		if err != nil {
			t.Fatal(err)
		}
		b, err := wire.MarshalResponse(handed)
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("the codec and the message of the response result in different bytes (%v)", err)
		}
		if b, err = proto.Marshal(handed); err != nil {
			t.Fatal(err)
		}
		got := &fnv1.RunFunctionResponse{}
		if err := proto.Unmarshal(b, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got.GetDesired().GetResources()["a"].GetResource(), protocmp.Transform()); diff != "" {
			t.Errorf("-desired, +received:\n%s", diff)
		}
	})
	broken := errors.New("broken")
	if rsp, err := wire.Handle(nil, func(*wire.Request) (*wire.Response, error) { return nil, broken }); rsp != nil || !errors.Is(err, broken) {
		t.Errorf("Handle(...) = %v, %v, want no response and the error", rsp, err)
	}
}
