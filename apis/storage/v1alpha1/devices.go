package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Node is a node that keeps data.
type Node struct {
	// Name of the node (label kubernetes.io/hostname).
	Name common.ObjectName `json:"name"`
	// Devices of the node that are used. They must be empty.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=name
	Devices []Device `json:"devices"`
}

// Device is a device of a node.
type Device struct {
	// Name below /dev (nvme0n1), or a full path (/dev/disk/by-id/…), which stays the same when the node restarts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/dev/)?[A-Za-z0-9][A-Za-z0-9._:/-]*$`
	Name string `json:"name"`
	// Class of the device. Absent: as Ceph sees it (hdd, ssd, nvme).
	// +optional
	DeviceClass DeviceClass `json:"deviceClass,omitempty"`
	// Size of the device, as far as it is known: 3840Gi. Nothing is made of it: where every device has one, targetCapacity is held to them.
	// +optional
	Size Size `json:"size,omitempty"`
}

// DeviceSelector chooses devices by pattern.
// +kubebuilder:validation:XValidation:rule="[has(self.all) && self.all, has(self.filter), has(self.pathFilter)].filter(x, x).size() == 1",message="choose devices by exactly one of filter, pathFilter and all: true (every empty device of every node)"
type DeviceSelector struct {
	// Regular expression that names below /dev match: ^nvme.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x20]+$`
	// +optional
	Filter string `json:"filter,omitempty"`
	// Regular expression that full paths match, links below /dev/disk included: ^/dev/disk/by-path/pci-.*-nvme.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x20]+$`
	// +optional
	PathFilter string `json:"pathFilter,omitempty"`
	// Every empty device.
	// +optional
	All bool `json:"all,omitempty"`
}

// External is a Ceph cluster that exists and that someone else runs.
type External struct {
	// Secret with the keys fsid, monitors (addresses, separated by commas), userID and userKey, in the pool's namespace. The
	// user must be able to make the users that OpenStack's services log in as, unless clients names them.
	SecretRef common.SecretReference `json:"secretRef"`
	// Users that exist, and the Secrets that hold their keys (userID and userKey). Absent: they are made.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Clients []ExternalClient `json:"clients,omitempty"`
}

// ExternalClient is a user of a Ceph cluster that exists.
type ExternalClient struct {
	// What the user is for.
	// +kubebuilder:validation:Enum=glance;cinder;cinder-backup;nova
	Name string `json:"name"`
	// Secret with the keys userID and userKey, in the pool's namespace.
	SecretRef common.SecretReference `json:"secretRef"`
}

// Stretched spreads a cluster over two zones that both hold all data.
// +kubebuilder:validation:XValidation:rule="!has(self.arbiter.zone) || !(self.arbiter.zone in self.zones)",message="arbiter.zone must be a third zone: in one of zones the arbiter would fail along with it"
// +kubebuilder:validation:XValidation:rule="self.zones.all(z, z in oldSelf.zones)",message="zones cannot be changed: the data lies in them"
type Stretched struct {
	// The two zones that hold data (label topology.kubernetes.io/zone).
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	Zones []ZoneName `json:"zones"`
	// The monitor that decides which zone goes on.
	Arbiter Arbiter `json:"arbiter"`
}

// ZoneName is the name of a zone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
type ZoneName string

// Arbiter says where the monitor runs that decides.
// +kubebuilder:validation:XValidation:rule="has(self.zone) != has(self.clusterRef)",message="the arbiter runs either in zone (a third zone of the same cluster) or in clusterRef (another cluster)"
type Arbiter struct {
	// Third zone of the same cluster.
	// +optional
	Zone ZoneName `json:"zone,omitempty"`
	// Another cluster that the platform offers. The external arbiter operator runs the monitor there.
	// +optional
	ClusterRef *common.ClusterReference `json:"clusterRef,omitempty"`
}
