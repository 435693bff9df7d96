package keystone

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

const authorityResource = "authority"

// authority is whose certificate the API has, for a Gateway, which verifies it.
type authority struct {
	// certificates in PEM, which are public. A function reads no Secret: the companion reports the authority by which it verifies Keystone
	// itself.
	certificates string
	// wanted: there is something to publish, or there was. Published: it is there, and a policy may name it.
	wanted, published bool
}

// findAuthority finds what the companion has reported, or what was published of it: a companion that has lost its word takes nothing
// away, nor does a cluster that cannot be seen.
func findAuthority(seen observe.State) authority {
	check, _ := seen.Get(loginResource)
	existing, ok := seen.Get(authorityResource)
	is := existing.String("data", certificate.CAKey)
	previous := existing.Desired().String("data", certificate.CAKey)
	a := authority{certificates: cmp.Or(check.String("status", "authority"), cmp.Or(is, previous)), published: cmp.Or(is, previous) != ""}
	a.wanted = ok || a.certificates != ""
	return a
}

// authorityMap is the ConfigMap with the authority. It changes when the authority is renewed, so it is not immutable.
func (m *model) authorityMap() *corev1.ConfigMap {
	return workload.ConfigMap(m.Meta(keystonev1.AuthorityName(m.Name)), map[string]string{certificate.CAKey: m.authority.certificates})
}

// exposed brings the API to the outside, and the authority to a Gateway, which verifies the others by it, too.
func exposed(m *model) ([]compose.Stage, error) {
	stages, err := service.Exposure(m)
	if err == nil && m.authority.wanted && m.spec.Exposure.Type == exposure.GatewayAPI {
		stages[0] = append(compose.Stage{{Name: authorityResource, Object: m.authorityMap()}}, stages[0]...)
	}
	return stages, err
}
