package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Group of the kinds of this package.
const Group = "tempest.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Tempest")
)

// Constants that a Tempest shares with its creator.
const (
	// ServiceName is the name of images and objects. Tempest is not in the catalog.
	ServiceName = "tempest"
	// TestsPassed is the condition that reports the result of the last run.
	TestsPassed = "TestsPassed"
)

// Types of services in Tempest's configuration, with Tempest's names.
const (
	TypeIdentity      Type = "identity"
	TypeImage         Type = "image"
	TypePlacement     Type = "placement"
	TypeCompute       Type = "compute"
	TypeNetwork       Type = "network"
	TypeVolume        Type = "volume"
	TypeKeyManager    Type = "key-manager"
	TypeOrchestration Type = "orchestration"
)
