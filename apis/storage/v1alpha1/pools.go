package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Purpose is what OpenStack keeps in a pool, and so whose users may do what in it.
// +kubebuilder:validation:Enum=images;volumes;vms;backups
type Purpose string

// What OpenStack keeps in pools: each is the name of the pool that has it by default.
const (
	// PurposeImages are images: Glance's, which Cinder and Nova make copies of.
	PurposeImages Purpose = "images"
	// PurposeVolumes are volumes: Cinder's and Nova's.
	PurposeVolumes Purpose = "volumes"
	// PurposeVMs are disks of virtual machines: Nova's and Cinder's.
	PurposeVMs Purpose = "vms"
	// PurposeBackups are backups of volumes: those of Cinder's backup service.
	PurposeBackups Purpose = "backups"
)

// Consumer is a control plane that has pools and users of its own: production has the pool production-images, and the user
// production-glance, who may use no pool of others.
type Consumer struct {
	// Beginning of the names of its pools and users.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// The control plane. Unless it is in the namespace of this claim, its namespace has to be one of allowedNamespaces.
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Quotas of its pools, in place of those that pools have. Absent: theirs.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=pool
	// +optional
	Quotas []PoolQuota `json:"quotas,omitempty"`
}

// PoolQuota bounds a pool of a consumer.
type PoolQuota struct {
	// Name of the pool, as pools has it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Pool  string `json:"pool"`
	Quota `json:",inline"`
}

// Pool is a pool for block devices.
// +kubebuilder:validation:XValidation:rule="!has(self.purpose) || self.application == 'rbd'",message="purpose is for pools of application rbd: OpenStack keeps nothing in others"
// +kubebuilder:validation:XValidation:rule="!(has(self.replicated) && has(self.erasureCoded))",message="a pool is either replicated or erasureCoded"
// +kubebuilder:validation:XValidation:rule="!has(self.erasureCoded) || self.application != 'rbd'",message="a pool of application rbd must be replicated: an erasure-coded pool cannot keep the headers of block devices"
// +kubebuilder:validation:XValidation:rule="!has(self.storageClass) || self.application == 'rbd' && !has(self.purpose)",message="storageClass is for pools of application rbd without purpose: OpenStack's users write in those with one"
// +kubebuilder:validation:XValidation:rule="!has(self.mirroring) || self.application == 'rbd'",message="mirroring is for pools of application rbd: Ceph copies block devices by it"
// +kubebuilder:validation:XValidation:rule="has(self.erasureCoded) == has(oldSelf.erasureCoded) && (!has(self.erasureCoded) || self.erasureCoded == oldSelf.erasureCoded)",message="erasureCoded cannot be changed: Ceph cannot convert a pool; make another pool"
type Pool struct {
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// What the pool is used for.
	// +kubebuilder:validation:Enum=rbd;cephfs;rgw
	// +kubebuilder:default=rbd
	// +optional
	Application string `json:"application,omitempty"`
	// What OpenStack keeps in the pool, and so which of its users may use it. Absent: what the pool is called, or nothing.
	// +optional
	Purpose    Purpose `json:"purpose,omitempty"`
	Redundancy `json:",inline"`
	// Most that the pool may hold.
	// +optional
	Quota *Quota `json:"quota,omitempty"`
	// Let Kubernetes keep volumes in the pool, by a StorageClass of its own. The pool has no purpose, and the platform CSI drivers. Absent: it
	// does not.
	// +optional
	StorageClass *PoolStorageClass `json:"storageClass,omitempty"`
	// Copy block devices to another Ceph cluster, or from it. Absent: none is copied.
	// +optional
	Mirroring *PoolMirroring `json:"mirroring,omitempty"`
}

// Redundancy says how data survives the loss of devices. Absent: replicated, as often as replicationFactor says.
type Redundancy struct {
	// Copies.
	// +optional
	Replicated *Replicated `json:"replicated,omitempty"`
	// Pieces with parity: less space than copies, more work.
	// +optional
	ErasureCoded *ErasureCoded `json:"erasureCoded,omitempty"`
	// Class of the devices that hold the data.
	// +optional
	DeviceClass DeviceClass `json:"deviceClass,omitempty"`
	// What may fail without a loss.
	// +optional
	FailureDomain FailureDomain `json:"failureDomain,omitempty"`
	// The pool will hold much of the data: Ceph gives it its placement groups at the start, and does not divide them and move data while it
	// grows. Absent: by what it holds.
	// +optional
	Bulk *bool `json:"bulk,omitempty"`
	// Fewest placement groups. Absent: by what it holds.
	// +kubebuilder:validation:Enum=1;2;4;8;16;32;64;128;256;512;1024;2048;4096;8192;16384;32768
	// +optional
	MinPlacementGroups int32 `json:"minPlacementGroups,omitempty"`
}

