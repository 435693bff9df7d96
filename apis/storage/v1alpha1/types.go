package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A StorageCluster is a Ceph cluster with pools, file systems and object stores: a new one on nodes of a Kubernetes cluster,
// or one that exists elsewhere.
//
// The type describes both the claim and the composite resource (XStorageCluster) that Crossplane makes of it.
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
// +kubebuilder:validation:XValidation:rule="[has(self.nodes), has(self.deviceSelector), has(self.external)].filter(x, x).size() == 1",message="say where data is kept by exactly one of nodes (nodes and devices by name), deviceSelector (devices by pattern) and external (a Ceph cluster that exists)"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.cluster) || has(self.stretched) || has(self.monitors) || has(self.managers) || has(self.network) || has(self.dashboard) || has(self.image) || has(self.osds) || has(self.objectStores) || has(self.filesystems) || has(self.consumers) || has(self.targetCapacity) || has(self.mirroring) || has(self.nfs) || has(self.pools) && self.pools.exists(p, has(p.quota) || has(p.mirroring) || has(p.storageClass) || has(p.replicated) || has(p.erasureCoded)))",message="with external only pools, monitoring and allowedNamespaces can be given: the rest belongs to whoever runs that Ceph cluster; remove cluster, stretched, monitors, managers, network, dashboard, image, osds, objectStores, filesystems, consumers, targetCapacity, mirroring, nfs, and how pools are kept"
// +kubebuilder:validation:XValidation:rule="has(self.external) == has(oldSelf.external)",message="external cannot be set or removed: data does not move; make another claim"
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster)",message="cluster cannot be set or removed: data does not move; delete the claim and claim it elsewhere"
// +kubebuilder:validation:XValidation:rule="has(self.stretched) == has(oldSelf.stretched)",message="stretched cannot be set or removed: Ceph cannot leave stretch mode; make another claim"
// +kubebuilder:validation:XValidation:rule="self.replicationFactor > 1 || self.allowDataLoss",message="replicationFactor 1 loses data with the first disk: use 2 or more, or say allowDataLoss: true"
// +kubebuilder:validation:XValidation:rule="!has(self.stretched) || self.replicationFactor == 4",message="stretched needs replicationFactor 4: two copies in each of two zones"
// +kubebuilder:validation:XValidation:rule="!has(self.stretched) || (!has(self.pools) || self.pools.all(p, !has(p.erasureCoded) && (!has(p.replicated) || p.replicated.size == 4))) && (!has(self.filesystems) || self.filesystems.all(f, !has(f.dataPool) || !has(f.dataPool.erasureCoded) && (!has(f.dataPool.replicated) || f.dataPool.replicated.size == 4))) && (!has(self.objectStores) || self.objectStores.all(o, !has(o.dataPool) || !has(o.dataPool.erasureCoded) && (!has(o.dataPool.replicated) || o.dataPool.replicated.size == 4)))",message="stretched needs pools that are replicated with size 4: Ceph refuses others in stretch mode"
// +kubebuilder:validation:XValidation:rule="!has(self.stretched) || !has(self.monitors) || !has(self.monitors.count) || self.monitors.count in [3, 5]",message="stretched needs monitors.count 5 (two in each zone and the arbiter), or 3 at least"
// +kubebuilder:validation:XValidation:rule="(!has(self.network) || self.network.host) == (!has(oldSelf.network) || oldSelf.network.host)",message="network.host cannot be changed: clients know the monitors by their addresses; make another claim"
// +kubebuilder:validation:XValidation:rule="(has(self.osds) && has(self.osds.encrypted) && self.osds.encrypted) == (has(oldSelf.osds) && has(oldSelf.osds.encrypted) && oldSelf.osds.encrypted)",message="osds.encrypted cannot be changed: a device that is in use stays as it is; make another claim"
// +kubebuilder:validation:XValidation:rule="!has(self.mirroring) || has(self.pools) && self.pools.exists(p, has(p.mirroring))",message="mirroring says how pools with mirroring are copied: give one of pools mirroring: {}, or remove mirroring"
// +kubebuilder:validation:XValidation:rule="has(self.mirroring) || !has(oldSelf.mirroring) || !has(self.pools) || !self.pools.exists(p, has(p.mirroring))",message="mirroring cannot be removed while a pool is copied: remove mirroring of the pools, too"
// +kubebuilder:validation:XValidation:rule="!has(self.nfs) || self.nfs.size() == 0 || has(self.filesystems) && self.filesystems.size() > 0",message="nfs serves file systems: name one in filesystems, or remove nfs"
// +kubebuilder:validation:XValidation:rule="(has(self.consumers) && self.consumers.size() > 0) == (has(oldSelf.consumers) && oldSelf.consumers.size() > 0)",message="consumers cannot be set or removed as a whole: pools that all share and pools of each are others; make another claim"
type StorageClusterSpec struct {
	// Kubernetes cluster that the storage nodes belong to. Absent: the management cluster itself.
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
	// A Ceph cluster that exists.
	// +optional
	External         *External `json:"external,omitempty"`
	common.Placement `json:",inline"`
	// Class of the devices of pools that do not name one. Absent: every device.
	// +optional
	DeviceClass DeviceClass `json:"deviceClass,omitempty"`
	// Data that the pools are meant to hold together, copies not counted: 100Ti. Where the size of every device is given, devices that are
	// too small for it are refused; otherwise the condition CapacitySuffices reports it.
	// +optional
	TargetCapacity Size `json:"targetCapacity,omitempty"`
	// Copies of everything in pools that do not say otherwise.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:default=3
	// +optional
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`
	// Accept a replicationFactor of 1: a single copy, which is lost with the first disk that fails.
	// +kubebuilder:default=false
	// +optional
	AllowDataLoss bool `json:"allowDataLoss"`
	// What may fail without a loss: copies never share one. Pools can say otherwise. With stretched: what the two copies of a zone do not
	// share, host or osd.
	// +kubebuilder:default=host
	// +optional
	FailureDomain FailureDomain `json:"failureDomain,omitempty"`
	// Pools for block devices. Absent: images, volumes, vms and backups. With consumers, each of these has its own.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Pools []Pool `json:"pools,omitempty"`
	// Control planes that have pools and users of their own, so that none reaches what another one keeps. Absent: whoever may use the
	// pools shares them, and everything in them.
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
	// Servers by which file systems are reached over NFS.
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
	// The other Ceph cluster of pools with mirroring, which is a site of its own.
	// +optional
	Mirroring *Mirroring `json:"mirroring,omitempty"`
	// Two zones with all data in each, and a third that decides which of them goes on when they lose sight of each other.
	// +optional
	Stretched *Stretched `json:"stretched,omitempty"`
	// Monitors, which keep the map of the cluster.
	// +optional
	Monitors *Monitors `json:"monitors,omitempty"`
	// Managers, which report and balance.
	// +optional
	Managers *Managers `json:"managers,omitempty"`
	// Daemons that keep data, one for each device.
	// +optional
	OSDs *OSDs `json:"osds,omitempty"`
	// Networks of the daemons.
	// +optional
	Network *Network `json:"network,omitempty"`
	// Ceph's own dashboard.
	// +optional
	Dashboard *Dashboard `json:"dashboard,omitempty"`
	// Prometheus objects. Absent: as the platform says.
	// +optional
	Monitoring *common.MonitoringSettings `json:"monitoring,omitempty"`
	// Prysm, which observes Ceph, object stores and disks.
	// +optional
	Prysm *Prysm `json:"prysm,omitempty"`
	// Image of Ceph, which has to be one that the installed Rook supports. A limit of the platform allows it whole (storageImages), since its
	// pods have the nodes. Another version is an upgrade; an older one than what runs is refused. Absent: the platform's.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Where images come from. Absent: as the platform says.
	// +optional
	Images *common.Images `json:"images,omitempty"`
	// Namespaces whose claims may use the pools, besides the claim's own; * stands for any run of characters.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces,omitempty"`
	// What happens to data when the claim is deleted. Retain keeps everything as it is, and Ceph goes on: the same claim, created again,
	// adopts it. Delete removes pools in which no image is left, users, and then the cluster: a pool with images keeps all of it. What is on
	// the disks stays there until somebody wipes them. What is taken out of the claim is kept in any case, and needs Retain.
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
	// Name of everything that belongs to this cluster: the namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Instance string `json:"instance,omitempty"`
	// Health as Ceph sees it.
	// +kubebuilder:validation:Enum=HEALTH_OK;HEALTH_WARN;HEALTH_ERR
	// +optional
	Health string `json:"health,omitempty"`
	// Version of Ceph that runs.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Version string `json:"version,omitempty"`
	// Amounts of data, copies counted.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`
	// What clients need to know.
	// +optional
	Access *Access `json:"access,omitempty"`
	// Ceph's own dashboard. Absent: it does not run.
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
	// Servers of NFS.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	NFS []NFSStatus `json:"nfs,omitempty"`
	// Block devices that are copied to another Ceph cluster, or from it. Absent: there are none.
	// +optional
	Mirroring *MirroringStatus `json:"mirroring,omitempty"`
}

// DashboardStatus is how Ceph's own dashboard is reached.
type DashboardStatus struct {
	// Address inside the cluster. Its certificate is Ceph's own, of no authority.
	Endpoint common.URL `json:"endpoint"`
	// User, who administrates this Ceph.
	// +kubebuilder:validation:MaxLength=63
	User string `json:"user"`
	// Key of a Secret in the namespace of this cluster's workloads: the user's password.
	PasswordSecretRef common.SecretKeyReference `json:"passwordSecretRef"`
}

// ObjectStoreStatus is what clients of an object store need to know.
type ObjectStoreStatus struct {
	// Name of the object store.
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// Address inside the cluster.
	Endpoint common.URL `json:"endpoint"`
	// Address outside. Absent: there is none.
	// +optional
	PublicEndpoint common.URL `json:"publicEndpoint,omitempty"`
	// Key of a Secret in the namespace of this cluster's workloads: the authority of the address's certificate.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// KeystoneService that a control plane has to let in. Absent: users of Keystone do not log in.
	// +optional
	KeystoneService common.ObjectName `json:"keystoneService,omitempty"`
	// Address of the Keystone that is asked. Absent: there is none yet, or none any more.
	// +optional
	Keystone common.URL `json:"keystone,omitempty"`
}
