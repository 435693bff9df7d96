package controlplane

import (
	"net"
	"strconv"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// databaseAuthority is the Secret by which services verify a server elsewhere.
const databaseAuthority = mariaDBName + "-authority"

// databaseHosts are hosts of databases that exist elsewhere.
var databaseHosts = allowList{"databaseHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DatabaseHosts) }, limit.Hosts}

func databaseReferences(path string, e controlplanev1.ExternalMariaDB) []externalReference {
	host := e.Host
	if host != "" {
		host = net.JoinHostPort(host, strconv.Itoa(int(databasePort(e))))
	}
	return []externalReference{{&databaseHosts, path + ".host", host}}
}

// externalMariaDB is the server that somebody else runs. Nil: the control plane has its own.
func (m *model) externalMariaDB() *controlplanev1.ExternalMariaDB {
	return m.spec.Infrastructure.MariaDB.External
}

func (m *model) usesExternalMariaDB() bool { return m.externalMariaDB() != nil }

// databasePort repeats the default of the schema, for callers that do not go through an API server.
func databasePort(e controlplanev1.ExternalMariaDB) int32 {
	if e.Port == 0 {
		return mariaDBPort
	}
	return e.Port
}

// externalDatabase lets the operator log in to a server that somebody else runs. It takes the place of a server of our own, under its name.
// It is retained: databases that are refer to it, and the operator lets go of one that is deleted only where it can log in.
func externalDatabase(m *model, e controlplanev1.ExternalMariaDB) []compose.Stage {
	server := mariadb.External{
		Meta: m.meta(mariaDBName), Host: e.Host, Port: databasePort(e), User: e.User, Secret: string(e.SecretRef.Name),
	}
	return []compose.Stage{{
		{Name: databaseResource, Object: server.Object(), Retain: true, After: []string{m.databaseLogin(e)}},
		m.authority("database-authority", databaseAuthority, common.SecretKeyReference{Name: e.SecretRef.Name, Key: mariadb.CAKey}),
	}}
}

// databaseLogin is the resource that makes the copy of the Secret that the operator logs in by.
func (m *model) databaseLogin(e controlplanev1.ExternalMariaDB) string {
	return m.secrets.Resource(string(e.SecretRef.Name))
}

// databaseSpec is what services are told of the database. Whether a server elsewhere is a Galera cluster nobody asks: to wait for what
// other members have written costs nothing where there are none, and the operator itself takes no server that does not know Galera's
// variables.
func (m *model) databaseSpec() common.Database {
	e := m.externalMariaDB()
	if e == nil {
		return common.Database{
			MariaDBRef: common.LocalReference{Name: mariaDBName}, Host: m.databaseHost(), Port: mariaDBPort,
			CASecretRef: m.databaseCA(), Galera: m.databaseReplicas() > 1,
		}
	}
	return common.Database{
		MariaDBRef: common.LocalReference{Name: mariaDBName}, Host: e.Host, Port: databasePort(*e),
		CASecretRef: common.SecretKeyReference{Name: databaseAuthority, Key: certificate.CAKey}, Galera: true,
		SharedAs: names.Shared(m.claim.Namespace, m.claim.Name),
	}
}

// checkCellExternalDatabase refuses a database of a cell's own beside one that somebody else runs: it is made as the control plane's own is,
// which there is not.
func (m *model) checkCellExternalDatabase(field string, requested *controlplanev1.CellInfrastructure) error {
	if m.externalMariaDB() == nil || requested == nil || requested.MariaDB == nil {
		return nil
	}
	return invalid.Field(field+".mariadb", "it is made as the control plane's own database is, and that is elsewhere; leave it out")
}
