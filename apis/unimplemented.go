package apis

import (
	"regexp"
	"slices"
)

// unbuilt are the fields that a Go type has and nothing composes yet, by kind; [] stands for the items of a list. Definitions leave them
// out, so that a portal offers nothing that would be refused, and a tool that meets one in a claim can say more than that it is unknown.
// Whoever builds a field takes it out of here.
var unbuilt = map[string][]string{
	"ControlPlaneCluster": {
		"spec.cluster.gardener",
		"spec.cortex",
		"spec.infrastructure.mariadb.backup.pointInTimeRecovery",
		"spec.services.nova.quotas.unifiedLimits",
		"spec.services.nova.scheduler.externalScheduler",
		"status.activePipelines",
	},
	"HypervisorCluster": {
		"spec.agents.haAgent",
		"spec.allowedNamespaces",
		"spec.cluster.gardener",
		"spec.deletionPolicy",
	},
	"Nova": {
		"spec.quotas.unifiedLimits",
	},
	"StorageCluster": {
		"spec.cluster.gardener",
		"spec.prysm",
		"spec.stretched.arbiter.clusterRef",
	},
}

// Unbuilt are the paths of the fields of a kind that are not built yet, sorted.
func Unbuilt(kind string) []string { return slices.Clone(unbuilt[kind]) }

// IsUnimplemented reports whether a field of a kind, as errors name it, is one that is not built yet.
func IsUnimplemented(kind, field string) bool {
	return slices.Contains(unbuilt[kind], index.ReplaceAllLiteralString(field, "[]"))
}

// index is the place of an item in a list.
var index = regexp.MustCompile(`\[\d+\]`)
