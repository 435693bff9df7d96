package claim

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// SecretReference is a field of a spec that references a Secret.
type SecretReference struct {
	Name  *common.ObjectName
	Field string
	Keys  []string
}

// Reached reports whether Secrets of this cluster can be transferred to the workloads.
func (c *Claim) Reached() bool { return !c.Remote || c.SecretStore != nil }

// CheckSecretReachable returns an error for a Secret that cannot be transferred to the workloads.
func (c *Claim) CheckSecretReachable(field string) error {
	if c.Reached() {
		return nil
	}
	return invalid.Field(field, "the workloads run in another cluster, which requires a secret store to transfer Secrets, and none is "+
		"configured; set spec.global.secretStore, or ask the platform team for one")
}

// SecretSet returns an empty set of Secrets to copy from a namespace to the instance.
func (c *Claim) SecretSet(name, prefix, from string, typ corev1.SecretType) tenantsecret.Set {
	s := tenantsecret.Set{
		Name: name, Prefix: prefix, From: from, Type: typ, Instance: c.Instance, Labels: c.Workload(name).Labels(),
	}
	if c.Remote {
		s.Via = c.SecretStore
	}
	return s
}

// SecretsNamespace returns the namespace of the Secrets that the spec references. A composite resource without a claim belongs to the
// platform team, and so do its Secrets.
func (c *Claim) SecretsNamespace() string { return cmp.Or(c.Ref.Namespace, c.PlatformNamespace()) }

// PlatformNamespace returns the namespace of the platform's own Secrets.
func (c *Claim) PlatformNamespace() string { return string(c.Platform.SecretsNamespace) }
