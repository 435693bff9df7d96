//go:build platform

package platform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// TestRetainsDataOfDeletedClaim checks that by default data outlives its claim: all objects that the preview lists as retained, and the
// generated Secrets, stay unchanged, and the same claim, re-created, adopts them.
func TestRetainsDataOfDeletedClaim(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-retain")
	order(t, u)
	name := instance(t, ready(t, u))
	retained := map[objectID]types.UID{}
	for _, o := range previewed(t, u).Objects {
		if o.Retained {
			id := previewedID(o)
			retained[id] = get(t, cloud.Cluster, schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), o.Namespace, o.Name).GetUID()
		}
	}
	if len(retained) == 0 {
		t.Fatal("nothing is retained: this tests nothing")
	}
	secrets := secretsIn(t, name)

	remove(t, u)
	remaining := map[objectID]types.UID{}
	for _, o := range cloud.Composed(t.Context(), name) {
		if !kubernetesOwn(o) && !controllersOwn(o) {
			remaining[idOf(o)] = o.GetUID()
		}
	}
	namespace := get(t, cloud.Cluster, namespaceKind, "", name)
	remaining[idOf(*namespace)] = namespace.GetUID()
	if diff := cmp.Diff(retained, remaining); diff != "" {
		t.Errorf("objects left by the claim: -want, +got:\n%s", diff)
	}
	for id, data := range secretsIn(t, name) {
		if diff := cmp.Diff(secrets[id], data); diff != "" {
			t.Errorf("Secret %s changed: -before, +after:\n%s", id, diff)
		}
	}
	for _, secret := range []string{"mariadb-root", "keystone-database", "keystone-admin", "keystone-fernet-keys", "keystone-credential-keys"} {
		get(t, cloud.Cluster, secretKind, name, secret)
	}

	order(t, u)
	ready(t, u)
	for _, o := range previewed(t, u).Objects {
		id := previewedID(o)
		if got := get(t, cloud.Cluster, schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), o.Namespace, o.Name).GetUID(); o.Retained && got != retained[id] {
			t.Errorf("%v was made again", id)
		}
	}
	recreated := secretsIn(t, name)
	for _, secret := range []string{"mariadb-root", "keystone-database", "keystone-admin", "keystone-fernet-keys", "keystone-credential-keys"} {
		if diff := cmp.Diff(secrets[secret], recreated[secret]); diff != "" {
			t.Errorf("Secret %s changed: -before, +after:\n%s", secret, diff)
		}
	}
}

// secretsIn returns uid and data of all Secrets in a namespace.
func secretsIn(t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, s := range list(t, cloud.Cluster, secretKind, namespace) {
		data, _, _ := unstructured.NestedMap(s.Object, "data")
		out[s.GetName()] = fmt.Sprint(s.GetUID(), data)
	}
	return out
}

// kubernetesOwn reports whether Kubernetes creates an object in every namespace.
func kubernetesOwn(o unstructured.Unstructured) bool {
	return o.GetName() == "kube-root-ca.crt" || o.GetKind() == "ServiceAccount" && o.GetName() == "default"
}

// controllersOwn reports whether an object is created by the controller of another object, and deleted with it: Jobs
// and PushSecrets of the companion; Kubernetes' Jobs of CronJobs.
func controllersOwn(o unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(&o)
	return owner != nil && slices.Contains([]string{keysKind.Kind, schemaKind.Kind, "CronJob"}, owner.Kind)
}

// TestDeletesObjectsInOrder checks that with deletionPolicy Delete nothing is left, and that every object is deleted before the
// objects that its deletion needs: the catalog before Keystone, Keystone before its database, the database before the
// namespace.
func TestDeletesObjectsInOrder(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-delete", set("Delete", "spec", "deletionPolicy"))
	order(t, u)
	is := ready(t, u)
	name := instance(t, is)
	composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")
	target := watchDeletions(t, cloud.Cluster, name, true)

	remove(t, u)
	eventually(t, deletion, func() error {
		if ns, err := cloud.Get(t.Context(), namespaceKind, types.NamespacedName{Name: name}); err != nil || ns != nil {
			return fmt.Errorf("the namespace is still there: %w", err)
		}
		return nil
	})
	for _, kind := range []schema.GroupVersionKind{objectKind, compositeKind} {
		for _, o := range list(t, cloud.Cluster, kind, "") {
			if strings.HasPrefix(o.GetName(), name) || o.GetName() == composite {
				t.Errorf("%s %s is left", o.GetKind(), o.GetName())
			}
		}
	}

	if err := target.Check(); err != nil {
		t.Error(err)
	}
}

