package databasesync

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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

	// keepRepeatedSeconds is how long a Job stays of which there may be thousands.
	keepRepeatedSeconds = 10 * 60
)

// jobTimeouts of a step. One that takes longer is stuck. A template with activeDeadlineSeconds decides otherwise.
var jobTimeouts = batchjob.Timeouts{ActiveDeadline: 4 * 60 * 60, StartDeadline: 60 * 60, TTL: 24 * 60 * 60}

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

// newJob makes the Job of an attempt. It is suspended until the attempt is recorded.
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
