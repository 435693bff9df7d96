//go:build platform

package platform_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

const completeCloud = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: OpenStackCluster
metadata: {namespace: tenant-whole, name: cloud}
spec:
  openStackRelease: "2025.2"
  size: development
  storage:
    spec:
      nodes: [{name: storage-1, devices: [{name: nvme0n1}]}]
      replicationFactor: 1
      allowDataLoss: true
      network: {publicCIDRs: [10.0.1.0/24]}
  controlPlane:
    spec:
      services:
        placement: {enabled: true}
        glance: {enabled: true, stores: [{name: ceph, ceph: {pool: images}}]}
        nova: {enabled: true}
        neutron: {enabled: true}
  hypervisorPools:
  - name: compute
    spec:
      storage: {pool: vms}
`

// TestOpenStackCluster creates a cloud with one claim: its three claims become ready, an edit of it reaches Keystone, and an edit directly
// before its deletion is not lost. The deletion has an order, and a claim of the cloud cannot be deleted directly.
func TestOpenStackCluster(t *testing.T) {
	t.Parallel()
	const namespace = "tenant-whole"
	tenantNamespace(t, namespace)
	addLimit(t, `{"name": "whole", "namespaces": ["tenant-whole"], "hypervisorNodes": ["*"], "hypervisorNetworks": ["*"], "storageNodes": ["*"],
		"storageDevices": ["*"], "storageNetworks": ["*"]}`)
	alice, err := cloud.As("alice")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := platform.Decode([]byte(completeCloud))
	if err != nil {
		t.Fatal(err)
	}
	u := objects[0]
	// Permissions are aggregated, with a short delay.
	eventually(t, timeout, func() error { return alice.Create(t.Context(), u.DeepCopy()) })
	ctx, cancel := stopwatch.WithTimeout(t.Context(), 2*timeout)
	defer cancel()
	if err := cloud.WaitReady(ctx, u); err != nil {
		t.Fatalf("%v\nThe end of the fakes' log:\n%s", err, cloud.Log("operators", 10))
	}
	parts := []*unstructured.Unstructured{
		named(poolKind, "cloud-compute"), named(claimKind, "cloud"), named(storagev1.GroupVersionKind, "cloud-storage"),
	}
	for i, p := range parts {
		parts[i] = get(t, cloud.Cluster, p.GroupVersionKind(), namespace, p.GetName())
		if message := notReady(parts[i]); message != "" {
			t.Errorf("%s %s is not ready: %s", p.GetKind(), p.GetName(), message)
		}
	}
	is := get(t, cloud.Cluster, cloudv1.GroupVersionKind, namespace, "cloud")
	if endpoints, _, _ := unstructured.NestedSlice(is.Object, "status", "endpoints"); len(endpoints) < 5 {
		t.Errorf("status.endpoints: %v", endpoints)
	}
	if err := alice.Delete(t.Context(), parts[0], client.DryRunAll); err == nil || !strings.Contains(err.Error(), "belongs to an OpenStackCluster") {
		t.Errorf("deletion of the pool: %v", err)
	}

	merge := func(patch string) {
		t.Helper()
		if err := alice.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	merge(`{"spec": {"controlPlane": {"spec": {"services": {"keystone": {"replicas": 2}}}}}}`)
	instance, _, _ := unstructured.NestedString(parts[1].Object, "status", "instance")
	eventually(t, timeout, func() error {
		keystone := get(t, cloud.Cluster, deploymentKind, instance, "keystone")
		if got, _, _ := unstructured.NestedInt64(keystone.Object, "spec", "replicas"); got != 2 {
			return fmt.Errorf("Keystone has %d replicas, want 2", got)
		}
		return nil
	})

	if err := alice.Delete(t.Context(), u.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "virtual machines") {
		t.Errorf("deletion with an unknown number of virtual machines: %v", err)
	}
	pool := `{"name": "compute", "spec": {"storage": {"pool": "vms"}, "allowDeletionWithVirtualMachines": true}}`
	merge(`{"spec": {"hypervisorPools": [` + pool + `]}}`)
	eventually(t, timeout, func() error { return alice.Delete(t.Context(), u.DeepCopy()) })
	deleted := 0 // The number of deleted claims, in the order of parts.
	eventually(t, deletion, func() error {
		for i, p := range parts {
			existing, err := cloud.Get(t.Context(), p.GroupVersionKind(), client.ObjectKeyFromObject(p))
			switch {
			case err != nil:
				return err
			case existing == nil && i > deleted:
				t.Errorf("%s %s was deleted before %s %s", p.GetKind(), p.GetName(), parts[deleted].GetKind(), parts[deleted].GetName())
			case existing == nil:
				deleted = max(deleted, i+1)
			}
		}
		existing, err := cloud.Get(t.Context(), cloudv1.GroupVersionKind, client.ObjectKeyFromObject(u))
		if err == nil && existing != nil {
			err = errors.New("the cloud is still there")
		}
		return err
	})
	get(t, cloud.Cluster, mariaDBKind, instance, "mariadb") // The data is retained.
}

// named returns an object with only its kind and name.
func named(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	return u
}

// notReady returns the message of a claim that is not ready.
func notReady(u *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Current" && m["status"] != "True" {
			return fmt.Sprint(m["message"])
		}
	}
	return ""
}