// TestDeleteTooEarly checks that if a tenant changes the policy to Retain and immediately deletes the claim, or its
// whole namespace, the deletion is rejected until the objects with data are configured to outlive the claim, and that
// the data is retained.
func TestDeleteTooEarly(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// target is the object to delete, right after the edit.
		target func(u *unstructured.Unstructured) *unstructured.Unstructured
	}{
		"claim": {"The deletion is refused until then.", func(u *unstructured.Unstructured) *unstructured.Unstructured { return u }},
		"namespace": {"Kubernetes retries until then.", func(u *unstructured.Unstructured) *unstructured.Unstructured {
			return bare(namespaceKind, "", u.GetNamespace())
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := claim(t, "tenant-retain-"+name, set("Delete", "spec", "deletionPolicy"))
			order(t, u)
			lives := instance(t, ready(t, u))
			database := get(t, cloud.Cluster, mariaDBKind, lives, "mariadb").GetUID()
			order(t, claim(t, u.GetNamespace(), set("Retain", "spec", "deletionPolicy")))
			eventually(t, timeout, func() error {
				err := cloud.Client.Delete(t.Context(), tc.target(u).DeepCopy())
				if err != nil && !strings.Contains(err.Error(), "spec.deletionPolicy is Retain, but not in force yet") {
					t.Errorf("%s\nit is refused: %v", tc.reason, err)
				}
				return err
			})
			eventually(t, deletion, func() error {
				remaining, err := cloud.Get(t.Context(), u.GroupVersionKind(), types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})
				if err == nil && remaining != nil {
					return fmt.Errorf("the claim is still there")
				}
				return err
			})
			if is := get(t, cloud.Cluster, mariaDBKind, lives, "mariadb"); is.GetUID() != database || is.GetDeletionTimestamp() != nil {
				t.Errorf("%s\nthe database is another, or goes: %v", tc.reason, is.GetDeletionTimestamp())
			}
		})
	}
}

// TestPoolDeletionWaitsForServers checks that a pool with servers on its nodes is not deleted, and that the API server returns the
// pool's message, until the owner of the servers removes them. The message is written by the test: nothing is composed
// for a missing control plane.
func TestPoolDeletionWaitsForServers(t *testing.T) {
	t.Parallel()
	const waitCondition = "2 virtual machines are on nodes of the pool"
	pool := func(consent bool) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "HypervisorCluster",
			"metadata": map[string]any{"namespace": "tenant-delete-pool", "name": "pool"},
			"spec": map[string]any{
				"controlPlaneRef":                  map[string]any{"namespace": "tenant-delete-pool", "name": "nobody"},
				"allowDeletionWithVirtualMachines": consent,
			},
		}}
	}
	u := pool(false)
	order(t, u)
	eventually(t, timeout, func() error {
		is := get(t, cloud.Cluster, u.GroupVersionKind(), u.GetNamespace(), u.GetName())
		conditions, _, _ := unstructured.NestedSlice(is.Object, "status", "conditions")
		conditions = slices.DeleteFunc(conditions, func(c any) bool {
			one, _ := c.(map[string]any)
			return one["type"] == "NoVirtualMachines"
		})
		if err := unstructured.SetNestedSlice(is.Object, append(conditions, map[string]any{
			"type": "NoVirtualMachines", "status": "False", "reason": "ServersOnNodes", "message": waitCondition,
			"lastTransitionTime": "2026-01-01T00:00:00Z",
		}), "status", "conditions"); err != nil {
			return err
		}
		if err := cloud.Client.Status().Update(t.Context(), is); err != nil {
			return err // Crossplane was faster.
		}
		err := cloud.Client.Delete(t.Context(), u.DeepCopy(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), waitCondition) {
			return fmt.Errorf("deleting it results in: %w", err)
		}
		return nil
	})
	order(t, pool(true))
	remove(t, u)
}

func watchDeletions(t *testing.T, in *platform.Cluster, namespace string, management bool) *platform.Deletions {
	t.Helper()
	target, err := platform.WatchDeletions(t.Context(), in.Client, namespace, management)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// TestDeletesRemoteObjectsInOrder checks the same in another cluster, with a claim that was created with Retain and changed to Delete.
// Nothing is left in either cluster, and objects are deleted in the same order.
func TestDeletesRemoteObjectsInOrder(t *testing.T) {
	t.Parallel()
	keep := claim(t, "tenant-delete-remote", set(remote, "spec", "cluster", "ref", "name"))
	order(t, keep)
	name := instance(t, ready(t, keep))
	drop := claim(t, "tenant-delete-remote", set(remote, "spec", "cluster", "ref", "name"), set("Delete", "spec", "deletionPolicy"))
	order(t, drop)
	checkNotRetained(t, cloud, name)
	ready(t, drop)
	target := watchDeletions(t, cloud.Remote, name, false)

	remove(t, drop)
	for _, c := range []*platform.Cluster{cloud.Cluster, cloud.Remote} {
		eventually(t, deletion, func() error {
			if ns, err := c.Get(t.Context(), namespaceKind, types.NamespacedName{Name: name}); err != nil || ns != nil {
				return fmt.Errorf("in %s the namespace is still there: %w", c.Name, err)
			}
			return nil
		})
	}
	for _, o := range list(t, cloud.Cluster, objectKind, "") {
		if strings.HasPrefix(o.GetName(), name) {
			t.Errorf("Object %s is left", o.GetName())
		}
	}
	if err := target.Check(); err != nil {
		t.Error(err)
	}
}

// checkNotRetained waits until no object of a control plane is configured to outlive its claim: until an edit of
// deletionPolicy has reached every Object.
func checkNotRetained(t *testing.T, p *platform.Platform, name string) {
	t.Helper()
	eventually(t, timeout, func() error {
		for _, o := range append(list(t, p.Cluster, objectKind, ""), list(t, p.Cluster, objectMKind, name)...) {
			policies, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "managementPolicies")
			if (o.GetNamespace() == name || strings.HasPrefix(o.GetName(), name)) && !slices.Equal(policies, []string{"*"}) {
				return fmt.Errorf("Object %s is still to be kept: %v", o.GetName(), policies)
			}
		}
		return nil
	})
}
