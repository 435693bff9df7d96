package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A StorageCluster is a Ceph cluster with pools, file systems and object stores: a new one on nodes of a Kubernetes cluster, or an
// existing, external one.
//
// The type describes both the claim and the composite resource (XStorageCluster) that Crossplane creates for it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health`
// +kubebuilder:printcolumn:name="Total",type=string,JSONPath=`.status.capacity.total`
// +kubebuilder:printcolumn:name="Used",type=string,JSONPath=`.status.capacity.used`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.capacity.available`
// +kubebuilder:printcolumn:name="Ceph",type=string,JSONPath=`.status.version`,priority=1
type StorageCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec StorageClusterSpec `json:"spec"`
	// Observed state.
	// +optional
	Status StorageClusterStatus `json:"status,omitempty"`
}

// StorageClusterSpec is the desired state of a Ceph cluster.
// +kubebuilder:validation:XValidation:rule="[has(self.nodes), has(self.deviceSelector), has(self.external)].filter(x, x).size() == 1",message="set exactly one of nodes (nodes and devices by name), deviceSelector (devices by pattern) and external (an existing Ceph cluster)"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.cluster) || has(self.stretched) || has(self.monitors) || has(self.managers) || has(self.network) || has(self.dashboard) || has(self.image) || has(self.osds) || has(self.objectStores) || has(self.filesystems) || has(self.consumers) || has(self.targetCapacity) || has(self.mirroring) || has(self.nfs) || has(self.pools) && self.pools.exists(p, has(p.quota) || has(p.mirroring) || has(p.storageClass) || has(p.replicated) || has(p.erasureCoded)))",message="with external, only pools, monitoring and allowedNamespaces can be set; remove cluster, stretched, monitors, managers, network, dashboard, image, osds, objectStores, filesystems, consumers, targetCapacity, mirroring, nfs, and the redundancy of pools"
// +kubebuilder:validation:XValidation:rule="has(self.external) == has(oldSelf.external)",message="external cannot be added or removed: data cannot be moved; create another claim"
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster)",message="cluster cannot be added or removed: data cannot be moved; delete the claim and create it again"
// +kubebuilder:validation:XValidation:rule="has(self.stretched) == has(oldSelf.stretched)",message="stretched cannot be added or removed: Ceph cannot leave stretch mode; create another claim"
// +kubebuilder:validation:XValidation:rule="self.replicationFactor > 1 || self.allowDataLoss",message="replicationFactor 1 loses data when one disk fails; use 2 or more, or set allowDataLoss: true"
// +kubebuilder:validation:XValidation:rule="!has(self.stretched) || self.replicationFactor == 4",message="stretched requires replicationFactor 4: two copies in each of two zones"
// +kubebuilder:validation:XValidation:rule="!has(self.stretched) || (!has(self.pools) || self.pools.all(p, !has(p.erasureCoded) && (!has(p.replicated) || p.replicated.size == 4))) && (!has(self.filesystems) || self.filesystems.all(f, !has(f.dataPool) || !has(f.dataPool.erasureCoded) && (!has(f.dataPool.replicated) || f.dataPool.replicated.size == 4))) && (!has(self.objectStores) || self.objectStores.all(o, !has(o.dataPool) || !has(o.dataPool.erasureCoded) && (!has(o.dataPool.replicated) || o.dataPool.replicated.size == 4)))",message="stretched requires replicated pools with size 4: Ceph rejects others in stretch mode"
// +kubebuilder:validation:XValidation:rule="!has(self.stretched) || !has(self.monitors) || !has(self.monitors.count) || self.monitors.count in [3, 5]",message="stretched requires monitors.count 5 (two in each zone and the arbiter), or at least 3"
// +kubebuilder:validation:XValidation:rule="(!has(self.network) || self.network.host) == (!has(oldSelf.network) || oldSelf.network.host)",message="network.host is immutable: clients connect to the monitors by their addresses; create another claim"
// +kubebuilder:validation:XValidation:rule="(has(self.osds) && has(self.osds.encrypted) && self.osds.encrypted) == (has(oldSelf.osds) && has(oldSelf.osds.encrypted) && oldSelf.osds.encrypted)",message="osds.encrypted is immutable: devices in use are not re-encrypted; create another claim"
// +kubebuilder:validation:XValidation:rule="!has(self.mirroring) || has(self.pools) && self.pools.exists(p, has(p.mirroring))",message="mirroring requires at least one pool with mirroring: {}; add it to a pool or remove mirroring"
// +kubebuilder:validation:XValidation:rule="has(self.mirroring) || !has(oldSelf.mirroring) || !has(self.pools) || !self.pools.exists(p, has(p.mirroring))",message="mirroring cannot be removed while a pool has mirroring; remove mirroring from the pools, too"
// +kubebuilder:validation:XValidation:rule="!has(self.nfs) || self.nfs.size() == 0 || has(self.filesystems) && self.filesystems.size() > 0",message="nfs requires a file system; add one to filesystems, or remove nfs"
// +kubebuilder:validation:XValidation:rule="(has(self.consumers) && self.consumers.size() > 0) == (has(oldSelf.consumers) && oldSelf.consumers.size() > 0)",message="consumers cannot be added to or removed from an existing claim: shared pools cannot be converted to separate pools; create another claim"
type StorageClusterSpec struct {
	// Kubernetes cluster of the storage nodes. Defaults to the management cluster.
	// +optional
	Cluster *common.Cluster `json:"cluster,omitempty"`
	// Nodes and the devices of each.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	// +listType=map
	// +listMapKey=name
	// +optional
	Nodes []Node `json:"nodes,omitempty"`
	// Devices by pattern, on every node that nodeSelector matches.
	// +optional
	DeviceSelector *DeviceSelector `json:"deviceSelector,omitempty"`
	// Existing Ceph cluster.
	// +optional
	External         *External `json:"external,omitempty"`
	common.Placement `json:",inline"`
	// Class of the devices of pools without a device class. Defaults to every device.
	// +optional
	DeviceClass DeviceClass `json:"deviceClass,omitempty"`
	// Planned total amount of data in the pools, without copies: 100Ti. If the size of every device is set, devices that are too small for it
	// are rejected; otherwise the condition CapacitySufficient reports it.
	// +optional
	TargetCapacity Size `json:"targetCapacity,omitempty"`
	// Number of copies in pools that do not override it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:default=3
	// +optional
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`
	// Accept a replicationFactor of 1: a single copy, which is lost when one disk fails.
	// +kubebuilder:default=false
	// +optional
	AllowDataLoss bool `json:"allowDataLoss"`
	// Unit whose failure causes no loss of data: two copies are never in the same unit. Pools can override it. With stretched: the unit that
	// the two copies of a zone do not share, host or osd.
	// +kubebuilder:default=host
	// +optional
	FailureDomain FailureDomain `json:"failureDomain,omitempty"`
	// Pools for block devices. Defaults to images, volumes, vms and backups. Each of the consumers has its own copy of these pools.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Pools []Pool `json:"pools,omitempty"`
	// Control planes with separate pools and users, so that none has access to the data of another. Defaults to none: all control planes that
	// may use the pools share them, and all data in them.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Consumers []Consumer `json:"consumers,omitempty"`
	// File systems (CephFS).
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Filesystems []Filesystem `json:"filesystems,omitempty"`
	// NFS servers for file systems.
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=name
	// +optional
	NFS []NFS `json:"nfs,omitempty"`
	// Object stores (RADOS gateway), by Swift and S3.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	ObjectStores []ObjectStore `json:"objectStores,omitempty"`
	// The other Ceph cluster of pools with mirroring, at another site.
	// +optional
	Mirroring *Mirroring `json:"mirroring,omitempty"`
	// Two zones that both store all data, and a third one that decides which of them stays active when they lose their connection.
	// +optional
	Stretched *Stretched `json:"stretched,omitempty"`
	// Monitors, which store the map of the cluster.
	// +optional
	Monitors *Monitors `json:"monitors,omitempty"`
	// Managers, which report the state and balance the data.
	// +optional
	Managers *Managers `json:"managers,omitempty"`
	// Daemons that store data, one for each device.
	// +optional
	OSDs *OSDs `json:"osds,omitempty"`
	// Networks of the daemons.
	// +optional
	Network Network `json:"network,omitzero"`
	// Ceph's own dashboard.
	// +optional
	Dashboard *Dashboard `json:"dashboard,omitempty"`
	// Prometheus objects. Defaults to the platform's settings.
	// +optional
	Monitoring *common.MonitoringSettings `json:"monitoring,omitempty"`
	// Image of Ceph. The installed Rook must support it. A limit of the platform must allow the complete image (storageImages), because its
	// pods control the nodes. Another version is an upgrade; an older one than the current version is rejected. Defaults to the image of the
	// platform.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Registry and pull secrets of images. Defaults to the platform's.
	// +optional
	Images *common.Images `json:"images,omitempty"`
	// Further namespaces whose claims may use the pools; * matches any characters.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces,omitempty"`
	// Policy for data when the claim is deleted. Retain keeps everything, and Ceph keeps running: the same claim, created again, adopts it.
	// Delete deletes pools without images, users, and then the cluster: if a pool has images, all of it is kept. Data on the disks is kept
	// until the disks are wiped manually. Objects that are removed from the claim are always kept, and their removal requires Retain.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// DeviceClass is a class of devices in Ceph's map.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9_-]*$`
type DeviceClass string

// Size is an amount of data: 500Gi.
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Gi|Ti|Pi)$`
type Size string

// FailureDomain is a level of Ceph's map of devices.
// +kubebuilder:validation:Enum=osd;host;chassis;rack;row;room;datacenter;zone;region
type FailureDomain string

// StorageClusterStatus is the observed state of a Ceph cluster.
type StorageClusterStatus struct {
	common.CloudStatus `json:",inline"`
	// Prefix of the names of all objects of this cluster, and the namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Instance string `json:"instance,omitempty"`
	// Health, as reported by Ceph.
	// +kubebuilder:validation:Enum=HEALTH_OK;HEALTH_WARN;HEALTH_ERR
	// +optional
	Health string `json:"health,omitempty"`
	// Current version of Ceph.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Version string `json:"version,omitempty"`
	// Capacity, including copies.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`
	// Connection data for clients.
	// +optional
	Access *Access `json:"access,omitempty"`
	// Ceph's own dashboard. Unset: it does not run.
	// +optional
	Dashboard *DashboardStatus `json:"dashboard,omitempty"`
	// Object stores.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	ObjectStores []ObjectStoreStatus `json:"objectStores,omitempty"`
	// StorageClasses of pools.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=map
	// +listMapKey=pool
	// +optional
	StorageClasses []StorageClassStatus `json:"storageClasses,omitempty"`
	// NFS servers.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	NFS []NFSStatus `json:"nfs,omitempty"`
	// Block devices that are copied to another Ceph cluster, or from it. Unset: there are none.
	// +optional
	Mirroring *MirroringStatus `json:"mirroring,omitempty"`
}

