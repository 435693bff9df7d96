package keystone

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

const loginResource = "login"

// login is the companion's regular login at the internal address, by which the administrator's password, the certificate, the database
// and the keys are proven. Nothing waits for it: Keystone is not ready while it fails, but goes on as it is.
func login(m *model) ([]compose.Stage, error) {
	if m.spec.External != nil {
		return m.externalLogin(), nil
	}
	spec := openstackv1.IdentityCheckSpec{
		CloudCredentialsRef: m.adminCloud(),
		Exempt:              true,
	}
	if m.spec.Endpoints.Public != m.spec.Endpoints.Internal {
		spec.PublicURL = m.spec.Endpoints.Public
	}
	return service.SingleObjectComponent(loginResource, c5c3.IdentityCheck(m.Meta(m.Name), spec)), nil
}

// live is what the companion has found: nil if it has not looked yet.
func live(check *observe.Object) *common.Live {
	c, ok := check.Condition("Reachable")
	if !ok {
		return nil
	}
	l := &common.Live{Reachable: conditionIsTrue(c), APIVersion: check.String("status", "apiVersion")}
	if public, ok := check.Condition("PublicReachable"); ok {
		if l.PublicReachable = conditionIsTrue(public); l.PublicReachable != string(metav1.ConditionTrue) {
			l.PublicMessage = respond.Message(public.Message)
		}
	}
	if t, err := time.Parse(time.RFC3339, check.String("status", "lastToken")); err == nil {
		l.LastToken = &metav1.Time{Time: t}
	}
	return l
}

// conditionIsTrue of a condition: what is not known is not so.
func conditionIsTrue(c observe.Condition) string {
	if c.Status == string(metav1.ConditionTrue) {
		return c.Status
	}
	return string(metav1.ConditionFalse)
}
