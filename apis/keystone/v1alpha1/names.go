package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Group of the kinds of this package.
const Group = "keystone.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Keystone")
)

// What a Keystone and those who make it, or build on it, have to agree on. A Keystone is known by its name, which its Service has, too.
const (
	// Port of the API, on the Service and the pods: Keystone's registered one
	// (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 5000
	// CachePort is that of the cache servers, DatabasePort that of the database if the spec names none.
	CachePort    = common.CachePort
	DatabasePort = common.DatabasePort
	// DefaultAdminUser is the first user if the spec names none.
	DefaultAdminUser = "admin"
	// ServiceName is what the catalog calls it.
	ServiceName = "keystone"
	// AdminProject and AdminRole are what bootstrap makes for the first user, in the domain DefaultDomain.
	AdminProject  = "admin"
	AdminRole     = common.AdminRole
	DefaultDomain = common.DefaultDomain
)

// InternalURL is the address of the API inside the cluster. It names a Service, so that it holds whatever the cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d/v3", name, namespace, Port)
}

// AdminSecretName is the Secret with the first user's password.
func AdminSecretName(name string) string { return name + "-admin" }

// CertificateSecretName is the Secret with the certificate of the internal address, and its authority in ca.crt.
func CertificateSecretName(name string) string { return name + "-tls" }

// AuthorityName is the ConfigMap with that authority, which a Keystone publishes that a Gateway routes to.
func AuthorityName(name string) string { return name + "-ca" }

// AdminCloud is by what the first user logs in.
func AdminCloud(name string) common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(name + "-clouds"), CloudName: "admin"}
}

// KORCCloud is by what K-ORC logs in: an application credential of the first user's.
func KORCCloud(name string) common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(name + "-korc-clouds"), CloudName: "korc"}
}
