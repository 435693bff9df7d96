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
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// keystone is the identity service.
func keystone(m *model, s *serviceState) runtime.Object {
	xr := &keystonev1.Keystone{TypeMeta: s.typeMeta(), ObjectMeta: m.objectMeta(s.name), Spec: m.keystoneSpec(s)}
	xr.Spec.ServiceSpec = m.serviceSpec(s)
	xr.Spec.DomainIDs = m.domainIDs
	xr.Spec.Federation = m.federation()
	xr.Spec.KORCCredential = m.korcCredential()
	xr.Spec.Bootstrap.AdminUser = m.adminUser()
	xr.Spec.UWSGI = s.processes()
	return xr
}

// federation is what the claim says of it, which trusts the control plane's own dashboards besides.
func (m *model) federation() *keystonev1.Federation {
	f := m.spec.Services.Keystone.Federation
	if f == nil {
		return nil
	}
	out := *f
	for _, s := range m.services {
		if s.ssoOrigins == nil {
			continue
		}
		for _, url := range s.ssoOrigins(m, s) {
			if !slices.Contains(out.TrustedDashboards, url) {
				out.TrustedDashboards = append(slices.Clip(out.TrustedDashboards), url)
			}
		}
	}
	return &out
}

// keystoneSpec is what the claim says of Keystone, without what every service is told.
func (m *model) keystoneSpec(s *serviceState) keystonev1.KeystoneSpec {
	k := m.spec.Services.Keystone
	return keystonev1.KeystoneSpec{
		Workload:         s.workload,
		External:         k.External,
		Fernet:           ptr.Deref(k.Fernet, keystonev1.Fernet{}),
		CredentialKeys:   ptr.Deref(k.CredentialKeys, keystonev1.CredentialKeys{}),
		IdentityBackends: k.IdentityBackends,
		Federation:       k.Federation,
		TrustFlush:       ptr.Deref(k.TrustFlush, keystonev1.TrustFlush{}),
		UWSGI:            ptr.Deref(k.UWSGI, common.UWSGI{}),
	}
}

func checkKeystone(m *model, s *serviceState, r release.Release) error {
	if s.elsewhere != "" {
		return m.checkExternal(s)
	}
	spec := m.keystoneSpec(s)
	spec.Image, spec.Overrides = s.basics.Image, s.basics.Overrides
	identity.SetDefaults(&spec)
	return errors.Join(identity.Check(s.field(""), r, &spec), m.checkIdentityNames(s), m.checkLogin(s))
}

// checkExternal refuses what a Keystone that is elsewhere cannot be told, as far as admission does not see it, and an address that leads
// nowhere.
func (m *model) checkExternal(s *serviceState) error {
	var errs []error
	if len(s.basics.Config) > 0 {
		errs = append(errs, invalid.Field(s.field(".config"), "whoever runs a Keystone configures it, and this one is elsewhere; leave it out"))
	}
	if _, err := workload.PortOf(string(s.elsewhere)); err != nil {
		errs = append(errs, invalid.Field(s.field(".external.authURL"), "%s", err))
	}
	return errors.Join(errs...)
}

func (m *model) adminUser() string {
	if b := m.spec.Services.Keystone.Bootstrap; b != nil && b.AdminUser != "" {
		return b.AdminUser
	}
	return keystonev1.DefaultAdminUser
}

func (m *model) korcCredential() common.Rotation {
	if m.spec.KORC == nil {
		return common.Rotation{}
	}
	return ptr.Deref(m.spec.KORC.CredentialRotation, common.Rotation{})
}

// visited is Keystone's public address, which the companion asks as clients outside do. Nil: it has none.
func (m *model) visited() []string {
	if !m.identity.public() {
		return nil
	}
	return []string{m.identity.endpoints.public}
}

// identitySpec is what every other service is told of Keystone.
func (m *model) identitySpec() common.Identity {
	return common.Identity{
		KeystoneReference: m.keystoneReference(), AdminCloudRef: adminCloud(), KORCCloudRef: korcCloud(), CredentialRotation: m.korcCredential(),
	}
}

// keystoneReference is where Keystone is.
func (m *model) keystoneReference() common.KeystoneReference {
	out := common.KeystoneReference{
		InternalURL: common.URL(m.identity.endpoints.internal),
		PublicURL:   common.URL(m.identity.endpoints.public),
		CASecretRef: common.SecretKeyReference{
			Name: common.ObjectName(keystonev1.CertificateSecretName(identityService)), Key: certificate.CAKey,
		},
	}
	if m.exposure.Type == exposure.GatewayAPI {
		out.CAConfigMapRef = &common.LocalReference{Name: common.ObjectName(keystonev1.AuthorityName(identityService))}
	}
	if m.identity.elsewhere != "" {
		out.SharedAs = common.ObjectName(m.instance)
	}
	return out
}

// adminCloud is by what the companion logs in, korcCloud by what K-ORC does.
func adminCloud() common.CloudCredentialsReference { return keystonev1.AdminCloud(identityService) }

func korcCloud() common.CloudCredentialsReference { return keystonev1.KORCCloud(identityService) }

