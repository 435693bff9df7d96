package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Purpose is the OpenStack data in a pool. It determines the permissions of users in the pool.
// +kubebuilder:validation:Enum=images;volumes;vms;backups
type Purpose string

// Purposes of pools: each is also the name of the pool that has it by default.
const (
	// PurposeImages are images of Glance, which Cinder and Nova copy.
	PurposeImages Purpose = "images"
	// PurposeVolumes are volumes, which Cinder and Nova use.
	PurposeVolumes Purpose = "volumes"
	// PurposeVMs are disks of virtual machines, which Nova and Cinder use.
	PurposeVMs Purpose = "vms"
	// PurposeBackups are backups of volumes by Cinder's backup service.
	PurposeBackups Purpose = "backups"
)

// Consumer is a control plane with separate pools and users: production has the pool production-images, and the user production-glance,
// who cannot use the pools of others.
type Consumer struct {
	// Prefix of the names of its pools and users.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Control plane. Unless it is in the namespace of this claim, its namespace must match allowedNamespaces.
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Quotas of its pools, instead of the quotas in pools. Defaults to those.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=pool
	// +optional
	Quotas []PoolQuota `json:"quotas,omitempty"`
}

// PoolQuota limits a pool of a consumer.
type PoolQuota struct {
	// Name of the pool in pools.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Pool  string `json:"pool"`
	Quota `json:",inline"`
}

// Pool is a pool for block devices.
// +kubebuilder:validation:XValidation:rule="!has(self.purpose) || self.application == 'rbd'",message="purpose requires application rbd: OpenStack stores no data in other pools"
// +kubebuilder:validation:XValidation:rule="!(has(self.replicated) && has(self.erasureCoded))",message="set replicated or erasureCoded, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.erasureCoded) || self.application != 'rbd'",message="a pool of application rbd must be replicated: an erasure-coded pool cannot store the headers of block devices"
// +kubebuilder:validation:XValidation:rule="!has(self.storageClass) || self.application == 'rbd' && !has(self.purpose)",message="storageClass requires application rbd and no purpose: pools with a purpose are used by OpenStack services"
// +kubebuilder:validation:XValidation:rule="!has(self.mirroring) || self.application == 'rbd'",message="mirroring requires application rbd: Ceph mirrors block devices"
// +kubebuilder:validation:XValidation:rule="has(self.erasureCoded) == has(oldSelf.erasureCoded) && (!has(self.erasureCoded) || self.erasureCoded == oldSelf.erasureCoded)",message="erasureCoded is immutable: Ceph cannot convert a pool; create another pool"
type Pool struct {
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Application of the pool.
	// +kubebuilder:validation:Enum=rbd;cephfs;rgw
	// +kubebuilder:default=rbd
	// +optional
	Application string `json:"application,omitempty"`
	// OpenStack data in the pool, which determines the users with access. Defaults to the purpose with the name of the pool, if there is one.
	// +optional
	Purpose    Purpose `json:"purpose,omitempty"`
	Redundancy `json:",inline"`
	// Maximum amount of data in the pool.
	// +optional
	Quota *Quota `json:"quota,omitempty"`
	// Let Kubernetes store volumes in the pool, with a StorageClass. The pool must not have a purpose, and the platform must have CSI
	// drivers. Defaults to none.
	// +optional
	StorageClass *PoolStorageClass `json:"storageClass,omitempty"`
	// Mirroring of block devices to another Ceph cluster, or from it. Defaults to none.
	// +optional
	Mirroring *PoolMirroring `json:"mirroring,omitempty"`
}

// Redundancy protects data against the loss of devices. Defaults to replicated, with replicationFactor copies.
type Redundancy struct {
	// Copies of all data.
	// +optional
	Replicated *Replicated `json:"replicated,omitempty"`
	// Chunks of data and parity, which require less space and more processing than copies.
	// +optional
	ErasureCoded *ErasureCoded `json:"erasureCoded,omitempty"`
	// Class of the devices that store the data.
	// +optional
	DeviceClass DeviceClass `json:"deviceClass,omitempty"`
	// Unit whose failure causes no loss of data.
	// +optional
	FailureDomain FailureDomain `json:"failureDomain,omitempty"`
	// The pool will hold much of the data: Ceph creates all placement groups at the start, and does not split them and move data during
	// growth. Defaults to placement groups by the amount of data.
	// +optional
	Bulk *bool `json:"bulk,omitempty"`
	// Minimum number of placement groups. Defaults to a number by the amount of data.
	// +kubebuilder:validation:Enum=1;2;4;8;16;32;64;128;256;512;1024;2048;4096;8192;16384;32768
	// +optional
	MinPlacementGroups int32 `json:"minPlacementGroups,omitempty"`
}

