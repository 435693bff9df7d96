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

// Account is a user name with a generated password.
type Account struct {
	// Resource is the prefix of the names of its composed resources.
	Resource string
	// Secret with the user name and the password, and the user name.
	Secret, User string
	// Labels of the Secret.
	Labels object.Map
	// Replaceable is true if the password needs no backup, because a new one loses no data.
	Replaceable bool
}

// buildCredentials builds the passwords of the database account, of the service's user in Keystone, of the service's own
// accounts and of the cache, if it has them. They share one generator, which creates a new password each time.
func buildCredentials[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	var accounts []Account
	if len(s.Databases) > 0 {
		user := s.Spec.Database.NameOf(s.user())
		accounts = append(accounts, Account{Resource: "database", Secret: s.Sub("database"), User: user, Labels: mariadb.Watched()})
	}
	if s.registered() {
		accounts = append(accounts, Account{Resource: "user", Secret: s.userSecret(), User: s.userName()})
	}
	accounts = append(accounts, s.extension.Access.Accounts...)
	if s.usesCache() {
		accounts = append(accounts, s.CacheAccount())
	}
	if len(accounts) == 0 {
		return nil, nil
	}
	passwords := s.Meta(accounts[0].Secret)
	stage := compose.Stage{{Name: accounts[0].Resource + "-generator", Object: secret.Generator(passwords)}}
	for _, a := range accounts {
		meta := s.Meta(a.Secret)
		stage = append(stage, compose.Resource{
			Name: a.Resource + "-secret", Object: secret.Generated(meta, passwords.Name, a.User, a.Labels), Retain: true,
		})
		if store := s.Spec.SecretStore; store != nil && !a.Replaceable {
			stage = append(stage, compose.Resource{
				Name:   a.Resource + "-backup",
				Object: secret.Backup(meta, *store, s.Namespace, secret.UsernameKey, secret.PasswordKey),
			})
		}
	}
	return []compose.Stage{stage}, nil
}

// defaultClusterDomain is the DNS domain of a cluster if the spec sets none.
const defaultClusterDomain = "cluster.local"

// buildCertificate builds the server certificate of all pods that serve HTTPS, or nothing if no pod does.
func buildCertificate[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
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
	for _, p := range s.extension.Processes {
		if p.Port > 0 {
			host := s.processHost(p.Name)
			names = append(names, host, host+domain)
		}
	}
	return SingleObjectComponent(CertificateResource, certificate.Server(s.Meta(s.Sub(serverTLS)), s.Spec.IssuerRef, names...)), nil
}

// buildDatabaseAccount builds the databases and their account on the shared server. The operator retries a grant whose user does
// not exist yet within moments, so grants do not need a stage of their own
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/pkg/controller/sql/controller.go).
func buildDatabaseAccount[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
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
		for _, g := range s.extension.Access.Grantees {
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

// served reports whether pods of the service accept connections.
func (s *Service) served() bool {
	return s.Module != "" || slices.ContainsFunc(s.extension.Processes, func(p Process) bool { return p.Port > 0 })
}

// Grantee is the user of another service with all privileges in the databases of this service.
type Grantee struct {
	User string
	// DatabaseSecret contains the password. It is set if the server does not have the user yet.
	DatabaseSecret string
}

// user returns the user of the databases and of the queue, which is also the name of the virtual host.
func (b *Base) user() string { return cmp.Or(b.User, b.App) }

func (b *Base) databaseServer() string { return string(b.Spec.Database.MariaDBRef.Name) }

// schemaName returns the name of a database in SQL.
func (b *Base) schemaName(d Database) string { return cmp.Or(d.Name, b.App) }

// databaseResource returns the name of the composed resource of a database. For the first one, it is name without a suffix.
func (b *Base) databaseResource(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "-" + ObjectName(b.schemaName(b.Databases[i]))
}

// ObjectName returns the name of the Kubernetes object for a database or user.
func ObjectName(name string) string { return strings.ReplaceAll(name, "_", "-") }

// SingleObjectComponent returns the stages of a component with one object.
func SingleObjectComponent(name string, o runtime.Object) []compose.Stage {
	return []compose.Stage{{{Name: name, Object: o}}}
}

// Source returns a SecretAggregate source for a key of a Secret.
func Source(name, secretName, key string) c5c3v1.SecretSource {
	return c5c3v1.SecretSource{Name: name, SecretKeyRef: common.SecretKeyReference{
		Name: common.ObjectName(secretName), Key: common.SecretKey(key),
	}}
}
