package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// composed returns a composed object.
func composed(t *testing.T, manifest string) Object {
	t.Helper()
	tree := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &tree); err != nil {
		t.Fatal(err)
	}
	m, err := structpb.NewStruct(tree)
	if err != nil {
		t.Fatal(err)
	}
	return Object{Kind: str(tree["kind"]), Name: "x", Manifest: m}
}

func TestTotals(t *testing.T) {
	const requests = "resources: {requests: {cpu: 100m, memory: 1Gi}}"
	for name, tc := range map[string]struct {
		reason    string
		manifests []string
		want      Totals
	}{
		"None": {reason: "A claim can have no pods."},
		"Deployment": {
			reason: "All containers and sidecars count for each replica; an init container that ends does not.",
			manifests: []string{"{kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [{" + requests + "}, {" + requests +
				"}], initContainers: [{" + requests + "}, {restartPolicy: Always, " + requests + "}]}}}}"},
			want: Totals{Pods: 3, CPU: resource.MustParse("900m"), Memory: resource.MustParse("9Gi")},
		},
		"StatefulSet": {
			reason: "Each replica has its volumes; without requests, only pods are counted.",
			manifests: []string{"{kind: StatefulSet, spec: {replicas: 2, template: {spec: {containers: [{}]}}, " +
				"volumeClaimTemplates: [{spec: {resources: {requests: {storage: 5Gi}}}}]}}"},
			want: Totals{Pods: 2, Storage: resource.MustParse("10Gi")},
		},
		"DefaultReplicas": {
			reason: "Kubernetes starts one pod.", manifests: []string{"{kind: Deployment, spec: {template: {spec: {containers: []}}}}"},
			want: Totals{Pods: 1},
		},
		"Operators": {
			reason: "Operators create pods of their objects.",
			manifests: []string{
				"{kind: MariaDB, spec: {replicas: 3, storage: {size: 10Gi}, " + requests + "}}",
				"{kind: RabbitmqCluster, spec: {replicas: 3, persistence: {storage: 5Gi}, " + requests + "}}",
			},
			want: Totals{Pods: 6, CPU: resource.MustParse("600m"), Memory: resource.MustParse("6Gi"), Storage: resource.MustParse("45Gi")},
		},
		"DaemonSets": {
			reason: "The nodes of a slice run the same agent once.",
			manifests: []string{
				"{kind: DaemonSet, spec: {template: {metadata: {labels: {crossplane.c5c3.io/node-agent: nova-compute}}}}}",
				"{kind: DaemonSet, spec: {template: {metadata: {labels: {crossplane.c5c3.io/node-agent: nova-compute}}}}}",
				"{kind: DaemonSet, spec: {template: {metadata: {labels: {crossplane.c5c3.io/node-agent: libvirt}}}}}",
			},
			want: Totals{NodePods: 2},
		},
		"Jobs": {reason: "A Job ends.", manifests: []string{"{kind: Job, spec: {template: {spec: {containers: [{" + requests + "}]}}}}"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Result{}
			for _, m := range tc.manifests {
				r.Objects = append(r.Objects, composed(t, m))
			}
			got, err := r.Totals()
			if err != nil {
				t.Fatal(err)
			}
			equal := cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
			if diff := cmp.Diff(tc.want, got, equal); diff != "" {
				t.Errorf("%s\nTotals(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	invalid := &Result{Objects: []Object{composed(t, "{kind: MariaDB, spec: {storage: {size: 10GB}}}")}}
	if _, err := invalid.Totals(); err == nil {
		t.Error("Totals() accepts an invalid quantity")
	}
}

func TestRoundsAmountsUp(t *testing.T) {
	for amount, want := range map[string][2]string{"0": {"0.0", "0Gi"}, "1": {"1.0", "1Gi"}, "1050m": {"1.1", "1Gi"}, "1536Mi": {"1610612736.0", "2Gi"}} {
		q := resource.MustParse(amount)
		if got := [2]string{cores(q), gibibytes(q)}; got != want {
			t.Errorf("%s: %v, want %v", amount, got, want)
		}
	}
}
