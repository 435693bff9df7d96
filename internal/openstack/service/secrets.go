package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// Credentials are the passwords of the account of the databases, of the service's user in Keystone, and of the service's own accounts, as
// far as it has them. They come from one generator: what it makes is another password each time.
func Credentials[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	var accounts []Account
	if len(s.Databases) > 0 {
		accounts = append(accounts, Account{"database", s.Sub("database"), s.Spec.Database.NameOf(s.user()), mariadb.Watched()})
	}
	if s.registered() {
		accounts = append(accounts, Account{"user", s.userSecret(), s.userName(), nil})
	}
	if accounts = append(accounts, s.Accounts...); len(accounts) == 0 {
		return nil, nil
	}
	passwords := s.Meta(accounts[0].Secret)
	stage := compose.Stage{{Name: accounts[0].Resource + "-generator", Object: secret.Generator(passwords)}}
	for _, a := range accounts {
		meta := s.Meta(a.Secret)
		stage = append(stage, compose.Resource{
			Name: a.Resource + "-secret", Object: secret.Generated(meta, passwords.Name, a.User, a.Labels), Retain: true,
		})
		if store := s.Spec.SecretStore; store != nil {
			stage = append(stage, compose.Resource{
				Name:   a.Resource + "-backup",
				Object: secret.Backup(meta, *store, s.Namespace, secret.UsernameKey, secret.PasswordKey),
			})
		}
	}
	return []compose.Stage{stage}, nil
}

// defaultClusterDomain is the DNS domain of a cluster where the spec sets none.
const defaultClusterDomain = "cluster.local"

// Certificate is that of everything which others reach. Where there is nothing of the kind, there is none.
func Certificate[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	if !s.served() {
		return nil, nil
	}
	var names []string
	domain := "." + string(cmp.Or(s.Spec.ClusterDomain, defaultClusterDomain))
	if s.Module != "" {
		host := s.InternalHost()
		names = []string{host, host + domain, s.Name + "." + s.Namespace, s.Name}
	}
	if s.Stateful {
		names = append(names, fmt.Sprintf("*.%s.%s.svc", s.Workload.Headless, s.Namespace))
	}
	for _, p := range s.Processes {
		if p.Port > 0 {
			host := s.processHost(p.Name)
			names = append(names, host, host+domain)
		}
	}
	return SingleObjectComponent(CertificateResource, certificate.Server(s.Meta(s.Sub(serverTLS)), s.Spec.IssuerRef, names...)), nil
}

// DatabaseAccount is the databases and their account on the shared server. A grant that comes before its user is tried again within
// moments, so that it needs no stage of its own
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/pkg/controller/sql/controller.go).
func DatabaseAccount[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	db := &s.Spec.Database
	own := mariadb.Account{
		Meta: s.Meta(ObjectName(s.user())), Login: db.NameOf(s.user()), Server: s.databaseServer(), External: db.SharedAs != "",
		Secret: s.Sub("database"),
	}
	var stage compose.Stage
	for i, d := range s.Databases {
		a := own
		a.Schema = db.NameOf(s.schemaName(d))
		a.Meta = s.Meta(ObjectName(s.schemaName(d)))
		stage = append(stage, compose.Resource{Name: s.databaseResource("database", i), Object: a.Database(), Retain: true})
		if i == 0 {
			stage = append(stage, compose.Resource{Name: "database-user", Object: own.User(), Retain: true})
		}
		stage = append(stage, compose.Resource{Name: s.databaseResource("database-grant", i), Object: a.Grant(), Retain: true})
		for _, g := range s.Grantees {
			grantee := mariadb.Account{
				Meta: s.Meta(s.Sub(g.User)), Login: db.NameOf(g.User), Server: a.Server, External: a.External, Schema: a.Schema,
				Secret: g.DatabaseSecret,
			}
			if g.DatabaseSecret != "" && i == 0 {
				stage = append(stage, compose.Resource{Name: "database-user-" + g.User, Object: grantee.User(), Retain: true})
			}
			name := s.databaseResource("database-grant-"+g.User, i)
			stage = append(stage, compose.Resource{Name: name, Object: grantee.Grant(), Retain: true})
		}
	}
	return []compose.Stage{stage}, nil
}

// served says that somebody reaches pods of the service.
func (s *Service) served() bool {
	return s.Module != "" || slices.ContainsFunc(s.Processes, func(p Process) bool { return p.Port > 0 })
}

// Grantee is the user of another service who may do everything in the databases of this one.
type Grantee struct {
	User string
	// DatabaseSecret holds the password where the server does not have the user yet.
	DatabaseSecret string
}

// user of the databases, and the name of the virtual host.
func (s *Service) user() string { return cmp.Or(s.User, s.App) }

func (s *Service) databaseServer() string { return string(s.Spec.Database.MariaDBRef.Name) }

// schemaName is the name of a database in SQL.
func (s *Service) schemaName(d Database) string { return cmp.Or(d.Name, s.App) }

// databaseResource names what there is of each database. It has the same name for that of a service's only one.
func (s *Service) databaseResource(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "-" + ObjectName(s.schemaName(s.Databases[i]))
}

// ObjectName is the name of an object of Kubernetes that is a database, or a user, of that name.
func ObjectName(name string) string { return strings.ReplaceAll(name, "_", "-") }

// SingleObjectComponent is one object as a component.
func SingleObjectComponent(name string, o runtime.Object) []compose.Stage {
	return []compose.Stage{{{Name: name, Object: o}}}
}

// Source is a key of a Secret as a source of a SecretAggregate.
func Source(name, secretName, key string) c5c3v1.SecretSource {
	return c5c3v1.SecretSource{Name: name, SecretKeyRef: common.SecretKeyReference{
		Name: common.ObjectName(secretName), Key: common.SecretKey(key),
	}}
}
