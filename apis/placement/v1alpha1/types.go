package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Placement is the resource inventory of one control plane. A ControlPlaneCluster creates it with every field set, so it reads no other
// object.
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
	// Keystone of the service.
	Identity common.Identity `json:"identity"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
}

// PlacementStatus is the observed state of a Placement.
type PlacementStatus struct {
	common.ServiceStatus `json:",inline"`
}
