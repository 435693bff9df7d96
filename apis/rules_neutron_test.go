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
			reason:  "Whoever is in between could make networks.",
			spec:    `ovn: {northbound: "tcp:nb-0:6641"}`,
			field:   "spec.ovn.northbound",
			message: "should match",
		},
		"Comparison": {
			reason: "Somebody asks, and only looks.",
			spec:   `ovn: {sync: {request: "2026-05-01 after the restore"}}`,
		},
		"ComparisonOfNothing": {
			reason:  "Without a text nobody could tell whether it is answered.",
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
			reason:  "Ports stay bound as they are.",
			old:     new("{mechanism: OVS, ovn: null, maintenance: null, rpc: {replicas: 1}}"),
			spec:    "mechanism: OVN",
			field:   "spec.mechanism",
			message: "mechanism cannot be changed: ports stay bound as they are",
		},
		"Cards": {
			reason: "Their agents talk to rpc.",
			spec:   "{ml2: {physicalNetworks: [{name: physnet1}], sriov: {prohibitedVNICTypes: [direct-physical]}}, rpc: {replicas: 1}}",
		},
		"CardsAlone": {
			reason:  "Their agents would talk to nobody.",
			spec:    "ml2: {physicalNetworks: [{name: physnet1}], sriov: {}}",
			field:   "spec.mechanism",
			message: "with mechanism OVN say ovn and maintenance, and with OVS or ml2.sriov rpc",
		},
		"CardsNowhere": {
			reason:  "A card is plugged into a network outside.",
			spec:    "{ml2: {sriov: {}}, rpc: {replicas: 1}}",
			field:   "spec.ml2.physicalNetworks",
			message: "sriov needs physicalNetworks: ports of network cards are plugged into those",
		},
		"AgentsOfOVN": {
			reason:  "There are none that would talk to it.",
			spec:    "rpc: {replicas: 1}",
			field:   "spec.mechanism",
			message: "with mechanism OVN say ovn and maintenance, and with OVS or ml2.sriov rpc",
		},
		"OVNOfAgents": {
			reason:  "Nobody would read it.",
			spec:    "mechanism: OVS",
			field:   "spec.mechanism",
			message: "with mechanism OVN say ovn and maintenance, and with OVS or ml2.sriov rpc",
		},
		"Borrowed": {
			reason: "Somebody else has the databases.",
			spec:   "ovn: {issuerRef: null, clientSecretRef: {name: a}, networks: [10.20.0.0/24]}",
		},
		"BorrowedAndOwn": {
			reason:  "Which one would be shown?",
			spec:    "ovn: {clientSecretRef: {name: a}, networks: [10.20.0.0/24]}",
			field:   "spec.ovn.issuerRef",
			message: "say issuerRef, or clientSecretRef for databases of somebody else",
		},
		"BorrowedNowhere": {
			reason:  "Neutron would reach nobody.",
			spec:    "ovn: {issuerRef: null, clientSecretRef: {name: a}}",
			field:   "spec.ovn.networks",
			message: "networks go with clientSecretRef: they say where the databases of somebody else are",
		},
		"BorrowedRepair": {
			reason:  "What others keep there would be removed.",
			spec:    "ovn: {issuerRef: null, clientSecretRef: {name: a}, networks: [10.20.0.0/24], sync: {request: a, mode: Repair}}",
			field:   "spec.ovn.sync.mode",
			message: "databases of somebody else are not repaired: what others keep in them would be removed; say Log",
		},
		"BelowNothing": {
			reason:  "-1 is no bound already.",
			spec:    `quotas: {ports: -2}`,
			field:   "spec.quotas.ports",
			message: "should be greater than or equal to -1",
		},
	},
}
