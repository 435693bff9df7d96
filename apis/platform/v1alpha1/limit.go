package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Limit restricts what claims of some namespaces may ask for: what reaches outside their own control plane, and what costs.
//
// What a claim leaves to the platform, or repeats exactly as the platform has it, is allowed. Whatever else it names has to be allowed by
// every limit that holds in its namespace and has the list, and by at least one: where none has it, nothing is allowed. Sizes and
// releases are the exception: where no limit lists them, all are allowed. In patterns, * stands for any run of characters, so that * alone
// allows everything, and {namespace} for the claim's namespace.
type Limit struct {
	// Name of the limit, which errors mention.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Namespaces of the claims; * stands for any run of characters.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	Namespaces []common.NamespacePattern `json:"namespaces"`
	// Sizes that may be asked for. Absent: all.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Sizes []Size `json:"sizes,omitempty"`
	// Releases that may be asked for. Absent: all.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Releases []Release `json:"releases,omitempty"`
	// Registries that images may come from, as prefixes: registry.example.com/openstack.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Registries []Registry `json:"registries,omitempty"`
	// Domains below which host names may lie: {namespace}.example.com, where {namespace} is that of the claim, so that no tenant takes a
	// name of another. A claim that names no domain gets <claim>.<namespace>.<the first of them>. Where no limit has domains, the
	// namespace's own: {namespace}.<the platform's domain>.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Domains []DomainPattern `json:"domains,omitempty"`
	// Secret stores, as <kind>/<name>, or <kind>/<name>/<prefix> for prefixes there and below:
	// ClusterSecretStore/openbao/{namespace}.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	SecretStores []Pattern `json:"secretStores,omitempty"`
	// Gateways that routes may attach to, as <namespace>/<name>, or <namespace>/<name>/<listener>.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Gateways []Pattern `json:"gateways,omitempty"`
	// Classes of Ingress objects. * also stands for the cluster's default class, which a claim gets that names none.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	IngressClasses []Pattern `json:"ingressClasses,omitempty"`
	// Namespaces that exposure.allowedNamespaces may let in where the platform closed it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	ExposureNamespaces []Pattern `json:"exposureNamespaces,omitempty"`
	// Annotations of routes, Ingress objects and Services for other clusters, as <key>, or <key>=<value>: nginx.ingress.kubernetes.io/proxy-*.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Annotations []Pattern `json:"annotations,omitempty"`
	// Issuers of public certificates, as <kind>/<name>: ClusterIssuer/letsencrypt.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Issuers []Pattern `json:"issuers,omitempty"`
	// Labels of nodes that pods may be bound to, as <key>, or <key>=<value>: topology.kubernetes.io/zone.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	NodeSelectors []Pattern `json:"nodeSelectors,omitempty"`
	// Taints that pods may tolerate, as kubectl writes them: <key>=<value>:<effect>. What is left out at the end may be anything:
	// dedicated=openstack.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Tolerations []Pattern `json:"tolerations,omitempty"`
	// Storage classes of volumes.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	StorageClasses []Pattern `json:"storageClasses,omitempty"`
	// Labels of Prometheus objects, by which a Prometheus selects them, as <key>, or <key>=<value>: prometheus=team-a.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	MonitoringLabels []Pattern `json:"monitoringLabels,omitempty"`
	// Hosts of object stores that databases and volumes are backed up to and restored from, and that images are kept in: s3.example.com,
	// *.example.com:443. Without a port, any. Of images in Swift it is the Keystone.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	S3Endpoints []HostPattern `json:"s3Endpoints,omitempty"`
	// Hosts of directories (LDAP): ldap.example.com, *.corp.example.com:636.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DirectoryHosts []HostPattern `json:"directoryHosts,omitempty"`
	// Hosts of OpenID Connect providers: keycloak.example.com.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	OpenIDHosts []HostPattern `json:"openIDHosts,omitempty"`
	// Hosts of Keystones that exist elsewhere: identity.example.com. Whoever runs one says where K-ORC goes, by its catalog.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	KeystoneHosts []HostPattern `json:"keystoneHosts,omitempty"`
	// Hosts of databases that exist elsewhere: db.example.com:3306.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DatabaseHosts []HostPattern `json:"databaseHosts,omitempty"`

	// Hosts of message queues that exist elsewhere: queue.example.com. RabbitMQ's operator goes there, with the network of its namespace.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	QueueHosts []HostPattern `json:"queueHosts,omitempty"`
	// Hosts that users may have images fetched from: *.example.com:443. Only * allows an image service to fetch from any host.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DownloadHosts []HostPattern `json:"downloadHosts,omitempty"`
	// Networks of Ceph clusters that images and volumes may be kept in: 10.0.0.0/8 allows every network in it. Only * allows one that names no
	// networks, whose pods reach Ceph's ports anywhere.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	StorageNetworks []NetworkPattern `json:"storageNetworks,omitempty"`
	// NFS servers whose shares volumes and backups may be kept in: nodes mount them, wherever they are.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	NFSServers []HostPattern `json:"nfsServers,omitempty"`
	// Hosts of Vaults that a key manager may keep secrets in: vault.example.com:8200.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	VaultServers []HostPattern `json:"vaultServers,omitempty"`
	// Networks of hypervisors, whose screens consoles may reach, and which may reach what is exposed to other clusters: 10.0.0.0/8 allows
	// every network in it, and * those that a claim leaves open, too.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	HypervisorNetworks []NetworkPattern `json:"hypervisorNetworks,omitempty"`
	// Labels of nodes that pools of hypervisors may be made of, as <key>, or <key>=<value>: a pool takes only nodes with one of these. Who
	// may say what runs on a node as a hypervisor has the node, so that nothing is allowed where no limit says it.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	HypervisorNodes []Pattern `json:"hypervisorNodes,omitempty"`
	// Registries that images of pools of hypervisors may come from, as prefixes: registry.example.com/hypervisors. Those of registries are not
	// among them: who chooses what runs on a node as a hypervisor has the node, so that nothing is allowed where no limit says it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	HypervisorRegistries []Registry `json:"hypervisorRegistries,omitempty"`
	// Agents that pools of hypervisors may have whose every node may read and change what is of other nodes: kvmNodeAgent, which has that
	// right on the nodes that the chart's value hypervisors.agentNodes names. Nothing is allowed where no limit says it.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	HypervisorAgents []Pattern `json:"hypervisorAgents,omitempty"`
	// Nodes that storage may be made of, by labels as <key>, or <key>=<value>: nodes that a claim names are kubernetes.io/hostname=<name>.
	// Who may say what runs on a node as storage has the node, so that nothing is allowed where no limit says it.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	StorageNodes []Pattern `json:"storageNodes,omitempty"`
	// Devices that storage may be made of, as claims write them, without /dev/: nvme*, disk/by-id/nvme-*. A pattern of a claim is allowed by
	// the same text alone, and every device by *. Nothing is allowed where no limit says it.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	StorageDevices []Pattern `json:"storageDevices,omitempty"`
	// Images of Ceph that storage may run in place of the platform's, whole: registry.example.com/ceph/ceph:v19.*. Whoever says what runs
	// there has the node. Nothing is allowed where no limit says it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	StorageImages []Pattern `json:"storageImages,omitempty"`
	// What a claim may cost at most. What is absent here and in every other limit of the namespace has a default.
	// +optional
	Maxima Maxima `json:"maxima,omitempty"`
}

