//go:build platform

package platform_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// Kinds that the companion reconciles.
var (
	keysKind   = openstackv1.GroupVersion.WithKind("KeyRepository")
	schemaKind = openstackv1.GroupVersion.WithKind("DatabaseSync")
	podKind    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// TestRotatesKeysOncePerSchedule checks that the companion, with the permissions of its Role, rotates the keys of tokens and of stored
// credentials on the claim's schedule. It does so once, because no rotation starts until every pod of Keystone has the
// keys. Only Keystone's pods are restarted; meanwhile the claim is not ready. No key and no other Secret is lost, and
// no other object is written.
func TestRotatesKeysOncePerSchedule(t *testing.T) {
	t.Parallel()
	rotating := []string{"keystone-fernet-keys", "keystone-credential-keys"}
	scheduled := func(schedule string) *unstructured.Unstructured {
		u := claim(t, "tenant-rotation",
			set(schedule, "spec", "services", "keystone", "fernet", "rotationSchedule"),
			set(int64(300), "spec", "services", "keystone", "fernet", "tokenExpirationSeconds"),
			set(int64(0), "spec", "services", "keystone", "fernet", "allowExpiredWindowSeconds"),
			set(schedule, "spec", "services", "keystone", "credentialKeys", "rotationSchedule"))
		order(t, u)
		return u
	}
	addLimit(t, `{"name": "rotation", "namespaces": ["tenant-rotation"], "maxima": {"runsPerHour": 60}}`)
	const yearly, minutely = "0 0 1 1 *", "* * * * *"
	u := scheduled(yearly)
	name := instance(t, ready(t, u))
	for _, r := range rotating {
		waitDistributed(t, name, r, 1)
	}
	before := look(t, name)
	show(t, name, "before the rotation")

	// A node that starts no pod makes the moment last in which not every pod has the new keys.
	cloud.Operators.PauseOwner(podKind.GroupKind(), name)
	scheduled(minutely)
	for _, r := range rotating {
		eventually(t, timeout, func() error {
			if is := keyRepository(t, name, r).Status; is.Primary != 2 || meta.IsStatusConditionTrue(is.Conditions, "Distributed") {
				return fmt.Errorf("%s: primary %d, %+v", r, is.Primary, is.Conditions)
			}
			return nil
		})
	}
	eventually(t, timeout, func() error {
		if c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName()), "KeystoneReady"); c.Status != "False" {
			return fmt.Errorf("KeystoneReady is %+v while its pods are rolled", c)
		}
		return nil
	})
	for _, r := range rotating {
		eventually(t, timeout, func() error {
			is := keyRepository(t, name, r).Status
			if c := meta.FindStatusCondition(is.Conditions, "Ready"); is.Primary != 2 || c.Reason != "RotationBlocked" {
				return fmt.Errorf("%s, whose next rotation is due: primary %d, %+v", r, is.Primary, c)
			}
			return nil
		})
	}
	show(t, name, "while the pods of Keystone are rolled, a minute later")
	u = scheduled(yearly)
	for _, r := range rotating { // or they would rotate again as soon as every pod has them
		eventually(t, timeout, func() error {
			if is := keyRepository(t, name, r); is.Spec.RotationSchedule != yearly || is.Status.ObservedGeneration != is.Generation {
				return fmt.Errorf("the schedule of %s is still %s", r, is.Spec.RotationSchedule)
			}
			return nil
		})
	}
	cloud.Operators.Release(podKind.GroupKind(), name)
	for _, r := range rotating {
		waitDistributed(t, name, r, 2)
	}
	ready(t, u)
	show(t, name, "after the rotation")

	after := look(t, name)
	for _, r := range rotating {
		previous, is := before.secrets[r], after.secrets[r]
		if is.uid != previous.uid {
			t.Errorf("Secret %s was made again", r)
		}
		want := map[string]string{"0": is.data["0"], "1": previous.data["1"], "2": previous.data["0"]}
		if diff := cmp.Diff(want, is.data); diff != "" || is.data["0"] == previous.data["0"] {
			t.Errorf("the keys of %s after a rotation: -want, +got:\n%s", r, diff)
		}
		delete(before.secrets, r)
		delete(after.secrets, r)
	}
	if diff := cmp.Diff(before.secrets, after.secrets, cmp.AllowUnexported(secret{})); diff != "" {
		t.Errorf("other Secrets: -before, +after:\n%s", diff)
	}
	for pod := range before.pods {
		if ofKeystone := strings.HasPrefix(pod.name, "keystone-"); after.pods[pod] == ofKeystone {
			t.Errorf("Pod %s: there is %t, of Keystone %t", pod.name, after.pods[pod], ofKeystone)
		}
	}
	written := map[string]bool{}
	for id, version := range after.versions {
		if before.versions[id] != version {
			written[id.Kind+" "+id.Name] = true
		}
	}
	// The schedule was edited, in Keystone and from there in the repositories, and the companion named the keys in the Deployment.
	want := map[string]bool{
		"Keystone keystone": true, "Deployment keystone": true, "KeyRepository keystone-fernet-keys": true, "KeyRepository keystone-credential-keys": true,
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("written to were: -want, +got:\n%s", diff)
	}
}

