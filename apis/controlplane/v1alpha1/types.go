package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	cinder "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Sizes of a control plane.
const (
	SizeDevelopment = "development"
	SizeSmall       = "small"
	SizeMedium      = "medium"
	SizeLarge       = "large"
)

// Policies for data when a claim is deleted.
const (
	DeletionPolicyRetain = common.DeletionPolicyRetain
	DeletionPolicyDelete = common.DeletionPolicyDelete
)

// A ControlPlaneCluster is an OpenStack control plane: databases, queues and caches, Keystone, and the services that are
// enabled.
//
// The type describes both the claim and the composite resource (XControlPlaneCluster) that Crossplane creates for it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.spec.openStackRelease`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
// +kubebuilder:printcolumn:name="Instance",type=string,JSONPath=`.status.instance`,priority=1
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Identity",type=string,JSONPath=`.status.endpoints[?(@.service=='keystone')].public`,priority=1
type ControlPlaneCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec ControlPlaneClusterSpec `json:"spec"`
	// Observed state.
	// +optional
	Status ControlPlaneClusterStatus `json:"status,omitempty"`
}

// ControlPlaneClusterSpec is the desired state of a control plane.
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster)",message="cluster cannot be added or removed: data cannot be moved; delete the claim and create it with or without cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.global) || !has(self.global.exposure) || self.global.exposure.type != 'None' || !has(self.services) || !has(self.services.keystone) || !has(self.services.keystone.hostname)",message="hostname has no effect with global.exposure.type None; remove hostname or change the exposure type",fieldPath=".services.keystone.hostname"
// +kubebuilder:validation:XValidation:rule="!has(self.services) || !has(self.services.glance) || !has(self.services.glance.stores) || !self.services.glance.stores.exists(s, has(s.file) && s.file.accessMode == 'ReadWriteOnce') || (has(self.services.glance.replicas) ? self.services.glance.replicas == 1 : self.size == 'development')",message="a store with accessMode ReadWriteOnce supports one pod only; set replicas: 1 or accessMode: ReadWriteMany",fieldPath=".services.glance.replicas"
// +kubebuilder:validation:XValidation:rule="self.deletionPolicy == 'Delete' || !has(oldSelf.services) || !has(oldSelf.services.glance) || !has(oldSelf.services.glance.stores) || oldSelf.services.glance.stores.all(o, has(self.services) && has(self.services.glance) && has(self.services.glance.stores) && self.services.glance.stores.exists(s, s.name == o.name))",message="a store cannot be removed or renamed, because its images would be lost; copy the images to another store and set deletionPolicy: Delete in the edit that removes the store",fieldPath=".services.glance.stores"
// +kubebuilder:validation:XValidation:rule="!has(self.global) || !has(self.global.exposure) || self.global.exposure.type != 'None' || !has(self.services) || !(has(self.services.glance) && has(self.services.glance.hostname) || has(self.services.placement) && has(self.services.placement.hostname))",message="hostname of Glance and Placement has no effect with global.exposure.type None; remove it or change the exposure type",fieldPath=".services"
// +kubebuilder:validation:XValidation:rule="has(self.services.keystone.external) == has(oldSelf.services.keystone.external)",message="external cannot be added or removed: data of services belongs to projects of one Keystone; create another control plane",fieldPath=".services.keystone"
// +kubebuilder:validation:XValidation:rule="has(self.infrastructure.mariadb.external) == has(oldSelf.infrastructure.mariadb.external)",message="external cannot be added or removed: data cannot be moved between databases; create another control plane",fieldPath=".infrastructure.mariadb"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || self.global.region != 'RegionOne'",message="global.region is required with an external Keystone and must not be RegionOne, which may already exist there",fieldPath=".global.region"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || !has(self.tempest) || !has(self.tempest.enabled) || !self.tempest.enabled",message="Tempest cannot be used with an external Keystone, because it creates administrators; disable tempest",fieldPath=".tempest"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || !has(self.korc) || !has(self.korc.bootstrapResources)",message="korc.bootstrapResources cannot be set with an external Keystone: this cloud has not bootstrapped it",fieldPath=".korc.bootstrapResources"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || !has(self.keystoneServices) || self.keystoneServices.size() == 0",message="keystoneServices cannot be set with an external Keystone; its operator grants access",fieldPath=".keystoneServices"
type ControlPlaneClusterSpec struct {
	// OpenStack release of all services.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	OpenStackRelease string `json:"openStackRelease"`
	// Size: default numbers of replicas, memory and volume sizes. Fields below override them.
	// +kubebuilder:validation:Enum=development;small;medium;large
	// +kubebuilder:default=small
	// +optional
	Size string `json:"size,omitempty"`
	// Kubernetes cluster of the workloads. Defaults to the management cluster.
	// +optional
	Cluster *common.Cluster `json:"cluster,omitempty"`
	// Settings for the whole cloud.
	// +kubebuilder:default={region: RegionOne}
	// +optional
	Global Global `json:"global,omitempty"`
	// OpenStack services.
	// +kubebuilder:default={}
	// +optional
	Services Services `json:"services,omitempty"`
	// Databases, queues and caches that the services share.
	// +kubebuilder:default={}
	// +optional
	Infrastructure Infrastructure `json:"infrastructure,omitempty"`
	// Objects in Keystone that K-ORC manages.
	// +optional
	KORC *KORC `json:"korc,omitempty"`
	// Tempest, recurring integration tests.
	// +optional
	Tempest *Tempest `json:"tempest,omitempty"`
	// Other namespaces whose HypervisorClusters may join; * matches any characters. HypervisorClusters in the claim's own namespace may
	// always join.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +kubebuilder:example={"hypervisors-*"}
	// +optional
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces,omitempty"`
	// KeystoneService claims whose services get an account in this cloud.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +optional
	KeystoneServices []KeystoneServiceGrant `json:"keystoneServices,omitempty"`
	// Policy for databases, keys and volumes when the claim is deleted or a stateful part is disabled. Retain keeps them: the same claim,
	// created again, adopts them. Delete deletes them permanently.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// KeystoneServiceGrant is a service with access to the cloud.
type KeystoneServiceGrant struct {
	common.ClaimReference `json:",inline"`
	// Catalog type that the service may use. Defaults to none.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Type string `json:"type,omitempty"`
	// Further catalog types that the service may use.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +kubebuilder:example={"s3"}
	// +optional
	AdditionalTypes []string `json:"additionalTypes,omitempty"`
	// The service may administer the whole cloud.
	// +optional
	AllowAdministration bool `json:"allowAdministration,omitempty"`
}

// Services are the OpenStack services of the cloud. Keystone always runs; the others are disabled by default.
type Services struct {
	// Identity service.
	// +kubebuilder:default={}
	// +optional
	Keystone Keystone `json:"keystone,omitempty"`
	// Image service.
	// +optional
	Glance *Glance `json:"glance,omitempty"`
	// Resource inventory, which Nova requires.
	// +optional
	Placement *Placement `json:"placement,omitempty"`
	// Compute service.
	// +optional
	Nova *Nova `json:"nova,omitempty"`
	// Network service.
	// +optional
	Neutron *Neutron `json:"neutron,omitempty"`
	// Block storage service.
	// +optional
	Cinder *Cinder `json:"cinder,omitempty"`
	// Orchestration service.
	// +optional
	Heat *Heat `json:"heat,omitempty"`
	// Dashboard.
	// +optional
	Horizon *Horizon `json:"horizon,omitempty"`
	// Key manager.
	// +optional
	Barbican *Barbican `json:"barbican,omitempty"`
}

// Global are settings for the whole cloud. They override the platform's, field by field; unset fields have the platform's value. A limit
// of the platform must allow a different value.
// +kubebuilder:validation:XValidation:rule="self.region == oldSelf.region",message="region is immutable: it is part of every entry of the service catalog; restore the previous value"
type Global struct {
	// Name of the region in the service catalog.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=RegionOne
	// +optional
	Region string `json:"region,omitempty"`
	// Domain of the host names of services. Defaults to <claim>.<namespace>.<domain>, with the first domain of the limit that applies, or
	// else the platform's domain.
	// +kubebuilder:example="cloud.example.com"
	// +optional
	Domain common.Hostname `json:"domain,omitempty"`
	// External access to APIs.
	// +optional
	Exposure *common.Exposure `json:"exposure,omitempty"`
	// Certificates of public addresses.
	// +optional
	TLS *common.TLS `json:"tls,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring *common.MonitoringSettings `json:"monitoring,omitempty"`
	// Store outside the cluster for generated secrets, so that they survive the loss of the cluster.
	// +optional
	SecretStore *common.SecretStoreReference `json:"secretStore,omitempty"`
	// Registry and pull secrets of images.
	// +optional
	Images *common.Images `json:"images,omitempty"`
}

// KORC configures the objects in Keystone that K-ORC manages.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled",message="K-ORC cannot be disabled: it creates the catalog entries and the users of services"
type KORC struct {
	// Always true: K-ORC manages the catalog and the services' users.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Objects of Keystone's bootstrap to import, so that other objects can refer to them. Defaults to domains, projects, roles, users and the
	// catalog's own entries.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	BootstrapResources []catalogv1.BootstrapResource `json:"bootstrapResources,omitempty"`
	// Rotation of the application credentials of K-ORC and the services, and of the services' users of message queues. Defaults to every 90
	// days.
	// +optional
	CredentialRotation *common.Rotation `json:"credentialRotation,omitempty"`
}

// ControlPlaneClusterStatus is the observed state of a control plane.
type ControlPlaneClusterStatus struct {
	common.CloudStatus `json:",inline"`
	// Prefix of the names of all objects of this control plane, and the namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Instance string `json:"instance,omitempty"`
	// Current release. It follows spec.openStackRelease when an upgrade is complete.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Release string `json:"release,omitempty"`
	// Addresses of the APIs.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=service
	// +optional
	Endpoints []common.Endpoint `json:"endpoints,omitempty"`
	// Cells of Nova.
	// +kubebuilder:validation:MaxItems=17
	// +listType=map
	// +listMapKey=name
	// +optional
	Cells []CellStatus `json:"cells,omitempty"`
	// Backends of Cinder.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []cinder.BackendStatus `json:"backends,omitempty"`
	// Databases of OVN, and their clients.
	// +optional
	OVN *OVNStatus `json:"ovn,omitempty"`
	// Connections to the pools of StorageClusters that services reference.
	// +kubebuilder:validation:MaxItems=33
	// +listType=map
	// +listMapKey=name
	// +optional
	Storage []common.StorageClient `json:"storage,omitempty"`
	// Connection data for pools of hypervisors. Unset: Nova is not enabled.
	// +optional
	Hypervisors *HypervisorAccess `json:"hypervisors,omitempty"`
	// Last run of Tempest.
	// +optional
	Tests *common.TestStatus `json:"tests,omitempty"`
}

// CellStatus is the state of a cell of Nova.
type CellStatus struct {
	// Name of the cell.
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name"`
	// Phase of the cell.
	// +kubebuilder:validation:Enum=Waiting;Creating;Ready;Updating;Failed
	Phase string `json:"phase"`
	// Hypervisors that are registered in the cell.
	// +optional
	ComputeNodes int32 `json:"computeNodes,omitempty"`
}

// OVNStatus is the state of OVN.
type OVNStatus struct {
	// Addresses of the northbound database.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Northbound string `json:"northbound,omitempty"`
	// Addresses of the southbound database.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Southbound string `json:"southbound,omitempty"`
	// Nodes that have registered.
	// +optional
	ChassisCount int32 `json:"chassisCount,omitempty"`
	// Nodes whose controller has applied the current configuration.
	// +optional
	ActiveControllers int32 `json:"activeControllers,omitempty"`
	// Result of the last comparison of Neutron's database with OVN. Unset: there was none.
	// +optional
	Sync *common.OVNSyncAnswer `json:"sync,omitempty"`
}
