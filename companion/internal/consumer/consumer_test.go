package consumer

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const annotation = "x.c5c3.io/secret"

var (
	labels   = map[string]string{"app": "glance"}
	selector = &metav1.LabelSelector{MatchLabels: labels}
	key      = types.NamespacedName{Namespace: "cloud", Name: "glance"}
	meta     = metav1.ObjectMeta{Name: "glance", Namespace: "cloud", Generation: 2}
)

func template(value string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{annotation: value}}}
}

// workloads returns a workload of each kind, whose controller has observed a generation and updated a number of two replicas.
func workloads(value string, observed int64, updated int32) map[string]client.Object {
	return map[string]client.Object{
		"Deployment": &appsv1.Deployment{
			ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template(value)},
			Status: appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: 2, UpdatedReplicas: updated},
		},
		"StatefulSet": &appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template(value)},
			Status: appsv1.StatefulSetStatus{ObservedGeneration: observed, Replicas: 2, UpdatedReplicas: updated},
		},
		"DaemonSet": &appsv1.DaemonSet{
			ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template(value)},
			Status: appsv1.DaemonSetStatus{ObservedGeneration: observed, DesiredNumberScheduled: 2, UpdatedNumberScheduled: updated},
		},
	}
}

func pod(name, value string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "cloud", Labels: labels, Annotations: map[string]string{annotation: value}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func stopping(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1e9, 0)}, []string{"test/grace"}
	return p
}

func api(objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
}

func TestAnnotationPendingReason(t *testing.T) {
	other := pod("other", "old", corev1.PodRunning)
	other.Labels = map[string]string{"app": "nova"}
	for name, tc := range map[string]struct {
		reason             string
		template           string
		observedGeneration int64
		updated            int32
		pods               []client.Object
		want               string
	}{
		"All": {"All pods were started with it.", "new", 2, 2, []client.Object{pod("a", "new", corev1.PodRunning), pod("b", "new",
			corev1.PodPending)}, ""},
		"Old": {
			"One keeps running.", "new", 2, 2, []client.Object{pod("a", "new", corev1.PodRunning), pod("b", "old", corev1.PodRunning)},
			"1 of 2 pods of %s glance were started with earlier keys",
		},
		"OldStopping": {
			"A terminating pod works until it has ended.", "new", 2, 2, []client.Object{pod("a", "new", corev1.PodRunning),
				stopping(pod("b", "old", corev1.PodRunning))},
			"1 of 2 pods of %s glance were started with earlier keys",
		},
		"OldEnded": {"Finished pods do not count.", "new", 2, 2, []client.Object{pod("a", "old", corev1.PodSucceeded), pod("b", "old",
			corev1.PodFailed)}, ""},
		"Other":      {"Other pods are ignored.", "new", 2, 2, []client.Object{other}, ""},
		"NotNamed":   {"A new pod would not have it.", "old", 2, 2, nil, "%s glance is rolling out"},
		"NotSeen":    {"Its controller may still create an old pod.", "new", 1, 2, nil, "%s glance is rolling out"},
		"NotUpdated": {"An old pod is still desired.", "new", 2, 1, nil, "%s glance is rolling out"},
	} {
		for kind, object := range workloads(tc.template, tc.observedGeneration, tc.updated) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				w, err := Observe(context.Background(), api(append(tc.pods, object)...), kind, key)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := w.AnnotationPendingReason(annotation, "new", "earlier keys"), strings.ReplaceAll(tc.want, "%s", kind); got != want {
					t.Errorf("%s: %q, want %q", tc.reason, got, want)
				}
				if got := w.Named(annotation, "new"); got != (tc.template == "new") {
					t.Errorf("%s: named %v", tc.reason, got)
				}
			})
		}
	}
}

func TestObserve(t *testing.T) {
	w, err := Observe(context.Background(), api(), "Deployment", key)
	if err != nil || w.Template() != nil || w.Named(annotation, "") || w.NeverAnnotated(annotation) || w.HasAnnotation(annotation, "") ||
		w.Earlier(annotation) != "" || w.AnnotationPendingReason(annotation, "new", "") != "Deployment glance does not exist" {
		t.Errorf("%v, %v", w, err)
	}
	if _, err := Observe(context.Background(), api(), "Job", key); err == nil {
		t.Error("a Job")
	}
}

