package ovnsync

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// observation is the state that was read in one pass, from which all decisions are made.
type observation struct {
	batchjob.Observation

	sync *openstackv1.OVNSync
}

var jobs = batchjob.Kind{
	Name: kindName, Object: &openstackv1.OVNSync{}, Annotation: runAnnotation, Reserved: "the Job of this OVNSync",
	Starting: "creating the Job", Runs: runs,
}

// observe reads the state live, without a cache.
func observe(ctx context.Context, env *controller.Env, o *openstackv1.OVNSync) (*observation, error) {
	w := &observation{sync: o, Observation: batchjob.Observation{
		Kind: &jobs, Owner: o, Template: &o.Spec.Template, Name: jobName(o), Labels: client.MatchingLabels{syncLabel: jobName(o)},
		Now: env.Clock.Now(),
	}}
	_, err := batchjob.Observe(ctx, env, w)
	return w, err
}

// LastRun returns the recorded run.
func (obs *observation) LastRun() *openstackv1.JobRun {
	if obs.sync.Status.Run == nil {
		return nil
	}
	return &obs.sync.Status.Run.JobRun
}

// RecordRun sets the run in progress. Failures are counted for each request.
func (obs *observation) RecordRun(r *run) {
	if last := obs.sync.Status.Run; last != nil && last.Request == r.Request && last.Mode == r.Mode {
		r.Failures = last.Failures
	}
	obs.sync.Status.Run = r
}

// Command returns the mode of the run in progress.
func (obs *observation) Command() string { return string(obs.sync.Status.Run.Mode) }

// Title returns the mode and the request of the run in progress.
func (obs *observation) Title() string {
	return fmt.Sprintf("%s of request %q", obs.sync.Status.Run.Mode, obs.sync.Status.Run.Request)
}

// isAnswered reports whether the last answer is for the current request.
func (obs *observation) isAnswered() bool {
	a := obs.sync.Status.Answer
	return a != nil && a.Request == obs.sync.Spec.Request && a.Mode == modeOf(obs.sync.Spec.OVNSyncRequest)
}

// NextRun returns the next run; nil if the request is completed.
func (obs *observation) NextRun() *run {
	if obs.isAnswered() {
		return nil
	}
	r := &run{
		JobRun:  openstackv1.JobRun{Number: 1, Generation: obs.sync.Generation},
		Request: obs.sync.Spec.Request, Mode: modeOf(obs.sync.Spec.OVNSyncRequest),
	}
	if last := obs.sync.Status.Run; last != nil {
		r.Number = last.Number + 1
	}
	return r
}

// RejectReason returns why the spec is rejected; "" if it is not.
func (obs *observation) RejectReason() string {
	if len(obs.sync.Spec.Template.Spec.Containers) == 0 {
		return "spec.template.spec.containers must not be empty: the first container runs Neutron's tool"
	}
	return ""
}
