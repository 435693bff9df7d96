package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// keystone builds the composite resource of the identity service.
func keystone(m *model, s *services.State) runtime.Object {
	xr := &keystonev1.Keystone{TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name), Spec: m.keystoneSpec(s)}
	xr.Spec.ServiceSpec = m.ServiceSpec(s)
	xr.Spec.DomainIDs = m.existingDomains()
	xr.Spec.Federation = m.federation()
	xr.Spec.KORCCredential = m.KORCCredential()
	xr.Spec.Bootstrap.AdminUser = m.AdminUser()
	xr.Spec.UWSGI = s.Processes()
	return xr
}

// federation returns the federation settings of the claim, with the control plane's own dashboards added to the trusted ones.
func (m *model) federation() *keystonev1.Federation {
	f := m.Spec.Services.Keystone.Federation
	if f == nil {
		return nil
	}
	out := *f
	for _, s := range m.Services {
		for _, url := range s.Model.SSOOrigins() {
			if !slices.Contains(out.TrustedDashboards, url) {
				out.TrustedDashboards = append(slices.Clip(out.TrustedDashboards), url)
			}
		}
	}
	return &out
}

// keystoneSpec returns the Keystone settings of the claim. The caller adds the settings that all services share.
func (m *model) keystoneSpec(s *services.State) keystonev1.KeystoneSpec {
	k := m.Spec.Services.Keystone
	return keystonev1.KeystoneSpec{
		Workload:         s.Workload,
		External:         k.External,
		Fernet:           ptr.Deref(k.Fernet, keystonev1.Fernet{}),
		CredentialKeys:   ptr.Deref(k.CredentialKeys, keystonev1.CredentialKeys{}),
		IdentityBackends: k.IdentityBackends,
		Federation:       k.Federation,
		TrustFlush:       ptr.Deref(k.TrustFlush, keystonev1.TrustFlush{}),
		UWSGI:            ptr.Deref(k.UWSGI, common.UWSGI{}),
	}
}

func checkKeystone(m *model, s *services.State, r release.Release) error {
	if s.ExternalURL != "" {
		return m.checkExternal(s)
	}
	spec := m.keystoneSpec(s)
	spec.Image, spec.Overrides = s.Basics.Image, s.Basics.Overrides
	identity.SetDefaults(&spec)
	return errors.Join(identity.Check(s.FieldPath(""), r, &spec), m.checkIdentityNames(s), m.checkLogin(s))
}

// checkExternal returns an error for settings that cannot be applied to an external Keystone, as far as admission does not check them, and
// for an invalid address.
func (m *model) checkExternal(s *services.State) error {
	var errs []error
	if len(s.Basics.Config) > 0 {
		errs = append(errs, invalid.Field(s.FieldPath(".config"), "cannot be set for an external Keystone; remove it"))
	}
	if _, err := workload.PortOf(string(s.ExternalURL)); err != nil {
		errs = append(errs, invalid.Field(s.FieldPath(".external.authURL"), "%s", err))
	}
	return errors.Join(errs...)
}

// visited returns Keystone's public address, which the companion requests like an external client. Nil: it has none.
func (m *model) visited() []string {
	if !m.Identity.IsPublic() {
		return nil
	}
	return []string{m.Identity.Endpoints.Public}
}

func keystoneSecrets(s *controlplanev1.Services) []claim.SecretReference {
	var out []claim.SecretReference
	key := func(r *common.SecretKeyReference, field string) {
		if r != nil {
			out = append(out, claim.SecretReference{Name: &r.Name, Field: "spec.services.keystone." + field, Keys: []string{string(r.Key)}})
		}
	}
	if e := s.Keystone.External; e != nil {
		key(&e.CASecretRef, "external.caSecretRef")
		key(&e.PasswordSecretRef, "external.passwordSecretRef")
	}
	for i := range s.Keystone.IdentityBackends {
		l := &s.Keystone.IdentityBackends[i].LDAP
		key(l.PasswordSecretRef, fmt.Sprintf("identityBackends[%d].ldap.passwordSecretRef", i))
		key(l.CASecretRef, fmt.Sprintf("identityBackends[%d].ldap.caSecretRef", i))
	}
	if f := s.Keystone.Federation; f != nil {
		key(&f.ClientSecretRef, "federation.clientSecretRef")
		key(f.CASecretRef, "federation.caSecretRef")
	}
	return out
}

