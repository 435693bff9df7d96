package apis_test

var ovnClusterCases = kindCases{
	base: `{clusterDomain: cluster.local}`,
	cases: map[string]specCase{
		"Three":  {reason: "A majority survives one of them.", spec: `northbound: {replicas: 3}`},
		"Fewer":  {reason: "Members leave one by one.", old: new(`northbound: {replicas: 5}`), spec: `northbound: {replicas: 1}`},
		"Larger": {reason: "Each pod is replaced.", old: new(`southbound: {memory: 1Gi}`), spec: `southbound: {memory: 8Gi}`},
		"Two": {
			reason: "There is no majority without both of them.", spec: `northbound: {replicas: 2}`,
			field: "spec.northbound.replicas", message: "replicas must be odd: a majority must agree",
		},
		"Seven": {
			reason: "Each write waits for four.", spec: `southbound: {replicas: 7}`,
			field: "spec.southbound.replicas", message: "replicas must be 1, 3 or 5: more members slow down each write without a benefit",
		},
		"Smaller": {
			reason: "No volume shrinks.", old: new(`northbound: {storageSize: 10Gi}`), spec: `northbound: {storageSize: 5Gi}`,
			field: "spec.northbound.storageSize", message: "storageSize is immutable: volumes of database members are not resized; restore the previous value",
		},
		"Class": {
			reason: "Volumes stay where they are.", old: new(`southbound: {storageClass: slow}`), spec: `southbound: {storageClass: fast}`,
			field: "spec.southbound.storageClass", message: "storageClass is immutable: data cannot be moved between storage classes; restore the previous value",
		},
		"Balanced": {reason: "Each member has an address.", spec: `southbound: {exposure: {type: LoadBalancer}}`},
		"Ports":    {reason: "Nodes have a name.", spec: `southbound: {exposure: {type: NodePort, nodes: nodes.example.com}}`},
		"PortsAt":  {reason: "Or an address.", spec: `southbound: {exposure: {type: NodePort, nodes: 192.0.2.10}}`},
		"Nowhere": {
			reason: "A port alone is no address.", spec: `southbound: {exposure: {type: NodePort}}`,
			field:   "spec.southbound.exposure.nodes",
			message: "exposure of type NodePort requires nodes: a name or an address of the nodes",
		},
		"Nodes of a balancer": {
			reason: "A load balancer does not use the addresses of nodes.", spec: `southbound: {exposure: {type: LoadBalancer, nodes: nodes.example.com}}`,
			field:   "spec.southbound.exposure.nodes",
			message: "nodes requires exposure type NodePort; remove nodes or change the type",
		},
		"Domain": {
			reason: "Members connect to each other by their names.", old: new(`clusterDomain: cluster.local`), spec: `clusterDomain: example.com`,
			field: "spec.clusterDomain", message: "clusterDomain is immutable: members connect to each other by their names; restore the previous value",
		},
	},
}

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
