package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "nova.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Nova")
)

// Constants that a Nova shares with its creator and its clients. Its Service has the same name as the Nova.
const (
	// Port of the API, MetadataPort of the metadata API (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port         = 8774
	MetadataPort = 8775
	// VNCPort, SPICEPort and SerialPort are the ports of the console proxies
	// (https://docs.openstack.org/nova/latest/admin/remote-console-access.html).
	VNCPort    = 6080
	SPICEPort  = 6082
	SerialPort = 6083
	// ServiceName and ServiceType are its name and type in the catalog.
	ServiceName = "nova"
	ServiceType = "compute"
	// Version is the suffix of addresses in the catalog.
	Version = "/v2.1"
)

// Protocols of graphical consoles.
const (
	VNC   = "VNC"
	SPICE = "SPICE"
	None  = "None"
)

// TLS of connections between console proxies and VNC servers.
const (
	TLSPreferred = "Preferred"
	TLSRequired  = "Required"
)

// InternalURL returns the address of the API inside the cluster, without its version. It contains the name of a Service, so it does not
// depend on the cluster's DNS domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
