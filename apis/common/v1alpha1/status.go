package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Policies for data when its composite resource is deleted.
const (
	DeletionPolicyRetain = "Retain"
	DeletionPolicyDelete = "Delete"
)

// Phases of a claim, in the order in which they are passed.
const (
	PhasePending        = "Pending"
	PhaseInfrastructure = "Infrastructure"
	PhaseIdentity       = "Identity"
	PhaseCatalog        = "Catalog"
	PhaseCoreServices   = "CoreServices"
	PhaseCompute        = "Compute"
	PhaseScheduler      = "Scheduler"
	PhaseTesting        = "Testing"
	PhaseReady          = "Ready"
	PhaseDeleting       = "Deleting"
)

// Phases of an update of something that was ready before.
const (
	UpdatePhaseIdle             = "Idle"
	UpdatePhaseUpdating         = "Updating"
	UpdatePhaseUpdatingServices = "UpdatingServices"
	UpdatePhaseVerifying        = "Verifying"
	UpdatePhaseRollingBack      = "RollingBack"
)

// Phases of a component.
const (
	ComponentWaiting  = "Waiting"
	ComponentCreating = "Creating"
	ComponentReady    = "Ready"
	ComponentUpdating = "Updating"
	ComponentFailed   = "Failed"
)

// ComponentStatus is the state of one part of a composite resource.
type ComponentStatus struct {
	// Name of the component.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Phase: Waiting for dependencies, Creating, Ready, Updating (it was ready before), or Failed.
	// +kubebuilder:validation:Enum=Waiting;Creating;Ready;Updating;Failed
	Phase string `json:"phase"`
	// Number of ready resources and of desired resources: 3/5.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Ready string `json:"ready,omitempty"`
	// Reason in one word.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Reason string `json:"reason,omitempty"`
	// Missing dependency, or error.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// Current version.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Version string `json:"version,omitempty"`
	// Time when the component entered this phase, as far as the conditions of its resources show.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// Endpoint is the address of a service's API.
type Endpoint struct {
	// Name of the service.
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service"`
	// Address from outside the cluster.
	// +optional
	Public URL `json:"public,omitempty"`
	// Address inside the cluster.
	// +optional
	Internal URL `json:"internal,omitempty"`
	// Facts that the running service reports.
	// +optional
	Live *Live `json:"live,omitempty"`
}

// Live holds facts that the companion reads from the running service.
type Live struct {
	// True: the companion can log in. False: three consecutive attempts have failed.
	// +kubebuilder:validation:Enum="True";"False"
	Reachable string `json:"reachable"`
	// Version of its API, as reported by the service: v3.14.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// True: the companion gets a response from the public address, with a certificate that the system trusts. False: publicMessage contains
	// the cause. Other objects do not wait for this value, because an external address may be unreachable from inside the cluster. Unset:
	// there is no public address, or it has not been checked.
	// +kubebuilder:validation:Enum="True";"False"
	// +optional
	PublicReachable string `json:"publicReachable,omitempty"`
	// Error of the public address: name resolution, connection, certificate or response.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	PublicMessage string `json:"publicMessage,omitempty"`
	// Time when it last issued a token, at most ten minutes late.
	// +optional
	LastToken *metav1.Time `json:"lastToken,omitempty"`
}

// CompositionStatus is the common status of every composite resource.
type CompositionStatus struct {
	// Effect of a deletion on data, according to the observed state: Retain if all data is kept, Delete if any of it is not. Unset while it
	// is unknown. It follows spec.deletionPolicy within seconds, also if another field of the same edit is rejected.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// Time of the last observation of composed objects by the companion: the oldest of their times, rounded down to half an hour. Values that
	// are copied from these objects are at least as recent. Unset: no object has such a time.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Spec that was composed last: the current one or, while SpecValid is False, the last valid one, without the fields of Crossplane. It is
	// written together with the phase.
	// +kubebuilder:validation:MaxProperties=64
	// +mapType=atomic
	// +optional
	LastValidSpec map[string]apiextensionsv1.JSON `json:"lastValidSpec,omitempty"`
}

// CloudStatus is the state that every claim reports.
type CloudStatus struct {
	CompositionStatus `json:",inline"`
	// Phase of the cloud.
	// +kubebuilder:validation:Enum=Pending;Infrastructure;Identity;Catalog;CoreServices;Compute;Scheduler;Testing;Ready;Deleting
	// +optional
	Phase string `json:"phase,omitempty"`
	// Phase of the update.
	// +kubebuilder:validation:Enum=Idle;Updating;UpdatingServices;Verifying;RollingBack
	// +optional
	UpdatePhase string `json:"updatePhase,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []ComponentStatus `json:"components,omitempty"`
}
