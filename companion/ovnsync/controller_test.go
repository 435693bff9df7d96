package ovnsync

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestCompletesEachRequestOnce: each request is completed once, in its mode.
func TestCompletesEachRequestOnce(t *testing.T) {
	c := newCluster(t, object(), secret())
	c.missingPorts = 2
	r := c.sound()
	for _, step := range []struct {
		reason, request string
		mode            common.OVNSyncMode
		want            common.OVNSyncAnswer
		inSync, summary string
	}{
		{
			reason: "A comparison changes nothing.", request: "first",
			want:   common.OVNSyncAnswer{Request: "first", Mode: common.OVNSyncLog, Differences: 2, Found: ports(2)},
			inSync: "False Drifted", summary: "OVN differs from the Neutron database: Port 2 missing in OVN",
		},
		{
			reason: "Another mode is a new request.", request: "first", mode: common.OVNSyncRepair,
			want:   common.OVNSyncAnswer{Request: "first", Mode: common.OVNSyncRepair, Repaired: 2, Found: ports(2)},
			inSync: "True Repaired", summary: "OVN matches the Neutron database after a repair: Port 2 missing in OVN",
		},
		{
			reason: "So is another text.", request: "after", mode: common.OVNSyncLog,
			want:   common.OVNSyncAnswer{Request: "after", Mode: common.OVNSyncLog},
			inSync: "True InSync", summary: "OVN matches the Neutron database",
		},
	} {
		c.setRequest(step.request, step.mode)
		c.reconcileUntil(r, step.request, c.isAnswered)
		got := *c.object().Status.Answer
		if got.Time == nil {
			t.Errorf("%s\nthere is no time", step.reason)
		}
		got.Time = nil
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", step.reason, diff)
		}
		in := c.condition(conditionInSync)
		if s := string(in.Status) + " " + in.Reason; s != step.inSync || in.Message != step.summary {
			t.Errorf("%s\nInSync is %s: %s", step.reason, s, in.Message)
		}
	}
	for range 400 { // Half an hour without requests.
		c.pass(r)
	}
	if diff := cmp.Diff([]string{"log", "repair", "log"}, c.modes); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	c.Verify()
}

func ports(n int32) []common.OVNDifference {
	return []common.OVNDifference{{Kind: "Port", Missing: n, Examples: []string{"Port found, port_id=1"}}}
}

// TestFinalizerNotRemoved: the differences that remain after a repair are reported, and the repair is not repeated.
func TestFinalizerNotRemoved(t *testing.T) {
	c := newCluster(t, object(func(o *openstackv1.OVNSync) { o.Spec.Mode = common.OVNSyncRepair }), secret())
	c.missingPorts, c.stubborn = 1, 1
	r := c.sound()
	c.reconcileUntil(r, "an answer", c.isAnswered)
	for range 100 {
		c.pass(r)
	}
	want := "after a repair of 2 differences, these remain: Port 1 missing in OVN"
	if in := c.condition(conditionInSync); in.Reason != "NotRepaired" || in.Message != want || len(c.modes) != 1 {
		t.Errorf("%+v after %v", in, c.modes)
	}
}

// TestRetriesFailedRunsWithDelay: a failed run is retried with an increasing delay; the reason is reported without secrets.
func TestRetriesFailedRunsWithDelay(t *testing.T) {
	c := newCluster(t, object(), secret())
	c.exits = func() int32 { return 1 }
	r := c.sound()
	for end := start.Add(time.Hour); c.Clock.Now().Before(end); {
		c.pass(r)
	}
	if n := len(c.modes); n < 8 || n > 14 {
		t.Errorf("it ran %d times in an hour", n)
	}
	ready := c.condition(conditionReady)
	if ready.Status != metav1.ConditionFalse || strings.Contains(c.recordedText(), "hunter2") {
		t.Error(c.recordedText())
	}
	c.reconcileUntil(r, "the pause", func() bool { return c.condition(conditionReady).Reason == "CommandFailed" })
	if got, want := c.condition(conditionReady).Message, "the comparison failed and is retried: exit code 1, last line"; got != want {
		t.Error(got)
	}
	c.exits = func() int32 { return 0 }
	before := c.Clock.Now()
	c.setRequest("another", "") // It does not wait.
	c.reconcileUntil(r, "an answer", c.isAnswered)
	if waited := c.Clock.Now().Sub(before); waited > 2*time.Minute {
		t.Errorf("it was completed after %s", waited)
	}
	c.Verify()
}

