package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Group of the kinds of this package.
const Group = "ovn.c5c3.io"

// GroupVersion of the kinds of this package, and the one that there is.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("OVNCluster")
)

// Name begins the names of all objects of an OVNCluster, and is that of the one that a control plane has.
const Name = "ovn"

// Ports that clients reach the databases at, and those that members reach each other at: they have to differ
// (https://docs.ovn.org/en/latest/topics/integration.html).
const (
	NorthboundPort     = 6641
	SouthboundPort     = 6642
	NorthboundRaftPort = 6643
	SouthboundRaftPort = 6644
)
