package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Node is a node that keeps data.
type Node struct {
	// Name of the node (label kubernetes.io/hostname).
	Name common.ObjectName `json:"name"`
	// Zone that the node is in (label topology.kubernetes.io/zone). It is said with stretched, where each of the two zones has to hold all
	// data, and with nothing else.
	// +optional
	Zone ZoneName `json:"zone,omitempty"`
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

// External is a Ceph cluster that exists and that someone else runs. Its pools and users are made there: nothing here may do more in it
// than the users that are named.
type External struct {
	// Identity of the cluster, as ceph fsid prints it.
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`
	FSID string `json:"fsid"`
	// Addresses of the monitors, as ceph.conf takes them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	Monitors []ExternalMonitor `json:"monitors"`
	// Networks that its monitors and daemons are in. Absent: anywhere.
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

// ExternalClient is a user of a Ceph cluster that exists.
type ExternalClient struct {
	// Service that logs in as the user.
	Service Service `json:"service"`
	// Name of the user, without client. before it. Absent: the service's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$`
	// +optional
	User string `json:"user,omitempty"`
	// Secret with the user's key, as userKey.
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
// +kubebuilder:validation:XValidation:rule="!has(self.zone) || !has(oldSelf.zone) || self.zone == oldSelf.zone",message="arbiter.zone cannot be changed: a monitor stays in its zone; make another claim"
// +kubebuilder:validation:XValidation:rule="has(self.zone) != has(self.clusterRef)",message="say where the arbiter runs, in one place: zone is a third zone of the same cluster"
type Arbiter struct {
	// Third zone of the same cluster. No node there keeps data.
	// +optional
	Zone ZoneName `json:"zone,omitempty"`
	// Another cluster that the platform offers. The external arbiter operator runs the monitor there.
	// +optional
	ClusterRef *common.ClusterReference `json:"clusterRef,omitempty"`
}
