package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "cinder.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Cinder")
)

// Constants that a Cinder shares with its creator and its clients. Its Service has the same name as the Cinder.
const (
	// Port of the API, on the Service and the pods (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 8776
	// ServiceName and ServiceType are its name and type in the catalog.
	ServiceName = "cinder"
	ServiceType = "block-storage"
	// Version is the suffix of its addresses.
	Version = "/v3"
)

// CephConnected is the condition, of a Cinder and of the claim, that managers of each Ceph backend can connect to Ceph.
const CephConnected = "CephConnected"

// Keys of the Secrets that backends and backups reference.
const (
	CephConfigKey        = "ceph.conf"
	CephKeyringKey       = "keyring"
	S3AccessKeyIDKey     = "access-key-id"
	S3SecretAccessKeyKey = "secret-access-key"
)

// Keys of the Secret in which Valkey's operator publishes the address of a Valkey
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

// BackupPlace is the name of backups in the list of references to pools of StorageClusters.
const BackupPlace = "backup"

// PlaceOf returns the name of a backend in this list.
func PlaceOf(backend string) string { return "backends." + backend }

// InternalURL returns the address of the API inside the cluster, as in the catalog. It contains the name of a Service, so it does not
// depend on the cluster's DNS domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d%s", name, namespace, Port, Version)
}
