package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Heat is the orchestration service of one control plane: the API, the API for signals of virtual machines, and the engines, which
// create the resources of stacks. A ControlPlaneCluster creates it with every field set, so it reads no other object.
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
	// Keystone of the service.
	Identity common.Identity `json:"identity"`
	// Message queue of the service.
	Queue common.Queue `json:"queue"`
	// API processes.
	API common.Process `json:"api"`
	// API that is compatible with AWS CloudFormation, for signals of virtual machines. Defaults to none.
	// +optional
	CFN *CFN `json:"cfn,omitempty"`
	// Engines: one worker in each pod for each 256Mi of its memory, at most 8.
	Engine common.Process `json:"engine"`
	// uWSGI processes of each pod of an API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Removal of deleted stacks from the database.
	// +optional
	Archive common.Archive `json:"archive,omitempty"`
}

// CFN is the API that is compatible with AWS CloudFormation.
type CFN struct {
	common.Process `json:",inline"`
	// Addresses of the API. Virtual machines get the public one.
	Endpoints common.Endpoints `json:"endpoints"`
	// External access to the API. It has a separate host name, because clients sign the host name and the path. Defaults to none.
	// +optional
	Exposure *common.ServiceExposure `json:"exposure,omitempty"`
}

// HeatStatus is the observed state of a Heat.
type HeatStatus struct {
	common.ServiceStatus `json:",inline"`
}
