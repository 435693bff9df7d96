package claim

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Size contains the defaults of a claim.
type Size struct {
	// API is the number of pods of each API.
	API          int32
	APIResources *common.Resources
	// Daemons is the number of pods of each consumer of the message queue, and of OVN's relays. Each pod has one process.
	Daemons         int32
	DaemonResources *common.Resources
	// Database is the number of members, MaxScale the number of proxies, 0 for none.
	Database          int32
	DatabaseStorage   string
	DatabaseResources *common.Resources
	Connections       int64
	MaxScale          int32
	ProxyResources    *common.Resources
	// Messaging is the number of members.
	Messaging          int32
	MessagingStorage   string
	MessagingResources *common.Resources
	// Networks is the number of members of each of OVN's databases.
	Networks          int32
	NetworksStorage   string
	NetworksResources *common.Resources
	// Locks is the number of members.
	Locks          int32
	LocksStorage   string
	LocksResources *common.Resources
	// Cache is the number of members, CacheMemory the memory for items of each.
	Cache       int32
	CacheMemory string
	// Companion is the number of pods, one of which is the leader.
	Companion int32
}

// sizes are the defaults of all sizes. One API worker uses about 130 MiB, a Galera member without data 150 MiB, and a RabbitMQ member 70
// MiB before the first queue.
var sizes = map[string]Size{
	controlplanev1.SizeDevelopment: {
		API: 1, APIResources: Resources("100m", "512Mi", "1Gi"),
		Daemons: 1, DaemonResources: Resources("100m", "512Mi", "512Mi"),
		Database: 1, DatabaseStorage: "10Gi", DatabaseResources: Resources("250m", "1Gi", "1Gi"), Connections: 1024,
		MaxScale: 0, ProxyResources: Resources("50m", "128Mi", "512Mi"),
		Messaging: 1, MessagingStorage: "5Gi", MessagingResources: Resources("200m", "1Gi", "1Gi"),
		Networks: 1, NetworksStorage: "5Gi", NetworksResources: Resources("100m", "256Mi", "256Mi"),
		Locks: 1, LocksStorage: "1Gi", LocksResources: Resources("50m", "128Mi", "256Mi"),
		Cache: 1, CacheMemory: "64Mi", Companion: 1,
	},
	controlplanev1.SizeSmall: {
		API: 2, APIResources: Resources("250m", "512Mi", "1Gi"),
		Daemons: 2, DaemonResources: Resources("250m", "512Mi", "512Mi"),
		Database: 3, DatabaseStorage: "20Gi", DatabaseResources: Resources("500m", "2Gi", "2Gi"), Connections: 2048,
		MaxScale: 0, ProxyResources: Resources("100m", "256Mi", "1Gi"),
		Messaging: 3, MessagingStorage: "10Gi", MessagingResources: Resources("500m", "2Gi", "2Gi"),
		Networks: 3, NetworksStorage: "5Gi", NetworksResources: Resources("250m", "512Mi", "512Mi"),
		Locks: 3, LocksStorage: "2Gi", LocksResources: Resources("100m", "256Mi", "512Mi"),
		Cache: 2, CacheMemory: "256Mi", Companion: 2,
	},
	controlplanev1.SizeMedium: {
		API: 3, APIResources: Resources("500m", "1Gi", "2Gi"),
		Daemons: 4, DaemonResources: Resources("350m", "512Mi", "512Mi"),
		Database: 3, DatabaseStorage: "100Gi", DatabaseResources: Resources("2", "8Gi", "8Gi"), Connections: 4096,
		MaxScale: 2, ProxyResources: Resources("250m", "512Mi", "2Gi"),
		Messaging: 3, MessagingStorage: "20Gi", MessagingResources: Resources("1", "4Gi", "4Gi"),
		Networks: 3, NetworksStorage: "10Gi", NetworksResources: Resources("500m", "2Gi", "2Gi"),
		Locks: 3, LocksStorage: "8Gi", LocksResources: Resources("200m", "512Mi", "1Gi"),
		Cache: 3, CacheMemory: "1Gi", Companion: 2,
	},
	controlplanev1.SizeLarge: {
		API: 5, APIResources: Resources("1", "2Gi", "4Gi"),
		Daemons: 8, DaemonResources: Resources("500m", "1Gi", "1Gi"),
		Database: 3, DatabaseStorage: "500Gi", DatabaseResources: Resources("8", "32Gi", "32Gi"), Connections: 10000,
		MaxScale: 3, ProxyResources: Resources("1", "1Gi", "4Gi"),
		Messaging: 3, MessagingStorage: "50Gi", MessagingResources: Resources("4", "16Gi", "16Gi"),
		Networks: 3, NetworksStorage: "20Gi", NetworksResources: Resources("1", "8Gi", "8Gi"),
		Locks: 3, LocksStorage: "16Gi", LocksResources: Resources("500m", "1Gi", "2Gi"),
		Cache: 3, CacheMemory: "4Gi", Companion: 2,
	},
}

// Resources builds the resources of a workload.
var Resources = workload.Resources

// Quantity returns a constant quantity, and panics if it is invalid.
func Quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}
