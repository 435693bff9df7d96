package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "heat.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Heat")
)

// Constants that a Heat shares with its creator and its clients. Its Service has the same name as the Heat.
const (
	// Port of the API, CFNPort of the CloudFormation API (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port    = 8004
	CFNPort = 8000
	// ServiceName and ServiceType are its name and type in the catalog.
	ServiceName = "heat"
	ServiceType = "orchestration"
	// CFNName and CFNType are the name and the type of the CloudFormation API in the catalog. CFNName is also the suffix of the name of its
	// Service.
	CFNName = "cfn"
	CFNType = "cloudformation"
	// Version is the suffix of addresses of both APIs. In the catalog, the project follows in the address of Heat's own API.
	Version = "/v1"
)

// InternalURL returns the address of the API inside the cluster. It contains the name of a Service, so it does not depend on the cluster's
// DNS domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d%s", name, namespace, Port, Version)
}

// CFNInternalURL returns the address of the CloudFormation API inside the cluster.
func CFNInternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s-%s.%s.svc:%d%s", name, CFNName, namespace, CFNPort, Version)
}
