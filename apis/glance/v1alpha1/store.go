package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Storage says where images are kept, and how they come there.
// +kubebuilder:validation:XValidation:rule="!has(self.defaultStore) || (has(self.stores) && self.stores.exists(s, s.name == self.defaultStore))",message="defaultStore has to be the name of one of the stores",fieldPath=".defaultStore"
type Storage struct {
	// Where images are kept. A store's name is written into every image in it, so that it keeps its name.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Stores []Store `json:"stores,omitempty"`
	// Store of images that name none. Absent: the first.
	// +optional
	DefaultStore StoreName `json:"defaultStore,omitempty"`
	// How images come in, besides being uploaded.
	// +optional
	Import *Import `json:"import,omitempty"`
	// Copies of images that each pod keeps on a volume of its own, for stores that are slow. Absent: none.
	// +optional
	ImageCache *ImageCache `json:"imageCache,omitempty"`
}

// Archive removes what was deleted from the database.
// +kubebuilder:validation:XValidation:rule="self.imagesAfterDays >= self.afterDays",message="imagesAfterDays cannot be less than afterDays; raise imagesAfterDays, or lower afterDays",fieldPath=".imagesAfterDays"
type Archive struct {
	common.Archive `json:",inline"`
	// Age of a deleted image, in days, at which its row is removed. From then on, users can create an image with its ID (OSSN-0075).
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=180
	// +optional
	ImagesAfterDays int32 `json:"imagesAfterDays,omitempty"`
}

// StoreName is the name of a store. No hyphens: environment variables carry it.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=30
// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
type StoreName string

// Store is one place where images are kept.
// +kubebuilder:validation:XValidation:rule="[has(self.file), has(self.s3), has(self.rbd), has(self.ceph), has(self.swift)].filter(x, x).size() == 1",message="say where the store keeps images: one of file, s3, rbd, ceph and swift"
// +kubebuilder:validation:XValidation:rule="has(self.file) == has(oldSelf.file) && has(self.s3) == has(oldSelf.s3) && has(self.rbd) == has(oldSelf.rbd) && has(self.ceph) == has(oldSelf.ceph) && has(self.swift) == has(oldSelf.swift)",message="a store stays what it is: the images in it would be lost; add another store beside it"
// +kubebuilder:validation:XValidation:rule="!self.name.matches('^((os_glance|oslo|glance|image|profiler)_.*|backend_defaults|barbican|barbican_service_user|cache|cors|database|default|healthcheck|import_filtering_opts|inject_metadata_properties|key_manager|keystone_authtoken|os_brick|paste_deploy|privsep|profiler|ssl|task|taskflow_executor|vault|wsgi)$')",message="Glance has a section of this name for something else; give the store another name",fieldPath=".name"
type Store struct {
	// Name of the store.
	// +kubebuilder:example="main"
	Name StoreName `json:"name"`
	// What users are told of the store.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f$]*$`
	// +kubebuilder:example="Fast, in this data centre"
	// +optional
	Description string `json:"description,omitempty"`
	// A volume that all pods share.
	// +optional
	File *FileStore `json:"file,omitempty"`
	// A bucket of an S3 server.
	// +optional
	S3 *S3Store `json:"s3,omitempty"`
	// A pool of a Ceph cluster.
	// +optional
	RBD *RBDStore `json:"rbd,omitempty"`
	// A pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// A container of a Swift account.
	// +optional
	Swift *SwiftStore `json:"swift,omitempty"`
}

// FileStore is a volume.
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass cannot be changed: a volume stays where it is; add another store and copy the images"
// +kubebuilder:validation:XValidation:rule="self.accessMode == oldSelf.accessMode",message="accessMode cannot be changed: a volume stays as it is; add another store and copy the images"
// +kubebuilder:validation:XValidation:rule="!quantity(self.storageSize).isLessThan(quantity(oldSelf.storageSize))",message="storageSize cannot shrink: a volume only grows; add another store and copy the images"
type FileStore struct {
	// Size of the volume. It can grow and not shrink.
	// +kubebuilder:example="100Gi"
	StorageSize StorageSize `json:"storageSize"`
	// Storage class of the volume. Absent: the platform's.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
	// ReadWriteMany is what more than one pod needs, and not every storage class has. ReadWriteOnce serves a single pod.
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteMany
	// +kubebuilder:default=ReadWriteMany
	// +optional
	AccessMode string `json:"accessMode,omitempty"`
}

// StorageSize is the size of a volume: 100Gi.
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
type StorageSize string

