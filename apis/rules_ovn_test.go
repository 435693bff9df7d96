package apis_test

var raftClusterCases = kindCases{
	base: `{database: OVN_Northbound, statefulSetName: ovn-northbound, domain: ovn-northbound.cloud.svc.cluster.local, port: 6641, clientSecretName: client}`,
	cases: map[string]specCase{
		"Often": {reason: "The interval can be reduced.", old: new(`{}`), spec: `intervalSeconds: 5`},
		"Database": {
			reason: "It would remember the cluster of another database.", old: new(`{}`), spec: `database: OVN_Southbound`,
			field: "spec", message: "database and statefulSetName are immutable: the recorded cluster ID belongs to them",
		},
	},
}
