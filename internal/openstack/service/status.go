package service

import (
	"cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
)

// Phases of a service.
const (
	phaseCreating = "Creating"
	phaseReady    = "Ready"
	phaseUpdating = "Updating"
)

// Target returns where the objects of a service are created.
func Target[M Instance](m M) respond.Target {
	s := m.Embedded()
	config := string(s.Spec.Target.ProviderConfig)
	return respond.Target{
		Namespaced: true, Namespace: s.Namespace, Prefix: s.Name,
		Management: config, Workload: config, Remote: s.Spec.Target.Remote,
		DeleteData: s.Spec.DeletionPolicy == common.DeletionPolicyDelete,
	}
}

// Status returns the status of a service that adds no fields.
func Status[M Instance](m M, plan compose.Plan) any { return m.Embedded().Status(plan) }

// Status returns the status that all services have.
func (b *Base) Status(plan compose.Plan) common.ServiceStatus {
	out := common.ServiceStatus{
		ObservedGeneration: b.Generation,
		Endpoint:           b.Spec.Endpoints.Public,
		Components:         respond.Components(plan, b.Previous.Components),
	}
	if part, ok := plan.ComponentStatus(cmp.Or(b.Main, "api")); ok && part.Exists() {
		out.Release, out.Version, out.PreviousRelease = string(b.Effective), b.Version(), b.Fallback
	}
	out.Phase, out.UpdatePhase = Phase(plan, b.Previous.Phase)
	return out
}

// Phase returns the phase of a composite resource and of its update, derived from the previous phase.
func Phase(plan compose.Plan, previous string) (phase, update string) {
	switch {
	case plan.Ready():
		return phaseReady, common.UpdatePhaseIdle
	case previous == phaseReady || previous == phaseUpdating:
		return phaseUpdating, common.UpdatePhaseUpdating
	}
	return phaseCreating, common.UpdatePhaseIdle
}
