package databasesync

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
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
	batchjob.Restrict(pod)
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

// attemptOf reads the record that a Job was made of.
func attemptOf(job *batchv1.Job) (record, bool) {
	r, err := live.ReadRecord[record](job, attemptAnnotation)
	if err != nil || r == nil || r.Step == "" || r.Hash == "" {
		return record{}, false
	}
	return *r, true
}