// identityHosts are the allowed hosts of external Keystones.
var identityHosts = bounds.NewHostList("keystoneHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.KeystoneHosts) })

func keystoneReferences(path string, value any) []bounds.ExternalReference {
	switch v := value.(type) {
	case keystonev1.ExternalKeystone:
		return []bounds.ExternalReference{{List: &identityHosts, Field: path + ".authURL", Value: string(v.AuthURL)}}
	case keystonev1.LDAP:
		return []bounds.ExternalReference{{List: &bounds.DirectoryHosts, Field: path + ".url", Value: v.URL}}
	case keystonev1.Federation:
		return []bounds.ExternalReference{
			{List: &bounds.OpenIDHosts, Field: path + ".metadataURL", Value: string(v.MetadataURL)},
			{List: &bounds.OpenIDHosts, Field: path + ".issuer", Value: string(v.Issuer)},
			{List: &bounds.OpenIDHosts, Field: path + ".introspectionURL", Value: string(v.IntrospectionURL)},
		}
	}
	return nil
}

// sharedIdentity returns the external Keystone. Nil: the control plane has its own.
func (m *model) sharedIdentity() *catalogv1.SharedKeystone {
	if m.Identity.ExternalURL == "" {
		return nil
	}
	return &catalogv1.SharedKeystone{As: common.ObjectName(m.Instance), URL: m.Identity.ExternalURL}
}

// directories returns the domains whose users are in a directory.
func (m *model) directories() []catalogv1.DomainName {
	var out []catalogv1.DomainName
	for _, b := range m.Spec.Services.Keystone.IdentityBackends {
		out = append(out, catalogv1.DomainName(b.Domain))
	}
	return out
}

// existingDomains returns the IDs of the directories' domains. An ID that the catalog temporarily does not report is kept, because a change
// replaces Keystone's pods.
func (m *model) existingDomains() services.DomainIDs {
	var out services.DomainIDs
	catalog, _ := m.Observed.Get(services.CatalogComponent)
	for _, d := range m.directories() {
		domain := string(d)
		id := cmp.Or(catalog.String("status", "domainIDs", domain), m.Identity.Observed.String("spec", "domainIDs", domain))
		if id == "" {
			continue
		}
		if out == nil {
			out = services.DomainIDs{}
		}
		out[domain] = keystonev1.DomainID(id)
	}
	return out
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

// checkIdentityNames returns an error for names in Keystone that two parts of the cloud would use. Names of domains are compared
// case-insensitively, as in Keystone's database.
func (m *model) checkIdentityNames(s *services.State) error {
	var errs []error
	if admin := m.AdminUser(); m.isServiceUser(admin) && admin != horizonv1.ServiceName {
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

// checkLogin returns an error for a proxy with too little memory, and for dashboards that would receive users' tokens unencrypted.
func (m *model) checkLogin(s *services.State) error {
	f := m.Spec.Services.Keystone.Federation
	if f == nil {
		return nil
	}
	errs := []error{minimum.CheckLimits(s.FieldPath(".federation.proxyResources"), minimum.FederationProxy, f.ProxyResources)}
	for i, url := range f.TrustedDashboards {
		if strings.HasPrefix(string(url), "http://") && ptr.Deref(m.TLS.Enabled, true) {
			errs = append(errs, invalid.Field(s.FieldPath(fmt.Sprintf(".federation.trustedDashboards[%d]", i)),
				"must begin with https://: users' tokens are "+
					"sent there; use https, as in %s", horizonv1.TokenURL("https://dashboard.example.com")))
		}
	}
	return errors.Join(errs...)
}
