package keystone

import (
	"cmp"
	"fmt"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// A Keystone that somebody else runs is what a Keystone of our own is for others, and nothing besides: the Secrets that they log in by,
// under the same names, a regular login, and the authority that is published. What logs in does not see which of the two there is.

// internalCASuffix ends the name of the certificate whose Secret holds the control plane's own authority.
const internalCASuffix = "authority"

// administrator is who looks after the catalog.
func (m *model) administrator() string {
	if e := m.spec.External; e != nil {
		return string(e.User)
	}
	return m.spec.Bootstrap.AdminUser
}

// korcInterface is the interface at which K-ORC uses Keystone. That of one elsewhere which is called internal may lead nowhere from here.
func (m *model) korcInterface() string {
	if m.spec.External != nil {
		return "public"
	}
	return "internal"
}

// certified is the certificate of the API. Where that is elsewhere, it is one that nobody serves: its Secret holds the authority of this
// control plane, and no Secret has that without a key.
func certified(m *model) ([]compose.Stage, error) {
	if !m.External {
		return service.Certificate(m)
	}
	return service.SingleObjectComponent("authority-certificate",
		certificate.Server(m.Meta(m.Sub(internalCASuffix)), m.spec.IssuerRef, m.Sub(internalCASuffix))), nil
}

// externalClouds are the authorities by which services verify that Keystone, and each other, and the administrator's clouds.yaml. Services
// have one file for both: it has the authority that the claim names, and the control plane's own.
func (m *model) externalClouds() []compose.Stage {
	e, cloud, authorities := m.spec.External, m.adminCloud(), m.ServerCA()
	yaml := fmt.Sprintf(`clouds:
  %s:
    auth_type: password
    auth:
      auth_url: %s
      username: %q
      password: {{ .password | quote }}
      project_name: %q
      user_domain_name: %q
      project_domain_name: %q
    identity_api_version: 3
    interface: %[7]s
    endpoint_type: %[7]s
`, cloud.CloudName, e.AuthURL, e.User, cmp.Or(e.Project, keystonev1.AdminProject), cmp.Or(e.UserDomain, keystonev1.DefaultDomain),
		cmp.Or(e.ProjectDomain, keystonev1.DefaultDomain), m.korcInterface())
	source := func(name string, ref common.SecretKeyReference) c5c3v1.SecretSource {
		return service.Source(name, string(ref.Name), string(ref.Key))
	}
	return []compose.Stage{
		{{Name: "authorities", Object: c5c3.SecretAggregate(m.Meta(string(authorities.Name)), c5c3v1.SecretAggregateSpec{
			TargetSecretName: authorities.Name,
			Sources: []c5c3v1.SecretSource{
				source("external", e.CASecretRef), service.Source("own", m.Sub(internalCASuffix), certificate.CAKey),
			},
			Template: map[string]c5c3v1.SecretTemplate{string(authorities.Key): "{{ .external }}\n{{ .own }}"},
		})}},
		{{Name: "clouds", Object: c5c3.SecretAggregate(m.Meta(string(cloud.SecretName)), c5c3v1.SecretAggregateSpec{
			TargetSecretName: cloud.SecretName,
			Sources:          []c5c3v1.SecretSource{source("password", e.PasswordSecretRef), source("ca", authorities)},
			Template:         map[string]c5c3v1.SecretTemplate{"clouds.yaml": c5c3v1.SecretTemplate(yaml), "cacert": "{{ .ca }}"},
		})}},
	}
}

// externalLogin is the companion's regular login, which changes nothing of the user, who is not ours, and then the authority that it
// reports, for Gateways that verify the other services by it.
func (m *model) externalLogin() []compose.Stage {
	spec := openstackv1.IdentityCheckSpec{CloudCredentialsRef: m.adminCloud()}
	stages := service.SingleObjectComponent(loginResource, c5c3.IdentityCheck(m.Meta(m.Name), spec))
	if m.authority.wanted {
		stages[0] = append(stages[0], compose.Resource{Name: authorityResource, Object: m.authorityMap()})
	}
	return stages
}
