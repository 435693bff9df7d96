package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "placement.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Placement")
)

// Constants that a Placement shares with its creator and its clients. Its Service has the same name as the Placement.
const (
	// Port of the API, on the Service and the pods (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 8778
	// ServiceName and ServiceType are its name and type in the catalog.
	ServiceName = "placement"
	ServiceType = "placement"
)

// InternalURL returns the address of the API inside the cluster. It contains the name of a Service, so it does not depend on the cluster's
// DNS domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