func keystoneSecrets(s *controlplanev1.Services) []secretReference {
	var out []secretReference
	key := func(r *common.SecretKeyReference, field string) {
		if r != nil {
			out = append(out, secretReference{name: &r.Name, field: "spec.services.keystone." + field, keys: []string{string(r.Key)}})
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

// identityHosts are hosts of Keystones that exist elsewhere.
var identityHosts = allowList{"keystoneHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.KeystoneHosts) }, limit.Hosts}

func keystoneReferences(path string, value any) []externalReference {
	switch v := value.(type) {
	case keystonev1.ExternalKeystone:
		return []externalReference{{&identityHosts, path + ".authURL", string(v.AuthURL)}}
	case keystonev1.LDAP:
		return []externalReference{{&directoryHosts, path + ".url", v.URL}}
	case keystonev1.Federation:
		return []externalReference{
			{&openIDHosts, path + ".metadataURL", string(v.MetadataURL)},
			{&openIDHosts, path + ".issuer", string(v.Issuer)},
			{&openIDHosts, path + ".introspectionURL", string(v.IntrospectionURL)},
		}
	}
	return nil
}

// sharedIdentity is a Keystone that is elsewhere. Nil: it is the control plane's own.
func (m *model) sharedIdentity() *catalogv1.SharedKeystone {
	if m.identity.elsewhere == "" {
		return nil
	}
	return &catalogv1.SharedKeystone{As: common.ObjectName(m.instance), URL: m.identity.elsewhere}
}

// directories are the domains whose users live in a directory.
func (m *model) directories() []catalogv1.DomainName {
	var out []catalogv1.DomainName
	for _, b := range m.spec.Services.Keystone.IdentityBackends {
		out = append(out, catalogv1.DomainName(b.Domain))
	}
	return out
}

// domainIDs are the IDs of domains by name.
type domainIDs = map[string]keystonev1.DomainID

// findDomains finds which of the directories' domains there are. What the catalog does not report for a while is still there: Keystone's
// pods are replaced when this changes.
func (m *model) findDomains(observedState observe.State) {
	catalog, _ := observedState.Get(catalogComponent)
	for _, d := range m.directories() {
		domain := string(d)
		id := cmp.Or(catalog.String("status", "domainIDs", domain), m.identity.seen.String("spec", "domainIDs", domain))
		if id == "" {
			continue
		}
		if m.domainIDs == nil {
			m.domainIDs = domainIDs{}
		}
		m.domainIDs[domain] = keystonev1.DomainID(id)
	}
}

// allowsKeystoneServices says that services of somebody's own may log in.
func (m *model) allowsKeystoneServices() bool { return len(m.spec.KeystoneServices) > 0 }

// checkKeystoneServices refuses a place in the catalog that another service has. What a KeystoneService makes of its own, its function says:
// here is only who may.
func (m *model) checkKeystoneServices() error {
	var errs []error
	taken := map[string]int{}
	for i, g := range m.spec.KeystoneServices {
		field := fmt.Sprintf("spec.keystoneServices[%d]", i)
		for j, typ := range g.Types() {
			at := field + ".additionalTypes"
			if j == 0 && g.Type != "" {
				at = field + ".type"
			}
			if keystoneservicev1.ServiceType(typ).Reserved() {
				errs = append(errs, invalid.Field(at, "%q is the type of a service of OpenStack's own; choose another", typ))
			}
			if first, twice := taken[typ]; twice {
				errs = append(errs, invalid.Field(at, "spec.keystoneServices[%d] has type %q already: clients would find either; choose another",
					first, typ))
				continue
			}
			taken[typ] = i
		}
	}
	return errors.Join(errs...)
}

// checkIdentityNames returns an error for names in Keystone that two parts of the cloud would use. Keystone compares names of domains
// without regard to case, as its database does.
func (m *model) checkIdentityNames(s *serviceState) error {
	var errs []error
	if admin := m.adminUser(); m.takenName(admin) && admin != horizonv1.ServiceName {
		errs = append(errs, invalid.Field(s.field(".bootstrap.adminUser"),
			"%q cannot be the administrator: it is the user by which the service logs in, "+
				"whose password would be replaced; choose another name, or disable services.%s", admin, strings.ToLower(admin)))
	}
	domains := map[string]int{}
	backends := m.spec.Services.Keystone.IdentityBackends
	for i, b := range backends {
		field, name := s.field(fmt.Sprintf(".identityBackends[%d].domain", i)), strings.ToLower(b.Domain)
		if j, ok := domains[name]; ok {
			errs = append(errs, invalid.Field(field, "is the domain of identityBackends[%d] already: Keystone does not distinguish %s from %s; "+
				"choose "+
				"another name", j, b.Domain, backends[j].Domain))
		}
		domains[name] = i
		if name == heatv1.ServiceName && m.hasService(heatv1.ServiceName) {
			errs = append(errs, invalid.Field(field, "%q cannot be the domain of a directory: Heat keeps the users of stacks in it; choose another "+
				"name, or disable services.heat", b.Domain))
		}
	}
	return errors.Join(errs...)
}

// checkLogin returns an error for a proxy without room, and for dashboards that would get users' tokens in the clear.
func (m *model) checkLogin(s *serviceState) error {
	f := m.spec.Services.Keystone.Federation
	if f == nil {
		return nil
	}
	errs := []error{minimum.CheckLimits(s.field(".federation.proxyResources"), minimum.FederationProxy, f.ProxyResources)}
	for i, url := range f.TrustedDashboards {
		if strings.HasPrefix(string(url), "http://") && ptr.Deref(m.tls.Enabled, true) {
			errs = append(errs, invalid.Field(s.field(fmt.Sprintf(".federation.trustedDashboards[%d]", i)),
				"must begin with https://: users' tokens are "+
					"sent there; use https, as in %s", horizonv1.TokenURL("https://dashboard.example.com")))
		}
	}
	return errors.Join(errs...)
}
