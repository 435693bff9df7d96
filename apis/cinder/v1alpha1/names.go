package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "cinder.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Cinder")
)

// What a Cinder and those who make it, or build on it, have to agree on. It is known by its name, which its Service has, too.
const (
	// Port of the API, on the Service and the pods (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 8776
	// ServiceName is what the catalog calls it, and ServiceType what it is there.
	ServiceName = "cinder"
	ServiceType = "block-storage"
	// Version is how its addresses end.
	Version = "/v3"
)

// CephConnected is the condition, of a Cinder and of the claim, that managers of each backend in a Ceph reach it.
const CephConnected = "CephConnected"

// Keys of the Secrets that backends and backups name.
const (
	CephConfigKey        = "ceph.conf"
	CephKeyringKey       = "keyring"
	S3AccessKeyIDKey     = "access-key-id"
	S3SecretAccessKeyKey = "secret-access-key"
)

// Keys of the Secret by which Valkey's operator says where a Valkey is
// (https://github.com/SAP/valkey-operator/blob/v0.1.10/pkg/operator/data/charts/valkey/templates/binding.yaml).
const (
	BindingHostKey         = "host"
	BindingPortKey         = "port"
	BindingPasswordKey     = "password"
	BindingCAKey           = "caData"
	BindingSentinelHostKey = "sentinelHost"
	BindingSentinelPortKey = "sentinelPort"
	BindingPrimaryKey      = "primaryName"
)

// BackupPlace is what backups are called among the places that name pools of StorageClusters.
const BackupPlace = "backup"

// PlaceOf is what a backend is called among them.
func PlaceOf(backend string) string { return "backends." + backend }

// InternalURL is the address of the API inside the cluster, as the catalog has it. It names a Service, so that it holds whatever the
// cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d%s", name, namespace, Port, Version)
}
