package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Group of the kinds of this package.
const Group = "keystone.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Keystone")
)

// Constants that a Keystone shares with its creator and its clients. Its Service has the same name as the Keystone.
const (
	// Port of the API, on the Service and the pods: the registered port of Keystone
	// (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 5000
	// CachePort is the port of the cache servers, DatabasePort the port of the database if the spec does not set one.
	CachePort    = common.CachePort
	DatabasePort = common.DatabasePort
	// ServiceName is its name in the catalog.
	ServiceName = "keystone"
	// AdminProject and AdminRole are created by bootstrap for the first user, in the domain DefaultDomain.
	AdminProject  = "admin"
	AdminRole     = common.AdminRole
	DefaultDomain = common.DefaultDomain
)

// InternalURL returns the address of the API inside the cluster. It contains the name of a Service, so it does not depend on the cluster's
// DNS domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d/v3", name, namespace, Port)
}

// AdminSecretName returns the name of the Secret with the first user's password.
func AdminSecretName(name string) string { return name + "-admin" }

// CertificateSecretName returns the name of the Secret with the certificate of the internal address, and its authority in ca.crt.
func CertificateSecretName(name string) string { return name + "-tls" }

// AuthorityName returns the name of the ConfigMap with that authority, which a Keystone publishes if a Gateway routes to it.
func AuthorityName(name string) string { return name + "-ca" }

// AdminCloud returns the credentials of the first user.
func AdminCloud(name string) common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(name + "-clouds"), CloudName: "admin"}
}

// KORCCloud returns the credentials of K-ORC: an application credential of the first user.
func KORCCloud(name string) common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(name + "-korc-clouds"), CloudName: "korc"}
}
