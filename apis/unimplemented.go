package apis

import (
	"regexp"
	"slices"
)

// unimplemented lists, by kind, the fields that a Go type has and nothing composes yet; [] stands for the items of a list. Definitions
// omit them, so that a portal does not offer a field that would be rejected, and a tool can report such a field in a claim as not
// implemented instead of unknown. Remove a field from the list when you implement it.
var unimplemented = map[string][]string{
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

// Unimplemented returns the sorted paths of the fields of a kind that are not implemented yet.
func Unimplemented(kind string) []string { return slices.Clone(unimplemented[kind]) }

// IsUnimplemented reports whether a field of a kind, in the form that errors use, is not implemented yet.
func IsUnimplemented(kind, field string) bool {
	return slices.Contains(unimplemented[kind], index.ReplaceAllLiteralString(field, "[]"))
}

// index matches the index of an item in a list.
var index = regexp.MustCompile(`\[\d+\]`)
