// Package mariadb makes objects of the mariadb-operator: servers, and a service's database with its account.
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

// Watched are the labels of a Secret whose changes the operator follows at once; else it looks every ten hours.
func Watched() object.Map { return object.Map{"k8s.mariadb.com/watch": "true"} }

// Account is a database on a server, and a user that may do everything in it. A user has several databases by an Account for each, of which
// one makes the User; a database has several users the same way.
type Account struct {
	// Meta of the objects. Their name stays for ever, as do the names below: the operator refuses to change them.
	Meta object.Meta
	// Schema is the name of the database in SQL, and Login that of the user, where they are not that of the objects: a Kubernetes name has no
	// underscore. In a Grant the operator leaves an underscore the wildcard that it is in SQL, so that no two databases of a server may
	// differ in nothing but a character in its place.
	Schema, Login string
	// Server is the name of the MariaDB object, or, if it is External, of the ExternalMariaDB.
	Server   string
	External bool
	// Secret holds the password under the key password.
	Secret string
}

// Database makes the database. Deleting the object never drops it.
//
// The character set is utf8: PyMySQL's default, which a table's mixed encodings would not survive.
func (a Account) Database() *unstructured.Unstructured {
	return a.object("Database", object.Map{
		"name":         a.schema(),
		"characterSet": "utf8",
		"collate":      "utf8_general_ci",
	})
}

// User makes the user, who must use TLS. Its connections are not limited: the operator's default of ten is less than one
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

// Grant gives the user everything in the database, whoever makes either. Until both exist, the operator tries again.
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

// URL is the address of a database for SQLAlchemy, in which Kubernetes replaces $(passwordVar).
func URL(user, passwordVar, host string, port int32, database, caFile string) string {
	address := net.JoinHostPort(host, strconv.Itoa(int(port)))
	return fmt.Sprintf("mysql+pymysql://%s:$(%s)@%s/%s?charset=utf8&ssl_ca=%s", user, passwordVar, address, database, caFile)
}
