package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Cinder is the block storage service of one control plane: the API, the scheduler, the managers of each backend's volumes, and the
// backup service. A ControlPlaneCluster makes it and fills in every field, so that it looks nothing up.
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
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.coordination) || has(self.coordination)",message="coordination cannot be removed: volumes belong to the cluster that shares its locks",fieldPath=".coordination"
type CinderSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	Storage            `json:",inline"`
	// How the pools of StorageClusters are reached that backends and backups name.
	// +kubebuilder:validation:MaxItems=17
	// +listType=map
	// +listMapKey=name
	// +optional
	StorageClients []common.StorageClient `json:"storageClients,omitempty"`
	// The Keystone that it belongs to.
	Identity common.Identity `json:"identity"`
	// Its message queue.
	Queue common.Queue `json:"queue"`
	// The Barbican that keeps keys. Absent: there is none, and nothing is encrypted for users.
	// +optional
	KeyManager *common.KeyManager `json:"keyManager,omitempty"`
	// Where locks are kept that hold across pods. Absent: each backend has a single volume manager.
	// +optional
	Coordination *Coordination `json:"coordination,omitempty"`
	// The API.
	API common.Process `json:"api"`
	// The scheduler.
	Scheduler common.Process `json:"scheduler"`
	// The volume managers of each backend that does not say otherwise.
	Volume common.Process `json:"volume"`
	// Removal of what was deleted from the database.
	// +optional
	Archive common.Archive `json:"archive,omitempty"`
	// Processes of each pod of the API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
}

// Coordination is a Valkey.
type Coordination struct {
	// Secret by which Valkey's operator says where it is.
	BindingSecretRef common.SecretReference `json:"bindingSecretRef"`
	// Sentinels are asked which member is the primary.
	// +optional
	Sentinel bool `json:"sentinel,omitempty"`
}

// CinderStatus is the observed state of a Cinder.
type CinderStatus struct {
	common.ServiceStatus `json:",inline"`
	// Backends that volumes are kept in.
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
	// Room in it, in GiB, as was last known.
	// +optional
	TotalGiB *int64 `json:"totalGiB,omitempty"`
	// Room that is left in it, in GiB.
	// +optional
	AvailableGiB *int64 `json:"availableGiB,omitempty"`
}
