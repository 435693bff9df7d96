package cellmapping

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

const (
	// conditionReady: the cell in Nova matches the spec.
	conditionReady = "Ready"
	// conditionHosts: every host that Nova's API lists is mapped to a cell.
	conditionHosts = "HostsMapped"
)

// failureThreshold is the number of consecutive failures after which a recorded cell is not ready.
const failureThreshold = 3

func (obs *observation) set(name string, holds bool, reason, message string) {
	s := &obs.cell.Status
	s.ObservedGeneration = obs.cell.Generation
	condition.Set(&s.Conditions, name, obs.cell.Generation, obs.Now, condition.State{True: holds, Reason: reason, Message: message})
}

// Report sets the conditions from the recorded state. why is the reason if the pass waits, otherwise "".
func (obs *observation) Report(why string) {
	s := &obs.cell.Status
	failed := s.Run != nil && s.Run.Result != "" && s.Run.Result != openstackv1.JobRunSucceeded
	switch {
	case failed && why == "" && (!obs.isRecorded() || s.Run.Failures >= failureThreshold && !obs.searching()):
		obs.set(conditionReady, false, "CommandFailed", fmt.Sprintf("%s failed and is retried: %s", s.Run.Command,
			batchjob.FailureMessage(&s.Run.JobRun)))
	case obs.isRecorded():
		obs.set(conditionReady, true, "Recorded", fmt.Sprintf("%s is registered in Nova as %s", obs.cell.Spec.Cell, s.UUID))
	case why != "":
		obs.set(conditionReady, false, "Waiting", why)
	case obs.duplicateCells() != "":
		obs.set(conditionReady, false, "AmbiguousCell", obs.duplicateCells())
	default:
		obs.set(conditionReady, false, "Waiting", fmt.Sprintf("%s is not registered in Nova yet", obs.cell.Spec.Cell))
	}
	switch before := meta.FindStatusCondition(s.Conditions, conditionHosts); {
	case obs.cell.Spec.CloudCredentialsRef == nil || obs.cell.Spec.Cell == cell0:
		meta.RemoveStatusCondition(&s.Conditions, conditionHosts)
	case !obs.isRecorded():
		obs.set(conditionHosts, false, "Waiting", fmt.Sprintf("%s is not registered in Nova yet", obs.cell.Spec.Cell))
	case obs.searching() && failed:
		obs.set(conditionHosts, false, "HostDiscoveryFailed", fmt.Sprintf("the search for hosts failed and is retried: %s: %s", s.Run.Command,
			batchjob.FailureMessage(&s.Run.JobRun)))
	case before == nil, before.Reason == "Waiting":
		obs.set(conditionHosts, false, "Waiting", "hosts have not been listed yet")
	}
}
