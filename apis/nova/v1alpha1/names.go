package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "nova.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Nova")
)

// What a Nova and those who make it, or build on it, have to agree on. It is known by its name, which its Service has, too.
const (
	// Port of the API, MetadataPort of the metadata API (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port         = 8774
	MetadataPort = 8775
	// VNCPort, SPICEPort and SerialPort are those of the console proxies
	// (https://docs.openstack.org/nova/latest/admin/remote-console-access.html).
	VNCPort    = 6080
	SPICEPort  = 6082
	SerialPort = 6083
	// ServiceName is what the catalog calls it, and ServiceType what it is there.
	ServiceName = "nova"
	ServiceType = "compute"
	// Version is how addresses in the catalog end.
	Version = "/v2.1"
)

// Protocols of screens.
const (
	VNC   = "VNC"
	SPICE = "SPICE"
	None  = "None"
)

// InternalURL is the address of the API inside the cluster, without its version. It names a Service, so that it holds whatever the
// cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
