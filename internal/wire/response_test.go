package wire_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

// TestMarshalResponseProperties marshals random responses: the protobuf library reads the same message, and the bytes do
// not depend on the order in which maps were filled.
func TestMarshalResponseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &fnv1.RunFunctionResponse{}
		wiretest.Fill(t, want.ProtoReflect())
		b, err := wire.MarshalResponse(want)
		if err != nil {
			t.Fatalf("MarshalResponse(...): %v", err)
		}
		got := &fnv1.RunFunctionResponse{}
		if err := proto.Unmarshal(b, got); err != nil {
			t.Fatalf("cannot decode the marshalled response: %v", err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("MarshalResponse(...): -message, +read from its bytes:\n%s", diff)
		}
		next, err := wire.MarshalResponse(got) // Its maps were filled in the order of the keys.
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, next) {
			t.Error("the same message gave other bytes")
		}
	})
}

func TestMarshalResponseOrder(t *testing.T) {
	want, err := wire.MarshalResponse(wiretest.Response(40))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		rsp := wiretest.Response(40)
		resources := rsp.GetDesired().GetResources()
		rsp.Desired.Resources = map[string]*fnv1.Resource{}
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(resources))) {
			rsp.Desired.Resources[name] = resources[name]
		}
		got, err := wire.MarshalResponse(rsp)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Fatal("the same message, filled in another order, gave other bytes")
		}
	}
}

// TestMarshalResponseOdd marshals messages that builders should not create; the result is the same as with the protobuf
// library.
func TestMarshalResponseOdd(t *testing.T) {
	observed := &fnv1.RunFunctionRequest{}
	if err := wire.UnmarshalRequest(marshal(t, wiretest.Request(1)), observed); err != nil {
		t.Fatal(err)
	}
	odd := func(v *structpb.Value) *structpb.Struct {
		return &structpb.Struct{Fields: map[string]*structpb.Value{"v": v}}
	}

	cases := map[string]struct {
		reason string
		args   *fnv1.Resource
	}{
		"NilResource": {"An entry without a message.", nil},
		"Empty":       {"An entry without a resource.", &fnv1.Resource{}},
		"EmptyStruct": {"A resource without fields is still there.", &fnv1.Resource{Resource: &structpb.Struct{}}},
		"NilValue":    {"A field without a value.", &fnv1.Resource{Resource: odd(nil)}},
		"NoKind":      {"A value without a kind.", &fnv1.Resource{Resource: odd(&structpb.Value{})}},
		"NilStruct":   {"A value that is a struct that is none.", &fnv1.Resource{Resource: odd(structpb.NewStructValue(nil))}},
		"NilElement":  {"A list with an element that is none.", &fnv1.Resource{Resource: odd(structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{nil, {}}}))}},
		"Undecoded":   {"A resource that was observed and left as bytes.", observed.GetObserved().GetResources()["resource-000"]},
		"Everything":  {"The other fields of a resource.", &fnv1.Resource{Resource: odd(structpb.NewNullValue()), ConnectionDetails: map[string][]byte{"k": {1}}, Ready: fnv1.Ready_READY_FALSE}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := &fnv1.RunFunctionResponse{Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"r": tc.args}}}
			want, got := &fnv1.RunFunctionResponse{}, &fnv1.RunFunctionResponse{}
			if err := proto.Unmarshal(marshal(t, rsp), want); err != nil {
				t.Fatal(err)
			}
			b, err := wire.MarshalResponse(rsp)
			if err != nil {
				t.Fatalf("%s\nMarshalResponse(...): %v", tc.reason, err)
			}
			if err := proto.Unmarshal(b, got); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s\nMarshalResponse(...): -protobuf's, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMarshalResponseErrors(t *testing.T) {
	bad := func(f func(*fnv1.RunFunctionResponse)) *fnv1.RunFunctionResponse {
		rsp := wiretest.Response(2)
		f(rsp)
		return rsp
	}
	cases := map[string]struct {
		reason string
		args   *fnv1.RunFunctionResponse
		want   string
	}{
		"Value": {"Text in a resource.", bad(func(r *fnv1.RunFunctionResponse) {
			r.Desired.Resources["x"] = &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewStringValue("\xff")}}}
		}), `desired.resources["x"]: it has text that is not valid UTF-8`},
		"Key": {"The name of a field.", bad(func(r *fnv1.RunFunctionResponse) {
			r.Desired.Resources["x"] = &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"\xff": {}}}}
		}), `desired.resources["x"]: it has text that is not valid UTF-8`},
		"Name":   {"The name of a resource.", bad(func(r *fnv1.RunFunctionResponse) { r.Desired.Resources["\xff"] = &fnv1.Resource{} }), `desired.resources["\xff"]: it has text that is not valid UTF-8`},
		"Result": {"Another part of the response.", bad(func(r *fnv1.RunFunctionResponse) { r.Results[0].Message = "\xff" }), "invalid UTF-8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := wire.MarshalResponse(tc.args)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nMarshalResponse(...): got error %v, want it to contain %q", tc.reason, err, tc.want)
			}
		})
	}
}

func BenchmarkMarshalResponse(b *testing.B) {
	for _, n := range []int{40, 250} {
		rsp := wiretest.Response(n)
		for name, marshal := range map[string]func(*fnv1.RunFunctionResponse) ([]byte, error){
			"hand":  wire.MarshalResponse,
			"plain": func(r *fnv1.RunFunctionResponse) ([]byte, error) { return proto.Marshal(r) },
			"deterministic": func(r *fnv1.RunFunctionResponse) ([]byte, error) {
				return proto.MarshalOptions{Deterministic: true}.Marshal(r)
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					out, err := marshal(rsp)
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(out)))
				}
			})
		}
	}
}
