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

// thing names an object.
type thing struct{ Group, Kind, Namespace, Name string }

func thingOf(u unstructured.Unstructured) thing {
	return thing{u.GroupVersionKind().Group, u.GetKind(), u.GetNamespace(), u.GetName()}
}

func thingIn(o preview.Object) thing {
	return thing{schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group, o.Kind, o.Namespace, o.Name}
}

// TestReady: two tenants claim clouds of the same name. Both become ready, side by side, and consist of what the preview says.
func TestReady(t *testing.T) {
	t.Parallel()
	claims := []*unstructured.Unstructured{claim(t, "tenant-ready-1"), claim(t, "tenant-ready-2")}
	for _, u := range claims {
		order(t, u)
	}
	for _, u := range claims {
		is := ready(t, u)
		want := previewed(t, u)
		if got := instance(t, is); got != want.Instance {
			t.Errorf("status.instance = %s, the preview says %s", got, want.Instance)
		}
		for _, o := range want.Objects {
			kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
			got := get(t, cloud.Cluster, kind, o.Namespace, o.Name)
			if hash := inner(o).GetAnnotations()[hashAnnotation]; got.GetAnnotations()[hashAnnotation] != hash {
				t.Errorf("%s %s/%s has hash %q, the preview says %q",
					o.Kind, o.Namespace, o.Name, got.GetAnnotations()[hashAnnotation], hash)
			}
		}
	}
}

const hashAnnotation = "crossplane.c5c3.io/hash"

// inner is the object of a preview without its Object.
func inner(o preview.Object) *unstructured.Unstructured {
	m := o.Manifest.AsMap()
	if o.Wrapped {
		m, _, _ = unstructured.NestedMap(m, "spec", "forProvider", "manifest")
	}
	return &unstructured.Unstructured{Object: m}
}

// TestRemote: the workloads of a claim that names another cluster run there, and nothing of them runs here.
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
	says(t, u, "SpecValid", status, message)
}

// says waits until a condition of a claim has a status and a message that contains a text.
func says(t *testing.T, u *unstructured.Unstructured, condition, status, message string) {
	t.Helper()
	eventually(t, soon, func() error {
		c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName()), condition)
		if c.Status != status || !strings.Contains(c.Message, message) {
			return fmt.Errorf("%s is %+v, want %s: %s", condition, c, status, message)
		}
		return nil
	})
}

// versions are the versions of everything that we compose in a namespace. A write changes one, but not one of a status, which Kubernetes'
// controllers keep writing, where Kubernetes distinguishes the two.
func versions(t *testing.T, namespace string) map[thing]string {
	t.Helper()
	out := map[thing]string{}
	for _, o := range cloud.Composed(t.Context(), namespace) {
		out[thingOf(o)] = versionOf(o)
	}
	return out
}

func versionOf(o unstructured.Unstructured) string {
	if o.GetGeneration() == 0 {
		return o.GetResourceVersion()
	}
	return strconv.FormatInt(o.GetGeneration(), 10)
}

