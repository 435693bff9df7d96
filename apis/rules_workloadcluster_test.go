package apis_test

var workloadClusterCases = kindCases{
	base: `{source: {existing: {kubeconfigSecretRef: {namespace: crossplane-system, name: west}}}, roles: [storage]}`,
	cases: map[string]specCase{
		"Everything": {
			reason: "All fields can be set.",
			spec: `source: {existing: {kubeconfigSecretRef: {key: config}}}
roles: [controlPlane, hypervisor, storage]
allowedNamespaces: ["*", tenant-a]
ipFamily: IPv6`,
		},
		"Changed": {reason: "A cluster can have a new address, and other roles.", old: new(`{roles: [hypervisor]}`), spec: `source: {existing: {kubeconfigSecretRef: {name: new}}}`},
		"NoSource": {
			reason: "Nothing else than an existing cluster is implemented.", spec: `source: {existing: null}`,
			field: "spec.source", message: "existing is required: reference a Secret with a kubeconfig of the cluster",
		},
		"NoRole": {reason: "Nothing could be checked.", spec: `roles: []`, field: "spec.roles", message: "should have at least 1 items"},
		"Role":   {reason: "There is no such role.", spec: `roles: [arbiter]`, field: "spec.roles[0]", message: "Unsupported value"},
		"Twice":  {reason: "A role is a part.", spec: `roles: [storage, storage]`, field: "spec.roles[1]", message: "Duplicate value"},
		"Gardener": {
			reason: "A field for Shoots is not implemented.", spec: `source: {gardener: {}}`, field: "spec.source.gardener", message: "unknown field",
		},
	},
}
