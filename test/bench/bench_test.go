package bench

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
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

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// composites returns the kinds whose functions compose more than a claim, as "<kind>.<group>", sorted.
func composites() []string {
	var out []string
	for _, k := range kindregistry.Composites() {
		out = append(out, k.Composite().GroupKind().String())
	}
	slices.Sort(out)
	return out
}

// BenchmarkRunFunction measures one call: by kind, by observed state, composed directly or wrapped for a remote
// cluster, in the process or over gRPC. The client sends and receives bytes, so that only the server's work and the
// transport count.
func BenchmarkRunFunction(b *testing.B) {
	wire.Register()
	function.TuneMemory()
	call := serve(b)
	for _, target := range []string{"direct", "wrapped"} {
		for _, kind := range composites() {
			for _, state := range []string{"empty", "half", "full"} {
				req := message(request(b, kind, target == "wrapped", state))
				short, _, _ := strings.Cut(kind, ".")
				name := fmt.Sprintf("%s/%s/%s", short, target, state)
				b.Run(name+"/in-process", func(b *testing.B) { inProcess(b, req) })
				b.Run(name+"/grpc", func(b *testing.B) { overGRPC(b, req, call) })
			}
		}
	}
}

// poolKind, storageKind and keystoneServiceKind are further kinds of claims; the first and the last refer to a control
// plane.
var (
	workloadClusterKind = workloadclusterv1.GroupVersionKind.GroupKind().String()
	cloudKind           = cloudv1.CompositeGroupVersionKind.GroupKind().String()
	keystoneServiceKind = keystoneservicev1.CompositeGroupVersionKind.GroupKind().String()

	poolKind    = hypervisorv1.CompositeGroupVersionKind.GroupKind().String()
	storageKind = storagev1.CompositeGroupVersionKind.GroupKind().String()
)

// TestEveryKindHasSomethingToMeasure checks that every kind has something to measure, and that its function composes no further objects
// once everything is observed.
func TestEveryKindHasSomethingToMeasure(t *testing.T) {
	runners := kinds.Runners()
	for _, kind := range effort.Sample(composites(), 4) {
		runner := runners[kind]
		rsp := runner.Run(request(t, kind, false, "full"))
		if len(rsp.Results) > 0 || !rsp.Composite.Ready {
			t.Errorf("%s: with everything observed, it is not ready: %v", kind, rsp.Results)
		}
	}
	// Its claims have functions of their own.
	if rsp := runners[cloudKind].Run(request(t, cloudKind, false, "half")); len(rsp.Results) > 0 {
		t.Errorf("%s: with half of its objects observed, it reports %v", cloudKind, rsp.Results)
	}
}

