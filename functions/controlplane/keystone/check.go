package keystone

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Check returns an error for settings that Keystone rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	if s.ExternalURL != "" {
		return checkExternal(s)
	}
	spec := specOf(m, s)
	spec.Image, spec.Overrides = s.Basics.Image, s.Basics.Overrides
	k := keystonev1.Keystone{Spec: spec}
	function.SetDefaults(&k)
	identity.Spec(&k.Spec).Complete()
	return errors.Join(identity.Check(s.FieldPath(""), r, &k.Spec), checkIdentityNames(m, s), checkLogin(m, s))
}

// checkExternal returns an error for settings that cannot be applied to an external Keystone, as far as admission does not check them, and
// for an invalid address.
func checkExternal(s *services.State) error {
	var errs []error
	if len(s.Basics.Config) > 0 {
		errs = append(errs, invalid.Field(s.FieldPath(".config"), "cannot be set for an external Keystone; remove it"))
	}
	if _, err := workload.PortOf(string(s.ExternalURL)); err != nil {
		errs = append(errs, invalid.Field(s.FieldPath(".external.authURL"), "%s", err))
	}
	return errors.Join(errs...)
}

// checkIdentityNames returns an error for names in Keystone that two parts of the cloud would use. Names of domains are compared
// case-insensitively, as in Keystone's database.
func checkIdentityNames(m *services.Cloud, s *services.State) error {
	var errs []error
	if admin := m.AdminUser(); isServiceUser(m, admin) && admin != horizonv1.ServiceName {
		errs = append(errs, invalid.Field(s.FieldPath(".bootstrap.adminUser"),
			"%q cannot be the administrator: the service logs in with this user, "+
				"whose password would be replaced; set another name, or disable services.%s", admin, strings.ToLower(admin)))
	}
	domains := map[string]int{}
	backends := m.Spec.Services.Keystone.IdentityBackends
	for i, b := range backends {
		field, name := s.FieldPath(fmt.Sprintf(".identityBackends[%d].domain", i)), strings.ToLower(b.Domain)
		if j, ok := domains[name]; ok {
			errs = append(errs, invalid.Field(field, "is the domain of identityBackends[%d] already: Keystone does not distinguish %s from %s; "+
				"set another name", j, b.Domain, backends[j].Domain))
		}
		domains[name] = i
		if name == heatv1.ServiceName && m.HasService(heatv1.ServiceName) {
			errs = append(errs, invalid.Field(field, "%q cannot be the domain of a directory: Heat uses it for the users of stacks; set another "+
				"name, or disable services.heat", b.Domain))
		}
	}
	return errors.Join(errs...)
}

// checkLogin returns an error for dashboards that would receive users' tokens unencrypted.
func checkLogin(m *services.Cloud, s *services.State) error {
	f := m.Spec.Services.Keystone.Federation
	if f == nil {
		return nil
	}
	var errs []error
	for i, url := range f.TrustedDashboards {
		if strings.HasPrefix(string(url), "http://") && ptr.Deref(m.TLS.Enabled, true) {
			errs = append(errs, invalid.Field(s.FieldPath(fmt.Sprintf(".federation.trustedDashboards[%d]", i)),
				"must begin with https://: users' tokens are "+
					"sent there; use https, as in %s", horizonv1.TokenURL("https://dashboard.example.com")))
		}
	}
	return errors.Join(errs...)
}

// isServiceUser reports whether a user name belongs to a service in the identity service. Names are compared case-insensitively.
func isServiceUser(m *services.Cloud, user string) bool {
	return slices.ContainsFunc(m.Services[1:], func(s *services.State) bool { return strings.EqualFold(s.Name, user) })
}
