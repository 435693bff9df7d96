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

// What happens to data when a claim is deleted.
const (
	DeletionPolicyRetain = common.DeletionPolicyRetain
	DeletionPolicyDelete = common.DeletionPolicyDelete
)

// A ControlPlaneCluster is an OpenStack control plane: databases, queues and caches, Keystone, and the services that are
// enabled.
//
// The type describes both the claim and the composite resource (XControlPlaneCluster) that Crossplane makes of it.
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
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster)",message="cluster cannot be set or removed: a control plane's data does not move; delete the claim and claim it elsewhere"
// +kubebuilder:validation:XValidation:rule="!has(self.global) || !has(self.global.exposure) || self.global.exposure.type != 'None' || !has(self.services) || !has(self.services.keystone) || !has(self.services.keystone.hostname)",message="with global.exposure.type None nobody outside gets there; leave hostname out, or expose the cloud",fieldPath=".services.keystone.hostname"
// +kubebuilder:validation:XValidation:rule="!has(self.services) || !has(self.services.glance) || !has(self.services.glance.stores) || !self.services.glance.stores.exists(s, has(s.file) && s.file.accessMode == 'ReadWriteOnce') || (has(self.services.glance.replicas) ? self.services.glance.replicas == 1 : self.size == 'development')",message="a store with accessMode ReadWriteOnce serves a single pod; say replicas: 1, or accessMode: ReadWriteMany",fieldPath=".services.glance.replicas"
// +kubebuilder:validation:XValidation:rule="self.deletionPolicy == 'Delete' || !has(oldSelf.services) || !has(oldSelf.services.glance) || !has(oldSelf.services.glance.stores) || oldSelf.services.glance.stores.all(o, has(self.services) && has(self.services.glance) && has(self.services.glance.stores) && self.services.glance.stores.exists(s, s.name == o.name))",message="a store cannot be removed or renamed: the images in it would be lost; copy them to another store, and say deletionPolicy: Delete in the edit that removes it",fieldPath=".services.glance.stores"
// +kubebuilder:validation:XValidation:rule="!has(self.global) || !has(self.global.exposure) || self.global.exposure.type != 'None' || !has(self.services) || !(has(self.services.glance) && has(self.services.glance.hostname) || has(self.services.placement) && has(self.services.placement.hostname))",message="with global.exposure.type None nobody outside gets to Glance or Placement; leave their hostname out, or expose the cloud",fieldPath=".services"
// +kubebuilder:validation:XValidation:rule="has(self.services.keystone.external) == has(oldSelf.services.keystone.external)",message="external cannot be set or removed: all that services keep belongs to projects of one Keystone; claim another control plane",fieldPath=".services.keystone"
// +kubebuilder:validation:XValidation:rule="has(self.infrastructure.mariadb.external) == has(oldSelf.infrastructure.mariadb.external)",message="external cannot be set or removed: no data moves from one database to another; claim another control plane",fieldPath=".infrastructure.mariadb"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || self.global.region != 'RegionOne'",message="a Keystone elsewhere has regions already, of which RegionOne may be one; give this cloud its own",fieldPath=".global.region"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || !has(self.tempest) || !has(self.tempest.enabled) || !self.tempest.enabled",message="tests make administrators, and the Keystone is somebody else's; leave them off",fieldPath=".tempest"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || !has(self.korc) || !has(self.korc.bootstrapResources)",message="this cloud has bootstrapped nothing in a Keystone elsewhere; leave it out",fieldPath=".korc.bootstrapResources"
// +kubebuilder:validation:XValidation:rule="!has(self.services.keystone.external) || !has(self.keystoneServices) || self.keystoneServices.size() == 0",message="the Keystone is somebody else's, who lets services in there; leave this out",fieldPath=".keystoneServices"
type ControlPlaneClusterSpec struct {
	// OpenStack release of all services.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	OpenStackRelease string `json:"openStackRelease"`
	// Size: how many replicas, how much memory, how large the databases and queues are, unless a field below says otherwise.
	// +kubebuilder:validation:Enum=development;small;medium;large
	// +kubebuilder:default=small
	// +optional
	Size string `json:"size,omitempty"`
	// Kubernetes cluster that the workloads run in. Absent: the management cluster itself.
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
	// What is managed in Keystone by K-ORC.
	// +optional
	KORC *KORC `json:"korc,omitempty"`
	// Cortex, a scheduler that considers the whole cloud.
	// +optional
	Cortex *Cortex `json:"cortex,omitempty"`
	// Tempest, recurring integration tests.
	// +optional
	Tempest *Tempest `json:"tempest,omitempty"`
	// Other namespaces whose HypervisorClusters may join; * stands for any run of characters. Those of the claim's own
	// namespace always may.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +kubebuilder:example={"hypervisors-*"}
	// +optional
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces,omitempty"`
	// Claims (KeystoneService) whose services have an account here.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +optional
	KeystoneServices []KeystoneServiceGrant `json:"keystoneServices,omitempty"`
	// What happens to databases, keys and volumes when the claim is deleted or a part that holds data is switched off. Retain keeps them:
	// the same claim, created again, adopts them. Delete removes them for good.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// KeystoneServiceGrant is a service that is let in.
type KeystoneServiceGrant struct {
	common.ClaimReference `json:",inline"`
	// Type that it may have in the catalog. Absent: none.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Type string `json:"type,omitempty"`
	// Further types that it may have.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +kubebuilder:example={"s3"}
	// +optional
	AdditionalTypes []string `json:"additionalTypes,omitempty"`
	// It may administrate the whole cloud.
	// +optional
	AllowAdministration bool `json:"allowAdministration,omitempty"`
}

// Services are the OpenStack services of the cloud. Keystone is always there; the others are off unless enabled.
type Services struct {
	// Identity service.
	// +kubebuilder:default={}
	// +optional
	Keystone Keystone `json:"keystone,omitempty"`
	// Image service.
	// +optional
	Glance *Glance `json:"glance,omitempty"`
	// Resource inventory, which Nova needs.
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

// Global are settings for the whole cloud. They override the platform's, field by field; absent fields keep the platform's value. A value
// that differs has to be allowed by a limit of the platform.
// +kubebuilder:validation:XValidation:rule="self.region == oldSelf.region",message="region cannot be changed: it is written into every entry of the service catalog"
type Global struct {
	// Name of the region in the service catalog.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=RegionOne
	// +optional
	Region string `json:"region,omitempty"`
	// Domain below which services get their host names. Absent: <claim>.<namespace>.<the platform's domain>, or below the first
	// domain of the limit that holds here.
	// +kubebuilder:example="cloud.example.com"
	// +optional
	Domain common.Hostname `json:"domain,omitempty"`
	// How APIs are reached from outside.
	// +optional
	Exposure *common.Exposure `json:"exposure,omitempty"`
	// Certificates of public addresses.
	// +optional
	TLS *common.TLS `json:"tls,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring *common.MonitoringSettings `json:"monitoring,omitempty"`
	// Store outside the cluster, in which generated secrets are kept so that they survive the loss of the cluster.
	// +optional
	SecretStore *common.SecretStoreReference `json:"secretStore,omitempty"`
	// Where images come from.
	// +optional
	Images *common.Images `json:"images,omitempty"`
}

// KORC says what K-ORC manages in Keystone.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled",message="K-ORC cannot be switched off: without it the catalog has no entry, and no service a user"
type KORC struct {
	// K-ORC always manages the catalog and the services' users.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// What Keystone's bootstrap made is imported, so that other objects can refer to it. Absent: domains, projects, roles,
	// users and the catalog's own entries.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	BootstrapResources []catalogv1.BootstrapResource `json:"bootstrapResources,omitempty"`
	// Replacement of the application credentials by which K-ORC and the services log in to Keystone, and of the services' users of message
	// queues. Absent: every 90 days.
	// +optional
	CredentialRotation *common.Rotation `json:"credentialRotation,omitempty"`
}

// ControlPlaneClusterStatus is the observed state of a control plane.
type ControlPlaneClusterStatus struct {
	common.CloudStatus `json:",inline"`
	// Name of everything that belongs to this control plane: the namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Instance string `json:"instance,omitempty"`
	// Release that runs. It follows spec.openStackRelease when an upgrade is done.
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
	// OVN's databases, and what listens to them.
	// +optional
	OVN *OVNStatus `json:"ovn,omitempty"`
	// How the pools of StorageClusters are reached that services name.
	// +kubebuilder:validation:MaxItems=33
	// +listType=map
	// +listMapKey=name
	// +optional
	Storage []common.StorageClient `json:"storage,omitempty"`
	// What pools of hypervisors are told. Absent: there is no Nova.
	// +optional
	Hypervisors *HypervisorAccess `json:"hypervisors,omitempty"`
	// Pipelines of Cortex that take decisions.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	ActivePipelines []string `json:"activePipelines,omitempty"`
	// The last run of Tempest.
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
	// Hypervisors that Nova knows in it.
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
	// Nodes whose controller has done what is wanted.
	// +optional
	ActiveControllers int32 `json:"activeControllers,omitempty"`
	// What the last comparison of Neutron's database with OVN found. Absent: there was none.
	// +optional
	Sync *common.OVNSyncAnswer `json:"sync,omitempty"`
}
