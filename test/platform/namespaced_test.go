//go:build platform

package platform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

var namespacedKind = common.NamespacedOf(claimKind)

// namespacedForm returns a claim as the namespaced composite resource that creates it.
func namespacedForm(claim *unstructured.Unstructured) *unstructured.Unstructured {
	u := claim.DeepCopy()
	u.SetGroupVersionKind(common.NamespacedOf(claim.GroupVersionKind()))
	return u
}

// TestNamespacedCompositeBecomesCloud checks that a tenant gets a cloud with a namespaced composite resource: it has the status of the
// cloud, the tenant cannot set the fields of Crossplane, and data is retained when it is deleted.
func TestNamespacedCompositeBecomesCloud(t *testing.T) {
	t.Parallel()
	const namespace = "tenant-namespaced"
	tenantNamespace(t, namespace)
	alice, err := cloud.As("alice")
	if err != nil {
		t.Fatal(err)
	}
	u := namespacedForm(claim(t, namespace, set("Delete", "spec", "deletionPolicy")))
	// Permissions are aggregated, with a short delay.
	eventually(t, timeout, func() error { return alice.Create(t.Context(), u.DeepCopy(), client.DryRunAll) })
	foreign := u.DeepCopy()
	if err := unstructured.SetNestedField(foreign.Object, "x", "spec", "crossplane", "compositionRevisionRef", "name"); err != nil {
		t.Fatal(err)
	}
	if err := alice.Create(t.Context(), foreign, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "spec.crossplane is set by the platform") {
		t.Errorf("with a revision of a Composition: %v", err)
	}
	if err := alice.Create(t.Context(), u.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	is := ready(t, u)
	if got, want := instance(t, is), previewed(t, u).Instance; got != want {
		t.Errorf("status.instance = %s, want %s as in the preview", got, want)
	}
	claimed := get(t, cloud.Cluster, claimKind, namespace, u.GetName())
	if diff := cmp.Diff(cloudStatus(claimed), cloudStatus(is)); diff != "" {
		t.Errorf("status: -claim, +namespaced form:\n%s", diff)
	}
	name := instance(t, is)

	merge := func(patch string) {
		t.Helper()
		if err := alice.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	merge(`{"spec": {"services": {"keystone": {"replicas": 3}}}}`)
	// Crossplane may show the new generation in the conditions of a reconciliation that began before the edit.
	eventually(t, timeout, func() error {
		keystone := get(t, cloud.Cluster, deploymentKind, name, "keystone")
		if got, _, _ := unstructured.NestedInt64(keystone.Object, "spec", "replicas"); got != 3 {
			return fmt.Errorf("Keystone has %d replicas, want 3", got)
		}
		return nil
	})
	ready(t, u)

	merge(`{"spec": {"deletionPolicy": "Retain"}}`)
	eventually(t, timeout, func() error {
		is := get(t, cloud.Cluster, namespacedKind, namespace, u.GetName())
		if got, _, _ := unstructured.NestedString(is.Object, "status", "deletionPolicy"); got != "Retain" {
			return fmt.Errorf("status.deletionPolicy is %q", got)
		}
		return nil
	})
	if err := alice.Delete(t.Context(), claim(t, namespace), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "belongs to its namespaced form") {
		t.Errorf("deletion of the claim: %v", err)
	}
	// The policy waits until the claim has the last edit.
	eventually(t, timeout, func() error { return alice.Delete(t.Context(), u.DeepCopy()) })
	eventually(t, deletion, func() error {
		if existing, err := cloud.Get(t.Context(), claimKind, client.ObjectKeyFromObject(u)); err != nil || existing != nil {
			return fmt.Errorf("the claim is still there: %w", err)
		}
		return nil
	})
	get(t, cloud.Cluster, namespaceKind, "", name)
	get(t, cloud.Cluster, mariaDBKind, name, "mariadb")
}

// cloudStatus returns the status of a claim or its namespaced form, without the fields in which they differ.
func cloudStatus(u *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	for _, field := range []string{"conditions", "crossplane", "lastValidSpec"} {
		delete(status, field)
	}
	return status
}

// identity contains the properties of an object that a migration must not change: an object that is created again has another UID, and a
// changed one another generation.
type identity struct {
	UID     types.UID
	Version int64
}

// identities returns the identities of a claim's objects: its composite resource and everything in the cloud's namespace.
func identities(t *testing.T, claimed *unstructured.Unstructured) map[objectID]identity {
	t.Helper()
	composite, _, _ := unstructured.NestedString(claimed.Object, "spec", "resourceRef", "name")
	all := append(cloud.Composed(t.Context(), instance(t, claimed)), *get(t, cloud.Cluster, compositeKind, "", composite), *claimed)
	out := map[objectID]identity{}
	for _, o := range all {
		out[idOf(o)] = identity{o.GetUID(), o.GetGeneration()}
	}
	return out
}

// TestNamespacedMigrationChangesNoObjects checks that the namespaced form of an existing claim takes it over, and that the claim can be
// used without it again. Neither changes an object of the cloud.
func TestNamespacedMigrationChangesNoObjects(t *testing.T) {
	t.Parallel()
	const namespace = "tenant-migration"
	admin, err := cloud.As("admin", platform.PlatformTeam, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	tenantNamespace(t, namespace)
	u := claim(t, namespace, set(int64(2), "spec", "services", "keystone", "replicas"))
	// As kubectl apply --server-side.
	const kubectl = client.FieldOwner("kubectl")
	if err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()), kubectl); err != nil {
		t.Fatal(err)
	}
	ready(t, u)
	var before map[objectID]identity
	eventually(t, timeout, func() error {
		last := before
		before = identities(t, get(t, cloud.Cluster, claimKind, namespace, u.GetName()))
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff(last, before); diff != "" {
			return fmt.Errorf("the objects change:\n%s", diff)
		}
		return nil
	})

	form := namespacedForm(u)
	if err := admin.Create(t.Context(), form.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	ready(t, form)
	is := get(t, cloud.Cluster, claimKind, namespace, u.GetName())
	if owner := metav1.GetControllerOf(is); owner == nil || owner.Kind != namespacedKind.Kind {
		t.Errorf("the claim has the owner %v", owner)
	}
	if diff := cmp.Diff(before, identities(t, is)); diff != "" {
		t.Errorf("after the migration: -before, +after:\n%s", diff)
	}

	// Fields of the claim that kubectl applied stay until kubectl releases them. The condition reports it.
	removal := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"services": {"keystone": {"replicas": null}}}}`))
	if err := admin.Patch(t.Context(), form.DeepCopy(), removal); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func() error {
		c, _ := platform.ConditionOf(get(t, cloud.Cluster, namespacedKind, namespace, u.GetName()), "Current")
		if c.Reason != "ClaimDiffers" || !strings.Contains(c.Message, "spec.services.keystone.replicas") {
			return fmt.Errorf("Current is %+v", c)
		}
		return nil
	})
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(claimKind)
	empty.SetNamespace(namespace)
	empty.SetName(u.GetName())
	if err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(empty), kubectl); err != nil {
		t.Fatal(err)
	}
	ready(t, form)
	is = get(t, cloud.Cluster, claimKind, namespace, u.GetName())
	if got, found, _ := unstructured.NestedInt64(is.Object, "spec", "services", "keystone", "replicas"); found && got == 2 {
		t.Errorf("the claim still has the removed field: %d", got)
	}

	// Back: without its owner, the claim does not change.
	before = identities(t, is)
	orphan := metav1.DeletePropagationOrphan
	if err := admin.Delete(t.Context(), form.DeepCopy(), &client.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func() error {
		is = get(t, cloud.Cluster, claimKind, namespace, u.GetName())
		if owner := metav1.GetControllerOf(is); owner != nil {
			return fmt.Errorf("the claim has the owner %v", owner)
		}
		return nil
	})
	if diff := cmp.Diff(before, identities(t, is)); diff != "" {
		t.Errorf("without the namespaced form: -before, +after:\n%s", diff)
	}

	// A field that is removed from the claim is removed again, after the fields of Crossplane's manager are.
	if err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()), kubectl, client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func() error {
		is := get(t, cloud.Cluster, claimKind, namespace, u.GetName())
		is.SetManagedFields(slices.DeleteFunc(is.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
			return strings.HasPrefix(f.Manager, "apiextensions.crossplane.io/composed")
		}))
		return admin.Update(t.Context(), is)
	})
	without := claim(t, namespace)
	unstructured.RemoveNestedField(without.Object, "spec", "services", "keystone", "replicas")
	if err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(without), kubectl); err != nil {
		t.Fatal(err)
	}
	is = get(t, cloud.Cluster, claimKind, namespace, u.GetName())
	if got, found, _ := unstructured.NestedInt64(is.Object, "spec", "services", "keystone", "replicas"); found && got == 2 {
		t.Errorf("the claim still has the removed field: %d", got)
	}
}
