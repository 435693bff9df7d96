//go:build platform

package platform_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// objectID identifies an object.
type objectID struct{ Group, Kind, Namespace, Name string }

func idOf(u unstructured.Unstructured) objectID {
	return objectID{u.GroupVersionKind().Group, u.GetKind(), u.GetNamespace(), u.GetName()}
}

func previewedID(o preview.Object) objectID {
	return objectID{schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group, o.Kind, o.Namespace, o.Name}
}

// TestClaimsOfSameNameBecomeReady checks that two tenants with claims of the same name get ready clouds, with the objects of the preview.
func TestClaimsOfSameNameBecomeReady(t *testing.T) {
	t.Parallel()
	claims := []*unstructured.Unstructured{claim(t, "tenant-ready-1"), claim(t, "tenant-ready-2")}
	for _, u := range claims {
		order(t, u)
	}
	for _, u := range claims {
		is := ready(t, u)
		want := previewed(t, u)
		if got := instance(t, is); got != want.Instance {
			t.Errorf("status.instance = %s, want %s as in the preview", got, want.Instance)
		}
		for _, o := range want.Objects {
			kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
			got := get(t, cloud.Cluster, kind, o.Namespace, o.Name)
			if hash := inner(o).GetAnnotations()[hashAnnotation]; got.GetAnnotations()[hashAnnotation] != hash {
				t.Errorf("%s %s/%s has hash %q, want %q as in the preview",
					o.Kind, o.Namespace, o.Name, got.GetAnnotations()[hashAnnotation], hash)
			}
		}
	}
}

const hashAnnotation = "crossplane.c5c3.io/hash"

// inner returns the object of a preview without its wrapper.
func inner(o preview.Object) *unstructured.Unstructured {
	m := o.Manifest.AsMap()
	if o.Wrapped {
		m, _, _ = unstructured.NestedMap(m, "spec", "forProvider", "manifest")
	}
	return &unstructured.Unstructured{Object: m}
}

// TestRemote checks that the workloads of a claim with another cluster run only there.
func TestRemote(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-remote", set(remote, "spec", "cluster", "ref", "name"))
	order(t, u)
	name := instance(t, ready(t, u))
	composed := kinds.Runners()
	for _, o := range previewed(t, u).Objects {
		c, kind := cloud.Remote, schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		if _, xr := composed[kind.GroupKind().String()]; xr || slices.Contains([]string{"Namespace", "Usage"}, o.Kind) {
			c = cloud.Cluster
		}
		get(t, c, kind, o.Namespace, o.Name)
	}
	if pods := list(t, cloud.Cluster, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, name); len(pods) > 0 {
		t.Errorf("%d pods run in the management cluster", len(pods))
	}
}

// specValid waits until a claim's condition SpecValid has a status and a message that contains a text.
func specValid(t *testing.T, u *unstructured.Unstructured, status, message string) {
	t.Helper()
	waitCondition(t, u, "SpecValid", status, message)
}

// waitCondition waits until a condition of a claim has a status and a message that contains a text.
func waitCondition(t *testing.T, u *unstructured.Unstructured, condition, status, message string) {
	t.Helper()
	eventually(t, timeout, func() error {
		c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName()), condition)
		if c.Status != status || !strings.Contains(c.Message, message) {
			return fmt.Errorf("%s is %+v, want %s: %s", condition, c, status, message)
		}
		return nil
	})
}

// versions returns the versions of all composed objects in a namespace. A write changes a version; a write of a status
// does not, if Kubernetes distinguishes the two, because Kubernetes' controllers keep writing statuses.
func versions(t *testing.T, namespace string) map[objectID]string {
	t.Helper()
	out := map[objectID]string{}
	for _, o := range cloud.Composed(t.Context(), namespace) {
		out[idOf(o)] = versionOf(o)
	}
	return out
}

func versionOf(o unstructured.Unstructured) string {
	if o.GetGeneration() == 0 {
		return o.GetResourceVersion()
	}
	return strconv.FormatInt(o.GetGeneration(), 10)
}

