package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Limit restricts the claims of some namespaces: access beyond their own control plane, and cost.
//
// Values that a claim leaves to the platform, or that equal the platform's, are allowed. Any other value must be allowed by every limit
// that applies to its namespace and has the list, and by at least one: if none has the list, nothing is allowed. Sizes and releases are
// the exception: if no limit lists them, all are allowed. In patterns, * matches any characters, so that * alone allows everything, and
// {namespace} stands for the claim's namespace.
type Limit struct {
	// Name of the limit, which is quoted in errors.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Namespaces of the claims; * matches any characters.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	Namespaces []common.NamespacePattern `json:"namespaces"`
	// Allowed sizes. Defaults to all.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Sizes []Size `json:"sizes,omitempty"`
	// Allowed releases. Defaults to all.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Releases []Release `json:"releases,omitempty"`
	// Allowed registries of images, as prefixes: registry.example.com/openstack.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Registries []Registry `json:"registries,omitempty"`
	// Allowed domains of host names: {namespace}.example.com, where {namespace} is the claim's namespace, so that tenants cannot use each
	// other's names. A claim without a domain gets <claim>.<namespace>.<first domain of the list>. If no limit has domains, the namespace's
	// own domain is allowed: {namespace}.<the platform's domain>.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Domains []DomainPattern `json:"domains,omitempty"`
	// Allowed secret stores, as <kind>/<name>, or <kind>/<name>/<prefix> for prefixes at and below that path:
	// ClusterSecretStore/openbao/{namespace}.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	SecretStores []Pattern `json:"secretStores,omitempty"`
	// Allowed Gateways of routes, as <namespace>/<name>, or <namespace>/<name>/<listener>.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Gateways []Pattern `json:"gateways,omitempty"`
	// Allowed classes of Ingress objects. * also allows the default class of the cluster, which applies to a claim without a class.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	IngressClasses []Pattern `json:"ingressClasses,omitempty"`
	// Allowed namespaces in exposure.allowedNamespaces, if the platform restricts it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	ExposureNamespaces []Pattern `json:"exposureNamespaces,omitempty"`
	// Allowed annotations of routes, Ingress objects and Services for other clusters, as <key>, or <key>=<value>:
	// nginx.ingress.kubernetes.io/proxy-*.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Annotations []Pattern `json:"annotations,omitempty"`
	// Allowed issuers of public certificates, as <kind>/<name>: ClusterIssuer/letsencrypt.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Issuers []Pattern `json:"issuers,omitempty"`
	// Allowed node selectors of pods, as <key>, or <key>=<value>: topology.kubernetes.io/zone.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	NodeSelectors []Pattern `json:"nodeSelectors,omitempty"`
	// Allowed tolerations of pods, in the form of kubectl: <key>=<value>:<effect>. Parts that are omitted at the end match anything:
	// dedicated=openstack.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Tolerations []Pattern `json:"tolerations,omitempty"`
	// Allowed storage classes of volumes.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	StorageClasses []Pattern `json:"storageClasses,omitempty"`
	// Allowed labels of Prometheus objects, by which a Prometheus selects them, as <key>, or <key>=<value>: prometheus=team-a.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	MonitoringLabels []Pattern `json:"monitoringLabels,omitempty"`
	// Allowed hosts of object stores for backups and restores of databases and volumes, and for images: s3.example.com, *.example.com:443.
	// Without a port, any. For images in Swift, the host of the Keystone.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	S3Endpoints []HostPattern `json:"s3Endpoints,omitempty"`
	// Allowed hosts of directories (LDAP): ldap.example.com, *.corp.example.com:636.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DirectoryHosts []HostPattern `json:"directoryHosts,omitempty"`
	// Allowed hosts of OpenID Connect providers: keycloak.example.com.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	OpenIDHosts []HostPattern `json:"openIDHosts,omitempty"`
	// Allowed hosts of external Keystones: identity.example.com. The operator of a Keystone controls, by its catalog, the hosts to which
	// K-ORC connects.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	KeystoneHosts []HostPattern `json:"keystoneHosts,omitempty"`
	// Allowed hosts of external databases: db.example.com:3306.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DatabaseHosts []HostPattern `json:"databaseHosts,omitempty"`

	// Allowed hosts of external message queues: queue.example.com. RabbitMQ's operator connects to them from the network of its namespace.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	QueueHosts []HostPattern `json:"queueHosts,omitempty"`
	// Allowed hosts from which users may import images: *.example.com:443. Only * allows an image service to import from any host.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DownloadHosts []HostPattern `json:"downloadHosts,omitempty"`
	// Allowed networks of Ceph clusters for images and volumes: 10.0.0.0/8 allows every network in it. Only * allows an empty list of
	// networks, with which pods may connect to Ceph's ports on any address.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	StorageNetworks []NetworkPattern `json:"storageNetworks,omitempty"`
	// Allowed NFS servers for volumes and backups. Nodes mount their shares, at any address.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	NFSServers []HostPattern `json:"nfsServers,omitempty"`
	// Allowed hosts of Vaults in which a key manager stores secrets: vault.example.com:8200.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	VaultServers []HostPattern `json:"vaultServers,omitempty"`
	// Allowed networks of hypervisors, to which consoles connect, and which may connect to services that are exposed to other clusters:
	// 10.0.0.0/8 allows every network in it, and * also allows claims without networks.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	HypervisorNetworks []NetworkPattern `json:"hypervisorNetworks,omitempty"`
	// Allowed names and addresses of nodes in exposures of type NodePort: nodes.example.com. They are in certificates of an authority that all
	// queues share, so nothing is allowed without a limit.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	NodeHosts []HostPattern `json:"nodeHosts,omitempty"`
	// Allowed labels of nodes in pools of hypervisors, as <key>, or <key>=<value>: a pool contains only nodes with one of these. Control over
	// the pods of a hypervisor is control over the node, so nothing is allowed without a limit.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	HypervisorNodes []Pattern `json:"hypervisorNodes,omitempty"`
	// Allowed registries of images in pools of hypervisors, as prefixes: registry.example.com/hypervisors. The list registries does not apply
	// to them: control over the pods of a hypervisor is control over the node, so nothing is allowed without a limit.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	HypervisorRegistries []Registry `json:"hypervisorRegistries,omitempty"`
	// Allowed agents in pools of hypervisors with access from every node to objects of other nodes: kvmNodeAgent, which has that permission
	// on the nodes in the chart's value hypervisors.agentNodes. Nothing is allowed without a limit.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	HypervisorAgents []Pattern `json:"hypervisorAgents,omitempty"`
	// Allowed nodes of storage, by labels as <key>, or <key>=<value>: a node that a claim names matches kubernetes.io/hostname=<name>.
	// Control over the pods of storage is control over the node, so nothing is allowed without a limit.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	StorageNodes []Pattern `json:"storageNodes,omitempty"`
	// Allowed devices of storage, in the form of claims, without /dev/: nvme*, disk/by-id/nvme-*. A pattern in a claim must equal an entry,
	// unless the entry is *. Nothing is allowed without a limit.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	StorageDevices []Pattern `json:"storageDevices,omitempty"`
	// Allowed images of Ceph that replace the platform's, complete: registry.example.com/ceph/ceph:v19.*. Control over the image is control
	// over the node, so nothing is allowed without a limit.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	StorageImages []Pattern `json:"storageImages,omitempty"`
	// Maximum cost of a claim. Values that no limit of the namespace sets have a default.
	// +optional
	Maxima Maxima `json:"maxima,omitempty"`
}

