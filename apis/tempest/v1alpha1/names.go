package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// Group of the kinds of this package.
const Group = "tempest.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Tempest")
)

// What a Tempest and those who make it have to agree on.
const (
	// ServiceName is what images and objects call it. The catalog does not know it.
	ServiceName = "tempest"
	// TestsPassed is the condition that says how the last run ended.
	TestsPassed = "TestsPassed"
)

// Types of services that Tempest is told of, as it calls them.
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
