package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Storage configures the stores and the import of images.
// +kubebuilder:validation:XValidation:rule="!has(self.defaultStore) || (has(self.stores) && self.stores.exists(s, s.name == self.defaultStore))",message="defaultStore must be the name of an entry in stores",fieldPath=".defaultStore"
type Storage struct {
	// Stores of images. The name of a store is part of every image in it, so it is immutable.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Stores []Store `json:"stores,omitempty"`
	// Store of images without a store. Defaults to the first.
	// +optional
	DefaultStore StoreName `json:"defaultStore,omitempty"`
	// Import of images, in addition to uploads.
	// +optional
	Import *Import `json:"import,omitempty"`
	// Cache of images on a volume of each pod, for slow stores. Defaults to none.
	// +optional
	ImageCache *ImageCache `json:"imageCache,omitempty"`
}

// Archive configures the removal of deleted rows from the database.
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

// StoreName is the name of a store. Hyphens are not allowed, because it is part of the names of environment variables.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=30
// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
type StoreName string

// Store is one store of images.
// +kubebuilder:validation:XValidation:rule="[has(self.file), has(self.s3), has(self.rbd), has(self.ceph), has(self.swift)].filter(x, x).size() == 1",message="set exactly one of file, s3, rbd, ceph and swift"
// +kubebuilder:validation:XValidation:rule="has(self.file) == has(oldSelf.file) && has(self.s3) == has(oldSelf.s3) && has(self.rbd) == has(oldSelf.rbd) && has(self.ceph) == has(oldSelf.ceph) && has(self.swift) == has(oldSelf.swift)",message="the storage of a store is immutable, because its images would be lost; add another store"
// +kubebuilder:validation:XValidation:rule="!self.name.matches('^((os_glance|oslo|glance|image|profiler)_.*|backend_defaults|barbican|barbican_service_user|cache|cors|database|default|healthcheck|import_filtering_opts|inject_metadata_properties|key_manager|keystone_authtoken|os_brick|paste_deploy|privsep|profiler|ssl|task|taskflow_executor|vault|wsgi)$')",message="this name is reserved: it is another section of Glance's configuration; choose another name",fieldPath=".name"
type Store struct {
	// Name of the store.
	// +kubebuilder:example="main"
	Name StoreName `json:"name"`
	// Description for users.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f$]*$`
	// +kubebuilder:example="Fast, in this data centre"
	// +optional
	Description string `json:"description,omitempty"`
	// Volume that all pods share.
	// +optional
	File *FileStore `json:"file,omitempty"`
	// Bucket of an S3 server.
	// +optional
	S3 *S3Store `json:"s3,omitempty"`
	// Pool of a Ceph cluster.
	// +optional
	RBD *RBDStore `json:"rbd,omitempty"`
	// Pool of a StorageCluster.
	// +optional
	Ceph *common.StoragePool `json:"ceph,omitempty"`
	// Container of a Swift account.
	// +optional
	Swift *SwiftStore `json:"swift,omitempty"`
}