// TestMissingAndCreated checks that a workload that was missing and was created later is marked once, and other ones are not.
func TestMissingAndCreated(t *testing.T) {
	const name = "Deployment glance"
	observed := func(objects ...client.Object) []Workload {
		w, err := Observe(context.Background(), api(objects...), "Deployment", key)
		if err != nil {
			t.Fatal(err)
		}
		return []Workload{w}
	}
	created := workloads("", 2, 2)["Deployment"]
	marked := workloads("", 2, 2)["Deployment"]
	marked.SetAnnotations(map[string]string{annotation: "new"})
	for title, tc := range map[string]struct {
		reason         string
		workloads      []Workload
		known, missing []string
		created        bool
	}{
		"missing":   {"It is recorded.", observed(), nil, []string{name}, false},
		"recorded":  {"It is recorded once.", observed(), []string{name}, nil, false},
		"created":   {"Its pods are newer than the Secret.", observed(created), []string{name}, nil, true},
		"marked":    {"It has the mark.", observed(marked), []string{name}, nil, false},
		"existing":  {"Its pods may be older than the Secret.", observed(created), nil, nil, false},
		"restarted": {"Pods were restarted with an annotation.", observed(workloads("old", 2, 2)["Deployment"]), []string{name}, nil, false},
	} {
		t.Run(title, func(t *testing.T) {
			if diff := gocmp.Diff(tc.missing, Missing(tc.workloads, tc.known)); diff != "" {
				t.Errorf("%s\nMissing(...): -want, +got:\n%s", tc.reason, diff)
			}
			if _, got := FirstCreated(tc.workloads, annotation, "new", tc.known); got != tc.created {
				t.Errorf("%s\nFirstCreated(...): %t, want %t", tc.reason, got, tc.created)
			}
		})
	}
}

// TestRestartChangesOnlyAnnotation: the pods are annotated, other fields are not changed, and only the observed version is patched.
func TestRestartChangesOnlyAnnotation(t *testing.T) {
	for kind, object := range workloads("old", 2, 2) {
		t.Run(kind, func(t *testing.T) {
			ctx, c := context.Background(), api(object)
			w, err := Observe(ctx, c, kind, key)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.RestartWithAnnotation(ctx, c, annotation, "new"); err != nil {
				t.Fatal(err)
			}
			after, err := Observe(ctx, c, kind, key)
			if err != nil || !after.Named(annotation, "new") || after.template.Labels["app"] != "glance" || w.Named(annotation, "new") {
				t.Errorf("%v, %v", after.template, err)
			}
			if err := w.RestartWithAnnotation(ctx, c, annotation, "newer"); !apierrors.IsConflict(err) {
				t.Errorf("over another version: %v", err)
			}
		})
	}
}

// TestMark: all pods of a workload that was created after the content have it, unless they have another annotation; no pod is
// replaced, and the mark has no effect for newer content.
func TestMark(t *testing.T) {
	created := metav1.Now()
	younger, older := pod("younger", "", corev1.PodRunning), pod("older", "", corev1.PodRunning)
	younger.CreationTimestamp, older.CreationTimestamp = created, metav1.NewTime(created.Add(-time.Minute))
	for name, tc := range map[string]struct {
		reason, template, value string
		pods                    []client.Object
		want                    string
	}{
		"All": {"All pods were started after the write.", "", "new", []client.Object{younger}, ""},
		"Another": {"A terminating pod of a deleted workload with the same name.", "", "new", []client.Object{younger, older},
			"1 of 2 pods of %s glance were started with earlier keys"},
		"Changed": {"It was created before the newer content.", "", "newer", []client.Object{younger},
			"1 of 1 pods of %s glance were started with earlier keys"},
		"Rolled": {
			"After a rollout only the annotation of pods counts: the marked content may have returned.", "old", "new",
			[]client.Object{pod("rolled", "old", corev1.PodRunning)}, "1 of 1 pods of %s glance were started with earlier keys",
		},
	} {
		for kind, object := range workloads(tc.template, 2, 2) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				ctx := context.Background()
				object.SetCreationTimestamp(created)
				c := api(append(tc.pods, object)...)
				before, err := Observe(ctx, c, kind, key)
				if err != nil {
					t.Fatal(err)
				}
				if err := before.Mark(ctx, c, annotation, "new"); err != nil {
					t.Fatal(err)
				}
				w, err := Observe(ctx, c, kind, key)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := w.AnnotationPendingReason(annotation, tc.value, "earlier keys"), strings.ReplaceAll(tc.want, "%s", kind); got != want {
					t.Errorf("%s: %q, want %q", tc.reason, got, want)
				}
				if got, want := w.Earlier(annotation), cmp.Or(tc.template, "new"); got != want {
					t.Errorf("earlier: %q, want %q", got, want)
				}
				if w.template.Annotations[annotation] != tc.template || w.Named(annotation, "new") {
					t.Error("its pods are replaced")
				}
				if err := before.Mark(ctx, c, annotation, "newer"); !apierrors.IsConflict(err) {
					t.Errorf("over another version: %v", err)
				}
			})
		}
	}
}

