package controlplane

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
)

// foregroundFinalizer makes the garbage collector wait for a nested composite resource's children, also where the claim
// was deleted in the background.
const foregroundFinalizer = metav1.FinalizerDeleteDependents

// keystone is the identity service, with every field filled in.
func keystone(m *model) ([]compose.Stage, error) {
	k := m.spec.Services.Keystone
	xr := &keystonev1.Keystone{
		TypeMeta: metav1.TypeMeta{APIVersion: keystonev1.GroupVersion.String(), Kind: keystonev1.GroupVersionKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: keystoneName, Namespace: m.instance,
			Labels:     m.workload(keystoneName).Labels(),
			Finalizers: []string{foregroundFinalizer},
		},
		Spec: keystonev1.KeystoneSpec{
			ServiceSpec:      m.serviceSpec(k.Service, m.endpoints, m.identity),
			Workload:         k.Workload,
			Fernet:           ptr.Deref(k.Fernet, keystonev1.Fernet{}),
			CredentialKeys:   ptr.Deref(k.CredentialKeys, keystonev1.CredentialKeys{}),
			IdentityBackends: k.IdentityBackends,
			DomainIDs:        m.domainIDs,
			Federation:       k.Federation,
			TrustFlush:       ptr.Deref(k.TrustFlush, keystonev1.TrustFlush{}),
			UWSGI:            ptr.Deref(k.UWSGI, common.UWSGI{}),
			KORCCredential:   m.korcCredential(),
		},
	}
	xr.Spec.Bootstrap.AdminUser = m.adminUser()
	if xr.Spec.Replicas == nil {
		xr.Spec.Replicas = new(m.size.api)
	}
	xr.Spec.Resources = merge.Over(k.Resources, m.size.apiResources)
	// Set even where the claim does not: an existing Keystone would keep the number that its definition once had as a default.
	xr.Spec.UWSGI.Processes = cmp.Or(xr.Spec.UWSGI.Processes, identity.Processes(xr.Spec.Resources))
	return []compose.Stage{{{Name: keystoneResource, Object: xr, Management: true, After: m.keystoneSecrets()}}}, nil
}

// serviceSpec is what every service is told: all of the control plane that it needs to know.
func (m *model) serviceSpec(s common.Service, at endpoints, exposed *common.ServiceExposure) common.ServiceSpec {
	return common.ServiceSpec{
		Crossplane:       m.crossplane(),
		OpenStackRelease: string(m.release),
		Target:           common.Target{ProviderConfig: common.ObjectName(m.providerConfig), Remote: m.remote},
		Image:            s.Image,
		Overrides:        s.Overrides,
		Images:           m.images,
		Region:           m.spec.Global.Region,
		Database: common.Database{
			MariaDBRef:  common.LocalReference{Name: mariaDBName},
			Host:        m.databaseHost(),
			Port:        mariaDBPort,
			CASecretRef: common.SecretKeyReference{Name: mariaDBName + "-ca-bundle", Key: certificate.CAKey},
			Galera:      m.databaseReplicas() > 1,
		},
		Cache:          common.Cache{Servers: m.cacheServers()},
		Endpoints:      common.Endpoints{Public: common.URL(at.public), Internal: common.URL(at.internal)},
		Exposure:       exposed,
		IssuerRef:      m.issuer(),
		Monitoring:     m.monitoring,
		SecretStore:    m.secretStore,
		DeletionPolicy: m.spec.DeletionPolicy,
	}
}

// crossplane binds a service to the channel that the control plane is bound to, so that a new function that is tried for some
// control planes composes theirs alone.
func (m *model) crossplane() *common.Crossplane {
	if len(m.channel) == 0 {
		return nil
	}
	return &common.Crossplane{CompositionRevisionSelector: &metav1.LabelSelector{MatchLabels: m.channel}}
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

// checkKeystone refuses here already what the Keystone would, so that the claim reports it, and nothing is composed of a claim that is
// half right.
func (m *model) checkKeystone() error {
	k := m.spec.Services.Keystone
	s := keystonev1.KeystoneSpec{
		ServiceSpec:      common.ServiceSpec{Image: k.Image, Overrides: k.Overrides},
		Workload:         k.Workload,
		Fernet:           ptr.Deref(k.Fernet, keystonev1.Fernet{}),
		CredentialKeys:   ptr.Deref(k.CredentialKeys, keystonev1.CredentialKeys{}),
		IdentityBackends: k.IdentityBackends,
		Federation:       k.Federation,
		TrustFlush:       ptr.Deref(k.TrustFlush, keystonev1.TrustFlush{}),
		UWSGI:            ptr.Deref(k.UWSGI, common.UWSGI{}),
	}
	s.Resources = merge.Over(k.Resources, m.size.apiResources)
	identity.SetDefaults(&s)
	return identity.Check("spec.services.keystone", m.release, &s)
}
