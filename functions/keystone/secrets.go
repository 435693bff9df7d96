package keystone

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

type backend = keystonev1.IdentityBackend

// credentials are the passwords of the database account and of the administrator, and the passphrase that federation
// proxies share.
func credentials(m *model) ([]compose.Stage, error) {
	type account struct {
		name, secret, user string
		labels             object.Map
	}
	users := []account{
		{"database", m.sub("database"), m.databaseName(), mariadb.Watched()},
		{"admin", m.adminSecret(), m.spec.Bootstrap.AdminUser, nil},
	}
	if m.spec.Federation != nil {
		users = append(users, account{"federation", m.sub("federation"), "proxy", nil})
	}
	var stage compose.Stage
	for _, u := range users {
		meta := m.meta(u.secret)
		stage = append(stage,
			compose.Resource{Name: u.name + "-generator", Object: secret.Generator(meta)},
			compose.Resource{Name: u.name + "-secret", Object: secret.Generated(meta, u.user, u.labels), Retain: true},
		)
		if s := m.spec.SecretStore; s != nil {
			stage = append(stage, compose.Resource{
				Name:   u.name + "-backup",
				Object: secret.Backup(meta, *s, m.namespace, secret.UsernameKey, secret.PasswordKey),
			})
		}
	}
	return []compose.Stage{stage}, nil
}

func serverCertificate(m *model) ([]compose.Stage, error) {
	host := m.internalHost()
	return []compose.Stage{{{
		Name: certificateResource,
		Object: certificate.Server(m.meta(m.sub("tls")), m.spec.IssuerRef,
			host, host+".cluster.local", m.name+"."+m.namespace, m.name),
	}}}, nil
}

func (m *model) databaseName() string { return service }

// database is the database and its account on the shared server. A grant that comes before its user is tried again within moments, so that
// it needs no stage of its own (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/pkg/controller/sql/controller.go).
func database(m *model) ([]compose.Stage, error) {
	a := mariadb.Account{Meta: m.meta(m.databaseName()), Server: string(m.spec.Database.MariaDBRef.Name), Secret: m.sub("database")}
	return []compose.Stage{{
		{Name: "database", Object: a.Database(), Retain: true},
		{Name: "database-user", Object: a.User(), Retain: true},
		{Name: "database-grant", Object: a.Grant(), Retain: true},
	}}, nil
}

// keys are the repositories that tokens and stored credentials are encrypted with.
func keys(m *model) ([]compose.Stage, error) {
	fernet := c5c3.KeyRepository(m.meta(m.sub("fernet-keys")), openstackv1.KeyRepositorySpec{
		Type:             openstackv1.KeyTypeFernet,
		SecretName:       common.ObjectName(m.sub("fernet-keys")),
		RotationSchedule: m.spec.Fernet.RotationSchedule,
		Suspend:          m.spec.Fernet.Suspend,
		MaxActiveKeys:    m.spec.Fernet.MaxActiveKeys,
		Token: &openstackv1.TokenLifetime{
			ExpirationSeconds:         m.spec.Fernet.TokenExpirationSeconds,
			AllowExpiredWindowSeconds: *m.spec.Fernet.AllowExpiredWindowSeconds,
		},
		Consumers: m.consumers(),
		Backup:    m.keyBackup("fernet-keys"),
	})
	credential := c5c3.KeyRepository(m.meta(m.sub("credential-keys")), openstackv1.KeyRepositorySpec{
		Type:             openstackv1.KeyTypeCredential,
		SecretName:       common.ObjectName(m.sub("credential-keys")),
		RotationSchedule: m.spec.CredentialKeys.RotationSchedule,
		Suspend:          m.spec.CredentialKeys.Suspend,
		Consumers:        m.consumers(),
		Migrate:          &openstackv1.Command{Command: []openstackv1.Argument{"keystone-manage", "credential_migrate"}},
		Backup:           m.keyBackup("credential-keys"),
	})
	return []compose.Stage{{
		{Name: "fernet-keys", Object: fernet, Retain: true},
		{Name: "credential-keys", Object: credential, Retain: true},
	}}, nil
}

