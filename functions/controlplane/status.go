package controlplane

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
)

func place(m *model) respond.Place {
	management := cmp.Or(string(m.platform.ProviderConfig), "in-cluster")
	return respond.Place{
		Prefix:     m.instance,
		Management: management, Workload: m.providerConfig, Remote: m.remote,
		DeleteData: m.spec.DeletionPolicy == controlplanev1.DeletionPolicyDelete,
	}
}

func status(m *model, plan compose.Plan) any {
	s := controlplanev1.ControlPlaneClusterStatus{
		CloudStatus: common.CloudStatus{
			Phase:       plan.Phase(common.PhaseReady),
			UpdatePhase: m.updatePhase(plan),
			Components:  respond.Components(plan, m.previous.Components),
		},
		Instance: m.instance,
		Release:  m.keystoneSeen.release,
	}
	e := common.Endpoint{Service: keystoneName, Internal: common.URL(m.endpoints.internal), Live: m.keystoneSeen.live}
	if m.identity != nil {
		e.Public = common.URL(m.endpoints.public)
	}
	s.Endpoints = []common.Endpoint{e}
	return s
}

// updatePhase: a release that does not run yet is being brought out; otherwise what was ready before is being changed.
func (m *model) updatePhase(plan compose.Plan) string {
	was := m.previous
	switch {
	case m.keystoneSeen.release != "" && m.keystoneSeen.release != string(m.release):
		return common.UpdatePhaseUpdatingServices
	case plan.Ready():
		return common.UpdatePhaseIdle
	case was.Phase == common.PhaseReady || was.UpdatePhase != "" && was.UpdatePhase != common.UpdatePhaseIdle:
		return common.UpdatePhaseUpdating
	}
	return common.UpdatePhaseIdle
}

// live is what a service's status repeats of what the service itself reports.
func live(service *observe.Object) *common.Live {
	reachable := service.String("status", "live", "reachable")
	if reachable != string(metav1.ConditionTrue) && reachable != string(metav1.ConditionFalse) {
		return nil
	}
	l := &common.Live{
		Reachable: reachable, APIVersion: service.String("status", "live", "apiVersion"),
		PublicReachable: service.String("status", "live", "publicReachable"), PublicMessage: service.String("status", "live", "publicMessage"),
	}
	if t, err := time.Parse(time.RFC3339, service.String("status", "live", "lastToken")); err == nil {
		l.LastToken = &metav1.Time{Time: t}
	}
	return l
}
