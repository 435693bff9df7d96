package service

import (
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

// Place says where the objects of a service live.
func Place[M Instance](m M) respond.Place {
	s := m.Base()
	config := string(s.Spec.Target.ProviderConfig)
	return respond.Place{
		Namespaced: true, Namespace: s.Namespace, Prefix: s.Name,
		Management: config, Workload: config, Remote: s.Spec.Target.Remote,
		DeleteData: s.Spec.DeletionPolicy == common.DeletionPolicyDelete,
	}
}

// Status is the status of a service that has nothing of its own to say.
func Status[M Instance](m M, plan compose.Plan) any { return m.Base().Status(plan) }

// Status is what every service says of itself.
func (s *Service) Status(plan compose.Plan) common.ServiceStatus {
	out := common.ServiceStatus{
		ObservedGeneration: s.Generation,
		Phase:              phaseCreating,
		UpdatePhase:        common.UpdatePhaseIdle,
		Endpoint:           s.Spec.Endpoints.Public,
		Components:         respond.Components(plan, s.Previous.Components),
	}
	if part, _ := plan.Part("api"); part.Exists() {
		out.Release, out.Version, out.PreviousRelease = string(s.Effective), s.Version(), s.Fallback
	}
	switch {
	case plan.Ready():
		out.Phase = phaseReady
	case s.Previous.Phase == phaseReady || s.Previous.Phase == phaseUpdating:
		out.Phase, out.UpdatePhase = phaseUpdating, common.UpdatePhaseUpdating
	}
	return out
}
