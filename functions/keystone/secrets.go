package keystone

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// The key repositories. Resources, suffixes of objects and Secrets, volumes and folders have the same names.
const (
	fernetKeys     = "fernet-keys"
	credentialKeys = "credential-keys" //nolint:gosec // a name, not a secret
)

// keys builds the repositories of the keys that encrypt tokens and stored credentials.
func keys(m *model) ([]compose.Stage, error) {
	fernet := m.repository(fernetKeys, openstackv1.KeyRepositorySpec{
		Type:             openstackv1.KeyTypeFernet,
		RotationSchedule: m.spec.Fernet.RotationSchedule,
		Suspend:          m.spec.Fernet.Suspend,
		MaxActiveKeys:    m.spec.Fernet.MaxActiveKeys,
		Token: &openstackv1.TokenLifetime{
			ExpirationSeconds:         m.spec.Fernet.TokenExpirationSeconds,
			AllowExpiredWindowSeconds: *m.spec.Fernet.AllowExpiredWindowSeconds,
		},
	})
	credential := m.repository(credentialKeys, openstackv1.KeyRepositorySpec{
		Type:             openstackv1.KeyTypeCredential,
		RotationSchedule: m.spec.CredentialKeys.RotationSchedule,
		Suspend:          m.spec.CredentialKeys.Suspend,
		Migrate:          &openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage", "credential_migrate"}},
	})
	return []compose.Stage{{fernet, credential}}, nil
}

// repository returns a KeyRepository whose keys every pod reads.
func (m *model) repository(name string, spec openstackv1.KeyRepositorySpec) compose.Resource {
	spec.SecretName, spec.Consumers = common.ObjectName(m.Sub(name)), m.Consumers()
	if s := m.spec.SecretStore; s != nil {
		spec.Backup = &openstackv1.Backup{SecretStoreRef: *s, RemoteKey: secret.RemoteKey(*s, m.Namespace, m.Sub(name))}
	}
	return compose.Resource{Name: name, Object: c5c3.KeyRepository(m.Meta(m.Sub(name)), spec), Retain: true}
}

func (m *model) keyVolume(name string) service.Volume { return m.SecretVolume(name, m.Sub(name)) }

// clouds builds the administrator's clouds.yaml.
func clouds(m *model) ([]compose.Stage, error) {
	if m.spec.External != nil {
		return m.externalClouds(), nil
	}
	return service.SingleObjectComponent("clouds", m.Clouds(service.Login{
		Cloud: m.adminCloud(), URL: m.spec.Endpoints.Internal, User: m.spec.Bootstrap.AdminUser, Project: keystonev1.AdminProject,
		Password: m.adminSecret(), CA: m.ServerCA(),
	})), nil
}
