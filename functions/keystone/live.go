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

// login builds the companion's periodic login at the internal address, which tests the administrator's password, the certificate, the
// database and the keys. No component depends on it: while it fails, Keystone is not ready, but its objects are still reconciled.
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

// live returns the result of the companion's check. Nil: it has not checked yet.
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

// conditionIsTrue returns True or False for a condition. Unknown counts as False.
func conditionIsTrue(c observe.Condition) string {
	if c.Status == string(metav1.ConditionTrue) {
		return c.Status
	}
	return string(metav1.ConditionFalse)
}