// waitDistributed waits until the keys of a repository have a primary, every pod and the store have them, and stored
// data is encrypted with it.
func waitDistributed(t *testing.T, namespace, name string, primary int32) {
	t.Helper()
	eventually(t, timeout, func() error {
		is := keyRepository(t, namespace, name)
		conditions := []string{"Ready", "Distributed", "BackedUp"}
		if is.Spec.Type == openstackv1.KeyTypeCredential {
			conditions = append(conditions, "Migrated")
		}
		for _, c := range conditions {
			if is.Status.Primary != primary || !meta.IsStatusConditionTrue(is.Status.Conditions, c) {
				return fmt.Errorf("%s: primary %d, %+v", name, is.Status.Primary, is.Status.Conditions)
			}
		}
		return nil
	})
}

// state is the state that a rotation may change, or must not.
type state struct {
	secrets  map[string]secret
	pods     map[pod]bool
	versions map[objectID]string
}

type secret struct {
	uid  types.UID
	data map[string]string
}

type pod struct {
	name string
	uid  types.UID
}

func look(t *testing.T, namespace string) state {
	t.Helper()
	s := state{secrets: map[string]secret{}, pods: map[pod]bool{}, versions: map[objectID]string{}}
	for _, o := range list(t, cloud.Cluster, secretKind, namespace) {
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		s.secrets[o.GetName()] = secret{uid: o.GetUID(), data: data}
	}
	for _, o := range list(t, cloud.Cluster, podKind, namespace) {
		if owner := metav1.GetControllerOf(&o); owner == nil || owner.Kind != "Job" {
			s.pods[pod{o.GetName(), o.GetUID()}] = true
		}
		p := &corev1.Pod{}
		typed(t, &o, p)
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s restarted %d times", p.Name, c.RestartCount)
			}
		}
	}
	for _, o := range cloud.Composed(t.Context(), namespace) {
		if !controllersOwn(o) {
			s.versions[idOf(o)] = versionOf(o)
		}
	}
	return s
}

// TestUpgradesClaimToNextRelease upgrades a claim to the next release. The schema is expanded while the old release runs; it is contracted
// only after all pods run the new one. The claim reports the progress, and at the end that the new release runs.
func TestUpgradesClaimToNextRelease(t *testing.T) {
	t.Parallel()
	const before, after = "2025.1", "2025.2"
	u := claim(t, "tenant-release", set(before, "spec", "openStackRelease"))
	order(t, u)
	name := instance(t, ready(t, u))
	old := image(t, name)

	observedCourse := follow(t, name, u)
	newer := claim(t, "tenant-release", set(after, "spec", "openStackRelease"))
	order(t, newer)
	eventually(t, timeout, func() error {
		s := databaseSync(t, name)
		if s.Status.ContractedRelease != after || s.Status.Phase != openstackv1.SyncPhaseDone {
			return fmt.Errorf("the schema: phase %s, %+v", s.Status.Phase, s.Status.Conditions)
		}
		return nil
	})
	is := ready(t, newer)
	show(t, name, "after the upgrade")

	if release, _, _ := unstructured.NestedString(is.Object, "status", "release"); release != after {
		t.Errorf("status.release of the claim is %q", release)
	}
	var ran []string
	for _, r := range databaseSync(t, name).Status.History {
		ran = append(ran, strings.Join([]string{r.Release, r.Step, r.Result}, " "))
	}
	want := []string{
		"2025.1 version/db-version Succeeded", "2025.1 sync/db-sync Succeeded",
		"2025.2 check/upgrade-check Succeeded", "2025.2 expand/expand Succeeded", "2025.2 contract/contract Succeeded",
	}
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("Jobs: -want, +got:\n%s", diff)
	}
	observed := observedCourse()
	phases := []string{"Done", "Expanding", "RollingOut", "Contracting", "Done"}
	// The DatabaseSync may get the release before its configuration exists.
	observed.phases = slices.DeleteFunc(observed.phases, func(p string) bool { return p == openstackv1.SyncPhasePending })
	if diff := cmp.Diff(phases, observed.phases); diff != "" {
		t.Errorf("phases of the DatabaseSync: -want, +got:\n%s", diff)
	}
	if want := []string{"2025.1 Idle", "2025.1 UpdatingServices", "2025.2 Idle"}; !subsequence(want, observed.claim) {
		t.Errorf("the claim reported %q, want %q", observed.claim, want)
	}
	if observed.contracting == 0 || observed.lastOld == 0 || observed.contracting < observed.lastOld {
		t.Errorf("contracting began at version %d, the last pod of %s was gone at %d", observed.contracting, old, observed.lastOld)
	}
}

