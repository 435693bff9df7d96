package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Glance is the image service of one control plane. A ControlPlaneCluster creates it with every field set, so it reads no other object.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Glance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec GlanceSpec `json:"spec"`
	// Observed state.
	// +optional
	Status GlanceStatus `json:"status,omitempty"`
}

// GlanceSpec is the desired state of a Glance.
type GlanceSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Workload    `json:",inline"`
	// Keystone of the service.
	Identity common.Identity `json:"identity"`
	// Barbican for keys of encrypted images. Defaults to none: images cannot be encrypted.
	// +optional
	KeyManager *common.KeyManager `json:"keyManager,omitempty"`
	Storage    `json:",inline"`
	// Connections to the pools of StorageClusters that stores reference.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	StorageClients []common.StorageClient `json:"storageClients,omitempty"`
	// Removal of deleted images and tasks from the database.
	// +optional
	Archive Archive `json:"archive,omitempty"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI UWSGI `json:"uwsgi,omitempty"`
}

// GlanceStatus is the observed state of a Glance.
type GlanceStatus struct {
	common.ServiceStatus `json:",inline"`
	// Available stores.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Stores []StoreName `json:"stores,omitempty"`
}