// FileStore is a volume.
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass is immutable; add another store and copy the images"
// +kubebuilder:validation:XValidation:rule="self.accessMode == oldSelf.accessMode",message="accessMode is immutable; add another store and copy the images"
// +kubebuilder:validation:XValidation:rule="!quantity(self.storageSize).isLessThan(quantity(oldSelf.storageSize))",message="storageSize cannot be reduced; add another store and copy the images"
type FileStore struct {
	// Size of the volume. It can be increased, not reduced.
	// +kubebuilder:example="100Gi"
	StorageSize StorageSize `json:"storageSize"`
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
	// Bucket. It must exist.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="bucket is immutable: the images in it would be lost; add another store and copy them"
	// +kubebuilder:example="images"
	Bucket string `json:"bucket"`
	// Region of the signatures of requests. Defaults to the region in the server's address.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	Region string `json:"region,omitempty"`
	// Position of the bucket: in the path or in the host name of an address. Defaults to the server's address.
	// +kubebuilder:validation:Enum=auto;path;virtual
	// +optional
	URLFormat string `json:"urlFormat,omitempty"`
	// Secret with the keys access-key-id and secret-access-key. Release 2025.1 reads each image with the keys at the time of its upload,
	// later releases with the current keys in the Secret. Until 2026.1, the secret key must not contain / @ or :, which break images.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// Authority of the server's certificate. Defaults to public authorities.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// RBDStore is a pool of a Ceph cluster.
type RBDStore struct {
	// Secret with the keys ceph.conf (fsid and mon_host) and keyring (of the user), in the form in which a StorageCluster creates it.
	SecretRef common.SecretReference `json:"secretRef"`
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="pool is immutable: the images in it would be lost; add another store and copy them"
	// +kubebuilder:default=images
	// +optional
	Pool string `json:"pool,omitempty"`
	// Name of the user, without the prefix client.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=glance
	// +optional
	User string `json:"user,omitempty"`
	// Networks of monitors and OSDs. Defaults to any, with Ceph's ports.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/8"}
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
}

// SwiftStore is a container of an account.
type SwiftStore struct {
	// Address of the Keystone of the account: https://keystone.example.com/v3.
	// +kubebuilder:example="https://keystone.example.com/v3"
	AuthURL common.HTTPSURL `json:"authURL"`
	// Region of the object store. Defaults to the first in the catalog.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	Region string `json:"region,omitempty"`
	// Container. It is created if it does not exist.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="container is immutable: the images in it would be lost; add another store and copy them"
	// +kubebuilder:default=glance
	// +optional
	Container string `json:"container,omitempty"`
	// Secret with the keys username, password, project, user-domain and project-domain.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// Authority of the addresses' certificates. Defaults to public authorities.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// Import configures the import of images, in addition to uploads.
// +kubebuilder:validation:XValidation:rule="!has(self.webDownload) || has(self.methods) && 'web-download' in self.methods",message="webDownload requires the method web-download; add it to methods, or remove webDownload"
type Import struct {
	// Import methods for users: glance-direct imports from the staging area, web-download from an address, and copy-image from another store.
	// Defaults to glance-direct and copy-image.
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	// +optional
	Methods []ImportMethod `json:"methods,omitempty"`
	// Addresses that web-download accepts. Defaults to https with port 443, on any host.
	// +optional
	WebDownload *WebDownload `json:"webDownload,omitempty"`
	// Format to which images are converted during the import. Defaults to no conversion.
	// +kubebuilder:validation:Enum=raw;qcow2;vmdk
	// +optional
	ConvertTo string `json:"convertTo,omitempty"`
	// Volume of each pod for images during the import. It must have space for the largest images. Defaults to scratch space on the node,
	// which is lost when a pod is replaced.
	// +optional
	Staging *Volume `json:"staging,omitempty"`
}

// ImportMethod is a method of image import.
// +kubebuilder:validation:Enum=glance-direct;web-download;copy-image
type ImportMethod string

// WebDownload restricts the addresses of downloads. Network policies should also prevent pods from connecting to the cluster's own
// networks.
type WebDownload struct {
	// Ports of the addresses. Defaults to 443.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +listType=set
	// +optional
	AllowedPorts []int32 `json:"allowedPorts,omitempty"`
	// Schemes of the addresses. Defaults to https.
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=http;https
	// +listType=set
	// +optional
	AllowedSchemes []string `json:"allowedSchemes,omitempty"`
	// Hosts of the addresses, exactly as in users' addresses. Defaults to any.
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
	// Storage class of the volume. Defaults to the class of the platform.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
}

// ImageCache is a cache on a volume of each pod.
type ImageCache struct {
	Volume `json:",inline"`
}

// UWSGI configures the uWSGI processes of each pod. Requests have no time limit, because the duration of an upload or download depends on
// the client.
type UWSGI struct {
	// Worker processes. Defaults to one per 256Mi of the memory request, at most 8.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Processes int32 `json:"processes,omitempty"`
	// Threads of each process. An upload or a download occupies one of them.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default=4
	// +optional
	Threads int32 `json:"threads,omitempty"`
}