// Maxima restrict the cost of one claim.
type Maxima struct {
	// Members of each database, queue and cache, pods of each API, and daemons of each kind in a StorageCluster. Defaults to 9.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Worker processes (uwsgi.processes) of each API's pod. Defaults to 8.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Processes *int32 `json:"processes,omitempty"`
	// Total size of all volumes: 500Gi. Defaults to 2Ti.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Storage *resource.Quantity `json:"storage,omitempty"`
	// Total cores of all pods, of requests or limits whichever is more. Defaults to 64.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Total memory of all pods, of requests or limits whichever is more: 32Gi. Defaults to 256Gi.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Total scratch space of all pods on their nodes: 500Gi. Defaults to 1Ti.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	EphemeralStorage *resource.Quantity `json:"ephemeralStorage,omitempty"`
	// Runs of each schedule within an hour (Jobs and rotations of keys), by the shortest interval between two of them. Defaults to 12.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +optional
	RunsPerHour *int32 `json:"runsPerHour,omitempty"`
	// Cores of all pods of a HypervisorCluster on one node, and of each OSD of a StorageCluster. Defaults to 16.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	NodeCPU *resource.Quantity `json:"nodeCPU,omitempty"`
	// Memory of all pods of a HypervisorCluster on one node, without virtual machines, and of each OSD of a StorageCluster: 32Gi. Defaults to
	// 64Gi.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	NodeMemory *resource.Quantity `json:"nodeMemory,omitempty"`
}

// DefaultMaxima returns the maxima without a limit. A claim of the largest size fits, with a margin of a third: large requires at most 5
// replicas, 1.7Ti, 43 cores and 183Gi. The default prevents larger claims by mistake.
func DefaultMaxima() Maxima {
	amount := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	return Maxima{
		Replicas: new(int32(9)), Processes: new(int32(8)), Storage: amount("2Ti"), CPU: amount("64"), Memory: amount("256Gi"),
		EphemeralStorage: amount("1Ti"), RunsPerHour: new(int32(12)), NodeCPU: amount("16"), NodeMemory: amount("64Gi"),
	}
}

// Size is a size of a control plane.
// +kubebuilder:validation:Enum=development;small;medium;large
type Size string

// Release is an OpenStack release.
// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
type Release string

// Registry is a prefix of an image's name, or * for all images.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=200
// +kubebuilder:validation:Pattern=`^(\*|[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*)$`
type Registry string

// DomainPattern is a domain and its subdomains; {namespace} is the claim's namespace. * is every domain.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^(\*|(\{namespace\}\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+)$`
type DomainPattern string

// HostPattern is a host with or without a port. * matches any characters of the host.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=260
// +kubebuilder:validation:Pattern=`^([a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`
type HostPattern string

// NetworkPattern is a range of addresses and its subranges, or * for all.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:Pattern=`^(\*|[0-9a-fA-F.:]+/[0-9]{1,3})$`
// +kubebuilder:validation:XValidation:rule="self == '*' || isCIDR(self)",message="must be a range of addresses, such as 10.0.1.0/24, or *"
type NetworkPattern string

// Pattern is a text in which * matches any characters, and {namespace} stands for the claim's namespace.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^[!-~]+$`
type Pattern string