// Replicated keeps copies.
// +kubebuilder:validation:XValidation:rule="self.size > 1 || self.allowDataLoss",message="size 1 loses data with the first disk: use 2 or more, or say allowDataLoss: true"
type Replicated struct {
	// Number of copies.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Size int32 `json:"size"`
	// Accept a single copy, which is lost with the first disk that fails.
	// +kubebuilder:default=false
	// +optional
	AllowDataLoss bool `json:"allowDataLoss"`
}

// ErasureCoded keeps pieces of data and pieces of parity; as many pieces as there is parity may be lost.
type ErasureCoded struct {
	// Pieces of data.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=16
	DataChunks int32 `json:"dataChunks"`
	// Pieces of parity.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	CodingChunks int32 `json:"codingChunks"`
}

// Quota bounds a pool. Writes beyond it fail.
// +kubebuilder:validation:XValidation:rule="has(self.maxSize) || has(self.maxObjects)",message="give maxSize, maxObjects or both"
type Quota struct {
	// Most data, copies not counted.
	// +optional
	MaxSize Size `json:"maxSize,omitempty"`
	// Most objects.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxObjects *int64 `json:"maxObjects,omitempty"`
}

// DataPool is a pool of a file system or an object store.
// +kubebuilder:validation:XValidation:rule="!(has(self.replicated) && has(self.erasureCoded))",message="a pool is either replicated or erasureCoded"
type DataPool struct {
	Redundancy `json:",inline"`
}

// Filesystem is a file system with servers of its own.
type Filesystem struct {
	// Name of the file system.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Pool of the files' contents. Absent: replicated.
	// +optional
	DataPool DataPool `json:"dataPool,omitempty"`
	// Metadata servers that work at the same time. Each has another that stands by.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	// +kubebuilder:default=1
	// +optional
	MetadataServers int32 `json:"metadataServers,omitempty"`
	// Resources of each metadata server.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// ObjectStore is an object store with gateways of its own.
type ObjectStore struct {
	// Name of the object store.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Pool of the objects. Absent: replicated.
	// +optional
	DataPool DataPool `json:"dataPool,omitempty"`
	// Gateways.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +kubebuilder:default=2
	// +optional
	Gateways int32 `json:"gateways,omitempty"`
	// Resources of each gateway.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Public host name, by the platform's exposure. With keystone it is the one in the catalog. Buckets are named in the path. Absent: the
	// object store is reached inside the cluster alone.
	// +optional
	Hostname common.Hostname `json:"hostname,omitempty"`
	// Let users of a control plane log in through its Keystone. Absent: only users of the object store itself.
	// +optional
	Keystone *KeystoneAuth `json:"keystone,omitempty"`
}

// KeystoneAuth is the login of an object store through Keystone.
// +kubebuilder:validation:XValidation:rule="self.controlPlaneRef == oldSelf.controlPlaneRef",message="controlPlaneRef cannot be changed: projects of that cloud have objects; leave keystone out first"
// +kubebuilder:validation:XValidation:rule="has(self.protocols) == has(oldSelf.protocols) && (!has(self.protocols) || self.protocols.all(p, p in oldSelf.protocols) && oldSelf.protocols.all(p, p in self.protocols))",message="protocols cannot be changed: clients find them in the catalog; leave keystone out first"
type KeystoneAuth struct {
	// Control plane whose Keystone is asked, and whose catalog the object store is entered in. It has to let in KeystoneService
	// <this claim>-<object store> of this claim's namespace in spec.keystoneServices: with type object-store, additionalTypes [s3].
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Roles of which a user needs one. Absent: member and admin.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	AcceptedRoles []Role `json:"acceptedRoles,omitempty"`
	// Protocols by which users of Keystone may come. Absent: both.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	// +optional
	Protocols []Protocol `json:"protocols,omitempty"`
}

// Role is the name of a role in Keystone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type Role string

// Protocol is a protocol of object stores.
// +kubebuilder:validation:Enum=swift;s3
type Protocol string

// Protocols.
const (
	ProtocolSwift Protocol = "swift"
	ProtocolS3    Protocol = "s3"
)
