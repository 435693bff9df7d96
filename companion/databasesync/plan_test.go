package databasesync

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// fixture is an observation to decide about: a Keystone of 2025.1 that was installed long ago, if from is set, with changes.
type fixture struct {
	*observation
}

func at(from, release string) fixture {
	s := keystone(from)
	if from != "" {
		s = standing()[0].(*openstackv1.DatabaseSync)
	}
	s.Generation = 2
	s.Spec.Release, s.Spec.Template.Spec.Containers[0].Image = release, image1(release)
	return fixture{&observation{sync: s, now: start}}
}

// attempt records an attempt of the requested step and returns its Job after its creation.
func (g fixture) attempt(p phase, n int32, end string) (*record, *batchv1.Job) {
	s := steps(&g.sync.Spec, p)[0]
	r := record{
		Step: s.key(), Release: s.release, Image: image(&g.sync.Spec), Hash: s.hash, Attempt: n, Request: request(g.sync),
		Quiesced: g.quiesced(s),
		Started:  &metav1.Time{Time: start}, Result: end,
	}
	if end != "" {
		r.Finished = &metav1.Time{Time: start}
	}
	job := newJob(g.sync, s, &r)
	job.UID = "job-uid"
	g.sync.Status.History = append(g.sync.Status.History, r)
	return &g.sync.Status.History[len(g.sync.Status.History)-1], job
}

// addJob adds a Job to the observation, with a pod if a phase is given.
func (g fixture) addJob(job *batchv1.Job, pod corev1.PodPhase) {
	g.jobs = append(g.jobs, *job)
	if pod == "" {
		return
	}
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job,
			batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: job.Spec.Template.Spec, Status: corev1.PodStatus{Phase: pod},
	}
	state := corev1.ContainerStatus{Name: "keystone"}
	switch pod {
	case corev1.PodRunning:
		state.State.Running = &corev1.ContainerStateRunning{}
	case corev1.PodPending:
		state.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}
	case corev1.PodFailed:
		state.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2}
	default:
		state.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 0}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{state}
	g.pods = append(g.pods, p)
}

// released returns a released or a finished Job.
func released(job *batchv1.Job, end batchv1.JobConditionType) *batchv1.Job {
	job.Spec.Suspend = new(false)
	if end != "" {
		job.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"}}
	}
	return job
}

// edited changes the generation of the spec.
func (g fixture) edited() { g.sync.Generation++ }

// upgraded: expand has run for 2025.2.
func upgraded() fixture {
	g := at("2025.1", "2025.2")
	g.attempt(checking, 1, openstackv1.StepSucceeded)
	g.attempt(expanding, 1, openstackv1.StepSucceeded)
	s := &g.sync.Status
	s.InstalledRelease, s.InstalledHash, s.PreviousRelease = "2025.2", target(&g.sync.Spec), "2025.1"
	return g
}

// decision contains the compared fields of a plan.
type decision struct {
	// Action is "create expand/expand #1", "record …", "release", "suspend", "remove", "end Failed", "drop"; "" if it waits.
	Action string
	Phase  string
	// Installed is the installed release after the plan, and Previous the release to which an upgrade may be aborted.
	Installed, Previous string
	Contracted          string
	Rejected            string
}

func decide(w *observation) (decision, string) {
	p := next(w)
	d := decision{Phase: p.phase, Installed: p.status.InstalledRelease, Previous: p.status.PreviousRelease,
		Contracted: p.status.ContractedRelease}
	before, after := w.sync.Status.History, p.status.History
	switch {
	case p.create != nil:
		d.Action = "create " + p.create.Step + " " + p.create.Release
	case p.release != nil:
		d.Action = "release"
	case p.suspend != nil:
		d.Action = "suspend"
	case p.remove != nil:
		d.Action = "remove"
	case len(after) < len(before):
		d.Action = "drop"
	case len(after) > len(before):
		d.Action = "record " + after[len(after)-1].Step
	case len(after) > 0 && before[len(before)-1].Result != after[len(after)-1].Result:
		d.Action = "end " + after[len(after)-1].Result
	}
	if p.rejected {
		d.Rejected = p.reason
	}
	return d, p.message
}

