// Package keystone derives the composite resource of Keystone from a claim.
package keystone

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Service is Keystone, the identity service.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: services.IdentityService, Kind: keystonev1.GroupVersionKind, Phase: common.PhaseIdentity,
		Needs:      []string{infrastructure.DatabaseComponent, infrastructure.CacheComponent, infrastructure.CompanionComponent},
		PublicPath: "/identity", Version: "/v3", Internal: keystonev1.InternalURL,
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	k := s.Keystone
	return services.Requested{
		Enabled: true, Basics: k.Service, Workload: k.Workload, UWSGI: k.UWSGI,
		ExternalURL: ptr.Deref(k.External, keystonev1.ExternalKeystone{}).AuthURL,
	}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Keystone.
type model struct{ services.Common }

// Object returns the composite resource of the identity service.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	xr := &keystonev1.Keystone{TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name), Spec: specOf(m, s)}
	xr.Spec.ServiceSpec = m.ServiceSpec(s)
	xr.Spec.DomainIDs = existingDomains(m)
	xr.Spec.Federation = federation(m)
	xr.Spec.KORCCredential = m.KORCCredential()
	xr.Spec.Bootstrap.AdminUser = m.AdminUser()
	xr.Spec.UWSGI = s.Processes()
	return xr, nil
}

// Pods returns the costs of the API, and of the proxy in each of its pods.
func (x model) Pods() []cost.Item {
	out := x.Common.Pods()
	if f := x.Cloud.Spec.Services.Keystone.Federation; f != nil {
		out = append(out, cost.Item{
			Field: x.State.FieldPath(".federation.proxyResources"), Exact: true, Replicas: *x.State.Workload.Replicas,
			Resources: f.ProxyResources, Program: minimum.FederationProxy,
		})
	}
	return out
}

// federation returns the federation settings of the claim, with the control plane's own dashboards added to the trusted ones.
func federation(m *services.Cloud) *keystonev1.Federation {
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

// specOf returns the Keystone settings of the claim. The caller adds the settings that all services share.
func specOf(m *services.Cloud, s *services.State) keystonev1.KeystoneSpec {
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

// Secrets lists the fields of a spec that reference Secrets of the service.
func (Service) Secrets(s *controlplanev1.Services) []claim.SecretReference {
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

// IdentityHosts are the allowed hosts of external Keystones.
var IdentityHosts = bounds.NewHostList("keystoneHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.KeystoneHosts) })

// ExternalReferences lists the references to external systems in a value of the service's types.
func (Service) ExternalReferences(path string, value any) []bounds.ExternalReference {
	switch v := value.(type) {
	case keystonev1.ExternalKeystone:
		return []bounds.ExternalReference{{List: &IdentityHosts, Field: path + ".authURL", Value: string(v.AuthURL)}}
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

// existingDomains returns the IDs of the directories' domains. An ID that the catalog temporarily does not report is kept, because a change
// replaces Keystone's pods.
func existingDomains(m *services.Cloud) services.DomainIDs {
	var out services.DomainIDs
	catalog, _ := m.Observed.Get(services.CatalogComponent)
	for _, d := range m.Directories() {
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
