package service

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// Account is a name with a generated password.
type Account struct {
	// Resource begins the names of what it is composed of.
	Resource string
	// Secret that holds both, and the name.
	Secret, User string
	// Labels of the Secret.
	Labels object.Map
}

// Credentials are the passwords of the database account, of the service's user in Keystone, and of the service's own accounts.
func Credentials[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	accounts := []Account{{"database", s.Sub("database"), s.databaseName(), mariadb.Watched()}}
	if s.Spec.Identity != nil {
		accounts = append(accounts, Account{"user", s.userSecret(), s.App, nil})
	}
	var stage compose.Stage
	for _, a := range append(accounts, s.Accounts...) {
		meta := s.Meta(a.Secret)
		stage = append(stage,
			compose.Resource{Name: a.Resource + "-generator", Object: secret.Generator(meta)},
			compose.Resource{Name: a.Resource + "-secret", Object: secret.Generated(meta, a.User, a.Labels), Retain: true},
		)
		if store := s.Spec.SecretStore; store != nil {
			stage = append(stage, compose.Resource{
				Name:   a.Resource + "-backup",
				Object: secret.Backup(meta, *store, s.Namespace, secret.UsernameKey, secret.PasswordKey),
			})
		}
	}
	return []compose.Stage{stage}, nil
}

// Certificate is the server's.
func Certificate[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	host := s.InternalHost()
	names := []string{host, host + ".cluster.local", s.Name + "." + s.Namespace, s.Name}
	if s.Stateful {
		names = append(names, fmt.Sprintf("*.%s.%s.svc", s.Workload.Headless, s.Namespace))
	}
	return Single(CertificateResource, certificate.Server(s.Meta(s.Sub(serverTLS)), s.Spec.IssuerRef, names...)), nil
}

func (s *Service) databaseName() string { return s.App }

// DatabaseAccount is the database and its account on the shared server. A grant that comes before its user is tried again within moments,
// so that it needs no stage of its own
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/pkg/controller/sql/controller.go).
func DatabaseAccount[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	a := mariadb.Account{Meta: s.Meta(s.databaseName()), Server: string(s.Spec.Database.MariaDBRef.Name), Secret: s.Sub("database")}
	return []compose.Stage{{
		{Name: "database", Object: a.Database(), Retain: true},
		{Name: "database-user", Object: a.User(), Retain: true},
		{Name: "database-grant", Object: a.Grant(), Retain: true},
	}}, nil
}

// Single is one object as a component.
func Single(name string, o runtime.Object) []compose.Stage {
	return []compose.Stage{{{Name: name, Object: o}}}
}

// Source is a key of a Secret as a source of a SecretAggregate.
func Source(name, secretName, key string) c5c3v1.SecretSource {
	return c5c3v1.SecretSource{Name: name, SecretKeyRef: common.SecretKeyReference{
		Name: common.ObjectName(secretName), Key: common.SecretKey(key),
	}}
}
