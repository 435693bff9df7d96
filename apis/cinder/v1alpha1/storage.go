package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Storage says where volumes and their backups are kept, and what users choose from.
// +kubebuilder:validation:XValidation:rule="!has(self.defaultVolumeType) || has(self.volumeTypes) && self.volumeTypes.exists(t, t.name == self.defaultVolumeType) || !has(self.volumeTypes) && has(self.backends) && self.backends.exists(b, b.name == self.defaultVolumeType)",message="defaultVolumeType has to be the name of one of volumeTypes or, without any, of one of the backends",fieldPath=".defaultVolumeType"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeTypes) || self.volumeTypes.all(t, !has(t.backend) || has(self.backends) && self.backends.exists(b, b.name == t.backend))",message="the backend of a volume type has to be the name of one of the backends",fieldPath=".volumeTypes"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.backends) || oldSelf.backends.all(o, has(self.backends) && self.backends.exists(b, b.name == o.name))",message="a backend cannot be removed or renamed: its volumes are found by its name; take its volume types away, so that it gets no new ones",fieldPath=".backends"
type Storage struct {
	// Where volumes are kept. A backend's name is written into every volume in it, so that it keeps its name.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []Backend `json:"backends,omitempty"`
	// Kinds of volumes that users choose from. One that is taken out stays in Cinder, where an administrator can delete it. Absent: one of
	// each backend's name.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	VolumeTypes []VolumeType `json:"volumeTypes,omitempty"`
	// Volume type of volumes that name none. Absent: the first.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:example="ceph-rbd"
	// +optional
	DefaultVolumeType string `json:"defaultVolumeType,omitempty"`
	// The backup service. Absent: there are no backups.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
	// Size of the directory on its node in which a pod converts images, at least that of the largest image.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
	// +kubebuilder:default="50Gi"
	// +optional
	ConversionSize string `json:"conversionSize,omitempty"`
}

// Backend is one place where volumes are kept.
// +kubebuilder:validation:XValidation:rule="[has(self.ceph), has(self.rbd), has(self.nfs)].filter(x, x).size() == 1",message="say where the backend keeps volumes: one of ceph, rbd and nfs"
// +kubebuilder:validation:XValidation:rule="has(self.ceph) == has(oldSelf.ceph) && has(self.rbd) == has(oldSelf.rbd) && has(self.nfs) == has(oldSelf.nfs)",message="a backend stays what it is: the volumes in it would be lost; add another backend beside it"
// +kubebuilder:validation:XValidation:rule="!self.name.matches('^((oslo|profiler)_.*|backend|backend_defaults|barbican|barbican_service_user|cache|cinder_sys_admin|coordination|cors|database|default|fc-zone-manager|glance|healthcheck|key_manager|keystone_authtoken|nova|os_brick|privsep|privsep_osbrick|profiler|service_user|ssl|vault)$')",message="Cinder has a section of this name for something else; give the backend another name",fieldPath=".name"
type Backend struct {
	// Name of the backend: ceph-rbd. Volumes, and a volume type of the name, carry it as it is.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:example="ceph-rbd"
	Name string `json:"name"`
	// A pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// A pool of a Ceph cluster.
	// +optional
	RBD *RBD `json:"rbd,omitempty"`
	// Shares of an NFS server.
	// +optional
	NFS *NFS `json:"nfs,omitempty"`
	// Availability zone of its volumes. Volumes that name no zone are created in the zone of their volume type's backend. Defaults to nova.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:example="eu-de-1a"
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Its volume managers, of which there can be several only with Ceph, and where locks are kept in Valkey.
	// +optional
	Volume *common.Process `json:"volume,omitempty"`
}

// RBD is a pool of a Ceph cluster.
type RBD struct {
	// Secret with the keys ceph.conf (fsid and mon_host) and keyring (of the user), as a StorageCluster makes it.
	SecretRef common.SecretReference `json:"secretRef"`
	// Pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="pool cannot be changed: the volumes in it would be lost; add another backend and migrate them"
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
	// Networks of monitors and OSDs. Absent: anywhere, at Ceph's ports.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/8"}
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
}

// NFS are shares of NFS servers. Each node that runs a volume manager or a backup service mounts them, as hypervisors do. Files in them
// belong to user and group 42424.
type NFS struct {
	// Shares: nfs.example.com:/volumes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"nfs.example.com:/volumes"}
	Shares []NFSShare `json:"shares"`
	// Options by which hypervisors mount the shares: vers=4.2,nconnect=4.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9=,._-]+$`
	// +kubebuilder:example="vers=4.2"
	// +optional
	MountOptions string `json:"mountOptions,omitempty"`
}