// TestEdit: an edit changes the objects that the preview says differ, and no other is written to at all.
func TestEdit(t *testing.T) {
	t.Parallel()
	before := claim(t, "tenant-edit")
	after := claim(t, "tenant-edit", set(int64(3), "spec", "services", "keystone", "replicas"))
	want := map[thing]bool{}
	hashes := map[thing]string{}
	for _, o := range previewed(t, before).Objects {
		hashes[thingIn(o)] = inner(o).GetAnnotations()[hashAnnotation]
	}
	for _, o := range previewed(t, after).Objects {
		if id := thingIn(o); hashes[id] != inner(o).GetAnnotations()[hashAnnotation] {
			want[id] = true
		}
	}
	if len(want) == 0 {
		t.Fatal("the edit changes nothing: this tests nothing")
	}

	order(t, before)
	name := instance(t, ready(t, before))
	time.Sleep(5 * time.Second) // what comes after Ready: status of what is done
	was := versions(t, name)
	order(t, after)
	ready(t, after)
	eventually(t, soon, func() error {
		n, _, _ := unstructured.NestedInt64(get(t, cloud.Cluster, deploymentKind, name, "keystone").Object, "status", "availableReplicas")
		if n != 3 {
			return fmt.Errorf("%d pods are available", n)
		}
		return nil
	})
	is := versions(t, name)
	got := map[thing]bool{}
	for id, version := range is {
		if was[id] != version {
			got[id] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects that were written to: -the preview, +the platform:\n%s", diff)
	}
}

// TestDrift: what a hand changes or removes comes back, also where it is Crossplane's provider that keeps it. That one looks only every ten
// minutes by itself.
func TestDrift(t *testing.T) {
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
	eventually(t, soon, func() error {
		n, _, _ := unstructured.NestedInt64(get(t, cloud.Cluster, deploymentKind, name, "keystone").Object, "spec", "replicas")
		if n != 2 {
			return fmt.Errorf("the Deployment has %d replicas", n)
		}
		if size, _, _ := unstructured.NestedString(get(t, cloud.Cluster, mariaDBKind, name, "mariadb").Object, "spec", "storage", "size"); size == "1Gi" {
			return fmt.Errorf("the database has %s of storage", size)
		}
		if again, err := cloud.Get(t.Context(), serviceKind, client.ObjectKeyFromObject(service)); err != nil || again == nil || again.GetUID() == service.GetUID() {
			return fmt.Errorf("the Service is not made again: %w", err)
		}
		return nil
	})
	ready(t, u)
}

// TestStale: what Ready said of an older generation opens no gate. While the schema is not upgraded, Keystone's pods stay what they
// are and the claim is not ready, although the DatabaseSync still says Ready=True of the release before.
func TestStale(t *testing.T) {
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
	eventually(t, soon, func() error {
		release, _, _ := unstructured.NestedString(get(t, cloud.Cluster, sync, name, "keystone").Object, "spec", "release")
		if release != "2026.1" {
			return fmt.Errorf("the DatabaseSync is told release %s", release)
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
	eventually(t, soon, func() error {
		if got := image(t, name); got == before {
			return fmt.Errorf("the pods are still %s", got)
		}
		return nil
	})
	ready(t, newer)
}

// image is that of Keystone's pods.
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

// TestRollout: an edit is not ready before it is real. Once the composite resource has been composed as it is now, its function does not
// say that it is ready until a new pod has started, without a moment in between.
//
// The condition alone has such moments, which are core's: a pass that began before the edit may end after it, and is then dated to the
// generation of the edit; and in the middle of a pass, core applies the conditions that its cache had at the pass's beginning
// (FunctionComposer.Compose applies "any pending conditions"), which may be those of two passes ago. The phase is applied with them, and is
// of that pass. The end of the pass puts both right.
func TestRollout(t *testing.T) {
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
	seen := 0
	eventually(t, soon, func() error {
		xr := get(t, cloud.Cluster, compositeKind, "", composite)
		c, _ := platform.ConditionOf(xr, "Ready")
		replicas, _, _ := unstructured.NestedInt64(xr.Object, "spec", "services", "keystone", "replicas")
		if replicas != 3 || c.ObservedGeneration != xr.GetGeneration() {
			return errors.New("the edit has not been looked at yet")
		}
		phase, _, _ := unstructured.NestedString(xr.Object, "status", "phase")
		if c.Status == "True" && phase == "Ready" && seen > 0 {
			keystone := get(t, cloud.Cluster, keystoneKind, name, "keystone")
			deployment := get(t, cloud.Cluster, deploymentKind, name, "keystone")
			t.Fatalf("the composite resource is ready while a pod is missing: %v; status of its Keystone: %v; status of the Deployment: %v",
				xr.Object["status"], keystone.Object["status"], deployment.Object["status"])
		}
		if c.Status == "True" {
			return errors.New("its condition is of a pass that began before the edit")
		}
		const enough = 150 // tenths of a second, in which events call the function many times
		if seen++; seen < enough {
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

// TestWithdraw: an image that no node can pull is ordered, and withdrawn before a pod of it runs. Nothing of it is in the way: what was wanted
// before can be written again, the Job of Keystone's bootstrap included.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-withdraw")
	order(t, u)
	name := instance(t, ready(t, u))
	before := image(t, name)

	cloud.Operators.PauseOwner(podKind.GroupKind(), name)
	order(t, claim(t, "tenant-withdraw", set("0000000", "spec", "services", "keystone", "image", "tag")))
	eventually(t, soon, func() error {
		c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName()), "KeystoneReady")
		if got := image(t, name); got == before || c.Status != "False" {
			return fmt.Errorf("the image is %s, and KeystoneReady=%s: %s", got, c.Status, c.Message)
		}
		return nil
	})
	order(t, u)
	eventually(t, soon, func() error {
		if got := image(t, name); got != before {
			return fmt.Errorf("the image is still %s", got)
		}
		return nil
	})
	cloud.Operators.Release(podKind.GroupKind(), name)
	ready(t, u)
}
