package databasesync

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them.
var stride = flag.Int("crash.every", effort.Of(797, 29), "make every n-th run of TestRecoversFromFaultAtAnyCall")

// lifecycleCase is a life cycle that is repeated with a fault at each call.
type lifecycleCase struct {
	// found is the release of an existing schema in a database that is new to the DatabaseSync, whose first spec requests
	// release.
	found, release string
	// from is the release for which all steps have run at the start. Empty: the database is new.
	from string
	live func(*cluster, *Reconciler)
	// quiesced is set if steps require stopped pods.
	quiesced bool
	// reordered is set if, at the faulty call, the upgrade was aborted and requested again before the controller continues.
	reordered bool
	// want are the steps that start, in order, without faults.
	want []string
	// serves is the final release of the schema.
	serves string
}

var lives = map[string]lifecycleCase{
	"empty": {
		release: "2025.1",
		live:    func(c *cluster, r *Reconciler) { c.reconcileUntil(r, "the end", finished) },
		want:    []string{"version/db-version 2025.1 #1", "sync/db-sync 2025.1 #1", "sync/db-sync 2025.1 #2"},
		serves:  "2025.1",
	},
	"restored": {
		found: "2025.1", release: "2026.1",
		live: func(c *cluster, r *Reconciler) { c.reconcileUntil(r, "the end", finished) },
		want: []string{
			"version/db-version 2026.1 #1", "check/upgrade-check 2026.1 #1", "expand/expand 2026.1 #1", "expand/expand 2026.1 #2",
			"contract/contract 2026.1 #1", "migrate/online 2026.1 #1", "migrate/online 2026.1 #2", "migrate/online 2026.1 #3",
		},
		serves: "2026.1",
	},
	"rejected, then the existing release requested": {
		found: "2025.1", release: "2026.2",
		live: func(c *cluster, r *Reconciler) {
			c.reconcileUntil(r, "a refusal", func(s *openstackv1.DatabaseSync) bool {
				ready := meta.FindStatusCondition(s.Status.Conditions, conditionReady)
				return ready != nil && ready.Reason == "UpgradeRejected" || finished(s)
			})
			c.order("2025.1")
			c.reconcileUntil(r, "the end", finished)
		},
		want:   []string{"version/db-version 2026.2 #1", "version/db-version 2025.1 #1", "sync/db-sync 2025.1 #1", "sync/db-sync 2025.1 #2"},
		serves: "2025.1",
	},
	"first sync": {
		live: func(c *cluster, r *Reconciler) {
			c.Must(c.API.Delete(context.Background(), secret()))
			for range 4 {
				c.pass(r)
			}
			c.Must(c.API.Create(context.Background(), secret()))
			c.reconcileUntil(r, "the end", finished)
		},
		want:   []string{"sync/db-sync 2025.1 #1", "sync/db-sync 2025.1 #2"},
		serves: "2025.1",
	},
	"upgrade": {
		from: "2025.1",
		live: func(c *cluster, r *Reconciler) {
			c.order("2025.2")
			c.reconcileUntil(r, "the end", finished)
		},
		want: []string{
			"check/upgrade-check 2025.2 #1", "expand/expand 2025.2 #1", "expand/expand 2025.2 #2", "contract/contract 2025.2 #1",
			"migrate/online 2025.2 #1", "migrate/online 2025.2 #2", "migrate/online 2025.2 #3",
		},
		serves: "2025.2",
	},
	"quiesced": {
		from: "2025.1", quiesced: true,
		live: func(c *cluster, r *Reconciler) {
			c.order("2025.2")
			c.reconcileUntil(r, "the end", finished)
		},
		want: []string{
			"check/upgrade-check 2025.2 #1", "expand/expand 2025.2 #1", "expand/expand 2025.2 #2", "contract/contract 2025.2 #1",
			"migrate/online 2025.2 #1", "migrate/online 2025.2 #2", "migrate/online 2025.2 #3",
		},
		serves: "2025.2",
	},
	"change of mind": {
		from: "2025.1", reordered: true,
		live: func(c *cluster, r *Reconciler) {
			c.order("2025.2")
			c.reconcileUntil(r, "the end", finished)
		},
		want: []string{
			"check/upgrade-check 2025.2 #1", "expand/expand 2025.2 #1", "expand/expand 2025.2 #2", "contract/contract 2025.2 #1",
			"migrate/online 2025.2 #1", "migrate/online 2025.2 #2", "migrate/online 2025.2 #3",
		},
		serves: "2025.2",
	},
	"abort": {
		from: "2025.1",
		live: func(c *cluster, r *Reconciler) {
			c.order("2025.2")
			c.reconcileUntil(r, "expand", func(*openstackv1.DatabaseSync) bool { return slices.Contains(c.starts, "expand/expand 2025.2 #1") })
			c.order("2025.1") // While expand runs.
			c.reconcileUntil(r, "rest", decided)
			c.order("2025.2")
			c.reconcileUntil(r, "the roll-out", func(s *openstackv1.DatabaseSync) bool {
				return s.Status.InstalledRelease == "2025.2" && len(c.servicePods()) == 3 || finished(s)
			})
			c.order("2025.1") // After it, during the rollout.
			c.reconcileUntil(r, "rest", decided)
			c.order("2025.2")
			c.reconcileUntil(r, "the end", finished)
		},
		want: []string{
			"check/upgrade-check 2025.2 #1", "expand/expand 2025.2 #1", "expand/expand 2025.2 #2", "contract/contract 2025.2 #1",
			"migrate/online 2025.2 #1", "migrate/online 2025.2 #2", "migrate/online 2025.2 #3",
		},
		serves: "2025.2",
	},
	"cancelled": {
		from: "2025.1",
		live: func(c *cluster, r *Reconciler) {
			c.Unpullable = image1("2025.2")
			c.order("2025.2")
			c.reconcileUntil(r, "a pod that waits", func(*openstackv1.DatabaseSync) bool {
				pods := c.stepPods()
				return len(pods) > 0 && batchjob.PodStartProblem(&pods[0]) != ""
			})
			c.edit(func(s *openstackv1.DatabaseSync) { s.Spec.Template.Spec.Containers[0].Image += "-b" })
			c.reconcileUntil(r, "the end", finished)
		},
		want: []string{
			"check/upgrade-check 2025.2 #1", "expand/expand 2025.2 #1", "expand/expand 2025.2 #2", "contract/contract 2025.2 #1",
			"migrate/online 2025.2 #1", "migrate/online 2025.2 #2", "migrate/online 2025.2 #3",
		},
		serves: "2025.2",
	},
	"vanished Jobs": {
		from: "2025.1",
		live: func(c *cluster, r *Reconciler) {
			c.order("2025.2")
			for _, step := range []string{"expand/expand 2025.2 #2", "contract/contract 2025.2 #1"} {
				c.reconcileUntil(r, step, func(*openstackv1.DatabaseSync) bool { return slices.Contains(c.starts, step) })
				c.Must(c.API.DeleteAllOf(context.Background(), &batchv1.Job{})) // While it runs.
			}
			c.reconcileUntil(r, "the end", finished)
		},
		want: []string{
			"check/upgrade-check 2025.2 #1", "expand/expand 2025.2 #1", "expand/expand 2025.2 #2", "expand/expand 2025.2 #3",
			"contract/contract 2025.2 #1", "contract/contract 2025.2 #2",
			"migrate/online 2025.2 #1", "migrate/online 2025.2 #2", "migrate/online 2025.2 #3",
		},
		serves: "2025.2",
	},
}

