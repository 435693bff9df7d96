package ovnsync

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// next returns the step of the first rule that has one.
func next(w *observation) controller.Decision {
	return controller.First([]func(*observation) *controller.Decision{
		batchjob.FinishRun[*observation], batchjob.AdoptJob[*observation], rejectSpec, batchjob.StartRun[*observation], rest,
	}, w)
}

// rejectSpec changes nothing if an administrator has to decide.
func rejectSpec(w *observation) *controller.Decision {
	why := w.RejectReason()
	if why == "" {
		return nil
	}
	return &controller.Decision{RequeueAfter: controller.ResyncInterval, Status: func() { w.set(conditionReady, false, "InvalidSpec", why) }}
}

// rest reports the status when idle.
func rest(w *observation) *controller.Decision {
	return &controller.Decision{RequeueAfter: controller.ResyncInterval, Status: func() { w.Report("") }}
}

// WaitsFor returns the message while the Job of an earlier object with the name exists.
func (obs *observation) WaitsFor(string) string {
	return fmt.Sprintf("waiting for Job %s of an earlier request to be deleted", obs.Name)
}

// EvaluateRun determines the result of the run in progress. It has succeeded if its report can be parsed.
func (obs *observation) EvaluateRun(res batchjob.Result) *controller.Decision {
	if obs.OutputUnreadable {
		res.FailureMessage = "its output cannot be read"
		return obs.FailRun(openstackv1.JobRunFailed, res)
	}
	requested, err := parseReport(obs.Output)
	if err != nil {
		res.FailureMessage = err.Error()
		return obs.FailRun(openstackv1.JobRunFailed, res)
	}
	r := obs.sync.Status.Run
	response := &common.OVNSyncAnswer{Request: r.Request, Mode: r.Mode, Time: obs.Time()}
	response.Found, response.Differences = differences(requested.Found)
	if requested.Repaired != nil {
		var repaired []common.OVNDifference
		if repaired, response.Repaired = differences(requested.Repaired); response.Differences == 0 {
			response.Found = repaired
		}
	}
	s := batchjob.EndRun(obs, openstackv1.JobRunSucceeded, res, "", func() { r.Failures, obs.sync.Status.Answer = 0, response })
	s.Expected, s.Note = false, inSyncCondition(response).Message
	return s
}

// FailRun records that the run in progress has no answer.
func (obs *observation) FailRun(result string, res batchjob.Result) *controller.Decision {
	s := batchjob.EndRun(obs, result, res, obs.Title(), func() {})
	s.Expected = meta.FindStatusCondition(obs.sync.Status.Conditions, conditionInSync) == nil
	return s
}
