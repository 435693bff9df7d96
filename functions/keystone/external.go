package keystone

import (
	"fmt"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// An external Keystone is represented by the same objects as our own, and no others: the Secrets with credentials, under the same names, a
// periodic login check, and the published CA. Consumers do not distinguish the two.

// internalCASuffix is the name suffix of the certificate whose Secret holds the control plane's own CA.
const internalCASuffix = "authority"

// administrator returns the user that manages the catalog.
func (m *model) administrator() string {
	if e := m.spec.External; e != nil {
		return string(e.User)
	}
	return m.spec.Bootstrap.AdminUser
}

// korcInterface returns the endpoint interface that K-ORC uses. The internal interface of an external Keystone may be unreachable from
// here.
func (m *model) korcInterface() string {
	if m.spec.External != nil {
		return "public"
	}
	return "internal"
}

// certificates returns the component with the certificate of the API. With an external Keystone, the certificate is unused: its Secret
// provides the control plane's CA, and cert-manager issues a CA only together with a certificate and key.
func certificates() component {
	c := service.Certificate[*model]()
	build := c.Build
	c.Build = func(m *model) ([]compose.Stage, error) {
		if m.spec.External == nil {
			return build(m)
		}
		return service.SingleObjectComponent("authority-certificate",
			certificate.Server(m.Meta(m.Sub(internalCASuffix)), m.spec.IssuerRef, m.Sub(internalCASuffix))), nil
	}
	return c
}

// externalClouds builds the CA bundle with which services verify the external Keystone and each other, and the administrator's clouds.yaml.
// Services read one file for both: it has the claim's CA and the control plane's own.
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
`, cloud.CloudName, e.AuthURL, e.User, e.Project, e.UserDomain, e.ProjectDomain, m.korcInterface())
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

// externalLogin builds the companion's periodic login, which does not change the external user, and then publishes the reported CA for
// Gateways, which verify the other services with it.
func (m *model) externalLogin() []compose.Stage {
	spec := openstackv1.IdentityCheckSpec{CloudCredentialsRef: m.adminCloud()}
	stages := service.SingleObjectComponent(loginResource, c5c3.IdentityCheck(m.Meta(m.Name), spec))
	if m.authority.required {
		stages[0] = append(stages[0], compose.Resource{Name: authorityResource, Object: m.authorityMap()})
	}
	return stages
}