func (m *model) keyBackup(name string) *openstackv1.Backup {
	s := m.spec.SecretStore
	if s == nil {
		return nil
	}
	return &openstackv1.Backup{SecretStoreRef: *s, RemoteKey: secret.RemoteKey(*s, m.namespace, m.sub(name))}
}

// clouds is the administrator's clouds.yaml, with the authority of the internal address. K-ORC reads the key cacert.
func clouds(m *model) ([]compose.Stage, error) {
	cloud := m.adminCloud()
	yaml := fmt.Sprintf(`clouds:
  %[1]s:
    auth_type: password
    auth:
      auth_url: %[2]s
      username: %[3]q
      password: {{ .password | quote }}
      project_name: %[4]s
      user_domain_name: %[5]s
      project_domain_name: %[5]s
    identity_api_version: 3
    interface: internal
`, cloud.CloudName, m.spec.Endpoints.Internal, m.spec.Bootstrap.AdminUser, keystonev1.AdminProject, keystonev1.DefaultDomain)
	return aggregate("clouds", c5c3.SecretAggregate(m.meta(string(cloud.SecretName)), c5c3v1.SecretAggregateSpec{
		TargetSecretName: cloud.SecretName,
		Sources: []c5c3v1.SecretSource{
			source("password", m.adminSecret(), secret.PasswordKey),
			source("ca", m.sub("tls"), certificate.CAKey),
			// Nobody else looks whether this one is still there: External Secrets does not, and pods that run have it.
			source("database", m.sub("database"), secret.PasswordKey),
		},
		Template: map[string]c5c3v1.SecretTemplate{"clouds.yaml": c5c3v1.SecretTemplate(yaml), "cacert": "{{ .ca }}"},
	})), nil
}

// domains is the Secret with a configuration file for each identity backend, and nothing if there are none.
func (m *model) domains() (runtime.Object, error) {
	if len(m.spec.IdentityBackends) == 0 {
		return nil, nil
	}
	spec := c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(m.sub("domains")),
		Template:         map[string]c5c3v1.SecretTemplate{},
	}
	for i, b := range m.spec.IdentityBackends {
		text, err := domainConfig(i, b, m.effective, m.spec.AllowUnknown)
		if err != nil {
			return nil, err
		}
		spec.Template["keystone."+b.Domain+".conf"] = c5c3v1.SecretTemplate(text)
		if ref := b.LDAP.PasswordSecretRef; ref != nil {
			s := source(passwordSource(i), string(ref.Name), string(ref.Key))
			s.Escape = "OsloConfig"
			spec.Sources = append(spec.Sources, s)
		}
		if ref := b.LDAP.CASecretRef; ref != nil {
			spec.Sources = append(spec.Sources, source(caSource(i), string(ref.Name), string(ref.Key)))
			spec.Template[b.Domain+".pem"] = c5c3v1.SecretTemplate("{{ ." + caSource(i) + " }}")
		}
	}
	return c5c3.SecretAggregate(m.meta(m.sub("domains")), spec), nil
}

func aggregate(name string, o runtime.Object) []compose.Stage {
	return []compose.Stage{{{Name: name, Object: o}}}
}

func source(name, secretName, key string) c5c3v1.SecretSource {
	return c5c3v1.SecretSource{Name: name, SecretKeyRef: common.SecretKeyReference{
		Name: common.ObjectName(secretName), Key: common.SecretKey(key),
	}}
}

func passwordSource(i int) string { return fmt.Sprintf("password%d", i) }
func caSource(i int) string       { return fmt.Sprintf("ca%d", i) }
func ldapCAFile(b backend) string { return domainDir + "/" + b.Domain + ".pem" }
