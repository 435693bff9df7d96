package apis_test

var neutronCases = kindCases{
	base: service + `
queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
ovn: {northbound: "ssl:nb-0:6641,ssl:nb-1:6641", southbound: "ssl:sb-0:6642", issuerRef: {name: ovn-ca, kind: Issuer}}
api: {replicas: 1}
maintenance: {replicas: 1}
periodic: {replicas: 1}`,
	cases: map[string]specCase{
		"Networks": {
			reason: "All of it.",
			spec: `
ml2:
  typeDrivers: [geneve, vlan, flat]
  tenantNetworkTypes: [geneve, vlan]
  extensionDrivers: [port_security, qos, dns]
  physicalNetworks: [{name: physnet1, flat: true, vlanRanges: ["100:199"], mtu: 9000}]
  mtu: 9000
  vniRange: "1:65536"
servicePlugins: [ovn-router, qos]
dnsServers: [10.0.0.53, "fd00::53"]
dnsDomain: machines.example.com
distributedFloatingIPs: true
availabilityZones: [a]
quotas: {networks: 1, subnets: -1, ports: 0}`,
		},
		"NotEncrypted": {
			reason:  "An attacker on the network could create networks.",
			spec:    `ovn: {northbound: "tcp:nb-0:6641"}`,
			field:   "spec.ovn.northbound",
			message: "should match",
		},
		"Comparison": {
			reason: "A comparison without changes is requested.",
			spec:   `ovn: {sync: {request: "2026-05-01 after the restore"}}`,
		},
		"ComparisonOfNothing": {
			reason:  "A request without a text cannot be identified.",
			spec:    `ovn: {sync: {request: ""}}`,
			field:   "spec.ovn.sync.request",
			message: "should be at least 1 chars long",
		},
		"ComparisonThatDeletes": {
			reason:  "There are two modes.",
			spec:    `ovn: {sync: {request: a, mode: Migrate}}`,
			field:   "spec.ovn.sync.mode",
			message: "supported values",
		},
		"MechanismChanged": {
			reason:  "Existing ports are bound by the mechanism.",
			old:     new("{mechanism: OVS, ovn: null, maintenance: null, rpc: {replicas: 1}}"),
			spec:    "mechanism: OVN",
			field:   "spec.mechanism",
			message: "mechanism is immutable: existing ports stay bound to it; restore the previous value",
		},
		"Cards": {
			reason: "Their agents talk to rpc.",
			spec:   "{ml2: {physicalNetworks: [{name: physnet1}], sriov: {prohibitedVNICTypes: [direct-physical]}}, rpc: {replicas: 1}}",
		},
		"CardsAlone": {
			reason:  "The agents require an RPC server.",
			spec:    "ml2: {physicalNetworks: [{name: physnet1}], sriov: {}}",
			field:   "spec.mechanism",
			message: "ovn and maintenance are required with mechanism OVN; rpc is required with mechanism OVS or ml2.sriov",
		},
		"CardsNowhere": {
			reason:  "A card is plugged into a network outside.",
			spec:    "{ml2: {sriov: {}}, rpc: {replicas: 1}}",
			field:   "spec.ml2.physicalNetworks",
			message: "sriov requires physicalNetworks: ports of network cards are connected to them",
		},
		"AgentsOfOVN": {
			reason:  "Without agents, an RPC server is not used.",
			spec:    "rpc: {replicas: 1}",
			field:   "spec.mechanism",
			message: "ovn and maintenance are required with mechanism OVN; rpc is required with mechanism OVS or ml2.sriov",
		},
		"OVNOfAgents": {
			reason:  "With agents, the databases of OVN are not used.",
			spec:    "mechanism: OVS",
			field:   "spec.mechanism",
			message: "ovn and maintenance are required with mechanism OVN; rpc is required with mechanism OVS or ml2.sriov",
		},
		"Borrowed": {
			reason: "The databases may be external.",
			spec:   "ovn: {issuerRef: null, clientSecretRef: {name: a}, networks: [10.20.0.0/24]}",
		},
		"BorrowedAndOwn": {
			reason:  "Which one would be shown?",
			spec:    "ovn: {clientSecretRef: {name: a}, networks: [10.20.0.0/24]}",
			field:   "spec.ovn.issuerRef",
			message: "set issuerRef, or clientSecretRef for external databases",
		},
		"BorrowedNowhere": {
			reason:  "Network policies would block the connections.",
			spec:    "ovn: {issuerRef: null, clientSecretRef: {name: a}}",
			field:   "spec.ovn.networks",
			message: "networks and clientSecretRef must be set together, for external databases",
		},
		"BorrowedRepair": {
			reason:  "Entries of other users would be deleted.",
			spec:    "ovn: {issuerRef: null, clientSecretRef: {name: a}, networks: [10.20.0.0/24], sync: {request: a, mode: Repair}}",
			field:   "spec.ovn.sync.mode",
			message: "sync.mode must be Log for external databases: a repair would delete entries of their other users",
		},
		"BelowNothing": {
			reason:  "-1 is no bound already.",
			spec:    `quotas: {ports: -2}`,
			field:   "spec.quotas.ports",
			message: "should be greater than or equal to -1",
		},
	},
}
