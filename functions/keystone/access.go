package keystone

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
)

// catalogAccess is what K-ORC logs in by: an application credential of the administrator's, and not the password. With it K-ORC
// can do what it has to, but makes no other credential (https://docs.openstack.org/keystone/latest/user/application_credentials.html),
// and it is replaced regularly. K-ORC reads the Secret for each login, so that nothing has to be rolled. The companion watches what an
// aggregate is made of, so that this one waits for the credential itself.
func catalogAccess(m *model) ([]compose.Stage, error) {
	name, cloud := m.sub("korc"), keystonev1.KORCCloud(m.name)
	r := m.spec.KORCCredential
	rotation := c5c3.CredentialRotation(m.meta(name), c5c3v1.CredentialRotationSpec{
		Target:              "ApplicationCredential",
		UserName:            m.spec.Bootstrap.AdminUser,
		CloudCredentialsRef: m.adminCloud(),
		SecretName:          common.ObjectName(name),
		IntervalDays:        r.IntervalDays,
		PreRotationDays:     r.PreRotationDays,
		GracePeriodDays:     r.GracePeriodDays,
		Suspend:             r.Suspend,
		Consumers:           []c5c3v1.Consumer{{Kind: "SecretAggregate", Name: cloud.SecretName}},
	})
	yaml := fmt.Sprintf(`clouds:
  %s:
    auth_type: v3applicationcredential
    auth:
      auth_url: %s
      application_credential_id: {{ .id | quote }}
      application_credential_secret: {{ .secret | quote }}
    identity_api_version: 3
    interface: internal
    endpoint_type: internal
`, cloud.CloudName, m.spec.Endpoints.Internal)
	aggregate := c5c3.SecretAggregate(m.meta(string(cloud.SecretName)), c5c3v1.SecretAggregateSpec{
		TargetSecretName: cloud.SecretName,
		Sources: []c5c3v1.SecretSource{
			source("id", name, "application_credential_id"),
			source("secret", name, "application_credential_secret"),
			source("ca", m.sub("tls"), certificate.CAKey),
		},
		Template: map[string]c5c3v1.SecretTemplate{"clouds.yaml": c5c3v1.SecretTemplate(yaml), "cacert": "{{ .ca }}"},
	})
	return []compose.Stage{{{Name: "korc-credential", Object: rotation}, {Name: "korc-clouds", Object: aggregate}}}, nil
}

// companionAccess lets the companion read and write the Secrets of this Keystone, and roll its pods: those that its objects name, and no
// others of the namespace. It comes before all of them, and follows the spec with them.
func companionAccess(m *model) ([]compose.Stage, error) {
	var objects []runtime.Object
	for _, build := range []func(*model) ([]compose.Stage, error){keys, config, schema, clouds, catalogAccess, login} {
		stages, err := build(m)
		if err != nil {
			return nil, err
		}
		for _, stage := range stages {
			for _, r := range stage {
				objects = append(objects, r.Object)
			}
		}
	}
	role, binding := c5c3.Grant(m.meta(m.sub("companion")), objects...)
	return []compose.Stage{{{Name: "companion-role", Object: role}, {Name: "companion-role-binding", Object: binding}}}, nil
}
