package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "glance.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Glance")
)

// Constants that a Glance shares with its creator and its clients. Its Service has the same name as the Glance.
const (
	// Port of the API, on the Service and the pods (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 9292
	// ServiceName and ServiceType are its name and type in the catalog.
	ServiceName = "glance"
	ServiceType = "image"
)

// Access modes of volumes: for a single pod, and for all.
const (
	ReadWriteOnce = "ReadWriteOnce"
	ReadWriteMany = "ReadWriteMany"
)

// Methods of image import.
const (
	GlanceDirect      ImportMethod = "glance-direct"
	WebDownloadMethod ImportMethod = "web-download"
	CopyImage         ImportMethod = "copy-image"
)

// Keys of the Secrets that stores reference.
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

// PlaceOf returns the name of a store in the list of references to pools of StorageClusters.
func PlaceOf(store StoreName) string { return "stores." + string(store) }

// InternalURL returns the address of the API inside the cluster. It contains the name of a Service, so it does not depend on the cluster's
// DNS domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
