package databasesync

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
)

// job returns the first Job of a new database, and its record.
func job(t *testing.T, do func(pod *corev1.PodSpec)) (*batchv1.Job, *record) {
	t.Helper()
	sync := keystone("2025.1")
	do(&sync.Spec.Template.Spec)
	s := steps(&sync.Spec, syncing)[0]
	r := &record{Step: s.key(), Release: s.release, Hash: s.hash, Attempt: 2, Request: request(sync)}
	return newJob(sync, s, r), r
}

func TestNewJob(t *testing.T) {
	j, r := job(t, func(*corev1.PodSpec) {})
	if !batchjob.IsSuspended(j) || *j.Spec.Parallelism != 1 || *j.Spec.Completions != 1 || *j.Spec.BackoffLimit != 0 ||
		*j.Spec.PodReplacementPolicy != batchv1.Failed {
		t.Errorf("not one pod, once: %+v", j.Spec)
	}
	if got, ok := attemptOf(j); !ok || got != *r {
		t.Errorf("has attempt %+v", got)
	}
	sync := keystone("2025.1")
	if !metav1.IsControlledBy(j, sync) || j.Name != jobName(sync, r) || j.Labels[syncLabel] != "keystone" ||
		j.Spec.Template.Labels[syncLabel] != "keystone" {
		t.Errorf("is not found: %+v", j.ObjectMeta)
	}
	if j.Spec.Template.Labels["app"] != "schema" || j.Labels["app"] != "schema" {
		t.Error("the template's labels are lost")
	}
	if got := j.Spec.Template.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"]; got != "false" {
		t.Errorf("a node may be taken away under it: %q", got)
	}
	pod := j.Spec.Template.Spec
	if diff := cmp.Diff([]string{"keystone-manage", "db-sync"}, pod.Containers[0].Command); diff != "" || pod.Containers[0].Args != nil {
		t.Errorf("runs %s, args %v", diff, pod.Containers[0].Args)
	}
	if pod.RestartPolicy != corev1.RestartPolicyNever || *pod.ActiveDeadlineSeconds >= *j.Spec.ActiveDeadlineSeconds {
		t.Errorf("%+v", pod)
	}
	if keystone("2025.1").Spec.Template.Spec.Containers[0].Command != nil {
		t.Error("wrote into the template")
	}
}

// TestPodsAreRestricted: the pod is restricted, except for fields that the template sets.
func TestPodsAreRestricted(t *testing.T) {
	j, _ := job(t, func(pod *corev1.PodSpec) { pod.InitContainers = []corev1.Container{{Name: "wait"}} })
	pod := j.Spec.Template.Spec
	if *pod.AutomountServiceAccountToken || !*pod.SecurityContext.RunAsNonRoot ||
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("pod: %+v", pod.SecurityContext)
	}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		if *c.SecurityContext.AllowPrivilegeEscalation || !cmp.Equal(c.SecurityContext.Capabilities,
			&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}) {
			t.Errorf("container %s: %+v", c.Name, c.SecurityContext)
		}
	}
	own := &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}}
	j, _ = job(t, func(pod *corev1.PodSpec) {
		pod.AutomountServiceAccountToken, pod.Containers[0].SecurityContext = new(true), own
		pod.ActiveDeadlineSeconds = new(int64(60))
	})
	pod = j.Spec.Template.Spec
	c := pod.Containers[0].SecurityContext
	if !*pod.AutomountServiceAccountToken || !*c.ReadOnlyRootFilesystem || len(c.Capabilities.Add) != 1 || *pod.ActiveDeadlineSeconds != 60 {
		t.Errorf("fields of the template are lost: %+v", pod)
	}
}

// TestJobNamesAreValidAndDistinct: names and label values are valid for all names of DatabaseSyncs, and differ between attempts.
func TestJobNamesAreValidAndDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sync := keystone("2025.1")
		sync.Name = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?(\.[a-z0-9]{1,20}){0,8}`).Draw(t, "name")
		r := record{Step: "contract/" + rapid.StringMatching(`[a-z]([-a-z0-9]{0,38}[a-z0-9])?`).Draw(t, "step"), Hash: "x", Attempt: 1}
		name := jobName(sync, &r)
		if e := validation.IsDNS1123Subdomain(name); len(e) > 0 || len(name) > nameLimit {
			t.Fatalf("%s: %v", name, e)
		}
		for _, value := range []string{syncLabelValue(sync.Name), strings.ReplaceAll(r.Step, phaseDivider, ".")} {
			if e := validation.IsValidLabelValue(value); len(e) > 0 {
				t.Fatalf("%s: %v", value, e)
			}
		}
		requeue, edited := r, r
		requeue.Attempt, edited.Request = 2, "other"
		if other := []string{jobName(sync, &requeue), jobName(sync, &edited)}; other[0] == name || other[1] == name || other[0] == other[1] {
			t.Fatalf("%s is the name of another attempt", name)
		}
	})
}

func TestExitCodesDecideResult(t *testing.T) {
	for name, tc := range map[string]struct {
		success, repeat []int32
		code            *int32
		want            string
	}{
		"Zero":            {nil, nil, new(int32(0)), "Succeeded"},
		"One":             {nil, nil, new(int32(1)), "Failed"},
		"Unknown":         {[]int32{0}, []int32{1}, nil, "Failed"},
		"Warning":         {[]int32{0, 1}, nil, new(int32(1)), "Succeeded"},
		"More":            {nil, []int32{1}, new(int32(1)), "Repeat"},
		"NoMore":          {nil, []int32{1}, new(int32(0)), "Succeeded"},
		"ZeroIsNoSuccess": {[]int32{2}, nil, new(int32(0)), "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := step{}
			s.SuccessCodes, s.RepeatCodes = tc.success, tc.repeat
			if got := s.classifyExitCode(tc.code); got != tc.want {
				t.Error(got)
			}
		})
	}
}
