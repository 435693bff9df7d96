package preview

// unimplemented contains, by kind of a claim, the fields that CobaltCore's designs name and no function implements (docs/seeds.md), with
// the reason and the remedy. The definitions do not have them.
var unimplemented = map[string]map[string]string{
	"ControlPlaneCluster": {
		"spec.cluster.gardener": dedicated,
		"spec.cortex":           cortex,
		"spec.services.cortex":  cortex,
		"spec.infrastructure.mariadb.backup.pointInTimeRecovery": "the operator restores a point in time only with replication, which this " +
			"project does not use; remove it, and schedule backups more often",
		"spec.services.nova.quotas.unifiedLimits": "Nova stores the limits of projects; remove it and set the other quotas",
		"spec.services.nova.scheduler.externalScheduler": "no released version of Nova calls an external scheduler; remove it, or set the " +
			"options of a patched image in config, with allowUnknown: true",
	},
	"HypervisorCluster": {
		"spec.agents.haAgent":    "neither the HA agent nor its service is available; remove it, and evacuate lost nodes manually",
		"spec.allowedNamespaces": "only the control plane in controlPlaneRef uses the pool; remove it",
		"spec.cluster.gardener":  dedicated,
		"spec.deletionPolicy":    "data of deleted claims stays on the nodes; remove it, and delete the data on the nodes manually",
	},
	"StorageCluster": {
		"spec.cluster.gardener": dedicated,
		"spec.prysm":            "its pods require more rights than the platform grants; remove it, and set monitoring for metrics of Ceph",
		"spec.stretched.arbiter.clusterRef": "in stretch mode, Rook ignores monitors in other Kubernetes clusters; set arbiter.zone to a " +
			"third zone of the same cluster",
	},
}

// Reasons and remedies of fields of several kinds or paths.
const (
	dedicated = "no function creates dedicated clusters; set cluster.ref to a cluster that the platform provides, or remove cluster"
	cortex    = "no function composes Cortex or its PostgreSQL database; remove it"
)
