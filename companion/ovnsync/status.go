package ovnsync

import (
	"fmt"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

const (
	// conditionReady: the last request is completed.
	conditionReady = "Ready"
	// conditionInSync: the last answer contains no differences.
	conditionInSync = "InSync"
)

func (obs *observation) set(name string, holds bool, reason, message string) {
	s := &obs.sync.Status
	s.ObservedGeneration = obs.sync.Generation
	condition.Set(&s.Conditions, name, obs.sync.Generation, obs.Now, condition.State{True: holds, Reason: reason, Message: message})
}

// Report sets the conditions from the recorded state. why is the reason if the pass waits, otherwise "".
func (obs *observation) Report(why string) {
	s := &obs.sync.Status
	switch r := s.Run; {
	case obs.isAnswered():
		obs.set(conditionReady, true, "Completed", fmt.Sprintf("request %q is completed", s.Answer.Request))
	case why != "":
		obs.set(conditionReady, false, "Waiting", why)
	case r != nil && r.Result != "" && r.Result != openstackv1.JobRunSucceeded:
		obs.set(conditionReady, false, "CommandFailed", "the comparison failed and is retried: "+batchjob.FailureMessage(&r.JobRun))
	default:
		obs.set(conditionReady, false, "Waiting", fmt.Sprintf("waiting for the OVN comparison of request %q", obs.sync.Spec.Request))
	}
	if s.Answer != nil {
		v := inSyncCondition(s.Answer)
		obs.set(conditionInSync, v.True, v.Reason, v.Message)
	}
}

// inSyncCondition returns the condition for an answer.
func inSyncCondition(a *common.OVNSyncAnswer) condition.State {
	switch {
	case a.Differences > 0 && a.Mode == common.OVNSyncRepair:
		return condition.False("NotRepaired", fmt.Sprintf("after a repair of %d differences, these remain: %s", a.Repaired, summary(a.Found)))
	case a.Differences > 0:
		return condition.False("Drifted", "OVN differs from the Neutron database: "+summary(a.Found))
	case a.Repaired > 0:
		return condition.True("Repaired", "OVN matches the Neutron database after a repair: "+summary(a.Found))
	}
	return condition.True("InSync", "OVN matches the Neutron database")
}