// TestRetriesRunWithUnreadableOutput: exit code 0 without a readable output is no answer.
func TestRetriesRunWithUnreadableOutput(t *testing.T) {
	c := newCluster(t, object(), secret())
	c.LogsUnavailable = true
	r := c.sound()
	c.reconcileUntil(r, "a run", func() bool { return c.condition(conditionReady).Reason == "CommandFailed" })
	if got, want := c.condition(conditionReady).Message, "the comparison failed and is retried: its output cannot be read"; got != want {
		t.Error(got)
	}
	c.LogsUnavailable = false
	c.reconcileUntil(r, "an answer", c.isAnswered)
}

// TestNextAttemptTime: the message contains what a run waits for.
func TestNextAttemptTime(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*openstackv1.OVNSync)
		others func(*cluster)
		want   string
	}{
		"Secret": {
			reason: "A pod would hang.",
			others: func(c *cluster) { c.Must(c.API.Delete(context.Background(), secret())) },
			want:   "Waiting: spec.template refers to Secret database, which does not exist",
		},
		"Containers": {
			reason: "No container would run the tool.",
			change: func(o *openstackv1.OVNSync) { o.Spec.Template.Spec.Containers = nil },
			want:   "InvalidSpec: spec.template.spec.containers must not be empty: the first container runs Neutron's tool",
		},
		"Image": {
			reason: "The condition has precedence.",
			change: func(o *openstackv1.OVNSync) { o.Spec.Template.Spec.Containers[0].Image = "unpullable" },
			want: `Waiting: Log of request "first" runs in Job neutron-ovn-sync: its pod cannot start: ` +
				"ImagePullBackOff: no such image",
		},
		"Name": {
			reason: "Objects of others are not changed.",
			others: func(c *cluster) {
				c.Must(c.API.Create(context.Background(), &batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{Name: "neutron-ovn-sync", Namespace: namespace},
					Spec:       batchv1.JobSpec{Suspend: new(true)},
				}))
			},
			want: "Waiting: Job neutron-ovn-sync uses the name reserved for the Job of this OVNSync but is not owned by one: delete it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*openstackv1.OVNSync)
			if tc.change != nil {
				changes = append(changes, tc.change)
			}
			c := newCluster(t, object(changes...), secret())
			if tc.others != nil {
				tc.others(c)
			}
			r := c.sound()
			for range 8 {
				c.pass(r)
			}
			ready := c.condition(conditionReady)
			if got := ready.Reason + ": " + ready.Message; got != tc.want || ready.Status != metav1.ConditionFalse {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReplacesBlockedJobOfEarlierSpec: a Job that was created for an earlier spec and cannot start is replaced.
func TestReplacesBlockedJobOfEarlierSpec(t *testing.T) {
	c := newCluster(t, object(func(o *openstackv1.OVNSync) { o.Spec.Template.Spec.Containers[0].Image = "unpullable" }), secret())
	r := c.sound()
	for range 8 {
		c.pass(r)
	}
	c.edit(func(o *openstackv1.OVNSync) { o.Spec.Template.Spec.Containers[0].Image = "neutron:2026.1" })
	c.reconcileUntil(r, "an answer", c.isAnswered)
	c.Verify()
}

// TestJobRunsOneRestrictedPodOnce: a Job has one restricted pod, which runs once.
func TestJobRunsOneRestrictedPodOnce(t *testing.T) {
	o := object()
	job := newJob(o, &run{JobRun: openstackv1.JobRun{Number: 1}, Request: "first", Mode: common.OVNSyncRepair})
	pod := job.Spec.Template.Spec
	secured := pod.Containers[0].SecurityContext
	switch {
	case pod.RestartPolicy != corev1.RestartPolicyNever, *job.Spec.BackoffLimit != 0, !*job.Spec.Suspend, *job.Spec.Parallelism != 1:
		t.Errorf("%+v", job.Spec)
	case *pod.AutomountServiceAccountToken, !*pod.SecurityContext.RunAsNonRoot, *secured.AllowPrivilegeEscalation,
		secured.Capabilities.Drop[0] != "ALL", pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
		t.Errorf("%+v, %+v", pod.SecurityContext, secured)
	case pod.Containers[0].Command[3] != "repair":
		t.Error(pod.Containers[0].Command)
	case o.Spec.Template.Spec.RestartPolicy != "":
		t.Error("the template is changed")
	case !metav1.IsControlledBy(job, o), job.Labels[syncLabel] != "neutron-ovn-sync", job.Spec.Template.Labels["app"] != "schema":
		t.Errorf("%+v", job.ObjectMeta)
	}
}
