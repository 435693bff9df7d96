package databasesync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestStopsConsumersBeforeSteps: when consumers have to be stopped, and which steps wait for that.
func TestStopsConsumersBeforeSteps(t *testing.T) {
	const one, two = "2025.1", "2025.2"
	// quiet returns a Keystone of 2025.1 whose steps require stopped pods, during an upgrade.
	quiet := func(to string) fixture {
		g := at(one, one)
		s := quiesced(g.sync)
		s.Status.InstalledHash, s.Status.ContractedHash = target(&s.Spec), target(&s.Spec)
		s.Spec.Release, s.Spec.Template.Spec.Containers[0].Image = to, image1(to)
		return g
	}
	checked := func() fixture {
		g := quiet(two)
		g.attempt(checking, 1, openstackv1.StepSucceeded)
		return g
	}
	expanded := func() fixture {
		g := checked()
		g.attempt(expanding, 1, openstackv1.StepSucceeded)
		return g
	}
	installed := func() fixture {
		g := expanded()
		s := &g.sync.Status
		s.InstalledRelease, s.InstalledHash, s.PreviousRelease = two, target(&g.sync.Spec), one
		return g
	}
	suspendedJob := func(g fixture, p phase) fixture {
		_, job := g.attempt(p, 1, "")
		g.addJob(job, "")
		return g
	}
	const waiting = "waiting for all pods that use the database to stop: Pod x runs"
	for name, tc := range map[string]struct {
		reason        string
		g             fixture
		stop, rollout string
		action        string
		wantMessage   string
		stopped       bool // status.quiesce
	}{
		"Check": {reason: "A check runs while the service runs.", g: quiet(two), stop: "Pod x runs",
			action: "create check/upgrade-check 2025.2"},
		"Expand":  {reason: "Pods run, so no Job is created.", g: checked(), stop: "Pod x runs", wantMessage: waiting, stopped: true},
		"Stopped": {reason: "All have stopped.", g: checked(), action: "create expand/expand 2025.2", stopped: true},
		"Recorded": {reason: "One has started before the Job was released.", g: suspendedJob(checked(), expanding), stop: "Pod x runs",
			wantMessage: waiting, stopped: true},
		"Released": {reason: "None has.", g: suspendedJob(checked(), expanding), action: "release", stopped: true},
		"Runs": {
			reason: "They stay stopped until it has ended, even if the spec changes.", stopped: true,
			g: func() fixture {
				g := checked()
				_, job := g.attempt(expanding, 1, "")
				g.addJob(released(job, ""), corev1.PodRunning)
				g.order(one)
				return g
			}(),
		},
		"Ended": {
			reason: "And until that is recorded.", action: "end Succeeded", stopped: false,
			g: func() fixture {
				g := checked()
				_, job := g.attempt(expanding, 1, "")
				g.addJob(released(job, batchv1.JobComplete), corev1.PodSucceeded)
				return g
			}(),
		},
		"Installed": {reason: "The new release starts before contract.", g: expanded()},
		"RollingOut": {
			reason: "It still runs.", g: installed(), stop: "Pod x runs", rollout: "Pod y is old",
			wantMessage: "waiting for all pods to run the new image: Pod y is old",
		},
		"Contract": {reason: "It has started, and is stopped once more.", g: installed(), stop: "Pod x runs", wantMessage: waiting,
			stopped: true},
		"Contracting": {reason: "None runs.", g: installed(), action: "create contract/contract 2025.2", stopped: true},
		"Migrating": {
			reason: "Data is migrated while the service runs.", action: "create migrate/online 2025.2",
			g: func() fixture { g := installed(); g.attempt(contracting, 1, openstackv1.StepSucceeded); return g }(),
		},
		"Patched": {
			reason: "Another image of the same release has no new schema and stops no pods.", stop: "Pod x runs",
			action: "create expand/expand 2025.1",
			g: func() fixture {
				g := quiet(one)
				g.sync.Spec.Template.Spec.Containers[0].Image += "-b"
				return g
			}(),
		},
		"Refused": {reason: "No step will run.", g: func() fixture { g := checked(); g.sync.Spec.UpgradeCheck = nil; g.order("2026.2"); return g }(), stop: "Pod x runs"},
		"Aborted": {reason: "All steps have run.", g: func() fixture { g := checked(); g.order(one); return g }(), stop: "Pod x runs"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.g.stop, tc.g.rollout = tc.stop, tc.rollout
			got, gotMessage := decide(tc.g.observation)
			if got.Action != tc.action || tc.wantMessage != "" && gotMessage != tc.wantMessage {
				t.Errorf("%s\ndoes %q, want %q: %s", tc.reason, got.Action, tc.action, gotMessage)
			}
			if diff := cmp.Diff(tc.stopped, report(tc.g.observation, next(tc.g.observation)).Quiesce); diff != "" {
				t.Errorf("%s\nquiesce, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// order requests another release.
func (g fixture) order(release string) {
	g.edited()
	g.sync.Spec.Release, g.sync.Spec.Template.Spec.Containers[0].Image = release, image1(release)
}

// TestOnlyReleaseChangeStopsConsumers: in a complete life cycle, only a different release stops consumers.
func TestOnlyReleaseChangeStopsConsumers(t *testing.T) {
	c := newCluster(t, quiesced(keystone("2025.1")), secret())
	r, stops := c.reconciler(c.API), 0
	c.onPass = func() {
		if c.sync().Status.Quiesce && len(c.servicePods()) == 0 {
			stops++
		}
	}
	c.reconcileUntil(r, "the end", finished)
	stops = 0
	c.edit(func(s *openstackv1.DatabaseSync) { s.Spec.Template.Spec.Containers[0].Image += "-b" })
	c.reconcileUntil(r, "the end", finished)
	if stops > 0 {
		t.Error("another image of the same release stops the service")
	}
	c.order("2025.2")
	c.reconcileUntil(r, "the end", finished)
	if stops == 0 {
		t.Error("another release does not")
	}
	c.reconcileUntil(r, "pods again", func(*openstackv1.DatabaseSync) bool { return len(c.servicePods()) == 2 })
	c.Verify()
}
