package wire_test

import (
	"fmt"
	"slices"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func object(t testing.TB, o map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUnmarshalRequest(t *testing.T) {
	want := wiretest.Request(6)
	want.Observed.Resources["with-details"] = &fnv1.Resource{Resource: object(t, map[string]any{"kind": "X"}), ConnectionDetails: map[string][]byte{"k": []byte("v")}, Ready: fnv1.Ready_READY_TRUE}
	want.Observed.Resources["without-resource"] = &fnv1.Resource{Ready: fnv1.Ready_READY_FALSE}
	want.Observed.Resources["empty"] = &fnv1.Resource{Resource: &structpb.Struct{}}
	want.Desired.Resources = map[string]*fnv1.Resource{"d": {Resource: object(t, map[string]any{"kind": "D"})}}
	want.Input = object(t, map[string]any{"kind": "Input"})
	want.RequiredResources = map[string]*fnv1.Resources{"r": {Items: []*fnv1.Resource{{Resource: object(t, map[string]any{"kind": "R"})}}}}
	want.Credentials = map[string]*fnv1.Credentials{"c": {Source: &fnv1.Credentials_CredentialData{CredentialData: &fnv1.CredentialData{Data: map[string][]byte{"k": []byte("v")}}}}}

	got := &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: "of an earlier call"}}
	if err := wire.UnmarshalRequest(marshal(t, want), got); err != nil {
		t.Fatalf("UnmarshalRequest(...): %v", err)
	}

	// All encoded resources are complete.
	for name, w := range want.GetObserved().GetResources() {
		g := got.GetObserved().GetResources()[name]
		if len(g.GetResource().GetFields()) > 0 {
			t.Errorf("%s: the resource was decoded, want bytes", name)
		}
		if existing := g.GetResource() != nil; existing != (w.GetResource() != nil) {
			t.Errorf("%s: there is a resource: %t, want %t", name, existing, w.GetResource() != nil)
		}
		if diff := cmp.Diff(w.GetResource().AsMap(), wire.RequestOf(got).Observed[name].Map()); diff != "" {
			t.Errorf("%s: -want, +left as bytes:\n%s", name, diff)
		}
	}

	// All other fields are decoded.
	if diff := cmp.Diff(withoutObserved(want), withoutObserved(got), protocmp.Transform()); diff != "" {
		t.Errorf("UnmarshalRequest(...): -want, +got:\n%s", diff)
	}
}

// withoutObserved returns a copy of a request without the parts that UnmarshalRequest leaves encoded.
func withoutObserved(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionRequest {
	req = proto.CloneOf(req)
	for _, r := range req.GetObserved().GetResources() {
		r.Resource = nil
	}
	return req
}

// TestUnmarshalRequestProperties decodes random requests, as one message or as two concatenated messages, with unknown
// fields. Marshalled again, they result in the same request.
func TestUnmarshalRequestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		for range rapid.IntRange(1, 2).Draw(t, "pieces") {
			req := &fnv1.RunFunctionRequest{}
			wiretest.Fill(t, req.ProtoReflect())
			future := protowire.AppendTag(nil, 1000, protowire.BytesType)
			future = protowire.AppendString(future, rapid.StringN(0, 3, -1).Draw(t, "future"))
			req.ProtoReflect().SetUnknown(future)
			if req.Observed != nil {
				req.GetObserved().ProtoReflect().SetUnknown(future)
			}
			for _, r := range req.GetObserved().GetResources() {
				r.ProtoReflect().SetUnknown(future)
			}
			part, err := proto.Marshal(req)
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, part...)
		}
		if err := sameRequest(b); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzUnmarshalRequest checks for any bytes that there is no panic, and that all input that the protobuf library accepts
// results in the same request.
func FuzzUnmarshalRequest(f *testing.F) {
	f.Add(marshal(f, &fnv1.RunFunctionRequest{
		Meta:     &fnv1.RequestMeta{Tag: "t"},
		Observed: &fnv1.State{Composite: &fnv1.Resource{}, Resources: map[string]*fnv1.Resource{"a": {Resource: object(f, map[string]any{"b": 1}), Ready: fnv1.Ready_READY_TRUE}}},
	}))
	f.Add(part(2, part(2, part(1, []byte("a")))))     // an entry without a value
	f.Add(part(2, part(2, part(1, []byte{0xff}))))    // a name that is not UTF-8
	f.Add([]byte{0x10, 0x01, 0x13, 0x14, 0x12, 0xff}) // other wire types; truncated
	one := part(1, encoded.Of(object(f, map[string]any{"a": 1, "b": 1})))
	two := part(1, encoded.Of(object(f, map[string]any{"b": 2, "c": 2})))
	f.Add(part(2, part(2, part(1, []byte("r")), part(2, one), part(2, two))))                                          // a value in two parts
	f.Add(part(2, part(2, part(1, []byte("r")), part(2, one, two))))                                                   // a resource in two parts
	f.Add(part(2, part(2, part(1, []byte("r")), part(2, one)), part(2, part(1, []byte("r")), part(2, two))))           // two entries with one name
	f.Add(slices.Concat(part(2, part(2, part(1, []byte("r")), part(2, one))), part(2, part(2, part(1, []byte("s")))))) // a State in two parts
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := sameRequest(b); err != nil {
			t.Error(err)
		}
	})
}

// part returns an encoded field with bytes.
func part(num protowire.Number, values ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), slices.Concat(values...))
}

// sameRequest compares UnmarshalRequest with the protobuf library.
func sameRequest(b []byte) error {
	before := slices.Clone(b)
	want, got, next := &fnv1.RunFunctionRequest{}, &fnv1.RunFunctionRequest{}, &fnv1.RunFunctionRequest{}
	wantErr := proto.Unmarshal(b, want)
	gotErr := wire.UnmarshalRequest(b, got)
	for name, b := range wire.RequestOf(got).Observed {
		s := &structpb.Struct{}
		if err := proto.Unmarshal(b, s); err != nil || wantErr != nil {
			continue
		}
		if diff := cmp.Diff(want.GetObserved().GetResources()[name].GetResource().AsMap(), s.AsMap(), cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("%s: -protobuf's, +left as bytes:\n%s", name, diff)
		}
	}
	if !slices.Equal(before, b) {
		return fmt.Errorf("the bytes of the request were changed")
	}
	if gotErr != nil {
		if wantErr == nil {
			return fmt.Errorf("UnmarshalRequest(...): %w, but the protobuf library takes it", gotErr)
		}
		return nil
	}
	sent, err := proto.Marshal(got)
	if err == nil {
		err = proto.Unmarshal(sent, next)
	}
	if wantErr != nil || err != nil {
		if wantErr == nil {
			return fmt.Errorf("cannot decode what was marshalled again: %w", err)
		}
		return nil // The error is in a part that stays encoded.
	}
	if diff := cmp.Diff(want, next, protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
		return fmt.Errorf("-protobuf's, +ours marshalled again:\n%s", diff)
	}
	return nil
}

func BenchmarkUnmarshalRequest(b *testing.B) {
	for _, n := range []int{40, 250} {
		data := marshal(b, wiretest.Request(n))
		for name, unmarshal := range map[string]func([]byte, *fnv1.RunFunctionRequest) error{
			"lazy":  wire.UnmarshalRequest,
			"plain": func(b []byte, r *fnv1.RunFunctionRequest) error { return proto.Unmarshal(b, r) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if err := unmarshal(data, &fnv1.RunFunctionRequest{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
