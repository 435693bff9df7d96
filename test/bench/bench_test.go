package bench

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// BenchmarkRunFunction measures one call: by kind, by what is observed, composed directly or wrapped for a remote cluster,
// in the process or over gRPC. The client sends and receives bytes, so that only the server's work and the transport count.
func BenchmarkRunFunction(b *testing.B) {
	wire.Register()
	function.TuneMemory()
	call := serve(b)
	for _, target := range []string{"direct", "wrapped"} {
		for _, kind := range []string{"keystone", "controlplane"} {
			for _, state := range []string{"empty", "half", "full"} {
				req := message(request(b, kind, target == "wrapped", state))
				name := fmt.Sprintf("%s/%s/%s", kind, target, state)
				b.Run(name+"/in-process", func(b *testing.B) { inProcess(b, req) })
				b.Run(name+"/grpc", func(b *testing.B) { overGRPC(b, req, call) })
			}
		}
	}
}

func inProcess(b *testing.B, req *fnv1.RunFunctionRequest) {
	b.Helper()
	runner := kinds.Runners()[compose.KindOf(req.GetObserved().GetComposite().GetResource()).GroupKind().String()]
	b.ReportAllocs()
	for b.Loop() {
		runner.Run(wire.RequestOf(req))
	}
}

func overGRPC(b *testing.B, req *fnv1.RunFunctionRequest, call func([]byte) []byte) {
	b.Helper()
	in, err := proto.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	out := call(in)
	b.ReportAllocs()
	b.ReportMetric(float64(len(in)), "request-bytes")
	b.ReportMetric(float64(len(out)), "response-bytes")
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		call(in)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
}

// raw hands bytes through, so that a benchmark does not measure its own client.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// serve starts the functions behind gRPC and gives a way to call them.
func serve(b *testing.B) func([]byte) []byte {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	const limit = 64 << 20
	s := grpc.NewServer(grpc.MaxRecvMsgSize(limit))
	fnv1.RegisterFunctionRunnerServiceServer(s, &function.Server{Kinds: kinds.Runners(), Log: logging.NewNopLogger()})
	go func() { _ = s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		s.Stop()
	})
	return func(in []byte) []byte {
		var out []byte
		err := conn.Invoke(context.Background(), "/"+fnv1.FunctionRunnerService_ServiceDesc.ServiceName+"/RunFunction", &in, &out, grpc.ForceCodecV2(raw{}))
		if err != nil {
			b.Fatal(err)
		}
		return out
	}
}

const remoteCluster = "remote"

// request is the request that Crossplane makes for the full example.
func request(b *testing.B, kind string, remote bool, state string) *wire.Request {
	b.Helper()
	claim, err := examples.Files.ReadFile("controlplane/full.yaml")
	if err != nil {
		b.Fatal(err)
	}
	platform := examples.Platform
	if remote {
		claim = set(b, claim, map[string]any{"ref": map[string]any{"name": remoteCluster}}, "spec", "cluster")
		platform = set(b, platform, []any{map[string]any{
			"name": remoteCluster, "providerConfig": remoteCluster, "allowedNamespaces": []any{"*"},
		}}, "spec", "clusters")
	}
	w, err := preview.World(claim, platform, kinds.Runners())
	if err != nil {
		b.Fatal(err)
	}
	if kind == "keystone" {
		finish(b, w)
		rsp := w.Kinds["XControlPlaneCluster.crossplane.c5c3.io"].Run(w.Request())
		w = &simulate.World{XR: rsp.Composed["keystone"].Object.Tree(), Kinds: w.Kinds}
	}
	switch state {
	case "half":
		calls := finish(b, &simulate.World{XR: w.XR, Kinds: w.Kinds, Required: w.Required})
		for range calls / 2 {
			step(b, w)
		}
	case "full":
		finish(b, w)
	}
	for name, o := range w.Observed {
		tree := o.Tree()
		serverOwned(b, tree)
		w.Observed[name] = encoded.Of(tree)
	}
	return w.Request()
}

// message is a request as it is sent.
func message(req *wire.Request) *fnv1.RunFunctionRequest {
	m := &fnv1.RunFunctionRequest{
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: req.Composite},
			Resources: map[string]*fnv1.Resource{},
		},
		RequiredResources: map[string]*fnv1.Resources{},
	}
	for name, o := range req.Observed {
		m.Observed.Resources[name] = &fnv1.Resource{Resource: o.Tree()}
	}
	for name, items := range req.Required {
		rs := &fnv1.Resources{}
		for _, i := range items {
			rs.Items = append(rs.Items, &fnv1.Resource{Resource: i})
		}
		m.RequiredResources[name] = rs
	}
	return m
}

func step(b *testing.B, w *simulate.World) bool {
	b.Helper()
	done, err := w.Call(func(simulate.Step) {})
	if err != nil {
		b.Fatal(err)
	}
	return done
}

func finish(b *testing.B, w *simulate.World) int {
	b.Helper()
	calls := 1
	for !step(b, w) {
		calls++
	}
	return calls
}

// serverOwned adds what an API server adds: it is most of what a request carries.
func serverOwned(b *testing.B, o *structpb.Struct) {
	b.Helper()
	fields := map[string]any{}
	for k, v := range o.AsMap() {
		fields["f:"+k] = shape(v)
	}
	meta := o.Fields["metadata"].GetStructValue()
	meta.Fields["managedFields"] = value(b, []any{
		map[string]any{"manager": "apiextensions.crossplane.io/composed", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields},
		map[string]any{"manager": "operator", "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": fields},
	})
	meta.Fields["uid"] = value(b, "0b5f7a3c-0c1e-4a53-9d3f-7f6f1f0c5b1e")
	meta.Fields["resourceVersion"] = value(b, "123456789")
	meta.Fields["creationTimestamp"] = value(b, "2026-01-01T00:00:00Z")
}

// shape is the field set of a value as managedFields hold it.
func shape(v any) any {
	out := map[string]any{}
	if m, ok := v.(map[string]any); ok {
		for k, v := range m {
			out["f:"+k] = shape(v)
		}
	}
	return out
}

// set changes one field of a document.
func set(b *testing.B, doc []byte, v any, path ...string) []byte {
	b.Helper()
	m := map[string]any{}
	if err := yaml.Unmarshal(doc, &m); err != nil {
		b.Fatal(err)
	}
	if err := unstructured.SetNestedField(m, v, path...); err != nil {
		b.Fatal(err)
	}
	out, err := yaml.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func value(b *testing.B, v any) *structpb.Value {
	b.Helper()
	out, err := structpb.NewValue(v)
	if err != nil {
		b.Fatal(err)
	}
	return out
}
