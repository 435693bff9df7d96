package databasesync

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// noted returns the events so far.
func (c *cluster) noted() string {
	return strings.Join(controllertest.Events(c.events), "\n")
}

func last(s *openstackv1.DatabaseSync) record { return s.Status.History[len(s.Status.History)-1] }

func failedNow(s *openstackv1.DatabaseSync) bool {
	return s.Status.Phase == openstackv1.SyncPhaseFailed
}

// TestFailure: the status contains the end of the output, without the password, and the reason for waiting; the password
// appears nowhere else either.
func TestFailure(t *testing.T) {
	c := newCluster(t, keystone("2025.1"), secret())
	c.exits = func(record) int32 { return 7 }
	r := c.reconciler(c.API)
	c.reconcileUntil(r, "failure", failedNow)
	s := c.sync()
	if got, want := last(s).Log, "step output\nmysql+pymysql://keystone:***@db/keystone refused\nlast line"; got != want {
		t.Errorf("the log is %q", got)
	}
	if got := last(s); *got.ExitCode != 7 || got.Finished == nil || got.Image != image1("2025.1")+"@sha256:0123" {
		t.Errorf("%+v", got)
	}
	ready := meta.FindStatusCondition(s.Status.Conditions, conditionReady)
	for _, word := range []string{"step sync/db-sync of release 2025.1 failed, attempt 1: exit code 7, last line", RetryAnnotation} {
		if !strings.Contains(ready.Message, word) {
			t.Errorf("does not contain %q: %s", word, ready.Message)
		}
	}
	noted := c.noted()
	if !strings.Contains(noted, "Warning Failed step sync/db-sync of release 2025.1, attempt 1: exit code 7") ||
		strings.Contains(noted+c.logText(), "hunter2") {
		t.Error(noted)
	}

	// The annotation retries it immediately, once.
	before := c.Clock.Now()
	c.edit(func(s *openstackv1.DatabaseSync) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, RetryAnnotation, "1") })
	c.reconcileUntil(r, "attempt 2", func(s *openstackv1.DatabaseSync) bool { return last(s).Attempt == 2 })
	if waited := c.Clock.Now().Sub(before); waited > 0 {
		t.Errorf("waited %s", waited)
	}
	c.reconcileUntil(r, "the next failure", func(s *openstackv1.DatabaseSync) bool { return failedNow(s) && last(s).Attempt == 2 })
	c.exits = func(record) int32 { return 0 }
	c.reconcileUntil(r, "the end", finished)
	if !slices.Equal(c.starts, []string{"sync/db-sync 2025.1 #1", "sync/db-sync 2025.1 #2", "sync/db-sync 2025.1 #3"}) {
		t.Errorf("started %q", c.starts)
	}
}

// TestRecordsResultWithoutReadableLog: an unreadable log does not prevent the record.
func TestRecordsResultWithoutReadableLog(t *testing.T) {
	c := newCluster(t, keystone("2025.1"), secret())
	c.exits = func(record) int32 { return 7 }
	r := c.reconciler(c.API)
	r.Output = func(context.Context, *corev1.Pod, string) (string, error) { return "", errors.New("the node is gone") }
	c.reconcileUntil(r, "failure", failedNow)
	if got := last(c.sync()); *got.ExitCode != 7 || got.Log != "its output cannot be read" {
		t.Errorf("%+v", got)
	}
}

func TestReturnsLogOfPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: namespace}}
	text, err := batchjob.Output(fake.NewClientset(pod).CoreV1(), lines)(context.Background(), pod, "keystone")
	if err != nil || text != "fake logs" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestRemovedStatusRepeatsNoStep: the existing Jobs show what ran, so no schema step runs again.
func TestRemovedStatusRepeatsNoStep(t *testing.T) {
	c := newCluster(t, keystone("2025.1"), secret())
	r := c.reconciler(c.API)
	c.reconcileUntil(r, "the end", finished)
	s := c.sync()
	s.Status = openstackv1.DatabaseSyncStatus{}
	c.Must(c.API.Status().Update(context.Background(), s))
	c.reconcileUntil(r, "the end", finished)
	if len(c.starts) != 1 {
		t.Errorf("started %q", c.starts)
	}
}

// TestWaitsForJobsOfPreviousObject: a re-created DatabaseSync waits for running Jobs of the previous one.
func TestWaitsForJobsOfPreviousObject(t *testing.T) {
	c := newCluster(t, keystone("2025.1"), secret())
	r := c.reconciler(c.API)
	c.reconcileUntil(r, "sync", func(*openstackv1.DatabaseSync) bool { return len(c.starts) == 1 })
	c.Must(c.API.Delete(context.Background(), c.sync()))
	anew := keystone("2025.1")
	anew.UID = "another"
	c.Must(c.API.Create(context.Background(), anew))
	for range 3 {
		if _, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(anew)}); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.sync(); len(c.Jobs()) != 1 || len(s.Status.History) != 0 || !strings.Contains(c.logText(),
		"waiting for Job keystone-sync-db-sync-") {
		t.Error(c.logText())
	}
	c.reconcileUntil(r, "the end", finished)
	c.Verify()
}

