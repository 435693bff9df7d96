package writes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const (
	// largePoolNodes and largePoolSlices are the size of a large pool. Slices have the maximum of the API.
	largePoolNodes, largePoolSlices = 2000, 32
	// largePoolNames is the number of its aggregates and availability zones, the maximum, and zones of the latter.
	largePoolNames, zones = 32, 4
	// etcdLimit is the maximum size of an object, and grpcLimit of a response that Crossplane receives. requestLimit is the maximum size
	// of a request that the chart sets for the function.
	etcdLimit, grpcLimit, requestLimit = 1536 << 10, 4 << 20, 64 << 20
)

// largePool returns the claim of a large pool. Each slice has its own settings, and therefore its own configuration.
func largePool() []byte {
	var slices strings.Builder
	for i := range largePoolSlices {
		fmt.Fprintf(&slices, `
  - name: rack-%02[1]d
    nodeSelector: {topology.example.com/rack: rack-%02[1]d}
    availabilityZone: zone-%[2]d
    aggregates: [row-%02[5]d]
    traits: [CUSTOM_RACK_%[1]d]
    hugePages: [{size: 1Gi, count: %[3]d}]
    cpu: {mode: host-passthrough, dedicatedSet: %[4]d-63, sharedSet: "2,3"}
    memory: {reserved: %[4]dGi}
    networks:
      bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: bond%[3]d}]`, i, i%zones, 64+i, 8+i%8, i%(largePoolNames-zones))
	}
	return []byte(`
apiVersion: crossplane.c5c3.io/v1alpha1
kind: HypervisorCluster
metadata: {namespace: tenant-a, name: hypervisors}
spec:
  controlPlaneRef: {namespace: tenant-a, name: production}
  nodeSelector: {node-role.kubernetes.io/hypervisor: ""}
  tolerations: [{key: dedicated, operator: Equal, value: hypervisor, effect: NoSchedule}]
  networks:
    bridgeMappings: [{physicalNetwork: external, bridge: br-ex, interface: bond1}]
    encapsulation: {type: geneve, interface: bond0}
  virtualization: {driver: kvm, evictOnCordon: true, libvirt: {mode: Managed}}
  slices:` + slices.String() + "\n")
}

