package keyrepository

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// readyToRotate returns an observation in which all pods have the keys, and a rotation is due.
func readyToRotate(t *testing.T) *observation {
	t.Helper()
	now := time.Date(2026, time.March, 9, 12, 0, 0, 0, time.UTC)
	w := &observation{repo: fernet(), now: now, state: intact, set: keys.Set{0: "a", 1: "b", 2: "c"}}
	w.derive()
	if w.specError != nil {
		t.Fatal(w.specError)
	}
	rotated := now.Add(-8 * 24 * time.Hour)
	w.record = record{Hash: w.set.Hash(), Rotated: rotated, Distributed: &rotated, NeededUntil: keys.RetirementLog{1: rotated}}
	return w
}

// TestRotateKeys: a due rotation waits for keys in use, with the reason.
func TestRotateKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*observation)
		want   controller.Decision
	}{
		"Due":       {func(*observation) {}, controller.Decision{Name: "KeysRotated", Note: "rotated the keys: 3 is primary now"}},
		"Suspended": {func(w *observation) { w.repo.Spec.Suspend = true }, controller.Decision{Name: "Suspended"}},
		"NotDue": {
			func(w *observation) { w.record.Rotated = w.now },
			controller.Decision{Name: "Idle", At: time.Date(2026, time.March, 15, 0, 0, 0, 0, time.UTC)},
		},
		"NotRecorded": {
			func(w *observation) { w.record.Distributed = nil },
			controller.Decision{Name: "RotationBlocked", Wait: "the proof that every pod has the keys is not yet recorded"},
		},
		"Encrypts": {
			func(w *observation) { w.record.NeededUntil = nil },
			controller.Decision{Name: "RotationBlocked", Wait: "a key in [1] would be removed but may still encrypt"},
		},
		"Decrypts": {
			func(w *observation) { w.record.NeededUntil = keys.RetirementLog{1: w.now.Add(time.Hour)} },
			controller.Decision{
				Name: "RotationBlocked", At: time.Date(2026, time.March, 9, 13, 0, 0, 0, time.UTC),
				Wait: "keys [1] would be removed but decrypt tokens until 2026-03-09T13:00:00Z",
			},
		},
	} {
		w := readyToRotate(t)
		tc.change(w)
		got := rotateKeys(w)
		if does := got.Action != nil; does != (name == "Due") {
			t.Errorf("%s: does something: %v", name, does)
		}
		got.Action = nil
		if diff := cmp.Diff(tc.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReportsRetryOfFailedMigration: a failed migration is retried after an hour, which its condition reports.
func TestReportsRetryOfFailedMigration(t *testing.T) {
	w := readyToRotate(t)
	repo := credential()
	w.repo = repo
	w.consumers = make([]consumer.Workload, 0)
	failed := func(ago time.Duration, message string) *batchv1.Job {
		return &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "migration"},
			Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{
				Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Message: message, LastTransitionTime: metav1.Time{Time: w.now.Add(-ago)},
			}}},
		}
	}
	for want, job := range map[string]*batchv1.Job{
		"stored data must be encrypted with the primary key":                                        nil,
		"Job migration is encrypting stored data with the primary key":                              {ObjectMeta: metav1.ObjectMeta{Name: "migration"}},
		"Job migration failed: no database. It is retried after an hour, or when it is deleted":     failed(0, "no database"),
		"Job migration failed: no response yet. It is retried after an hour, or when it is deleted": failed(0, ""),
	} {
		w.job = job
		if got := w.migrationPendingReason(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMigrationPodHasNoPortsAndProbes: the Job's pod has no ports and no probes of the workload's pod.
func TestMigrationPodHasNoPortsAndProbes(t *testing.T) {
	c := newCluster(t, credential(), deployment())
	from, err := consumer.Observe(t.Context(), c.API, "Deployment", key("keystone"))
	if err != nil {
		t.Fatal(err)
	}
	main := &from.Template().Spec.Containers[0]
	main.Args, main.ReadinessProbe, main.StartupProbe, main.Lifecycle = []string{"x"}, &corev1.Probe{}, &corev1.Probe{}, &corev1.Lifecycle{}
	spec := &from.Template().Spec
	spec.InitContainers, spec.TopologySpreadConstraints = []corev1.Container{{Name: "x"}}, []corev1.TopologySpreadConstraint{{}}
	w := &observation{repo: credential(), record: record{Hash: "hash"}}
	job := migrationJob(w, from)
	want := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "keystone", Image: "keystone:1", Command: []string{"keystone-manage", "credential_migrate"},
			Env: []corev1.EnvVar{{Name: "DATABASE_PASSWORD", Value: "x"}},
		}},
	}
	if diff := cmp.Diff(want, job.Spec.Template.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	labels := map[string]string{
		"app.kubernetes.io/name": "key-migration", "app.kubernetes.io/component": "migration",
		"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "cobaltcore-companion",
	}
	for of, got := range map[string]map[string]string{"Job": job.Labels, "pod": job.Spec.Template.Labels} {
		if diff := cmp.Diff(labels, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
	times := [3]int64{int64(*job.Spec.BackoffLimit), *job.Spec.ActiveDeadlineSeconds, int64(*job.Spec.TTLSecondsAfterFinished)}
	if want := [3]int64{6, 1800, 86400}; times != want {
		t.Errorf("attempts, deadline and TTL are %v, want %v", times, want)
	}
	w.record.Hash = "another"
	if other := migrationJob(w, from).Name; other == job.Name {
		t.Errorf("the Job of other keys has the name %s, too", other)
	}
}

// TestMarksSecretAndPodsOfKeys checks the labels of the Secret, and the annotation of pods that have its keys.
func TestMarksSecretAndPodsOfKeys(t *testing.T) {
	c, _ := start(t, fernet())
	want := map[string]string{
		"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "cobaltcore-companion", "openstack.c5c3.io/keys": "fernet",
	}
	if diff := cmp.Diff(want, c.secret().Labels); diff != "" || c.secret().Type != corev1.SecretTypeOpaque {
		t.Errorf("type %s (-want +got):\n%s", c.secret().Type, diff)
	}
	if got := podAnnotation(secretName); got != "keys.openstack.c5c3.io/keystone-keys" {
		t.Error(got)
	}
}