func inProcess(b *testing.B, req *fnv1.RunFunctionRequest) {
	b.Helper()
	runner := kinds.Runners()[kindOf(req.GetObserved().GetComposite().GetResource())]
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

// raw is a codec that does not decode, so that a benchmark does not measure its own client.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// serve starts the functions behind gRPC and returns a function that calls them.
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

// request returns the request that Crossplane makes for a kind's first composite resource of the claim.
func request(tb testing.TB, kind string, remote bool, state string) *wire.Request {
	tb.Helper()
	w := composite(tb, kind, remote)
	switch state {
	case "half":
		calls := finish(tb, &simulate.Cluster{
			XR: w.XR, Kinds: w.Kinds, Required: w.Required, Nested: w.Nested, RequiredResources: w.RequiredResources, Admit: w.Admit,
		})
		for range calls / 2 {
			step(tb, w)
		}
	case "full":
		finish(tb, w)
	}
	for name, o := range w.Observed {
		tree := o.Tree()
		serverOwned(tb, tree)
		w.Observed[name] = encoded.Of(tree)
	}
	return w.Request()
}

// composite returns a composite resource of a kind without composed objects: the claim's, or the first one below it, in
// its state when everything is ready.
func composite(tb testing.TB, kind string, remote bool) *simulate.Cluster {
	tb.Helper()
	switch kind {
	case poolKind:
		return referring(tb, "hypervisor")
	case keystoneServiceKind:
		return referring(tb, "keystoneservice")
	case storageKind:
		return storage(tb)
	case workloadClusterKind:
		w, err := preview.NewCluster(example(tb, "workloadcluster/cluster"), examples.Platform, kinds.Runners())
		if err != nil {
			tb.Fatal(err)
		}
		return w
	case cloudKind:
		w, err := preview.NewCluster(example(tb, "cloud/claim"), examples.Platform, kinds.Runners())
		if err != nil {
			tb.Fatal(err)
		}
		return w
	}
	claim, platform := claim(tb), examples.Platform
	if remote {
		claim = set(tb, claim, map[string]any{"ref": map[string]any{"name": remoteCluster}}, "spec", "cluster")
		platform = set(tb, platform, []any{map[string]any{
			"name": remoteCluster, "providerConfig": remoteCluster, "allowedNamespaces": []any{"*"},
		}}, "spec", "clusters")
	}
	w, err := preview.NewCluster(claim, platform, kinds.Runners())
	if err != nil {
		tb.Fatal(err)
	}
	if kindOf(w.XR) == kind {
		return w
	}
	var owner, resource string
	err = w.Run(func(s simulate.Step) {
		for _, name := range s.New {
			if owner == "" && kindOf(s.Response.Composed[name].Object.Tree()) == kind {
				owner, resource = s.Owner, name
			}
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	xr, ok := w.Desired(owner, resource)
	if !ok {
		tb.Fatalf("the claim has no %s: enter it in an example that claim reads", kind)
	}
	return &simulate.Cluster{XR: simulate.Exist(xr).Tree(), Kinds: w.Kinds}
}

// referring returns the example of a claim that refers to a control plane, in the only cluster that it can be in.
func referring(tb testing.TB, folder string) *simulate.Cluster {
	tb.Helper()
	plane, err := preview.Run(example(tb, folder+"/control-plane"), examples.Platform, kinds.Runners())
	if err != nil {
		tb.Fatal(err)
	}
	w, err := preview.NewCluster(example(tb, folder+"/claim"), examples.Platform, kinds.Runners())
	if err != nil {
		tb.Fatal(err)
	}
	w.RequiredResources = plane.Existing
	return w
}

// storage returns the example of a Ceph cluster.
func storage(tb testing.TB) *simulate.Cluster {
	tb.Helper()
	w, err := preview.NewCluster(example(tb, "storage/claim"), examples.Platform, kinds.Runners())
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func kindOf(o *structpb.Struct) string { return compose.KindOf(o).GroupKind().String() }

// claim returns the full example with every service, as their examples have them, and tests of the whole.
func claim(tb testing.TB) []byte {
	tb.Helper()
	out := example(tb, "controlplane/full")
	for _, more := range []string{"controlplane/services", "nova/claim"} {
		for name, section := range services(tb, example(tb, more)) {
			if _, ok := services(tb, out)[name]; !ok {
				out = set(tb, out, section, "spec", "services", name)
			}
		}
	}
	return set(tb, out, map[string]any{"enabled": true, "allowAdministration": true}, "spec", "tempest")
}

func example(tb testing.TB, name string) []byte {
	tb.Helper()
	doc, err := examples.Files.ReadFile(name + ".yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// services returns the sections of a claim.
func services(tb testing.TB, claim []byte) map[string]any {
	tb.Helper()
	var c struct {
		Spec struct{ Services map[string]any }
	}
	if err := yaml.Unmarshal(claim, &c); err != nil {
		tb.Fatal(err)
	}
	return c.Spec.Services
}

// message returns a request in the form in which it is sent.
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

func step(tb testing.TB, w *simulate.Cluster) bool {
	tb.Helper()
	done, err := w.Call(func(simulate.Step) {})
	if err != nil {
		tb.Fatal(err)
	}
	return done
}

func finish(tb testing.TB, w *simulate.Cluster) int {
	tb.Helper()
	calls := 1
	for !step(tb, w) {
		calls++
	}
	return calls
}

// serverOwned adds the fields of an API server: they are most of the size of a request.
func serverOwned(tb testing.TB, o *structpb.Struct) {
	tb.Helper()
	fields := map[string]any{}
	for k, v := range o.AsMap() {
		fields["f:"+k] = shape(v)
	}
	meta := o.Fields["metadata"].GetStructValue()
	meta.Fields["managedFields"] = value(tb, []any{
		map[string]any{"manager": "apiextensions.crossplane.io/composed", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields},
		map[string]any{"manager": "operator", "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": fields},
	})
	meta.Fields["uid"] = value(tb, "0b5f7a3c-0c1e-4a53-9d3f-7f6f1f0c5b1e")
	meta.Fields["resourceVersion"] = value(tb, "123456789")
	meta.Fields["creationTimestamp"] = value(tb, "2026-01-01T00:00:00Z")
}

// shape returns the field set of a value in the format of managedFields.
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
func set(tb testing.TB, doc []byte, v any, path ...string) []byte {
	tb.Helper()
	m := map[string]any{}
	if err := yaml.Unmarshal(doc, &m); err != nil {
		tb.Fatal(err)
	}
	if err := unstructured.SetNestedField(m, v, path...); err != nil {
		tb.Fatal(err)
	}
	out, err := yaml.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func value(tb testing.TB, v any) *structpb.Value {
	tb.Helper()
	out, err := structpb.NewValue(v)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
