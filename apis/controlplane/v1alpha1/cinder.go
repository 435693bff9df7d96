package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Cinder is the block storage service.
// +kubebuilder:validation:XValidation:rule="!has(self.defaultVolumeType) || has(self.volumeTypes) && self.volumeTypes.exists(t, t.name == self.defaultVolumeType) || !has(self.volumeTypes) && has(self.backends) && self.backends.exists(b, b.name == self.defaultVolumeType)",message="defaultVolumeType has to be the name of one of volumeTypes or, without any, of one of the backends",fieldPath=".defaultVolumeType"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.backends) || oldSelf.backends.all(o, has(self.backends) && self.backends.exists(b, b.name == o.name))",message="a backend cannot be removed or renamed: its volumes are found by its name; take its volume types away, so that it gets no new ones",fieldPath=".backends"
type Cinder struct {
	Switch           `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// Where volumes are kept. A backend's name is written into every volume in it, so that it keeps its name.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []CinderBackend `json:"backends,omitempty"`
	// Kinds of volumes that users choose from. Absent: one of each backend's name.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	VolumeTypes []VolumeType `json:"volumeTypes,omitempty"`
	// Volume type of volumes that name none. Absent: the first.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	DefaultVolumeType string `json:"defaultVolumeType,omitempty"`
	// The API.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// The scheduler.
	// +optional
	Scheduler *common.Process `json:"scheduler,omitempty"`
	// The volume managers of each backend, where it does not say otherwise.
	// +optional
	Volume *common.Process `json:"volume,omitempty"`
	// The backup service. Absent: there are no backups.
	// +optional
	Backup *CinderBackup `json:"backup,omitempty"`
	// Removal of what was deleted from the database. Absent: every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// Processes of each pod of the API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// CinderBackend is one place where volumes are kept.
// +kubebuilder:validation:XValidation:rule="[has(self.ceph), has(self.rbd), has(self.nfs), has(self.lvm)].filter(x, x).size() == 1",message="say where the backend keeps volumes: one of ceph, rbd, nfs and lvm"
// +kubebuilder:validation:XValidation:rule="has(self.ceph) == has(oldSelf.ceph) && has(self.rbd) == has(oldSelf.rbd) && has(self.nfs) == has(oldSelf.nfs) && has(self.lvm) == has(oldSelf.lvm)",message="a backend stays what it is: the volumes in it would be lost; add another backend beside it"
// +kubebuilder:validation:XValidation:rule="!self.name.matches('^((oslo|profiler)_.*|backend|backend_defaults|barbican|barbican_service_user|coordination|cors|database|default|fc-zone-manager|glance|healthcheck|key_manager|keystone_authtoken|nova|os_brick|privsep|profiler|service_user|ssl|vault)$')",message="Cinder has a section of this name for something else; give the backend another name",fieldPath=".name"
type CinderBackend struct {
	// Name of the backend: ceph-rbd. Volumes, and a volume type of the name, carry it as it is.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_-]*$`
	Name string `json:"name"`
	// A pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// A pool of a Ceph cluster.
	// +optional
	RBD *CinderRBD `json:"rbd,omitempty"`
	// Shares of an NFS server.
	// +optional
	NFS *CinderNFS `json:"nfs,omitempty"`
	// A volume group of one node: for trying things, since it is lost with the node.
	// +optional
	LVM *CinderLVM `json:"lvm,omitempty"`
	// Availability zone of its volumes. Absent: nova.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Its volume managers.
	// +optional
	Volume *common.Process `json:"volume,omitempty"`
}

// CinderRBD is a pool of a Ceph cluster.
type CinderRBD struct {
	// Secret with the keys ceph.conf (fsid and mon_host) and keyring (of the user), as a StorageCluster makes it.
	SecretRef common.SecretReference `json:"secretRef"`
	// Pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=volumes
	// +optional
	Pool string `json:"pool,omitempty"`
	// User, without client. before it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=cinder
	// +optional
	User string `json:"user,omitempty"`
}

// CinderNFS are shares of NFS servers.
type CinderNFS struct {
	// Shares: nfs.example.com:/volumes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Shares []NFSShare `json:"shares"`
	// Options of the mount: vers=4.2,nconnect=4.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9=,._-]+$`
	// +optional
	MountOptions string `json:"mountOptions,omitempty"`
}

// NFSShare is a share of an NFS server: nfs.example.com:/volumes.
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]):/[A-Za-z0-9._/-]*$`
type NFSShare string

// CinderLVM is a volume group.
type CinderLVM struct {
	// Volume group. It has to exist on the node that nodeSelector selects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=cinder-volumes
	// +optional
	VolumeGroup string `json:"volumeGroup,omitempty"`
	// Labels of the node.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]common.LabelValue `json:"nodeSelector"`
}

// VolumeType is a kind of volumes.
type VolumeType struct {
	// Name of the type.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// What users are told of it.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Description string `json:"description,omitempty"`
	// Backend whose volumes they are. Absent: whichever has room.
	// +kubebuilder:validation:MaxLength=30
	// +optional
	Backend string `json:"backend,omitempty"`
	// Only administrators, and projects that they name, may use it.
	// +optional
	Private bool `json:"private,omitempty"`
	// Further properties that the scheduler and drivers look at.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	ExtraSpecs map[string]ExtraSpec `json:"extraSpecs,omitempty"`
}

// ExtraSpec is the value of a property of a volume type.
// +kubebuilder:validation:MaxLength=255
type ExtraSpec string

// CinderBackup is the backup service.
// +kubebuilder:validation:XValidation:rule="[has(self.ceph), has(self.rbd), has(self.s3), has(self.swift), has(self.nfs)].filter(x, x).size() == 1",message="say where backups go: one of ceph, rbd, s3, swift and nfs"
type CinderBackup struct {
	common.Process `json:",inline"`
	// A pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// A pool of a Ceph cluster.
	// +optional
	RBD *CinderRBD `json:"rbd,omitempty"`
	// A bucket.
	// +optional
	S3 *S3 `json:"s3,omitempty"`
	// A container of each project's own account, in the object store of the catalog.
	// +optional
	Swift *CinderSwift `json:"swift,omitempty"`
	// A share of an NFS server.
	// +optional
	NFS *CinderBackupNFS `json:"nfs,omitempty"`
}

// CinderSwift is a container of each project's.
type CinderSwift struct {
	// Container. It is made if there is none.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=volumebackups
	// +optional
	Container string `json:"container,omitempty"`
}

// CinderBackupNFS is a share for backups.
type CinderBackupNFS struct {
	// Share: nfs.example.com:/backups.
	Share NFSShare `json:"share"`
}
