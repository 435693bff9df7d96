package keystone

import (
	"fmt"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// catalogAccess builds K-ORC's credential: an application credential of the administrator instead of the password. It grants K-ORC the
// required rights but cannot create further credentials (https://docs.openstack.org/keystone/latest/user/application_credentials.html), and
// it is rotated regularly. K-ORC reads the Secret for each login, so that no pods must be restarted. The companion watches the sources of a
// SecretAggregate, so that the aggregate itself waits for the credential.
func catalogAccess(m *model) ([]compose.Stage, error) {
	name, cloud := m.Sub("korc"), keystonev1.KORCCloud(m.Name)
	rotation := m.ApplicationCredential(name, m.administrator(), m.adminCloud(), m.spec.KORCCredential,
		c5c3v1.Consumer{Kind: "SecretAggregate", Name: cloud.SecretName})
	yaml := fmt.Sprintf(`clouds:
  %[1]s:
    auth_type: v3applicationcredential
    auth:
      auth_url: %[2]s
      application_credential_id: {{ .id | quote }}
      application_credential_secret: {{ .secret | quote }}
    identity_api_version: 3
    interface: %[3]s
    endpoint_type: %[3]s
`, cloud.CloudName, m.spec.Endpoints.Internal, m.korcInterface())
	aggregate := c5c3.SecretAggregate(m.Meta(string(cloud.SecretName)), c5c3v1.SecretAggregateSpec{
		TargetSecretName: cloud.SecretName,
		Sources: []c5c3v1.SecretSource{
			service.Source("id", name, "application_credential_id"),
			service.Source("secret", name, "application_credential_secret"),
			service.Source("ca", string(m.ServerCA().Name), string(m.ServerCA().Key)),
		},
		Template: map[string]c5c3v1.SecretTemplate{"clouds.yaml": c5c3v1.SecretTemplate(yaml), "cacert": "{{ .ca }}"},
	})
	return []compose.Stage{{{Name: "korc-credential", Object: rotation}, {Name: "korc-clouds", Object: aggregate}}}, nil
}