// decided reports whether an upgrade was aborted, or can no longer be aborted.
func decided(s *openstackv1.DatabaseSync) bool {
	ready := meta.FindStatusCondition(s.Status.Conditions, conditionReady)
	return s.Status.ObservedGeneration == s.Generation && (s.Status.Phase == openstackv1.SyncPhaseDone || ready != nil &&
		ready.Reason == "UpgradeRejected")
}

// stubborn makes steps need more than one attempt.
func stubborn(r record) int32 {
	switch {
	case phaseOf(&r) == checking:
		return 1 // A warning.
	case phaseOf(&r).changesSchema() && r.Attempt == 1:
		return 3 // The first attempt fails.
	case phaseOf(&r) == migrating && r.Attempt < 3:
		return 1 // To be repeated.
	}
	return 0
}

// standing returns a Keystone of 2025.1 that was installed long ago: no Job is left.
func standing() []client.Object {
	now := metav1.Time{Time: start}
	s, name := keystone("2025.1"), client.ObjectKey{Namespace: namespace, Name: "keystone"}
	s.Status = openstackv1.DatabaseSyncStatus{
		Phase: openstackv1.SyncPhaseDone, ObservedGeneration: 1, InstalledRelease: "2025.1", InstalledHash: target(&s.Spec),
		ContractedRelease: "2025.1", ContractedHash: target(&s.Spec),
		History: []record{{
			Step: "sync/db-sync", Release: "2025.1", Image: image1("2025.1"), Hash: steps(&s.Spec, syncing)[0].hash, Attempt: 1,
			Request: request(s), Result: openstackv1.StepSucceeded, ExitCode: new(int32(0)), Started: &now, Finished: &now,
		}},
	}
	labels := map[string]string{"app": "keystone"}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "keystone", Image: image1("2025.1")}}}
	out := []client.Object{s, secret(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name.Name, Namespace: name.Namespace, Generation: 1},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2},
	}}
	for _, name := range []string{"keystone-a", "keystone-b"} {
		out = append(out, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}, Spec: pod,
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
	}
	return out
}

