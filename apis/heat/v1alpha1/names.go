package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "heat.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Heat")
)

// What a Heat and those who make it, or build on it, have to agree on. It is known by its name, which its Service has, too.
const (
	// Port of the API, CFNPort that of the API of CloudFormation (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port    = 8004
	CFNPort = 8000
	// ServiceName is what the catalog calls it, and ServiceType what it is there.
	ServiceName = "heat"
	ServiceType = "orchestration"
	// CFNName and CFNType are the same of the API of CloudFormation. CFNName ends the name of its Service, too.
	CFNName = "cfn"
	CFNType = "cloudformation"
	// Version is how addresses of both APIs end. In the catalog, that of Heat's own goes on with the project.
	Version = "/v1"
)

// InternalURL is the address of the API inside the cluster. It names a Service, so that it holds whatever the cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d%s", name, namespace, Port, Version)
}

// CFNInternalURL is that of the API of CloudFormation.
func CFNInternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s-%s.%s.svc:%d%s", name, CFNName, namespace, CFNPort, Version)
}
