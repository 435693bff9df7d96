package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Node is a node that stores data.
type Node struct {
	// Name of the node (label kubernetes.io/hostname).
	Name common.ObjectName `json:"name"`
	// Zone of the node (label topology.kubernetes.io/zone). It can be set only with stretched, with which each of the two zones must be able
	// to store all data.
	// +optional
	Zone ZoneName `json:"zone,omitempty"`
	// Devices of the node to use. They must be empty.
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
	// Class of the device. Defaults to the class that Ceph detects (hdd, ssd, nvme).
	// +optional
	DeviceClass DeviceClass `json:"deviceClass,omitempty"`
	// Size of the device: 3840Gi. It has no effect on Ceph: if it is set for every device, targetCapacity is checked against the sizes.
	// +optional
	Size Size `json:"size,omitempty"`
}

// DeviceSelector selects devices by pattern.
// +kubebuilder:validation:XValidation:rule="[has(self.all) && self.all, has(self.filter), has(self.pathFilter)].filter(x, x).size() == 1",message="set exactly one of filter, pathFilter and all: true (every empty device of every node)"
type DeviceSelector struct {
	// Regular expression for names below /dev: ^nvme.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x20]+$`
	// +optional
	Filter string `json:"filter,omitempty"`
	// Regular expression for full paths, including links below /dev/disk: ^/dev/disk/by-path/pci-.*-nvme.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x20]+$`
	// +optional
	PathFilter string `json:"pathFilter,omitempty"`
	// Every empty device.
	// +optional
	All bool `json:"all,omitempty"`
}

// External is an existing Ceph cluster that is managed outside of the claim. Its operator creates its pools and users: the claim has only
// the permissions of these users.
type External struct {
	// Identity of the cluster, as printed by ceph fsid.
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`
	FSID string `json:"fsid"`
	// Addresses of the monitors, in the form of ceph.conf.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	Monitors []ExternalMonitor `json:"monitors"`
	// Networks of its monitors and daemons. Defaults to any.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	PublicCIDRs []common.CIDR `json:"publicCIDRs,omitempty"`
	// Users of OpenStack's services.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=service
	Clients []ExternalClient `json:"clients"`
}

// ExternalMonitor is the address of a monitor: [v2:10.0.0.1:3300,v1:10.0.0.1:6789].
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=160
// +kubebuilder:validation:Pattern=`^[0-9A-Za-z.:,\[\]-]+$`
type ExternalMonitor string

// ExternalClient is a user of an existing Ceph cluster.
type ExternalClient struct {
	// Service that uses the user.
	Service Service `json:"service"`
	// Name of the user, without the prefix client. Defaults to the name of the service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$`
	// +optional
	User string `json:"user,omitempty"`
	// Secret with the user's key, in userKey.
	SecretRef common.SecretReference `json:"secretRef"`
}

// Stretched spreads a cluster over two zones that both store all data.
// +kubebuilder:validation:XValidation:rule="!has(self.arbiter.zone) || !(self.arbiter.zone in self.zones)",message="arbiter.zone must be a third zone: in one of zones, the arbiter would fail together with the zone"
// +kubebuilder:validation:XValidation:rule="self.zones.all(z, z in oldSelf.zones)",message="zones is immutable: the data is stored in them; restore the previous value"
type Stretched struct {
	// The two zones that store data (label topology.kubernetes.io/zone).
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	Zones []ZoneName `json:"zones"`
	// Monitor that decides which zone stays active.
	Arbiter Arbiter `json:"arbiter"`
}

// ZoneName is the name of a zone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
type ZoneName string

// Arbiter configures the location of the deciding monitor.
// +kubebuilder:validation:XValidation:rule="!has(self.zone) || !has(oldSelf.zone) || self.zone == oldSelf.zone",message="arbiter.zone is immutable: a monitor cannot be moved to another zone; create another claim"
// +kubebuilder:validation:XValidation:rule="has(self.zone)",message="zone is required: set a third zone of the same cluster"
type Arbiter struct {
	// Third zone of the same cluster. Nodes in this zone store no data.
	// +optional
	Zone ZoneName `json:"zone,omitempty"`
}
