package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Heat is the orchestration service of one control plane: the API, the API by which virtual machines report, and the engines that make
// what stacks say. A ControlPlaneCluster makes it and fills in every field, so that it looks nothing up.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Heat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec HeatSpec `json:"spec"`
	// Observed state.
	// +optional
	Status HeatStatus `json:"status,omitempty"`
}

// HeatSpec is the desired state of a Heat.
type HeatSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	// The Keystone that it belongs to.
	Identity common.Identity `json:"identity"`
	// Its message queue.
	Queue common.Queue `json:"queue"`
	// The API.
	API common.Process `json:"api"`
	// The API that speaks as AWS CloudFormation, by which virtual machines report. Absent: there is none.
	// +optional
	CFN *CFN `json:"cfn,omitempty"`
	// The engines: a worker in each pod for each 256Mi of its memory, 8 at most.
	Engine common.Process `json:"engine"`
	// Processes of each pod of an API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Removal of stacks that were deleted from the database.
	// +optional
	Archive common.Archive `json:"archive,omitempty"`
}

// CFN is the API that speaks as AWS CloudFormation.
type CFN struct {
	common.Process `json:",inline"`
	// Its addresses. Virtual machines are told the public one.
	Endpoints common.Endpoints `json:"endpoints"`
	// How it is reached from outside. It has a host name to itself, as whoever reports signs host name and path. Absent: it is not.
	// +optional
	Exposure *common.ServiceExposure `json:"exposure,omitempty"`
}

// HeatStatus is the observed state of a Heat.
type HeatStatus struct {
	common.ServiceStatus `json:",inline"`
}
