package apis_test

var ovnClusterCases = kindCases{
	base: `{clusterDomain: cluster.local}`,
	cases: map[string]specCase{
		"Three":  {reason: "A majority survives one of them.", spec: `northbound: {replicas: 3}`},
		"Fewer":  {reason: "Members leave one by one.", old: new(`northbound: {replicas: 5}`), spec: `northbound: {replicas: 1}`},
		"Larger": {reason: "Each pod is replaced.", old: new(`southbound: {memory: 1Gi}`), spec: `southbound: {memory: 8Gi}`},
		"Two": {
			reason: "There is no majority without both of them.", spec: `northbound: {replicas: 2}`,
			field: "spec.northbound.replicas", message: "replicas must be odd: a majority has to agree",
		},
		"Seven": {
			reason: "Each write waits for four.", spec: `southbound: {replicas: 7}`,
			field: "spec.southbound.replicas", message: "replicas must be 1, 3 or 5: more members agree more slowly, and lose no less",
		},
		"Smaller": {
			reason: "No volume shrinks.", old: new(`northbound: {storageSize: 10Gi}`), spec: `northbound: {storageSize: 5Gi}`,
			field: "spec.northbound.storageSize", message: "storageSize cannot be changed: volumes never shrink, and those of members do not grow by themselves",
		},
		"Class": {
			reason: "Volumes stay where they are.", old: new(`southbound: {storageClass: slow}`), spec: `southbound: {storageClass: fast}`,
			field: "spec.southbound.storageClass", message: "storageClass cannot be changed: volumes do not move between classes",
		},
		"Balanced": {reason: "Each member has an address.", spec: `southbound: {exposure: {type: LoadBalancer}}`},
		"Ports":    {reason: "Nodes have a name.", spec: `southbound: {exposure: {type: NodePort, nodes: nodes.example.com}}`},
		"PortsAt":  {reason: "Or an address.", spec: `southbound: {exposure: {type: NodePort, nodes: 192.0.2.10}}`},
		"Nowhere": {
			reason: "A port alone is no address.", spec: `southbound: {exposure: {type: NodePort}}`,
			field:   "spec.southbound.exposure.nodes",
			message: "exposure of type NodePort needs nodes: a name or an address at which the nodes are reached, since ports alone are no address",
		},
		"Nodes of a balancer": {
			reason: "They are not asked.", spec: `southbound: {exposure: {type: LoadBalancer, nodes: nodes.example.com}}`,
			field:   "spec.southbound.exposure.nodes",
			message: "nodes is how the nodes are reached for exposure of type NodePort; leave it out",
		},
		"Domain": {
			reason: "Members are known by their names.", old: new(`clusterDomain: cluster.local`), spec: `clusterDomain: example.com`,
			field: "spec.clusterDomain", message: "clusterDomain cannot be changed: members know each other by their names",
		},
	},
}

var raftClusterCases = kindCases{
	base: `{database: OVN_Northbound, statefulSetName: ovn-northbound, domain: ovn-northbound.cloud.svc.cluster.local, port: 6641, clientSecretName: client}`,
	cases: map[string]specCase{
		"Often": {reason: "It may ask more often.", old: new(`{}`), spec: `intervalSeconds: 5`},
		"Database": {
			reason: "It would remember the cluster of another database.", old: new(`{}`), spec: `database: OVN_Southbound`,
			field: "spec", message: "database and statefulSetName cannot be changed: the cluster that is known is theirs",
		},
	},
}