func TestNext(t *testing.T) {
	const one, two = "2025.1", "2025.2"
	old := decision{Installed: one, Contracted: one}
	with := func(d decision, does, phase string) decision {
		d.Action, d.Phase = does, phase
		return d
	}
	expanded := decision{Installed: two, Previous: one, Contracted: one}
	for name, tc := range map[string]struct {
		reason  string
		fixture func() fixture
		want    decision
		// wantMessage is a part of the message.
		wantMessage string
	}{
		"New": {
			"A new database requires sync.", func() fixture { return at("", one) },
			decision{Action: "create sync/db-sync " + one, Phase: "Syncing"}, "",
		},
		"NewWithoutPassword": {
			"No Job is created whose pod could not start.", func() fixture {
				g := at("", one)
				g.missing = []string{"Secret database", "ConfigMap files"}
				return g
			}, decision{Phase: "Pending"}, "is waiting for Secret database, ConfigMap files",
		},
		"NoImage": {
			"A spec from which no Job can be created is rejected.", func() fixture {
				g := at("", one)
				g.sync.Spec.Template.Spec.Containers = nil
				return g
			}, decision{Phase: "Failed", Rejected: "TemplateInvalid"}, "the first container runs the steps",
		},
		"Made": {
			"The attempt is recorded when its suspended Job exists.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.sync.Status.History = nil
				g.addJob(job, "")
				return g
			}, decision{Action: "record sync/db-sync", Phase: "Syncing"}, "",
		},
		"Recorded": {
			"Then it may start.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(job, "")
				return g
			}, decision{Action: "release", Phase: "Syncing"}, "",
		},
		"RecordedBesideAnother": {
			"Not while another process may write.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				other := released(job.DeepCopy(), "")
				other.Name, other.OwnerReferences = "of-an-earlier-databasesync", nil
				g.addJob(job, "")
				g.addJob(other, "")
				return g
			}, decision{Phase: "Syncing"}, "waiting for Job of-an-earlier-databasesync to end",
		},
		"RecordedBesideAPod": {
			"Nor while a pod outlives its Job.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(job, "")
				g.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "lost"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}
				return g
			}, decision{Phase: "Syncing"}, "force-delete it",
		},
		"Runs": {
			"It is completed first.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(released(job, ""), corev1.PodRunning)
				return g
			}, decision{Phase: "Syncing"}, "runs in Job keystone-sync-db-sync-",
		},
		"CannotStart": {
			"The message contains why it cannot start.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(released(job, ""), corev1.PodPending)
				return g
			}, decision{Phase: "Syncing"}, "cannot start: ErrImagePull: no such image",
		},
		"CannotStartForAnEarlierSpec": {
			"Another image may help.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(released(job, ""), corev1.PodPending)
				g.edited()
				return g
			}, decision{Action: "suspend", Phase: "Syncing"}, "is cancelled",
		},
		"Cancelled": {
			"The record is kept while a pod may start.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(job, corev1.PodPending)
				g.edited()
				return g
			}, decision{Phase: "Syncing"}, "is cancelled",
		},
		"CancelledForGood": {
			"Then it is removed.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(job, "")
				g.edited()
				return g
			}, decision{Action: "drop", Phase: "Syncing"}, "",
		},
		"CancelledTooLate": {
			"The record of a started attempt is kept.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(job, corev1.PodRunning)
				g.edited()
				return g
			}, decision{Action: "remove", Phase: "Syncing"}, "",
		},
		"RunsForAnEarlierSpec": {
			"A running attempt is not stopped.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(released(job, ""), corev1.PodRunning)
				g.edited()
				return g
			}, decision{Phase: "Syncing"}, "for an earlier spec",
		},
		"Dropped": {
			"A Job that never started is deleted with its record.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.sync.Status.History = nil
				g.addJob(released(job, ""), corev1.PodPending)
				return g
			}, decision{Action: "remove"}, "never started",
		},
		"DroppedAndStarted": {
			"Unless it has started.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.sync.Status.History = nil
				g.addJob(released(job, ""), corev1.PodRunning)
				return g
			}, decision{Action: "record sync/db-sync", Phase: "Syncing"}, "is adopted",
		},
		"MadeForAnEarlierSpec": {
			"A suspended Job of an earlier spec is deleted first.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.sync.Status.History = nil
				g.addJob(job, "")
				g.edited()
				return g
			}, decision{Action: "remove"}, "",
		},
		"MadeTooLate": {
			"So is a Job that a delayed leader created for a finished attempt.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, openstackv1.StepFailed)
				g.addJob(job, "")
				return g
			}, decision{Action: "remove"}, "",
		},
		"Succeeded": {
			"The result is recorded.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(released(job, batchv1.JobComplete), corev1.PodSucceeded)
				return g
			}, decision{Action: "end Succeeded", Phase: "Syncing"}, "",
		},
		"Failed": {
			"The same.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(released(job, batchv1.JobFailed), corev1.PodFailed)
				return g
			}, decision{Action: "end Failed", Phase: "Syncing"}, "",
		},
		"EndedButNotItsPod": {
			"A terminating pod may still write.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 1, "")
				g.addJob(released(job, batchv1.JobFailed), corev1.PodRunning)
				return g
			}, decision{Phase: "Syncing"}, "runs in Job",
		},
		"Vanished": {
			"The result is unknown.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, "")
				return g
			}, decision{Action: "end Failed", Phase: "Syncing"}, "",
		},
		"VanishedButNotItsPod": {
			"It may still complete the step.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, "")
				g.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "orphan"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}
				return g
			}, decision{Phase: "Syncing"}, "Pod orphan",
		},
		"VanishedAfterItsEnd": {
			"A recorded Job is not needed.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, openstackv1.StepSucceeded)
				return g
			}, decision{Phase: "RollingOut", Installed: one, Contracted: one}, "serves release 2025.1",
		},
		"BacksOff": {
			"A failed step is delayed.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, openstackv1.StepFailed)
				return g
			}, decision{Phase: "Failed"}, "is retried at 2026-03-02T12:00:10Z",
		},
		"RetriesInTime": {
			"And is retried.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, openstackv1.StepFailed)
				g.now = g.now.Add(10 * time.Second)
				return g
			}, decision{Action: "create sync/db-sync " + one, Phase: "Syncing"}, "",
		},
		"BacksOffByAClockThatIsSlow": {
			"A clock that is slightly slow delays it slightly.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, openstackv1.StepFailed)
				g.now = g.now.Add(-5 * time.Second)
				return g
			}, decision{Phase: "Failed"}, "is retried at 2026-03-02T12:00:10Z",
		},
		"RetriesByAClockThatWasSetBack": {
			"A clock that was set back does not delay it until the old time.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, openstackv1.StepFailed)
				g.now = g.now.Add(-2 * time.Hour)
				return g
			}, decision{Action: "create sync/db-sync " + one, Phase: "Syncing"}, "",
		},
		"RetriesAfterAnEdit": {
			"Immediately if the spec has changed.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, openstackv1.StepFailed)
				g.edited()
				return g
			}, decision{Action: "create sync/db-sync " + one, Phase: "Syncing"}, "",
		},
		"RetriesWhenAsked": {
			"And with the annotation.", func() fixture {
				g := at("", one)
				g.attempt(syncing, 1, openstackv1.StepFailed)
				g.sync.Annotations = map[string]string{RetryAnnotation: "now"}
				return g
			}, decision{Action: "create sync/db-sync " + one, Phase: "Syncing"}, "",
		},
		"Repeats": {
			"A step with the result Repeat runs again immediately.", func() fixture {
				g := upgraded()
				g.attempt(contracting, 1, openstackv1.StepSucceeded)
				g.attempt(migrating, 1, openstackv1.StepRepeat)
				g.sync.Status.PreviousRelease = ""
				return g
			}, decision{Action: "create migrate/online " + two, Phase: "Migrating", Installed: two, Contracted: one}, "",
		},
		"Done": {"All steps have run.", func() fixture { return at(one, one) }, with(old, "", "Done"), "all steps have run"},
		"OtherConfiguration": {
			"A schema does not depend on it.", func() fixture {
				g := at(one, one)
				g.sync.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "files"}}
				return g
			}, with(old, "", "Done"), "",
		},
		"OtherImage": {
			"The steps of an upgrade run, without the check.", func() fixture {
				g := at(one, one)
				g.sync.Spec.Template.Spec.Containers[0].Image += "-b"
				return g
			}, with(old, "create expand/expand "+one, "Expanding"), "",
		},
		"Upgrade": {"It starts with the check.", func() fixture { return at(one, two) }, with(old, "create check/upgrade-check "+two,
			"Expanding"), ""},
		"UpgradeSkip": {"From one SLURP release to the next.", func() fixture { return at(one, "2026.1") }, with(old,
			"create check/upgrade-check 2026.1", "Expanding"), ""},
		"UpgradeTooFar": {
			"Not further.", func() fixture { return at(one, "2026.2") },
			decision{Phase: "Failed", Installed: one, Contracted: one, Rejected: "UpgradeRejected"}, "upgrade to 2025.2 or 2026.1 first",
		},
		"UpgradeChecked": {
			"Then the schema is expanded.", func() fixture {
				g := at(one, two)
				g.attempt(checking, 1, openstackv1.StepSucceeded)
				return g
			}, with(old, "create expand/expand "+two, "Expanding"), "",
		},
		"Expanded": {
			"From here on pods of both releases may run.", func() fixture {
				g := at(one, two)
				g.attempt(checking, 1, openstackv1.StepSucceeded)
				g.attempt(expanding, 1, openstackv1.StepSucceeded)
				return g
			}, with(expanded, "", "RollingOut"), "serves release 2025.2",
		},
		"RollingOut": {
			"Contract waits for all pods.", func() fixture {
				g := upgraded()
				g.rollout = "1 of 2 pods of Deployment keystone use its current template"
				return g
			}, with(expanded, "", "RollingOut"), "1 of 2 pods",
		},
		"RolledOut": {"Then it runs.", upgraded, with(expanded, "create contract/contract "+two, "Contracting"), ""},
		"ContractRecorded": {
			"The same write prevents an abort.", func() fixture {
				g := upgraded()
				_, job := g.attempt(contracting, 1, "")
				g.sync.Status.History = g.sync.Status.History[:len(g.sync.Status.History)-1]
				g.addJob(job, "")
				return g
			}, decision{Action: "record contract/contract", Phase: "Contracting", Installed: two, Contracted: one}, "",
		},
		"ContractRecordedAndRolledBack": {
			"It is not released while a pod runs another image.", func() fixture {
				g := upgraded()
				_, job := g.attempt(contracting, 1, "")
				g.addJob(job, "")
				g.rollout = "Deployment keystone still uses another image"
				return g
			}, with(expanded, "", "RollingOut"), "still uses another image",
		},
		"ContractFailed": {
			"The service keeps running: it has not failed.", func() fixture {
				g := upgraded()
				g.sync.Status.PreviousRelease = ""
				g.attempt(contracting, 1, openstackv1.StepFailed)
				return g
			}, decision{Phase: "Contracting", Installed: two, Contracted: one}, "is retried at",
		},
		"StepsCompleted": {
			"All steps have run.", func() fixture {
				g := upgraded()
				g.attempt(contracting, 1, openstackv1.StepSucceeded)
				g.attempt(migrating, 1, openstackv1.StepSucceeded)
				return g
			}, decision{Phase: "Done", Installed: two, Contracted: two}, "all steps have run for release 2025.2",
		},
		"AbortedWhileExpandFails": {
			"An expanded schema serves both.", func() fixture {
				g := at(one, two)
				g.attempt(expanding, 1, openstackv1.StepFailed)
				g.sync.Spec = keystone(one).Spec
				return g
			}, with(old, "", "Done"), "",
		},
		"AbortedWithAnotherImage": {
			"No step of the old release runs on it.", func() fixture {
				g := at(one, two)
				g.attempt(expanding, 1, openstackv1.StepFailed)
				g.sync.Spec = keystone(one).Spec
				g.sync.Spec.Template.Spec.Containers[0].Image += "-b"
				return g
			}, with(old, "", "Done"), "was aborted",
		},
		"AbortedAfterExpand": {
			"The same.", func() fixture {
				g := upgraded()
				g.sync.Spec = keystone(one).Spec
				return g
			}, with(old, "", "Done"), "was aborted",
		},
		"AbortedAfterContract": {
			"Too late.", func() fixture {
				g := upgraded()
				g.attempt(contracting, 1, openstackv1.StepFailed)
				g.sync.Status.PreviousRelease = ""
				g.sync.Spec = keystone(one).Spec
				return g
			}, decision{Phase: "Failed", Installed: two, Contracted: one, Rejected: "UpgradeIncomplete"}, "set release to 2025.2 again",
		},
		"AbortedAfterSync": {
			"An upgrade by sync cannot be aborted.", func() fixture {
				g := at(one, two)
				g.attempt(syncing, 1, openstackv1.StepFailed)
				g.sync.Spec = keystone(one).Spec
				return g
			}, decision{Phase: "Failed", Installed: one, Contracted: one, Rejected: "DowngradeImpossible"},
			"set release to 2025.2 again, or restore the database",
		},
		"BackFromAhead": {
			"A step of 2025.2 does not support the schema of 2026.1.", func() fixture {
				g := at(one, "2026.1")
				g.attempt(expanding, 1, openstackv1.StepFailed)
				g.sync.Spec = keystone(two).Spec
				return g
			}, decision{Phase: "Failed", Installed: one, Contracted: one, Rejected: "UpgradeRejected"}, "cannot go back from 2026.1 to 2025.2",
		},
		"Resumed": {
			"Steps that succeeded before the upgrade was aborted do not run again.", func() fixture {
				g := upgraded()
				s := &g.sync.Status
				s.InstalledRelease, s.InstalledHash, s.PreviousRelease = one, s.ContractedHash, ""
				return g
			}, with(expanded, "", "RollingOut"), "",
		},
		"NextBeforeTheEnd": {
			"One upgrade after the other.", func() fixture {
				g := upgraded()
				g.sync.Spec = keystone("2026.1").Spec
				return g
			}, decision{Phase: "Failed", Installed: two, Previous: one, Contracted: one, Rejected: "UpgradeIncomplete"},
			"required before release 2026.1",
		},
		"StatusLost": {
			"The record of a Job is adopted.", func() fixture {
				g := at("", one)
				_, job := g.attempt(syncing, 3, "")
				g.sync.Status = openstackv1.DatabaseSyncStatus{}
				g.addJob(released(job, batchv1.JobComplete), corev1.PodSucceeded)
				return g
			}, decision{Action: "record sync/db-sync", Phase: "Syncing"}, "is adopted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := tc.fixture()
			got, message := decide(g.observation)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if !strings.Contains(message, tc.wantMessage) {
				t.Errorf("%s Message: %s", tc.reason, message)
			}
		})
	}
}
