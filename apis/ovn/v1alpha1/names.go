package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Group of the kinds of this package.
const Group = "ovn.c5c3.io"

// GroupVersion and GroupVersionKind of the only kind of this package.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("OVNCluster")
)

// Name is the prefix of the names of all objects of an OVNCluster, and the name of the OVNCluster of a control plane.
const Name = "ovn"

// Ports of the databases for clients, and ports between members: they must differ
// (https://docs.ovn.org/en/latest/topics/integration.html).
const (
	NorthboundPort     = 6641
	SouthboundPort     = 6642
	NorthboundRaftPort = 6643
	SouthboundRaftPort = 6644
)

// ChassisPort is the port of the southbound database, and of its relays, for nodes. Each node has a separate certificate, and OVN's role
// ChassisRole limits its writes. Clients of SouthboundPort have all rights.
// https://docs.ovn.org/en/latest/tutorials/ovn-rbac.html
const (
	ChassisPort = 6645
	ChassisRole = "ovn-controller"
)
