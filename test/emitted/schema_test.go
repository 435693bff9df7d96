package emitted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/databasesync"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// emittedAs decodes the only object of a kind with a name.
func emittedAs(t *testing.T, c testCase, kind, name string, into any) {
	t.Helper()
	for _, o := range c.Objects {
		if o.Kind != kind || name != "" && o.Name != name {
			continue
		}
		data, err := json.Marshal(o.Manifest.AsMap())
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s has no %s %s", c.name, kind, name)
}

func caseOf(t *testing.T, name string) testCase {
	t.Helper()
	all := cases(t)
	i := slices.IndexFunc(all, func(c testCase) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("no case %s", name)
	}
	return all[i]
}

// TestSchemaJobsAreRestrictedAndComplete checks that the companion creates Jobs of all steps that the functions declare, from a new
// database through an upgrade, and that their pods are as restricted as all others, run the release's image, and are neither selected by a
// Service nor counted as pods of a workload.
func TestSchemaJobsAreRestrictedAndComplete(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, openstackv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	older, newer := caseOf(t, "full.yaml 2025.1"), caseOf(t, "full.yaml 2025.2")
	sync := &openstackv1.DatabaseSync{}
	emittedAs(t, older, "DatabaseSync", "", sync)
	sync.UID, sync.Generation = "it", 1
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(sync).
		WithStatusSubresource(&openstackv1.DatabaseSync{}, &batchv1.Job{}, &appsv1.Deployment{}).Build()
	r := &databasesync.Reconciler{
		Client: api, Reader: api, Events: events.NewFakeRecorder(1000), Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)),
		// The output of keystone-manage db_version for an empty database.
		Output: func(context.Context, *corev1.Pod, string) (string, error) { return "None\n", nil },
	}
	bringReferences(t, api, &sync.Spec.Template.Spec)

	jobs := runSchema(t, api, r, sync)
	next := &openstackv1.DatabaseSync{}
	emittedAs(t, newer, "DatabaseSync", "", next)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(sync), sync); err != nil {
		t.Fatal(err)
	}
	sync.Spec, sync.Generation = next.Spec, 2
	if err := api.Update(t.Context(), sync); err != nil {
		t.Fatal(err)
	}
	bringReferences(t, api, &sync.Spec.Template.Spec)
	for _, c := range sync.Spec.Consumers {
		d := &appsv1.Deployment{}
		emittedAs(t, newer, c.Kind, string(c.Name), d)
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{Replicas: n, UpdatedReplicas: n, AvailableReplicas: n}
		if err := api.Create(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	jobs = append(jobs, runSchema(t, api, r, sync)...)

	var steps []string
	for _, j := range jobs {
		pod := j.Spec.Template
		main := pod.Spec.Containers[0]
		steps = append(steps, fmt.Sprintf("%s: %s", pod.Labels["openstack.c5c3.io/step"], strings.Join(main.Command, " ")))
		for _, finding := range wiring.Pods(asMap(t, &j)) {
			t.Error(finding)
		}
		if pod.Spec.ServiceAccountName != "" || *pod.Spec.AutomountServiceAccountToken {
			t.Errorf("%s may talk to the API server", j.Name)
		}
		if main.Name != "keystone" || main.Args != nil {
			t.Errorf("%s runs container %s with arguments %v", j.Name, main.Name, main.Args)
		}
		for _, o := range newer.Objects {
			if s := selector(o.Manifest.AsMap(), o.Kind); s != nil && o.Namespace == j.Namespace && s.Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s %s takes the pod of %s for its own", o.Kind, o.Name, j.Name)
			}
		}
	}
	if want := []string{
		"version.db-version: keystone-manage db_version",
		"sync.db-sync: keystone-manage db_sync",
		"check.upgrade-check: keystone-status upgrade check",
		"expand.expand: keystone-manage db_sync --expand",
		"contract.contract: keystone-manage db_sync --contract",
	}; !slices.Equal(steps, want) {
		t.Errorf("ran %q", steps)
	}
}

