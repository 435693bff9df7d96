package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Storage configures backends of volumes, backups, and volume types.
// +kubebuilder:validation:XValidation:rule="!has(self.defaultVolumeType) || has(self.volumeTypes) && self.volumeTypes.exists(t, t.name == self.defaultVolumeType) || !has(self.volumeTypes) && has(self.backends) && self.backends.exists(b, b.name == self.defaultVolumeType)",message="defaultVolumeType must be the name of an entry in volumeTypes or, if volumeTypes is empty, in backends",fieldPath=".defaultVolumeType"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeTypes) || self.volumeTypes.all(t, !has(t.backend) || has(self.backends) && self.backends.exists(b, b.name == t.backend))",message="volumeTypes[].backend must be the name of an entry in backends",fieldPath=".volumeTypes"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.backends) || oldSelf.backends.all(o, has(self.backends) && self.backends.exists(b, b.name == o.name))",message="a backend cannot be removed or renamed, because volumes refer to it by name; remove its volume types instead, so that it gets no new volumes",fieldPath=".backends"
type Storage struct {
	// Backends of volumes. The name of a backend is part of every volume in it, so it is immutable.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []Backend `json:"backends,omitempty"`
	// Volume types that users choose from. When an entry is removed, the type stays in Cinder, where an administrator can delete it. Defaults
	// to one type with the name of each backend.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	VolumeTypes []VolumeType `json:"volumeTypes,omitempty"`
	// Volume type of volumes without a type. Defaults to the first.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:example="ceph-rbd"
	// +optional
	DefaultVolumeType string `json:"defaultVolumeType,omitempty"`
	// Backup service. Defaults to none.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
	// Size of the directory on the node of a pod for the conversion of images: at least the size of the largest image.
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
	// +kubebuilder:default="50Gi"
	// +optional
	ConversionSize string `json:"conversionSize,omitempty"`
}

// Backend is one storage of volumes.
// +kubebuilder:validation:XValidation:rule="[has(self.ceph), has(self.rbd), has(self.nfs)].filter(x, x).size() == 1",message="set exactly one of ceph, rbd and nfs"
// +kubebuilder:validation:XValidation:rule="has(self.ceph) == has(oldSelf.ceph) && has(self.rbd) == has(oldSelf.rbd) && has(self.nfs) == has(oldSelf.nfs)",message="the storage of a backend is immutable, because its volumes would become unreachable; add another backend"
// +kubebuilder:validation:XValidation:rule="!self.name.matches('^((oslo|profiler)_.*|backend|backend_defaults|barbican|barbican_service_user|cache|cinder_sys_admin|coordination|cors|database|default|fc-zone-manager|glance|healthcheck|key_manager|keystone_authtoken|nova|os_brick|privsep|privsep_osbrick|profiler|service_user|ssl|vault)$')",message="this name is reserved: it is another section of Cinder's configuration; choose another name",fieldPath=".name"
type Backend struct {
	// Name of the backend: ceph-rbd. It is part of volumes, and the name of a volume type.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:example="ceph-rbd"
	Name string `json:"name"`
	// Pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// Pool of a Ceph cluster.
	// +optional
	RBD *RBD `json:"rbd,omitempty"`
	// Shares of an NFS server.
	// +optional
	NFS *NFS `json:"nfs,omitempty"`
	// Availability zone of its volumes. A volume without a zone is created in the zone of the backend of its volume type. Defaults to nova.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:example="eu-de-1a"
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Volume managers of the backend. Several are possible only with Ceph, and with locks in Valkey.
	// +optional
	Volume *common.Process `json:"volume,omitempty"`
}

// RBD is a pool of a Ceph cluster.
type RBD struct {
	// Secret with the keys ceph.conf (fsid and mon_host) and keyring (of the user), in the form in which a StorageCluster creates it.
	SecretRef common.SecretReference `json:"secretRef"`
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="pool is immutable: the volumes in it would become unreachable; add another backend and migrate them"
	// +kubebuilder:default=volumes
	// +optional
	Pool string `json:"pool,omitempty"`
	// Name of the user, without the prefix client.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=cinder
	// +optional
	User string `json:"user,omitempty"`
	// Networks of monitors and OSDs. Defaults to any, with Ceph's ports.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/8"}
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
}

