//go:build platform

package platform_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

const southernClaim = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: StorageCluster
metadata: {namespace: tenant-south, name: ceph}
spec:
  cluster: {ref: {name: south}}
  nodes:
  - {name: storage-1, devices: [{name: nvme0n1, size: 3840Gi}]}
  - {name: storage-2, devices: [{name: nvme0n1, size: 3840Gi}]}
  - {name: storage-3, devices: [{name: nvme0n1, size: 3840Gi}]}
  network: {host: true, publicCIDRs: [10.0.1.0/24]}
`

// TestRegisteredWorkloadClusterRunsClaims registers a second real API server by a kubeconfig, without provider configs made by hand. A real
// companion in it, with the rights of the chart, reports its properties. A claim is rejected with a sentence while the cluster lacks its
// role, and then runs in it. While the API server does not respond, the condition Reachable has a sentence, and nothing is deleted; it
// recovers automatically.
func TestRegisteredWorkloadClusterRunsClaims(t *testing.T) {
	t.Parallel()
	const name = "south"
	south, secret, err := cloud.AddUnregisteredCluster(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	addLimit(t, `{"name": "south", "namespaces": ["tenant-south"], "storageNodes": ["kubernetes.io/hostname=storage-*"],
		"storageDevices": ["nvme*"], "storageNetworks": ["10.0.1.0/24"]}`)
	registered := workloadCluster(t, name, secret)
	if err := cloud.Client.Create(t.Context(), registered); err != nil {
		t.Fatal(err)
	}
	// A cluster without nodes is reached and reported, and not ready.
	clusterCondition(t, name, "Reachable", "True", "")
	clusterCondition(t, name, "RequirementsMet", "False", "none of 0 nodes is Ready; add or repair nodes")
	report, _, _ := unstructured.NestedMap(get(t, cloud.Cluster, workloadclusterv1.GroupVersionKind, "", name).Object, "status", "cluster")
	if report["kubernetesVersion"] == "" || report["ipFamily"] != "IPv4" || report["podSecurity"] != true {
		t.Errorf("the report is %v", report)
	}
	// A claim of a role that the cluster does not have.
	claims, err := platform.Decode([]byte(southernClaim))
	if err != nil {
		t.Fatal(err)
	}
	ceph := claims[0]
	order(t, ceph)
	conditionOf(t, ceph, "SpecValid", "False", `cluster "south" does not have the role storage`)

	addNode(t, south)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"roles": ["hypervisor", "storage"]}}`))
	if err := cloud.Client.Patch(t.Context(), registered, patch); err != nil {
		t.Fatal(err)
	}
	clusterCondition(t, name, "RequirementsMet", "True", "")
	clusterCondition(t, name, "Ready", "True", "")
	ready(t, ceph)
	instance, _, _ := unstructured.NestedString(get(t, cloud.Cluster, storageKind, "tenant-south", "ceph").Object, "status", "instance")
	get(t, south, cephKind, instance, "ceph")

	// The API server stops. An edit makes the provider connect at once; without it, this takes up to ten minutes.
	objects := objectsIn(t, name)
	resume, err := cloud.Suspend(name + "-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	patch = client.RawPatch(types.MergePatchType, []byte(`{"spec": {"roles": ["controlPlane", "hypervisor", "storage"]}}`))
	if err := cloud.Client.Patch(t.Context(), registered, patch); err != nil {
		t.Fatal(err)
	}
	clusterCondition(t, name, "Reachable", "False", "check the server and the credentials in key kubeconfig of Secret kubeconfig-south")
	if n := objectsIn(t, name); n < objects {
		t.Errorf("%d of %d Objects are left", n, objects)
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	clusterCondition(t, name, "Reachable", "True", "")
	remove(t, ceph)
	removeLost(t, registered)
}

// removeLost deletes a WorkloadCluster without its API server, as the guide describes it: its Objects forget the objects in the cluster.
func removeLost(t *testing.T, registered *unstructured.Unstructured) {
	t.Helper()
	name := registered.GetName()
	resume, err := cloud.Suspend(name + "-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := resume(); err != nil {
			t.Error(err)
		}
	})
	remove(t, registered) // Its Objects are left, and wait for the API server.
	patched := 0
	for _, o := range list(t, cloud.Cluster, objectKind, "") {
		if o.GetLabels()["crossplane.io/composite"] != name {
			continue
		}
		patched++
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"managementPolicies": ["Observe"]}}`))
		if err := cloud.Client.Patch(t.Context(), &o, patch); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if patched == 0 {
		t.Error("no Object has the label of the WorkloadCluster")
	}
	start := time.Now()
	eventually(t, 3*time.Minute, func() error {
		if n := objectsIn(t, name); n > 0 {
			return fmt.Errorf("%d Objects of the lost cluster are left", n)
		}
		return nil
	})
	t.Logf("the Objects of the lost cluster are removed after %s", time.Since(start).Round(time.Second))
	for _, kind := range []schema.GroupVersionKind{observe.ClusterScopedConfig, observe.NamespacedConfig} {
		get(t, cloud.Cluster, kind, "", name) // Retained.
	}
}

// objectsIn returns the number of Objects in a cluster.
func objectsIn(t *testing.T, cluster string) int {
	t.Helper()
	n := 0
	for _, o := range list(t, cloud.Cluster, objectKind, "") {
		if config, _, _ := unstructured.NestedString(o.Object, "spec", "providerConfigRef", "name"); config == cluster {
			n++
		}
	}
	return n
}

// workloadCluster returns a WorkloadCluster for hypervisors.
func workloadCluster(t *testing.T, name, secret string) *unstructured.Unstructured {
	t.Helper()
	objects, err := platform.Decode(fmt.Appendf(nil, `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: WorkloadCluster
metadata: {name: %s}
spec:
  source: {existing: {kubeconfigSecretRef: {namespace: crossplane-system, name: %s}}}
  roles: [hypervisor]
  allowedNamespaces: [tenant-south]
`, name, secret))
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

// clusterCondition waits until a condition of a WorkloadCluster has a state, and a message with a text.
func clusterCondition(t *testing.T, name, kind, status, message string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(workloadclusterv1.GroupVersionKind)
	u.SetName(name)
	conditionOf(t, u, kind, status, message)
}

// conditionOf waits until a condition of an object has a state, and a message with a text.
func conditionOf(t *testing.T, u *unstructured.Unstructured, kind, status, message string) {
	t.Helper()
	start := time.Now()
	eventually(t, timeout, func() error {
		found, err := cloud.Get(t.Context(), u.GroupVersionKind(), client.ObjectKeyFromObject(u))
		if err != nil || found == nil {
			return fmt.Errorf("cannot read %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		c, ok := platform.ConditionOf(found, kind)
		if !ok || c.Status != status || !strings.Contains(c.Message, message) {
			return fmt.Errorf("%s %s has %s %v; its conditions are %v", u.GetKind(), u.GetName(), kind, c, found.Object["status"])
		}
		return nil
	})
	t.Logf("%s of %s %s is %s after %s", kind, u.GetKind(), u.GetName(), status, time.Since(start).Round(time.Second))
}

// addNode adds a node that is ready. No kubelet runs.
func addNode(t *testing.T, in *platform.Cluster) {
	t.Helper()
	set, err := clientset.NewForConfig(in.Config)
	if err != nil {
		t.Fatal(err)
	}
	node, err := set.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Status.NodeInfo.Architecture = "amd64"
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := set.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
