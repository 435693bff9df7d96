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

// authority is the CA of the API's certificate, published for a Gateway that verifies it.
type authority struct {
	// certificates are in PEM, and public. A function cannot read Secrets: the companion reports the CA with which it verifies Keystone.
	certificates string
	// required reports whether a CA is or was published, published whether the ConfigMap exists, so that a policy may reference it.
	required, published bool
}

// findAuthority returns the CA that the companion reports, or else the published one: a companion without status, or an unreachable
// cluster, does not remove it.
func findAuthority(observed observe.State) authority {
	check, _ := observed.Get(loginResource)
	existing, ok := observed.Get(authorityResource)
	is := existing.String("data", certificate.CAKey)
	previous := existing.Desired().String("data", certificate.CAKey)
	a := authority{certificates: cmp.Or(check.String("status", "authority"), cmp.Or(is, previous)), published: cmp.Or(is, previous) != ""}
	a.required = ok || a.certificates != ""
	return a
}

// authorityMap returns the ConfigMap with the CA. It changes when the CA is renewed, so it is not immutable.
func (m *model) authorityMap() *corev1.ConfigMap {
	return workload.ConfigMap(m.Meta(keystonev1.AuthorityName(m.Name)), map[string]string{certificate.CAKey: m.authority.certificates})
}

// exposed returns the component that exposes the API, and publishes the CA for a Gateway, which also verifies the other services with it.
func exposed(needs ...string) component {
	c := service.Exposure[*model](needs...)
	build := c.Build
	c.Build = func(m *model) ([]compose.Stage, error) {
		stages, err := build(m)
		if err == nil && m.authority.required && m.spec.Exposure.Type == exposure.GatewayAPI {
			stages[0] = append(compose.Stage{{Name: authorityResource, Object: m.authorityMap()}}, stages[0]...)
		}
		return stages, err
	}
	return c
}
