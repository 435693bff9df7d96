package batchjob

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestListPodsSortsOwnPodsByAge: a Job's own pods are listed, the newest last, and pods of the same second by name.
func TestListPodsSortsOwnPodsByAge(t *testing.T) {
	job, other := &batchv1.Job{}, &batchv1.Job{}
	job.Name, job.UID, other.Name, other.UID = "job", "job-uid", "other", "other-uid"
	pod := func(name string, seconds int, of *batchv1.Job) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.Time{Time: time.Unix(1e9, 0).Add(time.Duration(seconds) * time.Second)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, batchv1.SchemeGroupVersion.WithKind("Job"))},
		}}
	}
	var got []string
	for _, p := range ListPods(job, []corev1.Pod{pod("a", 2, job), pod("d", 1, job), pod("x", 3, other), pod("c", 1, job)}) {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"c", "d", "a"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestStarted: a pod with a container that ever ran may have written, as well as one that has ended.
func TestStarted(t *testing.T) {
	of := func(state, before corev1.ContainerState) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "keystone", State: state, LastTerminationState: before}}
	}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	finished := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   bool
	}{
		"New":   {corev1.PodStatus{Phase: corev1.PodPending}, false},
		"Waits": {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: of(waiting, corev1.ContainerState{})}, false},
		"Runs":  {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: of(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{})}, true},
		"Init": {corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: of(finished, corev1.ContainerState{}),
			ContainerStatuses: of(waiting, corev1.ContainerState{})}, true},
		"Restarted": {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: of(waiting, finished)}, true},
		"Ended":     {corev1.PodStatus{Phase: corev1.PodFailed}, true},
	} {
		if got := Started(&corev1.Pod{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestReportsWhyPodCannotStart: the reason why a pod cannot start is returned, but not the normal phases of a start.
func TestReportsWhyPodCannotStart(t *testing.T) {
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
		}}
	}
	scheduled := func(status corev1.ConditionStatus) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"},
			{Type: corev1.PodScheduled, Status: status, Reason: "Unschedulable", Message: "0/3 nodes"},
		}}
	}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"Image":     {waiting("ErrImagePull", "no such image"), "ErrImagePull: no such image"},
		"NoMessage": {waiting("ImagePullBackOff", ""), "ImagePullBackOff"},
		"Creating":  {waiting("ContainerCreating", ""), ""},
		"Init":      {waiting("PodInitializing", ""), ""},
		"NoReason":  {waiting("", "soon"), ""},
		"NoNode":    {scheduled(corev1.ConditionFalse), "Unschedulable: 0/3 nodes"},
		"HasNode":   {scheduled(corev1.ConditionTrue), ""},
	} {
		if got := PodStartProblem(&corev1.Pod{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestDescribeFailure: the reason is the exit code and the last output line, truncated.
func TestDescribeFailure(t *testing.T) {
	for want, tc := range map[string]struct {
		code   *int32
		output string
	}{
		"the result of the run is unknown":         {},
		"its pod no longer exists":                 {output: "its pod no longer exists"},
		"exit code 0":                              {code: new(int32(0))},
		"exit code 7, refused":                     {code: new(int32(7)), output: "step output\nrefused"},
		"exit code 1, " + strings.Repeat("x", 300): {code: new(int32(1)), output: strings.Repeat("x", 301)},
	} {
		if got := DescribeFailure(tc.code, tc.output); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := FailureMessage(&openstackv1.JobRun{ExitCode: new(int32(0)), Log: "not a table"}); got != "not a table" {
		t.Errorf("exit code 0 is not the reason: %q", got)
	}
}

func TestSentence(t *testing.T) {
	for want, in := range map[string][2]string{
		"no reason is known": {"", ""}, "Evicted": {"Evicted", ""}, "Failed: no memory": {"", "no memory"}, "Evicted: no memory": {"Evicted",
			"no memory"},
	} {
		if got := sentence(in[0], in[1]); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestOutputRequestsLastLinesOfContainer: the last fifty lines of one container are requested.
func TestOutputRequestsLastLinesOfContainer(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "cloud"}}
	api := fake.NewClientset(pod)
	if _, err := Output(api.CoreV1(), 50)(context.Background(), pod, "keystone"); err != nil {
		t.Fatal(err)
	}
	queried, ok := api.Actions()[0].(clienttesting.GenericAction)
	if !ok {
		t.Fatalf("%+v", api.Actions())
	}
	if diff := cmp.Diff(&corev1.PodLogOptions{Container: "keystone", TailLines: new(int64(50))}, queried.GetValue()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestResultContainsTerminationMessage: the result contains the message of the container, and no digest without an image ID.
func TestResultContainsTerminationMessage(t *testing.T) {
	j := job()
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j,
			batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: j.Spec.Template.Spec,
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "keystone", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "47147121"}},
		}}},
	}
	if got := GetResult(j, []corev1.Pod{pod}); got.Message != "47147121" || got.Digest != "" || got.Pod == nil || got.Container != "keystone" {
		t.Errorf("%+v", got)
	}
}

func TestGetResult(t *testing.T) {
	terminated := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name, ImageID: "docker-pullable://registry.example.com/keystone@sha256:0123",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
		}
	}
	const digest = "sha256:0123"
	for name, tc := range map[string]struct {
		reason string
		end    batchv1.JobConditionType
		// status of the pod; nil: it does not exist.
		status *corev1.PodStatus
		want   Result
	}{
		"Code": {"The exit code.", batchv1.JobFailed, &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("keystone",
			3)}}, Result{Code: new(int32(3)), Digest: digest, Container: "keystone"}},
		"Zero": {"The same.", batchv1.JobComplete, &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("keystone",
			0)}}, Result{Code: new(int32(0)), Digest: digest, Container: "keystone"}},
		"Complete": {"A Job is complete only with exit code 0.", batchv1.JobComplete, nil, Result{Code: new(int32(0))}},
		"Gone": {"The result is unknown.", batchv1.JobFailed, nil,
			Result{FailureMessage: "its pod no longer exists (DeadlineExceeded: too long)"}},
		"Stopped": {
			"A command that was stopped may exit with 0 before it is complete.", batchv1.JobFailed,
			&corev1.PodStatus{Reason: "Evicted", Message: "no memory", ContainerStatuses: []corev1.ContainerStatus{terminated("keystone", 0)}},
			Result{FailureMessage: "Evicted: no memory", Digest: digest, Container: "keystone"},
		},
		"Init": {
			"The step did not start.", batchv1.JobFailed, &corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{terminated("wait",
				7)}},
			Result{FailureMessage: "its init container wait exited with code 7", Container: "wait"},
		},
		"Sidecar": {
			"Only the first container counts.", batchv1.JobFailed, &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{terminated("proxy", 9)}},
			Result{FailureMessage: "DeadlineExceeded: too long", Container: "keystone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := job()
			j.Status.Conditions = []batchv1.JobCondition{{Type: tc.end, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded",
				Message: "too long"}}
			var pods []corev1.Pod
			if tc.status != nil {
				pods = []corev1.Pod{{
					ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j,
						batchv1.SchemeGroupVersion.WithKind("Job"))}},
					Spec: j.Spec.Template.Spec, Status: *tc.status,
				}}
			}
			got := GetResult(j, pods)
			got.Pod = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func job() *batchv1.Job {
	j := &batchv1.Job{}
	j.Name, j.UID = "job", "job-uid"
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "keystone"}}
	return j
}