func TestAnnotation(t *testing.T) {
	long := strings.Repeat("a", 70)
	for _, name := range []string{"short", long[:63]} {
		if got := Annotation("keys/", name); got != "keys/"+name {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Annotation("keys/", long); len(got) != len("keys/")+63 || !strings.HasPrefix(got, "keys/"+long[:52]+"-") {
		t.Errorf("%s: %s", long, got)
	}
	if Annotation("keys/", long) == Annotation("keys/", long+"b") {
		t.Error("two Secrets have one annotation")
	}
}

// TestImagePendingReason: a rollout is complete only after the last pod with another image has ended.
func TestImagePendingReason(t *testing.T) {
	pod := func(image string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	for name, tc := range map[string]struct {
		do   func(*Workload)
		want string
	}{
		"Nothing":      {func(*Workload) {}, ""},
		"Template":     {func(c *Workload) { c.template = &corev1.PodTemplateSpec{} }, "still uses another image"},
		"NotSeen":      {func(c *Workload) { c.observed = false }, "has not observed it yet"},
		"Half":         {func(c *Workload) { c.updated = 1 }, "1 of 2 pods of Deployment keystone use its current template"},
		"Surge":        {func(c *Workload) { c.total = 3 }, "1 old pods of Deployment keystone"},
		"NotAvailable": {func(c *Workload) { c.available = 1 }, "1 of 2 pods of Deployment keystone are available"},
		"Stopping": {func(c *Workload) { c.pods = append(c.pods, pod("old", corev1.PodRunning)) },
			"Pod p of Deployment keystone still runs another image"},
		"Stopped":      {func(c *Workload) { c.pods = append(c.pods, pod("old", corev1.PodSucceeded)) }, ""},
		"ScaledToZero": {func(c *Workload) { c.replicas, c.total, c.updated, c.available, c.pods = 0, 0, 0, 0, nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			template := corev1.PodTemplateSpec{Spec: pod("new", "").Spec}
			c := Workload{
				kind: "Deployment", name: "keystone", object: &appsv1.Deployment{}, template: &template, observed: true, replicas: 2, total: 2,
				updated: 2, available: 2,
				pods: []corev1.Pod{pod("new", corev1.PodRunning), pod("new", corev1.PodRunning)},
			}
			tc.do(&c)
			if got := c.ImagePendingReason("new"); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestStopPendingReason: a workload is stopped when it is scaled to zero, its controller has observed that, and the last pod
// has ended.
func TestStopPendingReason(t *testing.T) {
	running := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	finished := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}
	for name, tc := range map[string]struct {
		workload Workload
		want     string
	}{
		"Missing":  {Workload{}, ""},
		"Replicas": {Workload{object: &appsv1.Deployment{}, replicas: 1, observed: true}, "Deployment engine is not scaled to zero"},
		"NotSeen":  {Workload{object: &appsv1.Deployment{}}, "Deployment engine changed and its controller has not observed it yet"},
		"Stopping": {Workload{object: &appsv1.Deployment{}, observed: true, pods: []corev1.Pod{finished, running}},
			"Pod p of Deployment engine still runs"},
		"Stopped": {Workload{object: &appsv1.Deployment{}, observed: true, pods: []corev1.Pod{finished}}, ""},
	} {
		tc.workload.kind, tc.workload.name = "Deployment", "engine"
		if got := tc.workload.StopPendingReason(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestReadsRolloutStatusOfWorkloads: the rollout status of each kind is read, and the default is one replica.
func TestReadsRolloutStatusOfWorkloads(t *testing.T) {
	spec := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "glance", Image: "new"}}}}
	const n = 3
	for kind, w := range map[string]func(desired *int32, total, updated, available int32) client.Object{
		"Deployment": func(desired *int32, total, updated, available int32) client.Object {
			return &appsv1.Deployment{
				ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: desired, Selector: selector, Template: spec},
				Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: total, UpdatedReplicas: updated, AvailableReplicas: available},
			}
		},
		"StatefulSet": func(desired *int32, total, updated, available int32) client.Object {
			return &appsv1.StatefulSet{
				ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: desired, Selector: selector, Template: spec},
				Status: appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: total, UpdatedReplicas: updated, AvailableReplicas: available},
			}
		},
		"DaemonSet": func(desired *int32, _, updated, available int32) client.Object {
			return &appsv1.DaemonSet{
				ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: spec},
				Status: appsv1.DaemonSetStatus{
					ObservedGeneration: 2, DesiredNumberScheduled: ptr.Deref(desired, 1), UpdatedNumberScheduled: updated, NumberAvailable: available,
				},
			}
		},
	} {
		for name, tc := range map[string]struct {
			desiredReplicas           *int32
			total, updated, available int32
			want                      string
		}{
			"Done":         {new(int32(n)), n, n, n, ""},
			"One":          {nil, 1, 1, 1, ""},
			"Half":         {new(int32(n)), n, 1, n, "1 of 3 pods of " + kind + " glance use its current template"},
			"NotAvailable": {new(int32(n)), n, n, 1, "1 of 3 pods of " + kind + " glance are available"},
		} {
			got, err := Observe(t.Context(), api(w(tc.desiredReplicas, tc.total, tc.updated, tc.available)), kind, key)
			if why := got.ImagePendingReason("new"); err != nil || why != tc.want {
				t.Errorf("%s %s: %q, %v, want %q", kind, name, why, err, tc.want)
			}
		}
	}
}

// TestAnnotationLimitsNameTo63Characters: a name has at most 63 characters after the slash.
func TestAnnotationLimitsNameTo63Characters(t *testing.T) {
	for length, full := range map[int]bool{63: true, 64: false} {
		name := strings.Repeat("x", length)
		got := Annotation("keys/", name)
		if (got == "keys/"+name) != full || len(got) > len("keys/")+63 {
			t.Errorf("%d characters become %s", length, got)
		}
	}
}