// NFSShare is a share of an NFS server: nfs.example.com:/volumes.
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]):/[A-Za-z0-9._/-]*$`
type NFSShare string

// VolumeType is a kind of volumes.
type VolumeType struct {
	// Name of the type.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:example="ceph-rbd"
	Name string `json:"name"`
	// What users are told of it.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:example="Three copies, in this data centre"
	// +optional
	Description string `json:"description,omitempty"`
	// Backend whose volumes they are. Absent: whichever has room.
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:example="ceph-rbd"
	// +optional
	Backend string `json:"backend,omitempty"`
	// Only administrators, and projects that they name, may use it.
	// +optional
	Private bool `json:"private,omitempty"`
	// Further properties that the scheduler and drivers look at.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:example={"multiattach": "<is> True"}
	// +optional
	ExtraSpecs map[string]ExtraSpec `json:"extraSpecs,omitempty"`
}

// ExtraSpec is the value of a property of a volume type.
// +kubebuilder:validation:MaxLength=255
type ExtraSpec string

// Backup is the backup service.
// +kubebuilder:validation:XValidation:rule="[has(self.ceph), has(self.rbd), has(self.s3), has(self.swift), has(self.nfs), has(self.file)].filter(x, x).size() == 1",message="say where backups go: one of ceph, rbd, s3, swift, nfs and file"
// +kubebuilder:validation:XValidation:rule="has(self.ceph) == has(oldSelf.ceph) && has(self.rbd) == has(oldSelf.rbd) && has(self.s3) == has(oldSelf.s3) && has(self.swift) == has(oldSelf.swift) && has(self.nfs) == has(oldSelf.nfs) && has(self.file) == has(oldSelf.file)",message="backups stay where they are: a service with another place would not find those that there are; delete them, leave backup out, and say another place then"
type Backup struct {
	common.Process `json:",inline"`
	// A pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// A pool of a Ceph cluster.
	// +optional
	RBD *BackupRBD `json:"rbd,omitempty"`
	// A bucket.
	// +optional
	S3 *S3 `json:"s3,omitempty"`
	// A container of each project's own account, in an object store that knows users of this Keystone.
	// +optional
	Swift *Swift `json:"swift,omitempty"`
	// A share of an NFS server.
	// +optional
	NFS *BackupNFS `json:"nfs,omitempty"`
	// A volume of the cluster's storage.
	// +optional
	File *BackupFile `json:"file,omitempty"`
}

// BackupRBD is a pool of a Ceph cluster for backups.
type BackupRBD struct {
	// Secret with the keys ceph.conf (fsid and mon_host) and keyring (of the user), as a StorageCluster makes it.
	SecretRef common.SecretReference `json:"secretRef"`
	// Pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=backups
	// +optional
	Pool string `json:"pool,omitempty"`
	// User, without client. before it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=cinder-backup
	// +optional
	User string `json:"user,omitempty"`
	// Networks of monitors and OSDs. Absent: anywhere, at Ceph's ports.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/8"}
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
}

// S3 is a bucket for backups.
type S3 struct {
	// Address of the server, without a path: https://s3.example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^https?://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?$`
	// +kubebuilder:example="https://s3.example.com"
	Endpoint string `json:"endpoint"`
	// Bucket. It is made if there is none and the keys allow it.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`
	// +kubebuilder:example="volume-backups"
	Bucket string `json:"bucket"`
	// Secret with the keys access-key-id and secret-access-key.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// Authority of the server's certificate. Absent: the public ones.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// Swift is a container of each project's own account: whoever makes a backup logs in with the token of that request.
type Swift struct {
	// Address of the accounts, up to where the ID of a project follows: https://objects.example.com/swift/v1/AUTH_.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	// +kubebuilder:validation:Pattern=`^https://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._-]+)*/v1/[A-Za-z0-9._-]*$`
	// +kubebuilder:example="https://objects.example.com/swift/v1/AUTH_"
	URL string `json:"url"`
	// Container of backups that name none. It is made if there is none.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=volumebackups
	// +optional
	Container string `json:"container,omitempty"`
	// Authority of the object store's certificate. Absent: the public ones.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// BackupNFS is a share for backups. Files in it belong to user and group 42424.
type BackupNFS struct {
	// Share: nfs.example.com:/backups.
	// +kubebuilder:example="nfs.example.com:/backups"
	Share NFSShare `json:"share"`
}

// BackupFile is a volume for backups.
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass cannot be changed: a volume stays where it is"
// +kubebuilder:validation:XValidation:rule="self.accessMode == oldSelf.accessMode",message="accessMode cannot be changed: a volume stays as it is"
// +kubebuilder:validation:XValidation:rule="!quantity(self.storageSize).isLessThan(quantity(oldSelf.storageSize))",message="storageSize cannot shrink: a volume only grows"
type BackupFile struct {
	// Size of the volume. It can grow and not shrink.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
	// +kubebuilder:example="1Ti"
	StorageSize string `json:"storageSize"`
	// Storage class of the volume. Absent: the platform's.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
	// ReadWriteMany is what more than one pod needs, and not every storage class has. ReadWriteOnce serves a single pod.
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteMany
	// +kubebuilder:default=ReadWriteMany
	// +optional
	AccessMode string `json:"accessMode,omitempty"`
}
