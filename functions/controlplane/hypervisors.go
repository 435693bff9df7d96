package controlplane

import controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"

// hypervisorAccess returns the settings of pools of hypervisors, collected from the services. Nil: no service has cells.
func (m *model) hypervisorAccess() *controlplanev1.HypervisorAccess {
	identity := m.IdentitySpec()
	out := &controlplanev1.HypervisorAccess{
		Region: m.Spec.Global.Region, IdentityURL: identity.InternalURL, CASecretRef: identity.CASecretRef,
		KeyManager: m.KeyManager(),
	}
	if m.Identity.Exposure != nil {
		out.PublicIdentityURL = identity.PublicURL
	}
	for _, s := range m.Services {
		s.Model.Publish(out)
	}
	if len(out.Cells) == 0 {
		return nil
	}
	return out
}
