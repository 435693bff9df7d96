package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Placement is the inventory of what virtual machines use, of one control plane. A ControlPlaneCluster makes it and fills in every
// field, so that it looks nothing up.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec PlacementSpec `json:"spec"`
	// Observed state.
	// +optional
	Status PlacementStatus `json:"status,omitempty"`
}

// PlacementSpec is the desired state of a Placement.
type PlacementSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Workload    `json:",inline"`
	// The Keystone that it belongs to.
	Identity common.Identity `json:"identity"`
	// Processes of each pod.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
}

// PlacementStatus is the observed state of a Placement.
type PlacementStatus struct {
	common.ServiceStatus `json:",inline"`
}