// NFS are shares of NFS servers. Each node with a volume manager or a backup service mounts them, as hypervisors do. User and group 42424
// own the files in them.
type NFS struct {
	// Shares: nfs.example.com:/volumes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"nfs.example.com:/volumes"}
	Shares []NFSShare `json:"shares"`
	// Mount options of hypervisors for the shares: vers=4.2,nconnect=4.
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

// VolumeType is a type of volumes.
type VolumeType struct {
	// Name of the type.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:example="ceph-rbd"
	Name string `json:"name"`
	// Description for users.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:example="Three copies, in this data centre"
	// +optional
	Description string `json:"description,omitempty"`
	// Backend of the volumes. Defaults to any backend with free capacity.
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:example="ceph-rbd"
	// +optional
	Backend string `json:"backend,omitempty"`
	// Restrict the type to administrators, and to projects that they select.
	// +optional
	Private bool `json:"private,omitempty"`
	// Further properties for the scheduler and drivers.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:example={"multiattach": "<is> True"}
	// +optional
	ExtraSpecs map[string]ExtraSpec `json:"extraSpecs,omitempty"`
}

// ExtraSpec is the value of a property of a volume type.
// +kubebuilder:validation:MaxLength=255
type ExtraSpec string

// Backup is the backup service.
// +kubebuilder:validation:XValidation:rule="[has(self.ceph), has(self.rbd), has(self.s3), has(self.swift), has(self.nfs), has(self.file)].filter(x, x).size() == 1",message="set exactly one of ceph, rbd, s3, swift, nfs and file"
// +kubebuilder:validation:XValidation:rule="has(self.ceph) == has(oldSelf.ceph) && has(self.rbd) == has(oldSelf.rbd) && has(self.s3) == has(oldSelf.s3) && has(self.swift) == has(oldSelf.swift) && has(self.nfs) == has(oldSelf.nfs) && has(self.file) == has(oldSelf.file)",message="the backup location is immutable, because existing backups would become unreachable; delete the backups, remove backup, and set the new location in a second edit"
type Backup struct {
	common.Process `json:",inline"`
	// Pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// Pool of a Ceph cluster.
	// +optional
	RBD *BackupRBD `json:"rbd,omitempty"`
	// Bucket of an S3 server.
	// +optional
	S3 *S3 `json:"s3,omitempty"`
	// Container in the account of each project, in an object store that accepts users of this Keystone.
	// +optional
	Swift *Swift `json:"swift,omitempty"`
	// Share of an NFS server.
	// +optional
	NFS *BackupNFS `json:"nfs,omitempty"`
	// Volume of the cluster.
	// +optional
	File *BackupFile `json:"file,omitempty"`
}

// BackupRBD is a pool of a Ceph cluster for backups.
type BackupRBD struct {
	// Secret with the keys ceph.conf (fsid and mon_host) and keyring (of the user), in the form in which a StorageCluster creates it.
	SecretRef common.SecretReference `json:"secretRef"`
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=backups
	// +optional
	Pool string `json:"pool,omitempty"`
	// Name of the user, without the prefix client.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=cinder-backup
	// +optional
	User string `json:"user,omitempty"`
	// Networks of monitors and OSDs. Defaults to any, with Ceph's ports.
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
	// Bucket. It is created if it does not exist and the keys permit it.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`
	// +kubebuilder:example="volume-backups"
	Bucket string `json:"bucket"`
	// Secret with the keys access-key-id and secret-access-key.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// Authority of the server's certificate. Defaults to public authorities.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// Swift is a container in the account of each project: the backup service uses the token of the user's request.
type Swift struct {
	// Address of the accounts, up to the ID of a project: https://objects.example.com/swift/v1/AUTH_.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	// +kubebuilder:validation:Pattern=`^https://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._-]+)*/v1/[A-Za-z0-9._-]*$`
	// +kubebuilder:example="https://objects.example.com/swift/v1/AUTH_"
	URL string `json:"url"`
	// Container of backups without a container. It is created if it does not exist.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=volumebackups
	// +optional
	Container string `json:"container,omitempty"`
	// Authority of the object store's certificate. Defaults to public authorities.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// BackupNFS is a share for backups. User and group 42424 own the files in it.
type BackupNFS struct {
	// Share: nfs.example.com:/backups.
	// +kubebuilder:example="nfs.example.com:/backups"
	Share NFSShare `json:"share"`
}

// BackupFile is a volume for backups.
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass is immutable: the data of a volume cannot be moved; restore the previous value"
// +kubebuilder:validation:XValidation:rule="self.accessMode == oldSelf.accessMode",message="accessMode is immutable: the access mode of a volume cannot be changed; restore the previous value"
// +kubebuilder:validation:XValidation:rule="!quantity(self.storageSize).isLessThan(quantity(oldSelf.storageSize))",message="storageSize cannot be reduced: a volume cannot shrink; restore the previous value, or set a larger one"
type BackupFile struct {
	// Size of the volume. It can be increased, not reduced.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
	// +kubebuilder:example="1Ti"
	StorageSize string `json:"storageSize"`
	// Storage class of the volume. Defaults to the class of the platform.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
	// Access mode. ReadWriteMany is required for more than one pod, and not all storage classes support it. ReadWriteOnce supports a single
	// pod.
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteMany
	// +kubebuilder:default=ReadWriteMany
	// +optional
	AccessMode string `json:"accessMode,omitempty"`
}
