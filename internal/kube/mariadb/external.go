package mariadb

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// CAKey is the key of a Secret from which the operator reads the authority of a server.
const CAKey = "ca.crt"

const externalKind = "ExternalMariaDB"

// External is an externally managed server. The operator connects to it to create databases, users and grants.
type External struct {
	Meta object.Meta
	Host string
	Port int32
	// User has the privileges to create databases, users and grants.
	User string
	// Secret holds the password of the user, and the authority of the server's certificate (ExternalKeys).
	Secret string
}

// ExternalKeys returns the keys of the Secret of an External.
func ExternalKeys() []string { return []string{secret.PasswordKey, CAKey} }

// Object builds the ExternalMariaDB. The operator verifies the server's name, and presents no client certificate.
// https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/docs/external_mariadb.md
func (e External) Object() *unstructured.Unstructured {
	return object.New(apiVersion, externalKind, e.Meta, object.Map{
		"host":                 e.Host,
		"port":                 int64(e.Port),
		"username":             e.User,
		"passwordSecretKeyRef": object.Map{"name": e.Secret, "key": secret.PasswordKey},
		"tls":                  object.Map{"enabled": true, "mutual": false, "serverCASecretRef": object.Map{"name": e.Secret}},
	})
}