// controlPlaneOfPools returns the control plane to which the claim refers.
func controlPlaneOfPools(t *testing.T) []*structpb.Struct {
	t.Helper()
	claim, err := examples.Files.ReadFile("hypervisor/control-plane.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plane, err := preview.Run(claim, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	return plane.Existing
}

// TestLargePoolRespectsSizeLimits checks the sizes of a pool with 2,000 nodes in 32 slices, when everything is ready and the companion has
// recorded all nodes: objects in etcd, a request and a response of the function, and the writes of one reconcile.
func TestLargePoolRespectsSizeLimits(t *testing.T) {
	w, err := preview.NewCluster(largePool(), examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	w.RequiredResources = controlPlaneOfPools(t)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	// Agents: with OVN, a node has two agents in Neutron. Five are all agents on a gateway without OVN.
	for agents, maxBytes := range map[int]int{2: 1024 << 10, 5: 1472 << 10} {
		recordNodes(t, w, agents)
		largest, kind := 0, ""
		for _, o := range w.Observed {
			if n := stored(t, o.Map()); n > largest {
				largest, kind = n, compose.KindOf(o.Tree()).Kind
			}
		}
		t.Logf("%d agents: the largest object, a %s, has %d bytes", agents, kind, largest)
		if largest > maxBytes || maxBytes > etcdLimit {
			t.Errorf("%d agents: the %s has %d bytes, %d at most; an API server accepts %d", agents, kind, largest, maxBytes, etcdLimit)
		}
	}
	xr := w.XR.AsMap()
	var references []any
	for _, o := range w.Observed {
		kind := compose.KindOf(o.Tree())
		references = append(references, map[string]any{
			"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "name": o.At("metadata", "name").Text(),
			"namespace": o.At("metadata", "namespace").Text(),
		})
	}
	xr["spec"].(map[string]any)["resourceRefs"] = references
	response, _, err := w.Explain(w.Kinds[compose.KindOf(w.XR).GroupKind().String()])
	if err != nil {
		t.Fatal(err)
	}
	if !response.Composite.Ready || len(response.Composed) != len(w.Observed) {
		t.Fatalf("%d of %d objects are composed; ready: %t", len(response.Composed), len(w.Observed), response.Composite.Ready)
	}
	for _, s := range []struct {
		name       string
		got, most  int
		acceptedBy string
		accepted   int
	}{
		{"composite resource, bytes", stored(t, xr), 192 << 10, "an API server", etcdLimit},
		{"response, bytes", proto.Size(response.Message()), 3 << 20, "gRPC", grpcLimit},
		{"request, bytes", requestSize(t, w), 7 << 20, "the function", requestLimit},
		// References, each composed object, and the status twice.
		{"writes of a reconcile", len(response.Composed) + 3, 340, "", 0},
	} {
		t.Logf("%s: %d", s.name, s.got)
		if s.got > s.most {
			t.Errorf("%s: %d, %d at most", s.name, s.got, s.most)
		}
		if 4*s.most > 3*s.accepted && s.accepted > 0 {
			t.Errorf("%s: the limit of %d has no margin of a quarter; %s accepts %d", s.name, s.most, s.acceptedBy, s.accepted)
		}
	}
}

// TestLargePoolWrites checks the number of writes until that pool is ready.
func TestLargePoolWrites(t *testing.T) {
	if !effort.Long() {
		t.Skip("a pool with 32 slices takes many CPU-seconds: make test-long composes it")
	}
	const mostForEach = 40
	m := converge(t, largePool(), atOnce, controlPlaneOfPools(t)...)
	if !m.root.ready {
		t.Error("it never becomes ready")
	}
	t.Logf("%d writes for %d objects, %.1f for each; %.1f s, passes %v", m.writes, m.objects, float64(m.writes)/float64(m.objects), m.now.Seconds(), m.passes)
	if m.writes > mostForEach*m.objects {
		t.Errorf("%d writes for %d objects, %d for each at most", m.writes, m.objects, mostForEach)
	}
}

// recordNodes adds the record of each node to the status of the pool's ServiceCheck.
func recordNodes(t *testing.T, w *simulate.Cluster, agents int) {
	t.Helper()
	for name, o := range w.Observed {
		if compose.KindOf(o.Tree()).Kind != "ServiceCheck" {
			continue
		}
		m := o.Map()
		status, _ := m["status"].(map[string]any)
		var nodes []any
		for i := range largePoolNodes {
			id := func(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012d", n, i) }
			var ids []any
			for a := range agents {
				ids = append(ids, id(a+1))
			}
			nodes = append(nodes, map[string]any{"name": nodeName(i), "provider": id(0), "agents": ids})
		}
		status["nodes"] = nodes
		s, err := structpb.NewStruct(m)
		if err != nil {
			t.Fatal(err)
		}
		w.Observed[name] = encoded.Of(s)
		return
	}
	t.Fatal("the pool has no ServiceCheck")
}

// nodeName returns a name with the maximum length of a label, as nodes with a name of DNS have.
func nodeName(i int) string {
	const length = 63
	name := fmt.Sprintf("node-%05d.", i)
	return name + strings.Repeat("x", length-len(name))
}

// stored returns the bytes of an object in etcd: its JSON, and the owner of each of its fields.
func stored(t *testing.T, object map[string]any) int {
	t.Helper()
	text, err := json.Marshal([]any{object, owned(object)})
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// owned returns the fields of a value as in metadata.managedFields
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#serialization): all lists as if their items had owners.
func owned(v any) any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for k, field := range v {
			out["f:"+k] = owned(field)
		}
	case []any:
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				key := fmt.Sprintf(`k:{"name":%q}`, m["name"])
				fields, _ := owned(m).(map[string]any)
				fields["."] = map[string]any{}
				out[key] = fields
			} else {
				out[fmt.Sprintf("v:%q", item)] = map[string]any{}
			}
		}
	}
	return out
}

// requestSize returns the bytes of the next request of Crossplane.
func requestSize(t *testing.T, w *simulate.Cluster) int {
	t.Helper()
	request := w.Request()
	sum := proto.Size(&fnv1.Resource{Resource: request.Composite})
	for name, o := range request.Observed {
		tree := o.Map()
		meta, _ := tree["metadata"].(map[string]any)
		meta["managedFields"] = []any{map[string]any{"manager": "crossplane", "operation": "Apply", "fieldsV1": owned(tree)}}
		s, err := structpb.NewStruct(tree)
		if err != nil {
			t.Fatal(err)
		}
		sum += len(name) + proto.Size(&fnv1.Resource{Resource: s})
	}
	for name, items := range request.Required {
		for _, o := range items {
			sum += len(name) + proto.Size(&fnv1.Resource{Resource: o})
		}
	}
	return sum
}