// TestDeletionStopsStepsAndMetrics: nothing starts for a DatabaseSync that is being deleted, and its metrics are deleted with it.
func TestDeletionStopsStepsAndMetrics(t *testing.T) {
	s := keystone("2025.1")
	now := metav1.Time{Time: start}
	s.DeletionTimestamp, s.Finalizers = &now, []string{"foregroundDeletion"}
	c := newCluster(t, s, secret())
	c.pass(c.reconciler(c.API))
	if len(c.Jobs()) != 0 {
		t.Error("made a Job")
	}

	c = newCluster(t, keystone("2025.1"), secret())
	r := c.reconciler(c.API)
	c.reconcileUntil(r, "the end", finished)
	if len(controllertest.Series(t, metrics, "")) == 0 {
		t.Fatal("no metrics")
	}
	c.Must(c.API.Delete(context.Background(), c.sync()))
	if _, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace,
		Name: "keystone"}}); err != nil {
		t.Fatal(err)
	}
	if left := controllertest.Series(t, metrics, ""); len(left) != 0 {
		t.Errorf("series are left: %v", left)
	}
}

// TestAdd wires the controller to a manager without connections.
func TestAdd(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(mgr); err != nil {
		t.Fatal(err)
	}
}

// TestRolloutWaitsForAllConsumers: the rollout waits for consumers of all kinds, and the message contains a missing one.
func TestRolloutWaitsForAllConsumers(t *testing.T) {
	labels := map[string]string{"app": "conductor"}
	template := func(release string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image1(release)}}}}
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "conductor", Namespace: namespace},
		Spec:       appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("2025.1")},
		Status:     appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
	}
	daemons := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: namespace},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("2024.2")},
		Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2},
	}
	for want, consumers := range map[string][]openstackv1.Consumer{
		"":                              {{Kind: "StatefulSet", Name: "conductor"}},
		"Deployment api does not exist": {{Kind: "StatefulSet", Name: "conductor"}, {Kind: "Deployment", Name: "api"}},
		"DaemonSet agent still uses another image": {{Kind: "StatefulSet", Name: "conductor"}, {Kind: "DaemonSet", Name: "agent"}},
	} {
		sync, _ := standing()[0].(*openstackv1.DatabaseSync)
		sync.Spec.Consumers, sync.Status.ContractedRelease = consumers, ""
		c := newCluster(t, sync, secret(), set.DeepCopy(), daemons.DeepCopy())
		w, err := observe(t.Context(), (*controller.Env)(c.reconciler(c.API)), c.sync())
		if err != nil || w.rollout != want {
			t.Errorf("%q, %v, want %q", w.rollout, err, want)
		}
	}
}

// TestOutdatedLeaderChangesNoJob: a leader that continues with outdated state neither starts nor deletes a Job.
func TestOutdatedLeaderChangesNoJob(t *testing.T) {
	c := newCluster(t, keystone("2025.1"), secret())
	r := c.reconciler(c.API)
	c.reconcileUntil(r, "a record", func(s *openstackv1.DatabaseSync) bool { return open(s.Status.History) != nil })
	observed := c.Jobs()[0]
	c.reconcileUntil(r, "a start", func(*openstackv1.DatabaseSync) bool { return len(c.starts) == 1 })
	if err := batchjob.Suspend(&observed, false)(context.Background(), (*controller.Env)(r)); err == nil {
		t.Error("released a Job that it had not seen")
	}
	if err := (&plan{remove: &observed}).do(&observation{})(context.Background(), (*controller.Env)(r)); err == nil || len(c.Jobs()) != 1 {
		t.Error("took a Job away that it had not seen")
	}
}

// TestConcurrentChangeDefersDecision: if the DatabaseSync changes while its Jobs are read, no decision is made.
func TestConcurrentChangeDefersDecision(t *testing.T) {
	c := newCluster(t, keystone("2025.1"), secret())
	r := c.reconciler(c.API)
	c.reconcileUntil(r, "a record", func(s *openstackv1.DatabaseSync) bool { return open(s.Status.History) != nil })
	r.Reader = interceptor.NewClient(c.API, interceptor.Funcs{
		List: func(ctx context.Context, api client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*batchv1.JobList); ok {
				c.order("2025.2")
			}
			return api.List(ctx, l, opts...)
		},
	})
	result, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace,
		Name: "keystone"}})
	if err != nil || result.RequeueAfter != controller.MinRequeueInterval || !batchjob.IsSuspended(&c.Jobs()[0]) {
		t.Errorf("%+v, %v; Job suspended: %v", result, err, batchjob.IsSuspended(&c.Jobs()[0]))
	}
}
