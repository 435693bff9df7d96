package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds of this package.
const Group = "neutron.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Neutron")
)

// What a Neutron and those who make it, or build on it, have to agree on. It is known by its name, which its Service has, too.
const (
	// Port of the API, on the Service and the pods (https://docs.openstack.org/install-guide/firewalls-default-ports.html).
	Port = 9696
	// ServiceName is what the catalog calls it, and ServiceType what it is there.
	ServiceName = "neutron"
	ServiceType = "network"
)

// Mechanisms. With ByOVS, each node has an agent of each kind, which talk to Neutron by the message queue.
const (
	ByOVN Mechanism = "OVN"
	ByOVS Mechanism = "OVS"
)

// InSync is the condition, of a Neutron and of the claim, that OVN has what Neutron's database says, as far as somebody has asked.
const InSync = "OVNInSync"

// Kinds of networks.
const (
	Geneve NetworkType = "geneve"
	VXLAN  NetworkType = "vxlan"
	VLAN   NetworkType = "vlan"
	Flat   NetworkType = "flat"
)

// InternalURL is the address of the API inside the cluster. It names a Service, so that it holds whatever the cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}