// TestEditWritesOnlyPreviewedObjects checks that an edit changes the objects that differ in the preview, and writes no other object at all.
func TestEditWritesOnlyPreviewedObjects(t *testing.T) {
	t.Parallel()
	before := claim(t, "tenant-edit")
	after := claim(t, "tenant-edit", set(int64(3), "spec", "services", "keystone", "replicas"))
	want := map[objectID]bool{}
	hashes := map[objectID]string{}
	for _, o := range previewed(t, before).Objects {
		hashes[previewedID(o)] = inner(o).GetAnnotations()[hashAnnotation]
	}
	for _, o := range previewed(t, after).Objects {
		if id := previewedID(o); hashes[id] != inner(o).GetAnnotations()[hashAnnotation] {
			want[id] = true
		}
	}
	if len(want) == 0 {
		t.Fatal("the edit changes nothing: this tests nothing")
	}

	order(t, before)
	name := instance(t, ready(t, before))
	time.Sleep(5 * time.Second) // writes after Ready: the status of finished objects
	previous := versions(t, name)
	order(t, after)
	ready(t, after)
	eventually(t, timeout, func() error {
		n, _, _ := unstructured.NestedInt64(get(t, cloud.Cluster, deploymentKind, name, "keystone").Object, "status", "availableReplicas")
		if n != 3 {
			return fmt.Errorf("%d pods are available", n)
		}
		return nil
	})
	is := versions(t, name)
	got := map[objectID]bool{}
	for id, version := range is {
		if previous[id] != version {
			got[id] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects that were written to: -the preview, +the platform:\n%s", diff)
	}
}

// TestRevertsManualChanges checks that manually changed or removed objects are restored, including those of Crossplane's provider,
// which without an event checks only every ten minutes.
func TestRevertsManualChanges(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-drift")
	order(t, u)
	name := instance(t, ready(t, u))
	d := get(t, cloud.Cluster, deploymentKind, name, "keystone")
	patch := client.MergeFrom(d.DeepCopy())
	if err := unstructured.SetNestedField(d.Object, int64(7), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Client.Patch(t.Context(), d, patch, client.FieldOwner("hand")); err != nil {
		t.Fatal(err)
	}
	database := get(t, cloud.Cluster, mariaDBKind, name, "mariadb")
	patch = client.MergeFrom(database.DeepCopy())
	if err := unstructured.SetNestedField(database.Object, "1Gi", "spec", "storage", "size"); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Client.Patch(t.Context(), database, patch, client.FieldOwner("hand")); err != nil {
		t.Fatal(err)
	}
	service := get(t, cloud.Cluster, serviceKind, name, "keystone")
	if err := cloud.Client.Delete(t.Context(), service.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func() error {
		n, _, _ := unstructured.NestedInt64(get(t, cloud.Cluster, deploymentKind, name, "keystone").Object, "spec", "replicas")
		if n != 2 {
			return fmt.Errorf("the Deployment has %d replicas", n)
		}
		if size, _, _ := unstructured.NestedString(get(t, cloud.Cluster, mariaDBKind, name, "mariadb").Object, "spec", "storage", "size"); size == "1Gi" {
			return fmt.Errorf("the database has %s of storage", size)
		}
		if restored, err := cloud.Get(t.Context(), serviceKind, client.ObjectKeyFromObject(service)); err != nil || restored == nil || restored.GetUID() == service.GetUID() {
			return fmt.Errorf("the Service is not made again: %w", err)
		}
		return nil
	})
	ready(t, u)
}

// TestOlderGenerationFulfillsNoDependency checks that Ready of an older generation fulfills no dependency. While the schema is not
// upgraded, Keystone's pods are unchanged and the claim is not ready, although the DatabaseSync still has Ready=True of the previous
// release.
func TestOlderGenerationFulfillsNoDependency(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-stale")
	order(t, u)
	name := instance(t, ready(t, u))
	before := image(t, name)

	schemas := schema.GroupKind{Group: "openstack.c5c3.io", Kind: "DatabaseSync"}
	cloud.Operators.PauseOwner(schemas, name)
	newer := claim(t, "tenant-stale", set("2026.1", "spec", "openStackRelease"))
	order(t, newer)
	sync := schema.GroupVersionKind{Group: schemas.Group, Version: "v1alpha1", Kind: schemas.Kind}
	eventually(t, timeout, func() error {
		release, _, _ := unstructured.NestedString(get(t, cloud.Cluster, sync, name, "keystone").Object, "spec", "release")
		if release != "2026.1" {
			return fmt.Errorf("the DatabaseSync has release %s", release)
		}
		return nil
	})
	for range 150 { // 15 s, in which events call the function many times
		if got := image(t, name); got != before {
			t.Fatalf("the pods changed from %s to %s before the schema was upgraded", before, got)
		}
		time.Sleep(100 * time.Millisecond)
	}
	is := get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName())
	if c, _ := platform.ConditionOf(is, "Ready"); c.Status == "True" {
		t.Errorf("the claim is ready while its schema is not: %+v", c)
	}

	cloud.Operators.Release(schemas, name)
	eventually(t, timeout, func() error {
		if got := image(t, name); got == before {
			return fmt.Errorf("the pods are still %s", got)
		}
		return nil
	})
	ready(t, newer)
}

// image returns the image of Keystone's pods.
func image(t *testing.T, namespace string) string {
	t.Helper()
	containers, _, _ := unstructured.NestedSlice(
		get(t, cloud.Cluster, deploymentKind, namespace, "keystone").Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		t.Fatal("the Deployment has no container")
	}
	c, _ := containers[0].(map[string]any)
	i, _ := c["image"].(string)
	return i
}

// TestNotReadyBeforeEditIsEffective checks that a claim is not ready before an edit is effective. Once the current generation of the
// composite resource has been composed, its function does not report it as ready until a new pod has started, without a
// moment in between.
//
// The condition alone has such moments, caused by core: a pass that started before the edit may end after it, and is
// then recorded for the generation of the edit; and in the middle of a pass, core applies the conditions that its cache
// had at the start of the pass (FunctionComposer.Compose applies "any pending conditions"), which may come from two
// passes earlier. The phase is applied with them, and belongs to that pass. The end of the pass corrects both.
func TestNotReadyBeforeEditIsEffective(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-rollout")
	order(t, u)
	is := ready(t, u)
	name := instance(t, is)
	composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")

	pods := schema.GroupKind{Kind: "Pod"}
	cloud.Operators.PauseOwner(pods, name)
	more := claim(t, "tenant-rollout", set(int64(3), "spec", "services", "keystone", "replicas"))
	order(t, more)
	observed := 0
	eventually(t, timeout, func() error {
		xr := get(t, cloud.Cluster, compositeKind, "", composite)
		c, _ := platform.ConditionOf(xr, "Ready")
		replicas, _, _ := unstructured.NestedInt64(xr.Object, "spec", "services", "keystone", "replicas")
		if replicas != 3 || c.ObservedGeneration != xr.GetGeneration() {
			return errors.New("the edit has not been looked at yet")
		}
		phase, _, _ := unstructured.NestedString(xr.Object, "status", "phase")
		if c.Status == "True" && phase == "Ready" && observed > 0 {
			keystone := get(t, cloud.Cluster, keystoneKind, name, "keystone")
			deployment := get(t, cloud.Cluster, deploymentKind, name, "keystone")
			t.Fatalf("the composite resource is ready while a pod is missing: %v; status of its Keystone: %v; status of the Deployment: %v",
				xr.Object["status"], keystone.Object["status"], deployment.Object["status"])
		}
		if c.Status == "True" {
			return errors.New("its condition is of a pass that began before the edit")
		}
		const checked = 150 // tenths of a second, in which events call the function many times
		if observed++; observed < checked {
			return errors.New("it has not been looked at for long enough")
		}
		return nil
	})
	if c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, "tenant-rollout", "cloud"), "Ready"); c.Status == "True" {
		t.Errorf("the claim is ready while a pod is missing: %+v", c)
	}
	cloud.Operators.Release(pods, name)
	ready(t, more)
}

// TestWithdrawnImageBlocksNoPod checks that an image that no node can pull can be set and withdrawn before a pod of it runs. Nothing of
// it blocks the previous state, which can be written again, including the Job of Keystone's bootstrap.
func TestWithdrawnImageBlocksNoPod(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-withdraw")
	order(t, u)
	name := instance(t, ready(t, u))
	before := image(t, name)

	cloud.Operators.PauseOwner(podKind.GroupKind(), name)
	order(t, claim(t, "tenant-withdraw", set("0000000", "spec", "services", "keystone", "image", "tag")))
	eventually(t, timeout, func() error {
		c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName()), "KeystoneReady")
		if got := image(t, name); got == before || c.Status != "False" {
			return fmt.Errorf("the image is %s, and KeystoneReady=%s: %s", got, c.Status, c.Message)
		}
		return nil
	})
	order(t, u)
	eventually(t, timeout, func() error {
		if got := image(t, name); got != before {
			return fmt.Errorf("the image is still %s", got)
		}
		return nil
	})
	cloud.Operators.Release(podKind.GroupKind(), name)
	ready(t, u)
}
