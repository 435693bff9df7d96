package controlplane

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

func place(m *model) respond.Target {
	return respond.Target{
		Prefix:     m.Instance,
		Management: platform.Management(m.Platform), Workload: m.ProviderConfig, Remote: m.Remote,
		DeleteData: m.Spec.DeletionPolicy == controlplanev1.DeletionPolicyDelete,
	}
}

func status(m *model, plan compose.Plan) any {
	s := controlplanev1.ControlPlaneClusterStatus{
		CloudStatus: common.CloudStatus{
			Phase:       plan.Phase(common.PhaseReady),
			UpdatePhase: m.updatePhase(plan),
			Components:  respond.Components(plan, m.Previous.Components),
		},
		Instance: m.Instance,
		Release:  m.oldest(),
		Tests:    m.testStatus(),

		Storage:     m.StorageStatus(),
		Hypervisors: m.hypervisorAccess(),
	}
	for _, service := range m.Services {
		e := common.Endpoint{Service: service.Name, Internal: common.URL(service.Endpoints.Internal)}
		if m.Observed.StaleReason(service.Observed) == "" {
			e.Live = live(service.Observed)
		}
		if service.IsPublic() {
			e.Public = common.URL(service.Endpoints.Public)
		}
		s.Endpoints = append(s.Endpoints, e)
		service.Model.Report(&s)
	}
	return s
}

// live copies the reachability of a service from its status.
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

// hypervisorAccess returns the settings of pools of hypervisors, collected from the services. Nil: no service has cells.
func (m *model) hypervisorAccess() *controlplanev1.HypervisorAccess {
	identity := m.IdentitySpec()
	out := &controlplanev1.HypervisorAccess{
		Region: m.Spec.Global.Region, IdentityURL: identity.InternalURL, CASecretRef: identity.CASecretRef,
		KeyManager: m.KeyManager(), Identity: &identity,
	}
	if m.Identity.Exposure != nil {
		out.PublicIdentityURL = identity.PublicURL
	}
	for _, s := range m.Services {
		s.Model.Publish(out)
	}
	if len(out.Cells) == 0 {
		return nil
	}
	return out
}
