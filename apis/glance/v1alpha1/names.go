package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "glance.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Glance")
)

// What a Glance and those who make it, or build on it, have to agree on. It is known by its name, which its Service has, too.
const (
	// Port of the API, on the Service and the pods (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 9292
	// ServiceName is what the catalog calls it, and ServiceType what it is there.
	ServiceName = "glance"
	ServiceType = "image"
)

// Access modes of volumes: for a single pod, and for all.
const (
	ReadWriteOnce = "ReadWriteOnce"
	ReadWriteMany = "ReadWriteMany"
)

// Ways of bringing images in.
const (
	GlanceDirect      ImportMethod = "glance-direct"
	WebDownloadMethod ImportMethod = "web-download"
	CopyImage         ImportMethod = "copy-image"
)

// Keys of the Secrets that stores name.
const (
	S3AccessKeyIDKey      = "access-key-id"
	S3SecretAccessKeyKey  = "secret-access-key"
	RBDConfigKey          = "ceph.conf"
	RBDKeyringKey         = "keyring"
	SwiftUsernameKey      = "username"
	SwiftPasswordKey      = "password"
	SwiftProjectKey       = "project"
	SwiftUserDomainKey    = "user-domain"
	SwiftProjectDomainKey = "project-domain"
)

// PlaceOf is what a store is called among the places that name pools of StorageClusters.
func PlaceOf(store StoreName) string { return "stores." + string(store) }

// InternalURL is the address of the API inside the cluster. It names a Service, so that it holds whatever the cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
