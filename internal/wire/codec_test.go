package wire_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/proto/v1beta1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

// grpcs is gRPC's own codec, with which Crossplane calls functions.
var grpcs = encoding.GetCodecV2(grpcproto.Name)

func TestMain(m *testing.M) {
	wire.Register()
	os.Exit(m.Run())
}

// runner returns the observed resources as desired ones. It counts the resources that it received encoded.
type runner struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	encoded chan int
}

func (r *runner) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	remaining := 0
	for _, o := range req.GetObserved().GetResources() {
		if len(o.GetResource().GetFields()) == 0 && len(encoded.Of(o.GetResource())) > 0 {
			remaining++
		}
	}
	r.encoded <- remaining
	return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()}, Desired: req.GetObserved(), Context: req.GetContext()}, nil
}

// serve runs the SDK's server and returns a connection to it with gRPC's own codec, and the runner's channel.
func serve(t testing.TB) (*grpc.ClientConn, chan int) {
	t.Helper()
	r := &runner{encoded: make(chan int, 1)}
	socket := filepath.Join(t.TempDir(), "s")
	failed := make(chan error, 1)
	go func() {
		failed <- function.Serve(r, function.Listen("unix", socket), function.Insecure(true), function.WithMetricsServer(""), function.MaxRecvMessageSize(1<<26))
	}()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(grpcs), grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-failed:
			t.Error(err)
		default: // The SDK cannot stop a server: it stops with the test binary.
		}
	})
	return conn, r.encoded
}

func TestServerPreservesUnknownFields(t *testing.T) {
	conn, remaining := serve(t)
	req := wiretest.Request(40)
	req.Context = object(t, map[string]any{"k": "v"})

	// Fields of a later version of the protocol.
	future := protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "later")
	req.ProtoReflect().SetUnknown(future)
	req.Observed.ProtoReflect().SetUnknown(future)
	req.Observed.Resources["resource-000"].ProtoReflect().SetUnknown(future)

	want := &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: "tag"}, Desired: req.GetObserved(), Context: req.GetContext()}

	for range 3 { // gRPC reuses its buffers.
		got, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), req)
		if err != nil {
			t.Fatalf("RunFunction(...): %v", err)
		}
		if n := <-remaining; n != 40 {
			t.Errorf("%d resources reached the function as bytes, want 40: is the codec in use?", n)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("RunFunction(...): -want, +got:\n%s", diff)
		}
	}
}

// TestServesOlderBetaAPI calls the older service, whose messages the SDK converts through their encoding.
func TestServesOlderBetaAPI(t *testing.T) {
	conn, remaining := serve(t)
	req := &v1beta1.RunFunctionRequest{}
	if err := proto.Unmarshal(marshal(t, wiretest.Request(4)), req); err != nil {
		t.Fatal(err)
	}
	got, err := v1beta1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), req)
	if err != nil {
		t.Fatalf("RunFunction(...): %v", err)
	}
	if n := <-remaining; n != 0 {
		t.Errorf("%d resources reached the function as bytes, want 0: the codec should not know the older messages", n)
	}
	if diff := cmp.Diff(req.GetObserved(), got.GetDesired(), protocmp.Transform()); diff != "" {
		t.Errorf("RunFunction(...): -want, +got:\n%s", diff)
	}
}

// A malformed codec sends bytes that are not a message.
type malformed struct{ encoding.CodecV2 }

func (malformed) Marshal(any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer([]byte{0x12, 0x05, 0x12, 0x7f})}, nil
}

func TestMalformedRequestIsInternalError(t *testing.T) {
	conn, _ := serve(t)
	_, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), &fnv1.RunFunctionRequest{}, grpc.ForceCodecV2(malformed{grpcs}))
	if status.Code(err) != codes.Internal {
		t.Errorf("RunFunction(...): got %v, want an error of gRPC with code Internal", err)
	}
}

func TestCodec(t *testing.T) {
	req := wiretest.Request(2)
	b := marshal(t, req)
	pieces := mem.BufferSlice{mem.SliceBuffer(b[:10]), mem.SliceBuffer(b[10:11]), mem.SliceBuffer(b[11:])}
	codec := wire.Codec{}

	got := &fnv1.RunFunctionRequest{}
	if err := codec.Unmarshal(pieces, got); err != nil {
		t.Fatalf("Unmarshal(pieces, ...): %v", err)
	}
	want := proto.CloneOf(got)
	clear(b) // gRPC reuses its buffers.
	if !proto.Equal(want, got) {
		t.Error("Unmarshal(...): the message changes with gRPC's buffers")
	}

	// Other messages are handled as usual.
	out, err := codec.Marshal(req)
	if err != nil {
		t.Fatalf("Marshal(...): %v", err)
	}
	rsp, other := &fnv1.RunFunctionRequest{}, &fnv1.RequestMeta{}
	if err := proto.Unmarshal(out.Materialize(), rsp); err != nil || !proto.Equal(req, rsp) {
		t.Errorf("Marshal(...): the request does not come back: %v", err)
	}
	if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(marshal(t, req.GetMeta()))}, other); err != nil || !proto.Equal(req.GetMeta(), other) {
		t.Errorf("Unmarshal(...): another message does not come back: %v", err)
	}

	// Errors, and values that are not messages.
	if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer([]byte{0xff})}, other); err == nil {
		t.Error("Unmarshal(malformed, ...): want an error")
	}
	if err := codec.Unmarshal(nil, "text"); err == nil {
		t.Error("Unmarshal(..., a string): want an error")
	}
	if _, err := codec.Marshal("text"); err == nil {
		t.Error("Marshal(a string): want an error")
	}
}

// BenchmarkServe measures a call from Crossplane, including the client, without the function's own work.
func BenchmarkServe(b *testing.B) {
	conn, remaining := serve(b)
	client := fnv1.NewFunctionRunnerServiceClient(conn)
	req := wiretest.Request(40)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.RunFunction(b.Context(), req); err != nil {
			b.Fatal(err)
		}
		<-remaining
	}
}

// broken is a message that panics when it is read or written.
type broken struct{ proto.Message }

// TestCodecRecoversFromPanics checks that the codec recovers from panics: gRPC calls it outside of any recovery, and a panic would
// terminate the process.
func TestCodecRecoversFromPanics(t *testing.T) {
	if b, err := (wire.Codec{}).Marshal(broken{}); b != nil || err == nil || !strings.Contains(err.Error(), "a bug of the codec") {
		t.Errorf("Marshal(...) = %v, %v, want an error", b, err)
	}
	if err := (wire.Codec{}).Unmarshal(nil, broken{}); err == nil || !strings.Contains(err.Error(), "a bug of the codec") {
		t.Errorf("Unmarshal(...): %v, want an error", err)
	}
}
