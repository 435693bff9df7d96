package batchjob

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// Timeouts of a Job, in seconds. ActiveDeadline is the default for the pod, so that the pod is retained and its output can be
// read. The Job's deadline is longer by StartDeadline, for a pod that never starts. TTL is the time for which a finished Job
// is kept.
type Timeouts struct {
	ActiveDeadline, StartDeadline int64
	TTL                           int32
}

// Once returns a Job that runs a command in the first container of a template: one pod, once. It is suspended until it is
// recorded. Marks are labels of the Job and its pod, by which each can be found if it outlives the other.
func Once(meta metav1.ObjectMeta, marks map[string]string, template *corev1.PodTemplateSpec, command []string, t Timeouts) *batchv1.Job {
	own := *template.DeepCopy()
	meta.Labels, own.Labels = labels.Merge(template.Labels, marks), labels.Merge(template.Labels, marks)
	pod := &own.Spec
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.ActiveDeadlineSeconds = new(ptr.Deref(pod.ActiveDeadlineSeconds, t.ActiveDeadline))
	restrict(pod)
	pod.Containers[0].Command, pod.Containers[0].Args = command, nil
	return &batchv1.Job{
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			Suspend:     new(true),
			Parallelism: new(int32(1)), Completions: new(int32(1)),
			// The controller counts and records attempts, not Kubernetes.
			BackoffLimit: new(int32(0)),
			// A terminating pod may still write: it is not replaced before it has ended.
			PodReplacementPolicy:    new(batchv1.Failed),
			ActiveDeadlineSeconds:   new(*pod.ActiveDeadlineSeconds + t.StartDeadline),
			TTLSecondsAfterFinished: new(t.TTL),
			Template:                own,
		},
	}
}

// restrict applies the defaults of the restricted Pod Security Standard
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/), and mounts no token, unless the template sets these
// fields.
func restrict(pod *corev1.PodSpec) {
	pod.AutomountServiceAccountToken = cmp.Or(pod.AutomountServiceAccountToken, new(false))
	pod.SecurityContext = cmp.Or(pod.SecurityContext, &corev1.PodSecurityContext{})
	pod.SecurityContext.RunAsNonRoot = cmp.Or(pod.SecurityContext.RunAsNonRoot, new(true))
	pod.SecurityContext.SeccompProfile = cmp.Or(pod.SecurityContext.SeccompProfile,
		&corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault})
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			c.SecurityContext = cmp.Or(c.SecurityContext, &corev1.SecurityContext{})
			c.SecurityContext.AllowPrivilegeEscalation = cmp.Or(c.SecurityContext.AllowPrivilegeEscalation, new(false))
			c.SecurityContext.Capabilities = cmp.Or(c.SecurityContext.Capabilities, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}})
		}
	}
}

// Suspend suspends or releases exactly the version of the Job that was read.
func Suspend(job *batchv1.Job, held bool) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		changed := job.DeepCopy()
		changed.Spec.Suspend = &held
		optimisticLock := client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{})
		if err := env.Client.Patch(ctx, changed, optimisticLock); err != nil {
			return fmt.Errorf("cannot set spec.suspend of Job %s to %t: %w", job.Name, held, err)
		}
		return nil
	}
}

// IsSuspended reports whether a Job has not been released, so that it has no pods.
func IsSuspended(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.Suspend, false) && !IsFinished(job)
}

// IsFinished reports whether a Job is complete or has failed.
func IsFinished(job *batchv1.Job) bool { return condition.FinishedCondition(job).Type != "" }

// ListPods returns the pods of a Job, the newest last.
func ListPods(job *batchv1.Job, pods []corev1.Pod) []corev1.Pod {
	var out []corev1.Pod
	for _, p := range pods {
		if metav1.IsControlledBy(&p, job) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Started reports whether any container of a pod has ever run.
func Started(pod *corev1.Pod) bool {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return !consumer.Running(pod)
}

// HasStarted reports whether a pod of the Job has started, or may have started: its containers ran, or it was deleted.
func HasStarted(job *batchv1.Job, pods []corev1.Pod) bool {
	return job.Status.Failed+job.Status.Succeeded > 0 ||
		slices.ContainsFunc(ListPods(job, pods), func(p corev1.Pod) bool { return Started(&p) })
}

// HasEnded reports whether the Job is complete or has failed, and has no pods that may write.
func HasEnded(job *batchv1.Job, pods []corev1.Pod) bool {
	return IsFinished(job) && !slices.ContainsFunc(ListPods(job, pods), func(p corev1.Pod) bool { return consumer.Running(&p) })
}

// Result is the result of a Job.
type Result struct {
	// Code is nil if unknown: the pod was evicted, or deleted with its node.
	Code *int32
	// FailureMessage is the reason if there is no code.
	FailureMessage string
	// Digest of the image, if the node reports one.
	Digest string
	// Message is the termination message of the container, if it wrote one.
	Message string
	// Pod and Container with further output; nil if none exists.
	Pod       *corev1.Pod
	Container string
}

// GetResult returns the result of a finished Job.
func GetResult(job *batchv1.Job, pods []corev1.Pod) Result {
	end := condition.FinishedCondition(job)
	complete := end.Type == batchv1.JobComplete
	own := ListPods(job, pods)
	if len(own) == 0 {
		if complete { // A Job with one pod is complete when the pod ended with 0.
			return Result{Code: new(int32(0))}
		}
		return Result{FailureMessage: fmt.Sprintf("its pod no longer exists (%s)", sentence(end.Reason, end.Message))}
	}
	pod := &own[len(own)-1]
	main := pod.Spec.Containers[0].Name
	out := Result{Pod: pod, Container: main}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != main {
			continue
		}
		if _, digest, found := strings.Cut(c.ImageID, "@"); found {
			out.Digest = digest
		}
		// A command that was stopped externally may exit with 0 before it is complete.
		if t := c.State.Terminated; t != nil && (complete || t.ExitCode != 0) {
			out.Code, out.Message = new(t.ExitCode), t.Message
			return out
		}
	}
	if complete {
		out.Code = new(int32(0))
		return out
	}
	out.FailureMessage = sentence(cmp.Or(pod.Status.Reason, end.Reason), cmp.Or(pod.Status.Message, end.Message))
	for _, c := range pod.Status.InitContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			out.Container = c.Name
			out.FailureMessage = fmt.Sprintf("its init container %s exited with code %d", c.Name, t.ExitCode)
		}
	}
	return out
}

func sentence(reason, message string) string {
	if message == "" {
		return cmp.Or(reason, "no reason is known")
	}
	return fmt.Sprintf("%s: %s", cmp.Or(reason, "Failed"), message)
}

// DescribeFailure returns a short reason for a failure, from the exit code of a command and the end of its output.
func DescribeFailure(code *int32, output string) string {
	const limit = 300
	line := condition.Truncate(LastLine(output), limit)
	switch {
	case code == nil:
		return cmp.Or(line, "the result of the run is unknown")
	case line == "":
		return fmt.Sprintf("exit code %d", *code)
	}
	return fmt.Sprintf("exit code %d, %s", *code, line)
}

// PodStartProblem returns why a pod cannot start; "" if no reason is known.
func PodStartProblem(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return sentence(w.Reason, w.Message)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return sentence(c.Reason, c.Message)
		}
	}
	return ""
}
