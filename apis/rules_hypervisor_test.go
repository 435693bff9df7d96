package apis_test

var hypervisorCases = kindCases{
	base: `controlPlaneRef: {namespace: tenant, name: cloud}`,
	cases: map[string]specCase{
		"NoControlPlane": {
			reason:  "Hypervisors without a control plane are of no use.",
			spec:    `controlPlaneRef: null`,
			field:   "spec.controlPlaneRef",
			message: "Required value",
		},
		"ControlPlaneChanged": {
			reason:  "A hypervisor belongs to the control plane that knows its virtual machines.",
			old:     new(`{}`),
			spec:    `controlPlaneRef: {name: other}`,
			field:   "spec",
			message: "controlPlaneRef is immutable: the servers of the hypervisors belong to that control plane; restore the previous value",
		},
		"CellChanged": {
			reason:  "A cell's database knows its virtual machines.",
			old:     new(`{}`),
			spec:    `cell: cell2`,
			field:   "spec",
			message: "cell is immutable: servers are recorded in the cell's database; restore the previous value",
		},
		"LifecycleOfNobody": {
			reason:  "The operator requires credentials.",
			spec:    `lifecycle: {enabled: true}`,
			field:   "spec.lifecycle",
			message: "lifecycle.enabled requires credentialsSecretRef: the hypervisor operator logs in to Keystone as a user of your cloud, with a password",
		},
		"LifecycleProject": {
			reason:  "Kubernetes would put another variable's value there.",
			spec:    `lifecycle: {project: "$(OS_PASSWORD)"}`,
			field:   "spec.lifecycle.project",
			message: "should match",
		},
		"AgentOfNoVersion": {
			reason:  "There is no version to run in its place.",
			spec:    `agents: {ovsAgent: {enabled: true, image: {repository: registry.example.com/ovs-agent}}}`,
			field:   "spec.agents.ovsAgent",
			message: "ovsAgent.enabled requires image.tag or image.digest: no version of the OVS agent has been released",
		},
		"AgentOff": {
			reason: "A disabled agent requires no image.",
			spec:   `agents: {ovsAgent: {enabled: false}, kvmNodeAgent: {enabled: false}}`,
		},
		"StorageSet": {
			reason:  "Disks are on nodes.",
			old:     new(`{}`),
			spec:    `storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}`,
			field:   "spec",
			message: "storage cannot be added or removed: disks of servers cannot be moved; create another HypervisorCluster",
		},
		"StorageRemoved": {
			reason:  "Disks are in a pool.",
			old:     new(`storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}`),
			spec:    `{}`,
			field:   "spec",
			message: "storage cannot be added or removed",
		},
		"StorageChanged": {
			reason:  "Disks are in another pool.",
			old:     new(`storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}`),
			spec:    `storage: {clusterRef: {namespace: storage, name: ceph}, pool: fast}`,
			field:   "spec.storage",
			message: "pool is immutable",
		},
		"ModelsWithoutCustom": {
			reason:  "Models are read with mode custom only.",
			spec:    `cpu: {mode: host-passthrough, models: [EPYC-Rome]}`,
			field:   "spec.cpu",
			message: "models is required with mode custom and cannot be set with another mode",
		},
		"CustomWithoutModels": {
			reason:  "Mode custom is nothing without models, in a slice too.",
			spec:    `slices: [{name: a, nodeSelector: {rack: "1"}, cpu: {mode: custom}}]`,
			field:   "spec.slices[0].cpu",
			message: "models is required with mode custom",
		},
		"RatioOfDedicated": {
			reason:  "Processors of one virtual machine are not over-committed.",
			spec:    `cpu: {allocationRatio: 4, dedicatedSet: 2-31}`,
			field:   "spec.cpu",
			message: "allocationRatio applies to shared processors only; set sharedSet as well as dedicatedSet, or remove allocationRatio",
		},
		"RatioTooLarge": {
			reason:  "A number as well as a text is checked.",
			spec:    `cpu: {allocationRatio: 500}`,
			field:   "spec.cpu.allocationRatio",
			message: "must be more than 0 and at most 128",
		},
		"RatioZero": {
			reason:  "Nothing could be placed.",
			spec:    `memory: {allocationRatio: "0.0"}`,
			field:   "spec.memory.allocationRatio",
			message: "must be more than 0 and at most 128",
		},
		"CPUSets": {
			reason: "Nova accepts ranges and exclusions.",
			spec:   `cpu: {allocationRatio: "1.5", dedicatedSet: "4-31,^16,40", sharedSet: "2,3"}`,
		},
		"CPUSetMisspelt": {
			reason:  "A range has two ends.",
			spec:    `cpu: {sharedSet: "2-"}`,
			field:   "spec.cpu.sharedSet",
			message: "should match",
		},
		"ReservedTiny": {
			reason:  "Units are easily forgotten.",
			spec:    `memory: {reserved: 16}`,
			field:   "spec.memory.reserved",
			message: "must be at least 1Mi; add the unit: 512Mi, not 512 or 512m",
		},
		"IntegrationBridge": {
			reason:  "br-int carries every port.",
			spec:    `networks: {bridgeMappings: [{physicalNetwork: ext, bridge: br-int}]}`,
			field:   "spec.networks.bridgeMappings[0]",
			message: "br-int is the integration bridge of OVN; choose another name, such as br-ex",
		},
		"HostLibvirtWithImage": {
			reason:  "There is no container that could have them.",
			spec:    `virtualization: {libvirt: {mode: Host, resources: {requests: {cpu: 100m}}}}`,
			field:   "spec.virtualization.libvirt",
			message: "image and resources require mode Managed: with mode Host, libvirt is part of the node's operating system",
		},
		"VendorWithoutProduct": {
			reason:  "Either alone would match too much.",
			spec:    `pciDevices: [{name: gpu, vendorID: 10de}]`,
			field:   "spec.pciDevices[0]",
			message: "vendorID and productID must be set together",
		},
		"DeviceUnnamed": {
			reason:  "Nova would match every device.",
			spec:    `pciDevices: [{name: gpu}]`,
			field:   "spec.pciDevices[0]",
			message: "set vendorID and productID, or address, or all three",
		},
		"DeviceUncounted": {
			reason:  "Nova would take the first device that there is.",
			spec:    `pciDevices: [{name: gpu, address: "0000:3b:00.0"}]`,
			field:   "spec.pciDevices[0]",
			message: "resourceClass is required when vendorID and productID are not set",
		},
		"Devices": {
			reason: "All selections of devices are accepted.",
			spec: `pciDevices: [{name: a, vendorID: 10de, productID: 20b5}, {name: b, address: "0000:3b:*.*", resourceClass: CUSTOM_B}, ` +
				`{name: c, vendorID: "8086", productID: "1572", address: "*:*:00.1", deviceType: type-VF, numaPolicy: required}]`,
		},
		"Cards": {
			reason: "Virtual functions of a network card, and a whole one.",
			spec: `pciDevices: [{name: a, vendorID: "8086", productID: "1889", interface: ens1f0, physicalNetwork: physnet1}, ` +
				`{name: b, address: "0000:3b:00.1", interface: ens1f1, physicalNetwork: physnet1}]`,
		},
		"CardOfNoNetwork": {
			reason:  "No port would get it.",
			spec:    `pciDevices: [{name: a, vendorID: "8086", productID: "1889", interface: ens1f0}]`,
			field:   "spec.pciDevices[0]",
			message: "interface and physicalNetwork must be set together",
		},
		"NetworkOfNoCard": {
			reason:  "The agent would not manage the card, and no port would be bound.",
			spec:    `slices: [{name: a, nodeSelector: {rack: "1"}, pciDevices: [{name: a, vendorID: "8086", productID: "1889", physicalNetwork: physnet1}]}]`,
			field:   "spec.slices[0].pciDevices[0]",
			message: "interface and physicalNetwork must be set together",
		},
		"CardOfAnyKind": {
			reason:  "The node's own card would be a virtual machine's.",
			spec:    `pciDevices: [{name: a, interface: ens1f0, physicalNetwork: physnet1}]`,
			field:   "spec.pciDevices[0]",
			message: "set vendorID and productID, or address, or all three",
		},
		"CardForFlavors": {
			reason:  "Placement would not count it.",
			spec:    `pciDevices: [{name: a, address: "0000:3b:00.1", interface: ens1f0, physicalNetwork: physnet1, resourceClass: CUSTOM_A}]`,
			field:   "spec.pciDevices[0]",
			message: "deviceType, numaPolicy and resourceClass cannot be set together with physicalNetwork: they apply to devices that flavors request",
		},
		"SameZone": {
			reason:  "The zone is reserved for Nova's own processes.",
			spec:    `slices: [{name: a, nodeSelector: {rack: "1"}, availabilityZone: internal}]`,
			field:   "spec.slices[0].availabilityZone",
			message: "internal is the zone of Nova's own processes; choose another name",
		},
		"Shapes": {
			reason: "All that nodes offer, of a pool and of a slice.",
			spec: "availabilityZone: north-1\naggregates: [ssd]\ntraits: [CUSTOM_A]\nhugePages: [{size: 2Mi, count: 512}]\n" +
				`slices: [{name: a, nodeSelector: {rack: "1"}, hugePages: [{size: 1Gi, count: 4}, {size: 2Mi, count: 1}], aggregates: [a.b-c_d]}]`,
		},
		"HugePageOdd": {
			reason:  "The kernel has no such pages.",
			spec:    `hugePages: [{size: 16Mi, count: 1}]`,
			field:   "spec.hugePages[0].size",
			message: "Unsupported value",
		},
		"TraitStandard": {
			reason:  "Nova finds out the others.",
			spec:    `traits: [HW_CPU_X86_AVX2]`,
			field:   "spec.traits[0]",
			message: "should match",
		},
		"HostLibvirtMigrates": {
			reason:  "The connection to a libvirt of the node is configured on the node.",
			spec:    `virtualization: {libvirt: {mode: Host}, liveMigration: {timeoutAction: ForceComplete}}`,
			field:   "spec.virtualization",
			message: "liveMigration requires libvirt.mode Managed; with mode Host, configure the libvirt of the node",
		},
		"HostLibvirtEvicts": {
			reason:  "It is unknown whether virtual machines can be live-migrated.",
			spec:    `virtualization: {libvirt: {mode: Host}, evictOnCordon: true}`,
			field:   "spec.virtualization",
			message: "evictOnCordon requires libvirt.mode Managed; with mode Host it is unknown whether servers can be live-migrated",
		},
		"MigrationBounds": {
			reason: "Every bound at once.",
			spec: `virtualization: {liveMigration: {bandwidthPerMigration: 125Mi, completionTimeoutPerGiB: 60, timeoutAction: Abort, ` +
				`maxDowntimeMilliseconds: 1000, parallelOutboundMigrationsPerNode: 2, allowAutoConverge: false, allowPostCopy: true}}`,
		},
		"MigrationBandwidthTiny": {
			reason:  "Units are easily forgotten.",
			spec:    `virtualization: {liveMigration: {bandwidthPerMigration: 125}}`,
			field:   "spec.virtualization.liveMigration.bandwidthPerMigration",
			message: "must be at least 1Mi",
		},
		"ClusterSet": {
			reason:  "Virtual machines do not move between clusters.",
			old:     new(`{}`),
			spec:    `cluster: {ref: {name: metal}}`,
			field:   "spec",
			message: "cluster cannot be added or removed: servers cannot be moved between clusters; delete the claim and create it again",
		},
		"ClusterChanged": {
			reason:  "Another name is another cluster.",
			old:     new(`cluster: {ref: {name: metal}}`),
			spec:    `cluster: {ref: {name: west}}`,
			field:   "spec.cluster",
			message: "cluster is immutable: data cannot be moved; delete the claim and create it with the other cluster",
		},
		"SliceTwice": {
			reason:  "A slice is found by its name.",
			spec:    `slices: [{name: a, nodeSelector: {rack: r1}}, {name: a, nodeSelector: {rack: r2}}]`,
			field:   "spec.slices[1]",
			message: "Duplicate value",
		},
	},
}