// DashboardStatus is the connection data of Ceph's own dashboard.
type DashboardStatus struct {
	// Address inside the cluster. Its certificate is self-signed by Ceph.
	Endpoint common.URL `json:"endpoint"`
	// User, who is an administrator of this Ceph.
	// +kubebuilder:validation:MaxLength=63
	User string `json:"user"`
	// Key of a Secret in the namespace of this cluster's workloads: the user's password.
	PasswordSecretRef common.SecretKeyReference `json:"passwordSecretRef"`
}

// ObjectStoreStatus is the connection data for clients of an object store.
type ObjectStoreStatus struct {
	// Name of the object store.
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// Address inside the cluster.
	Endpoint common.URL `json:"endpoint"`
	// Public address. Unset: there is none.
	// +optional
	PublicEndpoint common.URL `json:"publicEndpoint,omitempty"`
	// Key of a Secret in the namespace of this cluster's workloads: the authority of the address's certificate.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// KeystoneService that spec.keystoneServices of the control plane must contain. Unset: users of Keystone cannot log in.
	// +optional
	KeystoneService common.ObjectName `json:"keystoneService,omitempty"`
	// Address of the Keystone for authentication. Unset: there is none yet, or not any more.
	// +optional
	Keystone common.URL `json:"keystone,omitempty"`
}
