package databasesync

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

const (
	// syncLabel is on every Job of a schema and on its pods: they are found by it, whichever DatabaseSync made them.
	syncLabel = "openstack.c5c3.io/database-sync"
	// stepLabel names the step: expand.db-sync.
	stepLabel = "openstack.c5c3.io/step"
	// attemptAnnotation holds the record of the attempt that the Job is.
	attemptAnnotation = "openstack.c5c3.io/attempt"
	// evictAnnotation keeps the cluster autoscaler from taking the node away under a schema change.
	evictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

const (
	// nameLimit of a Job, of whose name its pods' labels are made.
	nameLimit = 63
	nameHash  = 10

	// A step that takes longer is stuck. The pod has the deadline, so that it stays and its output can be read; the Job has a
	// longer one for a pod that never starts. A template with activeDeadlineSeconds decides otherwise.
	deadlineSeconds, startSeconds = 4 * 60 * 60, 60 * 60
	// Finished Jobs stay to be looked at, but not those of which there may be thousands.
	keepSeconds, keepRepeatedSeconds = 24 * 60 * 60, 10 * 60
)

// syncLabelValue is the value of syncLabel for a DatabaseSync.
func syncLabelValue(name string) string {
	if len(name) <= nameLimit {
		return name
	}
	return name[:nameLimit-nameHash-1] + "-" + names.Hash(nameHash, name)
}

// jobName of an attempt: <name>-<phase>-<step>-<hash of step, release, image, attempt and request>. It is the same for whoever makes it,
// so that it is made once.
func jobName(s *openstackv1.DatabaseSync, r *record) string {
	suffix := "-" + names.Hash(nameHash, string(s.UID), r.Step, r.Hash, strconv.Itoa(int(r.Attempt)), r.Request)
	prefix := s.Name + "-" + strings.ReplaceAll(r.Step, phaseDivider, "-")
	if limit := nameLimit - len(suffix); len(prefix) > limit {
		prefix = strings.TrimRight(prefix[:limit], "-.")
	}
	return prefix + suffix
}

// newJob makes the Job of an attempt: one pod, once. It is suspended until the attempt is recorded.
func newJob(sync *openstackv1.DatabaseSync, st step, r *record) *batchv1.Job {
	marks := map[string]string{
		syncLabel: syncLabelValue(sync.Name),
		stepLabel: strings.ReplaceAll(r.Step, phaseDivider, "."),
	}
	template := *sync.Spec.Template.DeepCopy()
	template.Labels = labels.Merge(template.Labels, marks)
	template.Annotations = labels.Merge(map[string]string{evictAnnotation: "false"}, template.Annotations)
	pod := &template.Spec
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.ActiveDeadlineSeconds = new(ptr.Deref(pod.ActiveDeadlineSeconds, deadlineSeconds))
	restrict(pod)
	main := &pod.Containers[0]
	main.Command, main.Args = nil, nil
	for _, argument := range st.Command.Command {
		main.Command = append(main.Command, string(argument))
	}
	keep := int32(keepSeconds)
	if len(st.RepeatCodes) > 0 {
		keep = keepRepeatedSeconds
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName(sync, r), Namespace: sync.Namespace,
			Labels: labels.Merge(sync.Spec.Template.Labels, marks),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sync,
				openstackv1.GroupVersion.WithKind("DatabaseSync"))},
		},
		Spec: batchv1.JobSpec{
			Suspend:     new(true),
			Parallelism: new(int32(1)), Completions: new(int32(1)),
			// Attempts are counted and recorded here, not by Kubernetes.
			BackoffLimit: new(int32(0)),
			// A pod that is being stopped may still write: no other one beside it.
			PodReplacementPolicy:    new(batchv1.Failed),
			ActiveDeadlineSeconds:   new(*pod.ActiveDeadlineSeconds + startSeconds),
			TTLSecondsAfterFinished: new(keep),
			Template:                template,
		},
	}
	live.WriteRecord(&job.ObjectMeta, attemptAnnotation, r)
	return job
}

// restrict gives a pod what the restricted Pod Security Standard asks for
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/), and no token, where its template leaves that open.
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

// attemptOf reads the record that a Job was made of.
func attemptOf(job *batchv1.Job) (record, bool) {
	r, err := live.ReadRecord[record](job, attemptAnnotation)
	if err != nil || r == nil || r.Step == "" || r.Hash == "" {
		return record{}, false
	}
	return *r, true
}

// suspended: a Job has not been released, so it has no pods.
func suspended(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.Suspend, false) && !hasEnded(job)
}

// hasEnded: a Job is complete or has failed.
func hasEnded(job *batchv1.Job) bool { return condition.Ending(job).Type != "" }

// podsOf returns the pods of a Job, the newest last.
func podsOf(job *batchv1.Job, pods []corev1.Pod) []corev1.Pod {
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

// started reports whether any container of a pod has ever run.
func started(pod *corev1.Pod) bool {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return !consumer.Running(pod)
}

// result is how an attempt ended.
type result struct {
	// code is nil where nobody knows: the pod was evicted, or went with its node.
	code *int32
	// why says what happened where there is no code.
	why string
	// digest of the image that ran, where the node reports one.
	digest string
	// message is what the container wrote at its end, where it did.
	message string
	// pod and container whose output reports more; nil if there is none.
	pod       *corev1.Pod
	container string
}

// resultOf reads how a Job that has ended went.
func resultOf(job *batchv1.Job, pods []corev1.Pod) result {
	end := condition.Ending(job)
	complete := end.Type == batchv1.JobComplete
	own := podsOf(job, pods)
	if len(own) == 0 {
		if complete { // A Job of one pod is complete when that has ended with 0.
			return result{code: new(int32(0))}
		}
		return result{why: fmt.Sprintf("its pod has gone (%s)", sentence(end.Reason, end.Message))}
	}
	pod := &own[len(own)-1]
	main := pod.Spec.Containers[0].Name
	out := result{pod: pod, container: main}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != main {
			continue
		}
		if _, digest, found := strings.Cut(c.ImageID, "@"); found {
			out.digest = digest
		}
		// A command that was stopped from outside may end with 0 before it is done.
		if t := c.State.Terminated; t != nil && (complete || t.ExitCode != 0) {
			out.code, out.message = new(t.ExitCode), t.Message
			return out
		}
	}
	if complete {
		out.code = new(int32(0))
		return out
	}
	out.why = sentence(cmp.Or(pod.Status.Reason, end.Reason), cmp.Or(pod.Status.Message, end.Message))
	for _, c := range pod.Status.InitContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			out.container = c.Name
			out.why = fmt.Sprintf("its init container %s ended with exit code %d", c.Name, t.ExitCode)
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

// obstacle says what keeps a pod from starting: no words if nothing is known.
func obstacle(pod *corev1.Pod) string {
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
