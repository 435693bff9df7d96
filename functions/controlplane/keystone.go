package controlplane

import (
	"errors"
	"fmt"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// visited returns Keystone's public address, which the companion requests like an external client. Nil: it has none.
func (m *model) visited() []string {
	if !m.Identity.IsPublic() {
		return nil
	}
	return []string{m.Identity.Endpoints.Public}
}

// sharedIdentity returns the external Keystone. Nil: the control plane has its own.
func (m *model) sharedIdentity() *catalogv1.SharedKeystone {
	if m.Identity.ExternalURL == "" {
		return nil
	}
	return &catalogv1.SharedKeystone{As: common.ObjectName(m.Instance), URL: m.Identity.ExternalURL}
}

// hasServiceGrants reports whether other claims may register services in Keystone.
func (m *model) hasServiceGrants() bool { return len(m.Spec.KeystoneServices) > 0 }

// checkServiceGrants returns an error for a service type of the catalog that another service uses. It checks only the permissions; the
// function of KeystoneService checks the services themselves.
func (m *model) checkServiceGrants() error {
	var errs []error
	indexes := map[string]int{}
	for i, g := range m.Spec.KeystoneServices {
		field := fmt.Sprintf("spec.keystoneServices[%d]", i)
		for j, typ := range g.Types() {
			at := field + ".additionalTypes"
			if j == 0 && g.Type != "" {
				at = field + ".type"
			}
			if keystoneservicev1.ServiceType(typ).Reserved() {
				errs = append(errs, invalid.Field(at, "type %q is reserved for a service of OpenStack; set another type", typ))
			}
			if first, exists := indexes[typ]; exists {
				errs = append(errs, invalid.Field(at, "spec.keystoneServices[%d] uses type %q already, and clients could not distinguish "+
					"them; set another type", first, typ))
				continue
			}
			indexes[typ] = i
		}
	}
	return errors.Join(errs...)
}
