package clustercheck

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// next reports the properties of the cluster. After an error, the last complete report stays, with its age.
func next(w *observation) controller.Decision {
	after := freshness.GuardWriteInterval
	if w.err != nil {
		after = controller.Poll
	}
	return controller.Decision{Status: w.update, RequeueAfter: after}
}

func (obs *observation) update() {
	s := &obs.check.Status
	state := condition.True("Observed", "the properties of the cluster were read")
	switch {
	case obs.err == nil:
		if obs.podSecurityErr != nil {
			state.Message += ", except the enforcement of Pod Security levels: " + obs.podSecurityErr.Error()
		}
		s.ObservedGeneration, s.Cluster = obs.check.Generation, obs.report
	case apierrors.IsForbidden(obs.err):
		state = condition.False("Forbidden", obs.err.Error()+"; install the chart with mode workload in this version, which has the "+
			"ClusterRole cobaltcore:cluster-check")
	default:
		state = condition.False("ReadFailed", obs.err.Error())
	}
	condition.Set(&s.Conditions, conditionReady, obs.check.Generation, obs.now, state)
}
