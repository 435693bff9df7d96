package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "neutron.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Neutron")
)

// Constants that a Neutron shares with its creator and its clients. Its Service has the same name as the Neutron.
const (
	// Port of the API, on the Service and the pods (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 9696
	// ServiceName and ServiceType are its name and type in the catalog.
	ServiceName = "neutron"
	ServiceType = "network"
)

// Mechanisms. With ByOVS, each node has an agent of each kind, which communicates with Neutron by the message queue.
const (
	ByOVN Mechanism = "OVN"
	ByOVS Mechanism = "OVS"
)

// InSync is the condition, of a Neutron and of the claim, that OVN matches Neutron's database, according to the last requested comparison.
const InSync = "OVNInSync"

// Kinds of networks.
const (
	Geneve NetworkType = "geneve"
	VXLAN  NetworkType = "vxlan"
	VLAN   NetworkType = "vlan"
	Flat   NetworkType = "flat"
)

// InternalURL returns the address of the API inside the cluster. It contains the name of a Service, so it does not depend on the cluster's
// DNS domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