// run executes a life cycle with one faulty call.
func (l lifecycleCase) run(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	objects := []client.Object{keystone("2025.1"), secret()}
	if l.from != "" {
		objects = standing()
	}
	if l.quiesced {
		s := quiesced(objects[0].(*openstackv1.DatabaseSync))
		s.Status.InstalledHash, s.Status.ContractedHash = target(&s.Spec), target(&s.Spec)
		s.Status.History[0].Hash = steps(&s.Spec, syncing)[0].hash
	}
	if l.release != "" {
		objects[0] = identified(keystone(l.release))
	}
	c := newCluster(t, objects...)
	c.exits = stubborn
	if l.from != "" {
		c.serves, c.startedAttempts, c.podCount = []string{l.from}, []string{l.from}, len(objects)
	}
	if l.found != "" {
		c.serves, c.startedAttempts = []string{l.found}, []string{l.found}
	}
	a := faultinjection.New(c.API, at)
	c.onPass = a.ReconcileDone
	a.OnConcurrentWrite = func() {
		other := c.reconciler(c.API)
		if l.reordered {
			c.order("2025.1")
			for range 12 {
				c.pass(other)
			}
			c.order("2025.2")
			for range at.Call % 17 { // The controller continues at any point.
				c.pass(other)
			}
			return
		}
		for range 120 {
			c.Clock.SetTime(c.Clock.Now().Add(c.pass(other)))
			if decided(c.sync()) {
				break
			}
		}
		c.Clock.SetTime(c.Clock.Now().Add(25 * time.Hour)) // Finished Jobs are deleted.
		for range 3 {
			c.tick()
		}
	}
	l.live(c, c.reconciler(a.Client()))
	return c, a
}

// verify checks the invariants at the end of a life cycle.
func (l lifecycleCase) verify(t *testing.T, c *cluster) {
	t.Helper()
	c.Verify()
	if len(c.serves) != 1 || c.serves[0] != l.serves {
		t.Errorf("the schema serves %v", c.serves)
	}
	for i, s := range c.starts {
		if slices.Contains(c.starts[:i], s) {
			t.Errorf("%s ran twice", s)
		}
	}
	if t.Failed() {
		t.Log(c.logText(), c.starts)
	}
}

// TestRecoversFromFaultAtAnyCall repeats each life cycle for each API call and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	for name, l := range lives {
		t.Run(name, func(t *testing.T) {
			c, full := l.run(t, faultinjection.NoFault)
			l.verify(t, c)
			if !slices.Equal(c.starts, l.want) {
				t.Errorf("started %q", c.starts)
			}
			all := full.Points()
			points := faultinjection.Sample(all, *stride, nil)
			faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
				c, _ := l.run(t, p)
				l.verify(t, c)
			})
			t.Logf("%d API calls, %d of them writes; %d of %d runs", full.Calls, len(full.Writes), len(points), len(all))
		})
	}
}
