package controlplane

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
)

// keystone is the identity service.
func keystone(m *model, s *serviceState) runtime.Object {
	xr := &keystonev1.Keystone{TypeMeta: s.typeMeta(), ObjectMeta: m.objectMeta(s), Spec: m.keystoneSpec(s)}
	xr.Spec.ServiceSpec = m.serviceSpec(s)
	xr.Spec.DomainIDs = m.domainIDs
	xr.Spec.KORCCredential = m.korcCredential()
	xr.Spec.Bootstrap.AdminUser = m.adminUser()
	xr.Spec.UWSGI = s.processes()
	return xr
}

// keystoneSpec is what the claim says of Keystone, without what every service is told.
func (m *model) keystoneSpec(s *serviceState) keystonev1.KeystoneSpec {
	k := m.spec.Services.Keystone
	return keystonev1.KeystoneSpec{
		Workload:         s.workload,
		Fernet:           ptr.Deref(k.Fernet, keystonev1.Fernet{}),
		CredentialKeys:   ptr.Deref(k.CredentialKeys, keystonev1.CredentialKeys{}),
		IdentityBackends: k.IdentityBackends,
		Federation:       k.Federation,
		TrustFlush:       ptr.Deref(k.TrustFlush, keystonev1.TrustFlush{}),
		UWSGI:            ptr.Deref(k.UWSGI, common.UWSGI{}),
	}
}

func checkKeystone(m *model, s *serviceState) error {
	spec := m.keystoneSpec(s)
	spec.Image, spec.Overrides = s.basics.Image, s.order.basics.Overrides
	identity.SetDefaults(&spec)
	return identity.Check(s.field(""), m.release, &spec)
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

// identitySpec is what every other service is told of Keystone.
func (m *model) identitySpec() common.Identity {
	out := common.Identity{
		InternalURL: common.URL(m.identity.endpoints.internal),
		PublicURL:   common.URL(m.identity.endpoints.public),
		CASecretRef: common.SecretKeyReference{
			Name: common.ObjectName(keystonev1.CertificateSecretName(identityService)), Key: certificate.CAKey,
		},
		AdminCloudRef:      adminCloud(),
		KORCCloudRef:       korcCloud(),
		CredentialRotation: m.korcCredential(),
	}
	if m.exposure.Type == exposure.GatewayAPI {
		out.CAConfigMapRef = &common.LocalReference{Name: common.ObjectName(keystonev1.AuthorityName(identityService))}
	}
	return out
}

// adminCloud is by what the companion logs in, korcCloud by what K-ORC does.
func adminCloud() common.CloudCredentialsReference { return keystonev1.AdminCloud(identityService) }

func korcCloud() common.CloudCredentialsReference { return keystonev1.KORCCloud(identityService) }

func keystoneSecrets(s *controlplanev1.Services) []named {
	var out []named
	key := func(r *common.SecretKeyReference, field string) {
		if r != nil {
			out = append(out, named{name: &r.Name, field: "spec.services.keystone." + field, keys: []string{string(r.Key)}})
		}
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

func keystoneMentions(path string, value any) []mention {
	switch v := value.(type) {
	case keystonev1.LDAP:
		return []mention{{&directoryHosts, path + ".url", v.URL}}
	case keystonev1.Federation:
		return []mention{
			{&openIDHosts, path + ".metadataURL", string(v.MetadataURL)},
			{&openIDHosts, path + ".issuer", string(v.Issuer)},
			{&openIDHosts, path + ".introspectionURL", string(v.IntrospectionURL)},
		}
	}
	return nil
}

// bootstrapEntries is what Keystone's bootstrap made (https://docs.openstack.org/keystone/latest/admin/bootstrap.html), and the project of
// the services, which it does not make. What services refer to is shared.
func (m *model) bootstrapEntries() []entry {
	const domain = common.DefaultDomainObject
	byName := func(name string) object.Map { return object.Map{"name": name} }
	inDefault := func(name string) object.Map { return object.Map{"name": name, "domainRef": domain} }
	out := []entry{
		// The id of this domain is "default", which is no UUID: K-ORC can import it by its name only.
		{resource: "domain-default", kind: "Domain", name: domain, group: domains, shared: true, filter: byName(keystonev1.DefaultDomain)},
		{resource: "project-admin", kind: "Project", name: "admin", group: projects, filter: inDefault(keystonev1.AdminProject)},
		{resource: "project-service", kind: "Project", name: common.ServiceProject, group: projects, shared: true, managed: object.Map{
			"name": common.ServiceProject, "domainRef": domain, "description": "Users of the OpenStack services",
		}},
	}
	for _, role := range []string{common.AdminRole, "manager", "member", "reader", common.ServiceRole} {
		shared := role == common.AdminRole || role == common.ServiceRole
		out = append(out, entry{resource: "role-" + role, kind: "Role", name: role, group: roles, shared: shared, filter: byName(role)})
	}
	endpoint := func(of string) entry {
		return entry{
			resource: "endpoint-keystone-" + of, kind: "Endpoint", name: identityService + "-" + of, group: entries,
			filter: object.Map{"interface": of, "serviceRef": identityService},
		}
	}
	return append(out,
		entry{resource: "user-admin", kind: "User", name: "admin", group: users, filter: inDefault(m.adminUser())},
		entry{
			resource: "service-keystone", kind: "Service", name: identityService, group: entries,
			filter: object.Map{"name": keystonev1.ServiceName, "type": "identity"},
		},
		endpoint("public"), endpoint("internal"),
	)
}

// longestID of a domain that a Keystone composite resource takes; Keystone's own have 32 characters.
const longestID = 128

// directoryDomains are the domains whose users live in a directory: without them Keystone does not read the directory's file. They are
// made whatever is imported, and stay in Keystone when they are no longer wanted: what hangs on a domain is the tenant's.
func (m *model) directoryDomains() []entry {
	var out []entry
	for _, b := range m.spec.Services.Keystone.IdentityBackends {
		if strings.EqualFold(b.Domain, "default") {
			continue // Bootstrap makes it.
		}
		name := domainObject(b.Domain)
		out = append(out, entry{resource: "domain-" + name, kind: "Domain", name: name, managed: object.Map{
			"name": b.Domain, "description": "Users of a directory",
		}})
	}
	return out
}

// domainIDs are the IDs of domains by name.
type domainIDs = map[string]keystonev1.DomainID

// findDomains finds which of the directories' domains there are. One whose object cannot be seen for a while is still there: Keystone's
// pods are replaced when this changes.
func (m *model) findDomains(seen observe.State) {
	for _, e := range m.directoryDomains() {
		domain, _ := e.managed["name"].(string)
		id := ""
		if o, ok := seen.Get(e.resource); ok {
			id = o.String("status", "id")
		}
		id = cmp.Or(id, m.identity.seen.String("spec", "domainIDs", domain))
		if id == "" || len(id) > longestID {
			continue
		}
		if m.domainIDs == nil {
			m.domainIDs = domainIDs{}
		}
		m.domainIDs[domain] = keystonev1.DomainID(id)
	}
}
