package controlplane

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// size contains the defaults of a claim.
type size struct {
	// api is the number of pods of each API.
	api          int32
	apiResources *common.Resources
	// daemons is the number of pods of each consumer of the message queue. Each pod has one process.
	daemons         int32
	daemonResources *common.Resources
	// database is the number of members; maxScale the number of proxies, 0 for none.
	database          int32
	databaseStorage   string
	databaseResources *common.Resources
	connections       int64
	maxScale          int32
	proxyResources    *common.Resources
	// messaging is the number of members.
	messaging          int32
	messagingStorage   string
	messagingResources *common.Resources
	// networks is the number of members of each of OVN's databases.
	networks          int32
	networksStorage   string
	networksResources *common.Resources
	// locks is the number of members.
	locks          int32
	locksStorage   string
	locksResources *common.Resources
	// cache is the number of members, cacheMemory the memory for items of each.
	cache       int32
	cacheMemory string
	// companion is the number of pods, one of which is the leader.
	companion int32
}

// sizes are the defaults of all sizes. One API worker uses about 130 MiB, a Galera member without data 150 MiB, and a RabbitMQ member 70
// MiB before the first queue.
var sizes = map[string]size{
	controlplanev1.SizeDevelopment: {
		api: 1, apiResources: resources("100m", "512Mi", "1Gi"),
		daemons: 1, daemonResources: resources("100m", "512Mi", "512Mi"),
		database: 1, databaseStorage: "10Gi", databaseResources: resources("250m", "1Gi", "1Gi"), connections: 1024,
		maxScale: 0, proxyResources: resources("50m", "128Mi", "512Mi"),
		messaging: 1, messagingStorage: "5Gi", messagingResources: resources("200m", "1Gi", "1Gi"),
		networks: 1, networksStorage: "5Gi", networksResources: resources("100m", "256Mi", "256Mi"),
		locks: 1, locksStorage: "1Gi", locksResources: resources("50m", "128Mi", "256Mi"),
		cache: 1, cacheMemory: "64Mi", companion: 1,
	},
	controlplanev1.SizeSmall: {
		api: 2, apiResources: resources("250m", "512Mi", "1Gi"),
		daemons: 2, daemonResources: resources("250m", "512Mi", "512Mi"),
		database: 3, databaseStorage: "20Gi", databaseResources: resources("500m", "2Gi", "2Gi"), connections: 2048,
		maxScale: 0, proxyResources: resources("100m", "256Mi", "1Gi"),
		messaging: 3, messagingStorage: "10Gi", messagingResources: resources("500m", "2Gi", "2Gi"),
		networks: 3, networksStorage: "5Gi", networksResources: resources("250m", "512Mi", "512Mi"),
		locks: 3, locksStorage: "2Gi", locksResources: resources("100m", "256Mi", "512Mi"),
		cache: 2, cacheMemory: "256Mi", companion: 2,
	},
	controlplanev1.SizeMedium: {
		api: 3, apiResources: resources("500m", "1Gi", "2Gi"),
		daemons: 4, daemonResources: resources("350m", "512Mi", "512Mi"),
		database: 3, databaseStorage: "100Gi", databaseResources: resources("2", "8Gi", "8Gi"), connections: 4096,
		maxScale: 2, proxyResources: resources("250m", "512Mi", "2Gi"),
		messaging: 3, messagingStorage: "20Gi", messagingResources: resources("1", "4Gi", "4Gi"),
		networks: 3, networksStorage: "10Gi", networksResources: resources("500m", "2Gi", "2Gi"),
		locks: 3, locksStorage: "8Gi", locksResources: resources("200m", "512Mi", "1Gi"),
		cache: 3, cacheMemory: "1Gi", companion: 2,
	},
	controlplanev1.SizeLarge: {
		api: 5, apiResources: resources("1", "2Gi", "4Gi"),
		daemons: 8, daemonResources: resources("500m", "1Gi", "1Gi"),
		database: 3, databaseStorage: "500Gi", databaseResources: resources("8", "32Gi", "32Gi"), connections: 10000,
		maxScale: 3, proxyResources: resources("1", "1Gi", "4Gi"),
		messaging: 3, messagingStorage: "50Gi", messagingResources: resources("4", "16Gi", "16Gi"),
		networks: 3, networksStorage: "20Gi", networksResources: resources("1", "8Gi", "8Gi"),
		locks: 3, locksStorage: "16Gi", locksResources: resources("500m", "1Gi", "2Gi"),
		cache: 3, cacheMemory: "4Gi", companion: 2,
	},
}

// resources builds the resources of a workload.
var resources = workload.Resources

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}
