package ovnsync

import (
	"cmp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

const (
	// syncLabel is on the Job and its pods, and names the OVNSync: pods that outlive their Job are found by it.
	syncLabel = "openstack.c5c3.io/ovn-sync-of"
	// runAnnotation holds the run that the Job is.
	runAnnotation = "openstack.c5c3.io/ovn-sync-run"

	// It reads all networks, up to three times. One that takes longer is stuck. The pod has the deadline, so that it stays and its output can
	// be read; the Job has a longer one for a pod that never starts. A template with activeDeadlineSeconds decides otherwise.
	deadlineSeconds, startSeconds = 2 * 60 * 60, 10 * 60
	// A Job that nobody needs to clear away stays to be looked at.
	keepSeconds = 24 * 60 * 60
)

type run = openstackv1.OVNSyncRun

// jobName is the name of the one Job that an OVNSync has.
func jobName(o *openstackv1.OVNSync) string { return rights.DerivedName(o.Name, "ovn-sync") }

// modeOf a request.
func modeOf(r common.OVNSyncRequest) common.OVNSyncMode { return cmp.Or(r.Mode, common.OVNSyncLog) }

// newJob makes the Job of a run: one pod, once. It is suspended until the run is recorded. It is named by its OVNSync, also in a label: the
// name of the Job is short enough for one.
func newJob(o *openstackv1.OVNSync, r *run) *batchv1.Job {
	marks := map[string]string{syncLabel: jobName(o)}
	template := *o.Spec.Template.DeepCopy()
	template.Labels = labels.Merge(template.Labels, marks)
	pod := &template.Spec
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.ActiveDeadlineSeconds = new(ptr.Deref(pod.ActiveDeadlineSeconds, deadlineSeconds))
	batchjob.Restrict(pod)
	pod.Containers[0].Command = []string{python, "-c", program, strings.ToLower(string(r.Mode))}
	pod.Containers[0].Args = nil
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName(o), Namespace: o.Namespace, Labels: labels.Merge(o.Spec.Template.Labels, marks),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, openstackv1.GroupVersion.WithKind(kindName))},
		},
		Spec: batchv1.JobSpec{
			Suspend:     new(true),
			Parallelism: new(int32(1)), Completions: new(int32(1)),
			// Runs are counted and recorded here, not by Kubernetes.
			BackoffLimit: new(int32(0)),
			// A pod that is being stopped may still write: no other one beside it.
			PodReplacementPolicy:    new(batchv1.Failed),
			ActiveDeadlineSeconds:   new(*pod.ActiveDeadlineSeconds + startSeconds),
			TTLSecondsAfterFinished: new(int32(keepSeconds)),
			Template:                template,
		},
	}
	live.WriteRecord(&job.ObjectMeta, runAnnotation, r)
	return job
}

// runOf reads the run that a Job was made for.
func runOf(job *batchv1.Job) (run, bool) {
	r, err := live.ReadRecord[run](job, runAnnotation)
	if err != nil || r == nil || r.Number == 0 {
		return run{}, false
	}
	return *r, true
}
