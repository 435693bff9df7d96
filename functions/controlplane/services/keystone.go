package services

import (
	"k8s.io/utils/ptr"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// AdminUser returns the name of the administrator.
func (c *Cloud) AdminUser() string { return c.Spec.Services.Keystone.Bootstrap.AdminUser }

// KORCCredential returns the rotation of the credential of K-ORC.
func (c *Cloud) KORCCredential() common.Rotation {
	if c.Spec.KORC == nil {
		return common.Rotation{}
	}
	return ptr.Deref(c.Spec.KORC.CredentialRotation, common.Rotation{})
}

// IdentitySpec returns the Keystone settings of every other service.
func (c *Cloud) IdentitySpec() common.Identity {
	return common.Identity{
		KeystoneReference: c.KeystoneReference(), AdminCloudRef: AdminCloud(), KORCCloudRef: KORCCloud(), CredentialRotation: c.KORCCredential(),
	}
}

// KeystoneReference returns the addresses and certificates of Keystone.
func (c *Cloud) KeystoneReference() common.KeystoneReference {
	out := common.KeystoneReference{
		InternalURL: common.URL(c.Identity.Endpoints.Internal),
		PublicURL:   common.URL(c.Identity.Endpoints.Public),
		CASecretRef: common.SecretKeyReference{
			Name: common.ObjectName(keystonev1.CertificateSecretName(IdentityService)), Key: certificate.CAKey,
		},
	}
	if c.Exposure.Type == exposure.GatewayAPI {
		out.CAConfigMapRef = &common.LocalReference{Name: common.ObjectName(keystonev1.AuthorityName(IdentityService))}
	}
	if c.Identity.ExternalURL != "" {
		out.SharedAs = common.ObjectName(c.Instance)
	}
	return out
}

// AdminCloud references the credentials of the companion.
func AdminCloud() common.CloudCredentialsReference { return keystonev1.AdminCloud(IdentityService) }

// KORCCloud references the credentials of K-ORC.
func KORCCloud() common.CloudCredentialsReference { return keystonev1.KORCCloud(IdentityService) }

// DomainIDs maps names of domains to IDs.
type DomainIDs = map[string]keystonev1.DomainID

// IdentityService is the service that authenticates all others. It is the first row of the table and always enabled.
const IdentityService = keystonev1.ServiceName

// Directories returns the domains whose users are in a directory.
func (c *Cloud) Directories() []catalogv1.DomainName {
	var out []catalogv1.DomainName
	for _, b := range c.Spec.Services.Keystone.IdentityBackends {
		out = append(out, catalogv1.DomainName(b.Domain))
	}
	return out
}