// course is the observed course of an upgrade.
type course struct {
	phases, claim        []string
	contracting, lastOld int64 // versions of the cluster
}

// follow watches an upgrade of a claim, prints it at each phase, and returns a function that returns the course.
func follow(t *testing.T, namespace string, u *unstructured.Unstructured) func() course {
	t.Helper()
	var mu sync.Mutex
	var is course
	previous := image(t, namespace)
	note := func(list *[]string, entry string) bool {
		if len(*list) > 0 && (*list)[len(*list)-1] == entry {
			return false
		}
		*list = append(*list, entry)
		return true
	}
	watching(t, schemaKind, namespace, func(_ string, o *unstructured.Unstructured) {
		mu.Lock()
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		another := note(&is.phases, phase)
		if phase == openstackv1.SyncPhaseContracting && another {
			is.contracting = version(o)
		}
		mu.Unlock()
		if another {
			show(t, namespace, "the schema is "+phase)
		}
	})
	watching(t, podKind, namespace, func(event string, o *unstructured.Unstructured) {
		mu.Lock()
		defer mu.Unlock()
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "containers")
		first, _ := containers[0].(map[string]any)
		owner := metav1.GetControllerOf(o)
		if event == "DELETED" && first["image"] == previous && owner != nil && owner.Kind == "ReplicaSet" {
			is.lastOld = max(is.lastOld, version(o))
		}
	})
	watching(t, claimKind, u.GetNamespace(), func(_ string, o *unstructured.Unstructured) {
		mu.Lock()
		defer mu.Unlock()
		release, _, _ := unstructured.NestedString(o.Object, "status", "release")
		phase, _, _ := unstructured.NestedString(o.Object, "status", "updatePhase")
		note(&is.claim, release+" "+phase)
	})
	return func() course {
		mu.Lock()
		defer mu.Unlock()
		is.phases, is.claim = slices.Clone(is.phases), slices.Clone(is.claim)
		return is
	}
}

// watching calls a function for every change of objects of a kind until the test ends, one after the other.
func watching(t *testing.T, kind schema.GroupVersionKind, namespace string, do func(event string, o *unstructured.Unstructured)) {
	t.Helper()
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	w, err := cloud.Client.Watch(t.Context(), objects, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok {
				do(string(e.Type), o)
			}
		}
	}()
	t.Cleanup(func() {
		w.Stop()
		<-done
	})
}

func version(o *unstructured.Unstructured) int64 {
	v, _ := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return v
}

// subsequence reports whether all of some entries are among others, in the same order.
func subsequence(some, all []string) bool {
	for _, s := range all {
		if len(some) > 0 && some[0] == s {
			some = some[1:]
		}
	}
	return len(some) == 0
}

// show prints kubectl's output about a control plane.
func show(t *testing.T, namespace, when string) {
	t.Helper()
	out, err := cloud.Kubectl(context.WithoutCancel(t.Context()), "get", "keystones,keyrepositories,databasesyncs", "-n", namespace)
	if err != nil {
		t.Error(err)
		return
	}
	fmt.Fprintf(os.Stderr, "\n--- %s: %s\n$ kubectl get keystones,keyrepositories,databasesyncs -n %s\n%s", t.Name(), when, namespace, out)
}

func keyRepository(t *testing.T, namespace, name string) *openstackv1.KeyRepository {
	t.Helper()
	r := &openstackv1.KeyRepository{}
	typed(t, get(t, cloud.Cluster, keysKind, namespace, name), r)
	return r
}

func databaseSync(t *testing.T, namespace string) *openstackv1.DatabaseSync {
	t.Helper()
	s := &openstackv1.DatabaseSync{}
	typed(t, get(t, cloud.Cluster, schemaKind, namespace, "keystone"), s)
	return s
}

func typed(t *testing.T, u *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		t.Fatal(err)
	}
}