// Maxima bound what one claim costs.
type Maxima struct {
	// Members of each database, queue and cache, and pods of each API. Default: 9.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Worker processes (uwsgi.processes) of each API's pod. Default: 8.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Processes *int32 `json:"processes,omitempty"`
	// Size of all volumes together: 500Gi. Default: 2Ti.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Storage *resource.Quantity `json:"storage,omitempty"`
	// Cores of all pods together, of requests or limits whichever is more. Default: 64.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory of all pods together, of requests or limits whichever is more: 32Gi. Default: 256Gi.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// DefaultMaxima hold where no limit says otherwise. A claim of the largest size fits, with a third to grow: large takes 5 replicas at
// most, 1.7Ti, 43 cores and 183Gi. More than that should not be ordered by mistake.
func DefaultMaxima() Maxima {
	storage, cpu, memory := resource.MustParse("2Ti"), resource.MustParse("64"), resource.MustParse("256Gi")
	return Maxima{Replicas: new(int32(9)), Processes: new(int32(8)), Storage: &storage, CPU: &cpu, Memory: &memory}
}

// Size is a size of a control plane.
// +kubebuilder:validation:Enum=development;small;medium;large
type Size string

// Release is an OpenStack release.
// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
type Release string

// Registry is the beginning of an image's name, or * for all images.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=200
// +kubebuilder:validation:Pattern=`^(\*|[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*)$`
type Registry string

// DomainPattern is a domain that includes what lies below; {namespace} is the claim's namespace. * is every domain.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^(\*|(\{namespace\}\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+)$`
type DomainPattern string

// HostPattern is a host with or without a port. * stands for any run of characters of the host.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=260
// +kubebuilder:validation:Pattern=`^([a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`
type HostPattern string

// NetworkPattern is a range of addresses that includes what lies in it, or * for all.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:Pattern=`^(\*|[0-9a-fA-F.:]+/[0-9]{1,3})$`
// +kubebuilder:validation:XValidation:rule="self == '*' || isCIDR(self)",message="must be a range of addresses, such as 10.0.1.0/24, or *"
type NetworkPattern string

// Pattern is a text in which * stands for any run of characters, and {namespace} for the claim's namespace.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^[!-~]+$`
type Pattern string
