package apis_test

// serviceCheckCases are the cases of checks of a running service.
var serviceCheckCases = kindCases{
	base: `{cloudCredentialsRef: {secretName: clouds, cloudName: cloud}, service: compute}`,
	cases: map[string]specCase{
		"Nova": {
			reason: "It has processes, and hypervisors.",
			spec:   `{processes: [{binary: nova-conductor, statefulSetName: nova-conductor}], nodes: [{namespace: pool, daemonSet: nova-compute}]}`,
		},
		"Cinder": {
			reason: "It has processes, and backends.",
			spec: `{service: block-storage, processes: [{binary: cinder-volume, statefulSetName: cinder-volume-b}],
				backends: [{name: b}, {name: c, looksEverySeconds: 600}]}`,
		},
		"BackendsOfNova": {
			reason: "Nova has no backends.", spec: `{backends: [{name: b}]}`, field: "spec.backends", message: "only Cinder has backends",
		},
		"NodesOfCinder": {
			reason: "The same.", spec: `{service: block-storage, nodes: [{namespace: pool, daemonSet: nova-compute}]}`,
			field: "spec.nodes", message: "only Nova has hypervisors",
		},
		"AnotherService": {
			reason: "Other services have no list of processes.", spec: `{service: image}`,
			field: "spec.service", message: `Unsupported value: "image"`,
		},
		"BackendTwice": {
			reason: "Each backend has one state.", spec: `{service: block-storage, backends: [{name: b}, {name: b}]}`,
			field: "spec.backends[1]", message: "Duplicate value",
		},
	},
}
