package databasesync

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

const (
	// syncLabel is on every Job of a schema and on its pods: they are selected by it, regardless of which DatabaseSync
	// created them.
	syncLabel = "openstack.c5c3.io/database-sync"
	// stepLabel names the step: expand.db-sync.
	stepLabel = "openstack.c5c3.io/step"
	// attemptAnnotation contains the record of the attempt for which the Job was created.
	attemptAnnotation = "openstack.c5c3.io/attempt"
	// evictAnnotation prevents the cluster autoscaler from removing the node during a schema change.
	evictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

const (
	// nameLimit is the maximum length of a Job name, because it is a label value of its pods.
	nameLimit = 63
	nameHash  = 10

	// keepRepeatedSeconds is the TTL of Jobs of steps that may repeat thousands of times.
	keepRepeatedSeconds = 10 * 60
)

// jobTimeouts of a step. A step that exceeds them is considered stuck. activeDeadlineSeconds of the template has precedence.
var jobTimeouts = batchjob.Timeouts{ActiveDeadline: 4 * 60 * 60, StartDeadline: 60 * 60, TTL: 24 * 60 * 60}

// syncLabelValue returns the value of syncLabel for a DatabaseSync.
func syncLabelValue(name string) string {
	if len(name) <= nameLimit {
		return name
	}
	return name[:nameLimit-nameHash-1] + "-" + names.Hash(nameHash, name)
}

// jobName returns the name of an attempt's Job: <name>-<phase>-<step>-<hash of step, release, image, attempt and request>. It
// is deterministic, so that two leaders cannot create two Jobs for an attempt.
func jobName(s *openstackv1.DatabaseSync, r *record) string {
	suffix := "-" + names.Hash(nameHash, string(s.UID), r.Step, r.Hash, strconv.Itoa(int(r.Attempt)), r.Request)
	prefix := s.Name + "-" + strings.ReplaceAll(r.Step, phaseDivider, "-")
	if limit := nameLimit - len(suffix); len(prefix) > limit {
		prefix = strings.TrimRight(prefix[:limit], "-.")
	}
	return prefix + suffix
}

// newJob builds the Job of an attempt. It is suspended until the attempt is recorded.
func newJob(sync *openstackv1.DatabaseSync, st step, r *record) *batchv1.Job {
	marks := map[string]string{
		syncLabel: syncLabelValue(sync.Name),
		stepLabel: strings.ReplaceAll(r.Step, phaseDivider, "."),
	}
	command := make([]string, len(st.Command.Command))
	for i, argument := range st.Command.Command {
		command[i] = string(argument)
	}
	t := jobTimeouts
	if len(st.RepeatCodes) > 0 {
		t.TTL = keepRepeatedSeconds
	}
	job := batchjob.Once(metav1.ObjectMeta{
		Name: jobName(sync, r), Namespace: sync.Namespace,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(sync, openstackv1.GroupVersion.WithKind("DatabaseSync"))},
	}, marks, &sync.Spec.Template, command, t)
	pod := &job.Spec.Template
	pod.Annotations = labels.Merge(map[string]string{evictAnnotation: "false"}, pod.Annotations)
	jsonannotation.Write(&job.ObjectMeta, attemptAnnotation, r)
	return job
}

// attemptOf returns the record for which a Job was created.
func attemptOf(job *batchv1.Job) (record, bool) {
	r, err := jsonannotation.Read[record](job, attemptAnnotation)
	if err != nil || r == nil || r.Step == "" || r.Hash == "" {
		return record{}, false
	}
	return *r, true
}