// asMap returns an object in the form in which an API server gets it.
func asMap(t *testing.T, o *batchv1.Job) map[string]any {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	m["apiVersion"], m["kind"] = "batch/v1", "Job"
	return m
}

// selector of the pods of a workload, a Service or a disruption budget: nil for other kinds.
func selector(manifest map[string]any, kind string) labels.Selector {
	spec, _ := manifest["spec"].(map[string]any)
	s, _ := spec["selector"].(map[string]any)
	switch kind {
	case "Deployment", "StatefulSet", "PodDisruptionBudget":
		s, _ = s["matchLabels"].(map[string]any)
	case "Service":
	default:
		return nil
	}
	set := labels.Set{}
	for k, v := range s {
		set[k], _ = v.(string)
	}
	if len(set) == 0 {
		return nil
	}
	return set.AsSelector()
}

// bringReferences creates the objects that a pod references, as External Secrets, the companion and Crossplane do.
func bringReferences(t *testing.T, api client.Client, pod *corev1.PodSpec) {
	t.Helper()
	bring := func(o client.Object, name string) {
		o.SetName(name)
		o.SetNamespace(namespaceOf(t, api))
		if err := api.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	for _, v := range pod.Volumes {
		sources := []corev1.VolumeProjection{}
		if v.Projected != nil {
			sources = v.Projected.Sources
		}
		if v.Secret != nil {
			bring(&corev1.Secret{}, v.Secret.SecretName)
		}
		if v.ConfigMap != nil {
			bring(&corev1.ConfigMap{}, v.ConfigMap.Name)
		}
		for _, s := range sources {
			if s.Secret != nil {
				bring(&corev1.Secret{}, s.Secret.Name)
			}
			if s.ConfigMap != nil {
				bring(&corev1.ConfigMap{}, s.ConfigMap.Name)
			}
		}
	}
	for _, e := range pod.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			bring(&corev1.Secret{}, e.ValueFrom.SecretKeyRef.Name)
		}
	}
}

func namespaceOf(t *testing.T, api client.Client) string {
	t.Helper()
	list := &openstackv1.DatabaseSyncList{}
	if err := api.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return list.Items[0].Namespace
}

// endPod creates the succeeded pod of a Job.
func endPod(t *testing.T, api client.Client, j *batchv1.Job) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: *j.Spec.Template.ObjectMeta.DeepCopy(), Spec: j.Spec.Template.Spec}
	pod.Name, pod.Namespace = j.Name, j.Namespace
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
	}}}
	if err := api.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// runSchema reconciles until all steps have run, and returns their Jobs. Each succeeds.
func runSchema(t *testing.T, api client.Client, r *databasesync.Reconciler, sync *openstackv1.DatabaseSync) []batchv1.Job {
	t.Helper()
	key := client.ObjectKeyFromObject(sync)
	var out []batchv1.Job
	for range 60 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		list := &batchv1.JobList{}
		if err := api.List(t.Context(), list, client.InNamespace(sync.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, j := range list.Items {
			if *j.Spec.Suspend || len(j.Status.Conditions) > 0 {
				continue
			}
			j.UID = types.UID(j.Name)
			if err := api.Update(t.Context(), &j); err != nil {
				t.Fatal(err)
			}
			endPod(t, api, &j)
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: time.Unix(0, 0)}}}
			if err := api.Status().Update(t.Context(), &j); err != nil {
				t.Fatal(err)
			}
			out = append(out, j)
		}
		if err := api.Get(t.Context(), key, sync); err != nil {
			t.Fatal(err)
		}
		if sync.Status.ObservedGeneration == sync.Generation && meta.IsStatusConditionTrue(sync.Status.Conditions, "Contracted") {
			return out
		}
	}
	t.Fatalf("does not complete: %+v", sync.Status.Conditions)
	return nil
}
