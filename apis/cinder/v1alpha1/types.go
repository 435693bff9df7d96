package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Cinder is the block storage service of one control plane: the API, the scheduler, the volume managers of each backend, and the backup
// service. A ControlPlaneCluster creates it with every field set, so it reads no other object.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Cinder struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec CinderSpec `json:"spec"`
	// Observed state.
	// +optional
	Status CinderStatus `json:"status,omitempty"`
}

// CinderSpec is the desired state of a Cinder.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.coordination) || has(self.coordination)",message="coordination cannot be removed: volumes belong to the cluster that shares its locks; restore it",fieldPath=".coordination"
type CinderSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	Storage            `json:",inline"`
	// Connections to the pools of StorageClusters that backends and backups reference.
	// +kubebuilder:validation:MaxItems=17
	// +listType=map
	// +listMapKey=name
	// +optional
	StorageClients []common.StorageClient `json:"storageClients,omitempty"`
	// Keystone of the service.
	Identity common.Identity `json:"identity"`
	// Message queue of the service.
	Queue common.Queue `json:"queue"`
	// Barbican for keys of encrypted volumes. Defaults to none: volumes cannot be encrypted.
	// +optional
	KeyManager *common.KeyManager `json:"keyManager,omitempty"`
	// Store of locks across pods. If unset, each backend has a single volume manager.
	// +optional
	Coordination *Coordination `json:"coordination,omitempty"`
	// API processes.
	API common.Process `json:"api"`
	// Scheduler processes.
	Scheduler common.Process `json:"scheduler"`
	// Volume managers of each backend that does not override them.
	Volume common.Process `json:"volume"`
	// Removal of deleted rows from the database.
	// +optional
	Archive common.Archive `json:"archive,omitempty"`
	// uWSGI processes of each pod of the API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
}

// Coordination is a Valkey.
type Coordination struct {
	// Secret in which Valkey's operator publishes the address.
	BindingSecretRef common.SecretReference `json:"bindingSecretRef"`
	// Sentinels report which member is the primary.
	// +optional
	Sentinel bool `json:"sentinel,omitempty"`
}

// CinderStatus is the observed state of a Cinder.
type CinderStatus struct {
	common.ServiceStatus `json:",inline"`
	// State of the backends.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []BackendStatus `json:"backends,omitempty"`
}

// BackendStatus is the state of a backend.
type BackendStatus struct {
	// Name of the backend.
	// +kubebuilder:validation:MaxLength=30
	Name string `json:"name"`
	// Phase of the backend.
	// +kubebuilder:validation:Enum=Waiting;Creating;Ready;Updating;Failed
	Phase string `json:"phase"`
	// Total capacity, in GiB, at the last measurement.
	// +optional
	TotalGiB *int64 `json:"totalGiB,omitempty"`
	// Free capacity, in GiB.
	// +optional
	AvailableGiB *int64 `json:"availableGiB,omitempty"`
}