// S3Store is a bucket.
type S3Store struct {
	// Address of the server, without a path: https://s3.example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^https?://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?$`
	// +kubebuilder:example="https://s3.example.com"
	Endpoint string `json:"endpoint"`
	// Bucket. It has to exist.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="bucket cannot be changed: the images in it would be lost; add another store and copy them"
	// +kubebuilder:example="images"
	Bucket string `json:"bucket"`
	// Region that requests are signed for. Absent: as the server's address has it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	Region string `json:"region,omitempty"`
	// Whether the bucket is in the path of an address or in its host name. Absent: by the server's address.
	// +kubebuilder:validation:Enum=auto;path;virtual
	// +optional
	URLFormat string `json:"urlFormat,omitempty"`
	// Secret with the keys access-key-id and secret-access-key. Release 2025.1 goes on reading each image by the keys that it came in by,
	// later ones by those that the Secret has now. Until 2026.1, a secret key with / @ or : in it breaks images: choose one without.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// Authority of the server's certificate. Absent: the public ones.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// RBDStore is a pool of a Ceph cluster.
type RBDStore struct {
	// Secret with the keys ceph.conf (fsid and mon_host) and keyring (of the user), as a StorageCluster makes it.
	SecretRef common.SecretReference `json:"secretRef"`
	// Pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="pool cannot be changed: the images in it would be lost; add another store and copy them"
	// +kubebuilder:default=images
	// +optional
	Pool string `json:"pool,omitempty"`
	// User, without client. before it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=glance
	// +optional
	User string `json:"user,omitempty"`
	// Networks of monitors and OSDs. Absent: anywhere, at Ceph's ports.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/8"}
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
}

// SwiftStore is a container of an account.
type SwiftStore struct {
	// Address of the Keystone that the account belongs to: https://keystone.example.com/v3.
	// +kubebuilder:example="https://keystone.example.com/v3"
	AuthURL common.HTTPSURL `json:"authURL"`
	// Region whose object store is used. Absent: the first of the catalog.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	Region string `json:"region,omitempty"`
	// Container. It is made if there is none.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="container cannot be changed: the images in it would be lost; add another store and copy them"
	// +kubebuilder:default=glance
	// +optional
	Container string `json:"container,omitempty"`
	// Secret with the keys username, password, project, user-domain and project-domain.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// Authority of the addresses' certificates. Absent: the public ones.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// Import says how images come in, besides being uploaded.
// +kubebuilder:validation:XValidation:rule="!has(self.webDownload) || has(self.methods) && 'web-download' in self.methods",message="without web-download among the methods, webDownload does nothing; add it to methods, or leave webDownload out"
type Import struct {
	// How users may bring images in: glance-direct takes what was uploaded to the staging area, web-download fetches an address, and
	// copy-image copies from another store. Absent: glance-direct and copy-image.
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	// +optional
	Methods []ImportMethod `json:"methods,omitempty"`
	// Which addresses web-download fetches. Absent: https at port 443, of any host.
	// +optional
	WebDownload *WebDownload `json:"webDownload,omitempty"`
	// Format that images are converted to when they come in. Absent: they stay as they are.
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	// +optional
	ConvertTo string `json:"convertTo,omitempty"`
	// Volume on which each pod keeps what comes in until it is in its store. It has to hold the largest images. Absent: scratch space of
	// the node, which a pod loses when it is replaced.
	// +optional
	Staging *Volume `json:"staging,omitempty"`
}

// ImportMethod is a way of bringing images in.
// +kubebuilder:validation:Enum=glance-direct;web-download;copy-image
type ImportMethod string

// WebDownload says which addresses are fetched. Those of the cluster's own networks should be unreachable from pods by other means, too.
type WebDownload struct {
	// Ports of the addresses. Absent: 443.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +listType=set
	// +optional
	AllowedPorts []int32 `json:"allowedPorts,omitempty"`
	// Schemes of the addresses. Absent: https.
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=http;https
	// +listType=set
	// +optional
	AllowedSchemes []string `json:"allowedSchemes,omitempty"`
	// Hosts of the addresses, each as users write it. Absent: any.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +kubebuilder:example={"cloud-images.example.com"}
	// +optional
	AllowedHosts []Host `json:"allowedHosts,omitempty"`
}

// Host is a host name or an IP address.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9:]([a-z0-9.:-]*[a-z0-9:])?$`
type Host string

// Volume is a volume of each pod.
type Volume struct {
	// Size of the volume.
	// +kubebuilder:example="50Gi"
	StorageSize StorageSize `json:"storageSize"`
	// Storage class of the volume. Absent: the platform's.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
}

// ImageCache is a cache on a volume of each pod.
type ImageCache struct {
	Volume `json:",inline"`
}

// UWSGI shapes the processes of each pod. No request is ended for taking long: an image takes as long as its client.
type UWSGI struct {
	// Worker processes. Absent: one for each 256Mi of memory that the pod requests, 8 at most.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Processes int32 `json:"processes,omitempty"`
	// Threads of each process. An upload or a download keeps one busy.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default=4
	// +optional
	Threads int32 `json:"threads,omitempty"`
}