// Replicated stores copies.
// +kubebuilder:validation:XValidation:rule="self.size > 1 || self.allowDataLoss",message="size 1 loses data when one disk fails; use 2 or more, or set allowDataLoss: true"
type Replicated struct {
	// Number of copies.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Size int32 `json:"size"`
	// Accept a single copy, which is lost when one disk fails.
	// +kubebuilder:default=false
	// +optional
	AllowDataLoss bool `json:"allowDataLoss"`
}

// ErasureCoded stores chunks of data and chunks of parity; data survives the loss of as many chunks as there are parity chunks.
type ErasureCoded struct {
	// Number of data chunks.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=16
	DataChunks int32 `json:"dataChunks"`
	// Number of parity chunks.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	CodingChunks int32 `json:"codingChunks"`
}

// Quota limits a pool. Writes beyond it fail.
// +kubebuilder:validation:XValidation:rule="has(self.maxSize) || has(self.maxObjects)",message="set maxSize, maxObjects or both"
type Quota struct {
	// Maximum amount of data, without copies.
	// +optional
	MaxSize Size `json:"maxSize,omitempty"`
	// Maximum number of objects.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxObjects *int64 `json:"maxObjects,omitempty"`
}

// DataPool is a pool of a file system or an object store.
// +kubebuilder:validation:XValidation:rule="!(has(self.replicated) && has(self.erasureCoded))",message="set replicated or erasureCoded, not both"
type DataPool struct {
	Redundancy `json:",inline"`
}

// Filesystem is a file system with metadata servers.
type Filesystem struct {
	// Name of the file system.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Pool of the files' contents. Defaults to replicated.
	// +optional
	DataPool DataPool `json:"dataPool,omitempty"`
	// Number of active metadata servers. Each has another one on standby.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	// +kubebuilder:default=1
	// +optional
	MetadataServers int32 `json:"metadataServers,omitempty"`
	// Resources of each metadata server.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// ObjectStore is an object store with gateways.
type ObjectStore struct {
	// Name of the object store.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Pool of the objects. Defaults to replicated.
	// +optional
	DataPool DataPool `json:"dataPool,omitempty"`
	// Number of gateways.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +kubebuilder:default=2
	// +optional
	Gateways int32 `json:"gateways,omitempty"`
	// Resources of each gateway.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Public host name, with the exposure of the platform. With keystone, it is in the catalog. Buckets are in the path of addresses. If
	// unset, clients can connect only from inside the cluster.
	// +optional
	Hostname common.Hostname `json:"hostname,omitempty"`
	// Let users of a control plane log in through its Keystone. Defaults to users of the object store only.
	// +optional
	Keystone *KeystoneAuth `json:"keystone,omitempty"`
}

// KeystoneAuth is the login of an object store through Keystone.
// +kubebuilder:validation:XValidation:rule="self.controlPlaneRef == oldSelf.controlPlaneRef",message="controlPlaneRef is immutable: projects of that cloud have objects; remove keystone first"
// +kubebuilder:validation:XValidation:rule="has(self.protocols) == has(oldSelf.protocols) && (!has(self.protocols) || self.protocols.all(p, p in oldSelf.protocols) && oldSelf.protocols.all(p, p in self.protocols))",message="protocols is immutable: clients find them in the catalog; remove keystone first"
type KeystoneAuth struct {
	// Control plane whose Keystone authenticates users, and whose catalog contains the object store. Its spec.keystoneServices must contain
	// the KeystoneService <this claim>-<object store> of this claim's namespace, with type object-store, additionalTypes [s3].
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Accepted roles. A user must have at least one of them. Defaults to member and admin.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	AcceptedRoles []Role `json:"acceptedRoles,omitempty"`
	// Protocols for users of Keystone. Defaults to both.
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
