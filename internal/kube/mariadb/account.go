// Package mariadb builds objects of mariadb-operator: servers, and the databases and accounts of services.
package mariadb

import (
	"cmp"
	"fmt"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

const apiVersion = "k8s.mariadb.com/v1alpha1"

// Watched returns the label of Secrets that the operator watches; it reads other Secrets every ten hours.
func Watched() object.Map { return object.Map{"k8s.mariadb.com/watch": "true"} }

// Account is a database on a server, and a user with all privileges in it. For a user with several databases, use an Account for each and
// create the User once; for several users of a database, create the Database once.
type Account struct {
	// Meta of the objects. Their name and the names below are immutable in the operator.
	Meta object.Meta
	// Schema is the SQL name of the database, and Login the name of the user, if they differ from the name of the objects: a Kubernetes name
	// has no underscore. The operator does not escape underscores in a Grant, where they are SQL wildcards, so two databases of a server
	// must not differ only in the character at an underscore.
	Schema, Login string
	// Server is the name of the MariaDB object, or, if it is External, of the ExternalMariaDB.
	Server   string
	External bool
	// Secret holds the password under the key password.
	Secret string
}

// Database builds the database. Deletion of the object never drops it.
//
// The character set is utf8, the default of PyMySQL: tables with mixed encodings would break.
func (a Account) Database() *unstructured.Unstructured {
	return a.object("Database", object.Map{
		"name":         a.schema(),
		"characterSet": "utf8",
		"collate":      "utf8_general_ci",
	})
}

// User builds the user, who must use TLS. Its connections are not limited: the operator's default of ten is less than one
// API process needs.
func (a Account) User() *unstructured.Unstructured {
	return a.object("User", object.Map{
		"name":                 a.login(),
		"host":                 "%",
		"passwordSecretKeyRef": object.Map{"name": a.Secret, "key": secret.PasswordKey},
		"maxUserConnections":   int64(0),
		"require":              object.Map{"ssl": true},
	})
}

// Grant builds the grant of all privileges in the database. The operator retries until database and user exist.
func (a Account) Grant() *unstructured.Unstructured {
	return a.object("Grant", object.Map{
		"privileges": object.Array("ALL PRIVILEGES"),
		"database":   a.schema(),
		"table":      "*",
		"username":   a.login(),
		"host":       "%",
	})
}

func (a Account) object(kind string, spec object.Map) *unstructured.Unstructured {
	ref := object.Map{"name": a.Server}
	if a.External {
		ref["kind"] = externalKind
	}
	spec["mariaDbRef"] = ref
	spec["cleanupPolicy"] = "Skip"
	return object.New(apiVersion, kind, a.Meta, spec)
}

func (a Account) schema() string { return cmp.Or(a.Schema, a.Meta.Name) }
func (a Account) login() string  { return cmp.Or(a.Login, a.Meta.Name) }

// URL returns the SQLAlchemy URL of a database, in which Kubernetes replaces $(passwordVar).
func URL(user, passwordVar, host string, port int32, database, caFile string) string {
	address := net.JoinHostPort(host, strconv.Itoa(int(port)))
	return fmt.Sprintf("mysql+pymysql://%s:$(%s)@%s/%s?charset=utf8&ssl_ca=%s", user, passwordVar, address, database, caFile)
}
