package ovnsync

import (
	"cmp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
)

// jobTimeouts of a run, which reads all networks, up to three times. One that takes longer is stuck. A template with activeDeadlineSeconds
// decides otherwise.
var jobTimeouts = batchjob.Timeouts{ActiveDeadline: 2 * 60 * 60, StartDeadline: 10 * 60, TTL: 24 * 60 * 60}

type run = openstackv1.OVNSyncRun

// jobName is the name of the one Job that an OVNSync has.
func jobName(o *openstackv1.OVNSync) string { return rights.DerivedName(o.Name, "ovn-sync") }

// modeOf a request.
func modeOf(r common.OVNSyncRequest) common.OVNSyncMode { return cmp.Or(r.Mode, common.OVNSyncLog) }

// newJob makes the Job of a run. It is suspended until the run is recorded. It is named by its OVNSync, also in a label: the name of the
// Job is short enough for one.
func newJob(o *openstackv1.OVNSync, r *run) *batchv1.Job {
	job := batchjob.Once(metav1.ObjectMeta{
		Name: jobName(o), Namespace: o.Namespace,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, openstackv1.GroupVersion.WithKind(kindName))},
	}, map[string]string{syncLabel: jobName(o)}, &o.Spec.Template, []string{python, "-c", program, strings.ToLower(string(r.Mode))}, jobTimeouts)
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
