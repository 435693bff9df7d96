package infrastructure

import (
	"net"
	"strconv"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// databaseAuthority is the name of the Secret with the CA certificate of an external server.
const databaseAuthority = mariaDBName + "-authority"

// DatabaseHosts are the allowed hosts of external databases.
var DatabaseHosts = bounds.NewHostList("databaseHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DatabaseHosts) })

// DatabaseReferences returns the address of an external database.
func DatabaseReferences(path string, e controlplanev1.ExternalMariaDB) []bounds.ExternalReference {
	host := e.Host
	if host != "" {
		host = net.JoinHostPort(host, strconv.Itoa(int(e.Port)))
	}
	return []bounds.ExternalReference{{List: &DatabaseHosts, Field: path + ".host", Value: host}}
}

// ExternalMariaDB returns the external server. Nil: the control plane has its own.
func (inf *Infrastructure) ExternalMariaDB() *controlplanev1.ExternalMariaDB {
	return inf.Spec.Infrastructure.MariaDB.External
}

// UsesExternalMariaDB reports whether the database is external.
func (inf *Infrastructure) UsesExternalMariaDB() bool { return inf.ExternalMariaDB() != nil }

// externalDatabase composes the access of the operator to an external server, under the name of the control plane's own server. It is
// retained: existing databases reference it, and the operator releases a deleted database only while it can log in.
func (inf *Infrastructure) externalDatabase(e controlplanev1.ExternalMariaDB) []compose.Stage {
	server := mariadb.External{
		Meta: inf.Meta(mariaDBName), Host: e.Host, Port: e.Port, User: e.User, Secret: string(e.SecretRef.Name),
	}
	return []compose.Stage{{
		{Name: DatabaseResource, Object: server.Object(), Retain: true, After: []string{inf.databaseLogin(e)}},
		inf.authority("database-authority", databaseAuthority, common.SecretKeyReference{Name: e.SecretRef.Name, Key: mariadb.CAKey}),
	}}
}

// databaseLogin returns the name of the resource that copies the Secret with the operator's credentials.
func (inf *Infrastructure) databaseLogin(e controlplanev1.ExternalMariaDB) string {
	return inf.Secrets.Resource(string(e.SecretRef.Name))
}

// DatabaseSpec returns the database settings of services. An external server is always treated as a Galera cluster: waiting for writes of
// other members has no cost without them, and the operator itself requires a server that supports Galera's variables.
func (inf *Infrastructure) DatabaseSpec() common.Database {
	e := inf.ExternalMariaDB()
	if e == nil {
		return common.Database{
			MariaDBRef: common.LocalReference{Name: mariaDBName}, Host: inf.databaseHost(), Port: mariaDBPort,
			CASecretRef: inf.databaseCA(), Galera: inf.DatabaseReplicas() > 1,
		}
	}
	return common.Database{
		MariaDBRef: common.LocalReference{Name: mariaDBName}, Host: e.Host, Port: e.Port,
		CASecretRef: common.SecretKeyReference{Name: databaseAuthority, Key: certificate.CAKey}, Galera: true,
		SharedAs: names.Shared(inf.Ref.Namespace, inf.Ref.Name),
	}
}

// CheckCellExternalDatabase returns an error for a cell's own database with an external server: it is composed like the control plane's own
// database, which does not exist then.
func (inf *Infrastructure) CheckCellExternalDatabase(field string, requested *controlplanev1.CellInfrastructure) error {
	if inf.ExternalMariaDB() == nil || requested == nil || requested.MariaDB == nil {
		return nil
	}
	return invalid.Field(field+".mariadb", "a cell cannot have its own database when the database of the control plane is external; remove it")
}
