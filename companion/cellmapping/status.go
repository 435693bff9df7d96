package cellmapping

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

const (
	// conditionReady: Nova knows the cell as the spec says.
	conditionReady = "Ready"
	// conditionHosts: every host that Nova's API lists is mapped to a cell.
	conditionHosts = "HostsMapped"
)

// patience is how many runs may fail in a row before a cell that is recorded is not ready.
const patience = 3

func (w *world) set(name string, holds bool, reason, message string) {
	s := &w.cell.Status
	s.ObservedGeneration = w.cell.Generation
	condition.Set(&s.Conditions, name, w.cell.Generation, w.now, condition.State{True: holds, Reason: reason, Message: message})
}

// report sets the conditions by what is recorded.
func (w *world) report() { w.reportWaiting("") }

// reportWaiting does so for a pass that waits for something.
func (w *world) reportWaiting(why string) {
	s := &w.cell.Status
	failed := s.Run != nil && s.Run.Result != "" && s.Run.Result != openstackv1.CellRunSucceeded
	switch {
	case failed && why == "" && (!w.recorded() || s.Run.Failures >= patience && !w.searching()):
		w.set(conditionReady, false, "CommandFailed", fmt.Sprintf("%s did not succeed and is tried again: %s", s.Run.Command, how(s.Run)))
	case w.recorded():
		w.set(conditionReady, true, "Recorded", fmt.Sprintf("Nova knows %s as %s", w.cell.Spec.Cell, s.UUID))
	case why != "":
		w.set(conditionReady, false, "Waiting", why)
	case w.several() != "":
		w.set(conditionReady, false, "SeveralCells", w.several())
	default:
		w.set(conditionReady, false, "Waiting", fmt.Sprintf("%s is not recorded in Nova yet", w.cell.Spec.Cell))
	}
	switch {
	case w.cell.Spec.CloudCredentialsRef == nil || w.cell.Spec.Cell == cell0:
		meta.RemoveStatusCondition(&s.Conditions, conditionHosts)
	case !w.recorded():
		w.set(conditionHosts, false, "Waiting", fmt.Sprintf("%s is not recorded in Nova yet", w.cell.Spec.Cell))
	case w.searching() && failed:
		w.set(conditionHosts, false, "SearchFailed", fmt.Sprintf("the search for hosts is tried again: %s: %s", s.Run.Command, how(s.Run)))
	case meta.FindStatusCondition(s.Conditions, conditionHosts) == nil, meta.FindStatusCondition(s.Conditions, conditionHosts).Reason == "Waiting":
		w.set(conditionHosts, false, "Waiting", "Nova's API has not been asked for hosts yet")
	}
}
