package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "barbican.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Barbican")
)

// What a Barbican and those who make it, or build on it, have to agree on. It is known by its name, which its Service has, too.
const (
	// Port of the API (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 9311
	// ServiceName is what the catalog calls it, and ServiceType what it is there.
	ServiceName = "barbican"
	ServiceType = "key-manager"
)

// Keys of the Secret that a Barbican logs in to a Vault by.
const (
	VaultRoleIDKey   = "role-id"
	VaultSecretIDKey = "secret-id"
)

// InternalURL is the address of the API inside the cluster. It names a Service, so that it holds whatever the cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
