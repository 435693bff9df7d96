package ovnsync

import (
	"cmp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

const (
	// syncLabel is on the Job and its pods, and identifies the OVNSync: pods that outlive the Job are selected by it.
	syncLabel = "openstack.c5c3.io/ovn-sync-of"
	// runAnnotation contains the run for which the Job was created.
	runAnnotation = "openstack.c5c3.io/ovn-sync-run"
)

// jobTimeouts of a run, which reads all networks, up to three times. A run that exceeds them is stuck. activeDeadlineSeconds
// of the template has precedence.
var jobTimeouts = batchjob.Timeouts{ActiveDeadline: 2 * 60 * 60, StartDeadline: 10 * 60, TTL: 24 * 60 * 60}

type run = openstackv1.OVNSyncRun

// jobName returns the name of the only Job of an OVNSync.
func jobName(o *openstackv1.OVNSync) string { return rights.DerivedName(o.Name, "ovn-sync") }

// modeOf returns the mode of a request; Log by default.
func modeOf(r common.OVNSyncRequest) common.OVNSyncMode { return cmp.Or(r.Mode, common.OVNSyncLog) }

// NewJob builds the Job of a run.
func (obs *observation) NewJob(r *run) *batchv1.Job { return newJob(obs.sync, r) }

// newJob builds the Job of a run. It is suspended until the run is recorded. Its name is also the value of syncLabel, because
// it is short enough.
func newJob(o *openstackv1.OVNSync, r *run) *batchv1.Job {
	job := batchjob.Once(metav1.ObjectMeta{
		Name: jobName(o), Namespace: o.Namespace,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, openstackv1.GroupVersion.WithKind(kindName))},
	}, map[string]string{syncLabel: jobName(o)}, &o.Spec.Template, []string{python, "-c", program, strings.ToLower(string(r.Mode))},
		jobTimeouts)
	jsonannotation.Write(&job.ObjectMeta, runAnnotation, r)
	return job
}
