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
			message: "controlPlaneRef cannot be changed: the hypervisors' virtual machines belong to that control plane",
		},
		"CellChanged": {
			reason:  "A cell's database knows its virtual machines.",
			old:     new(`{}`),
			spec:    `cell: cell2`,
			field:   "spec",
			message: "cell cannot be changed: virtual machines are recorded in the cell's database",
		},
		"LifecycleOfNobody": {
			reason:  "The operator logs in as somebody.",
			spec:    `lifecycle: {enabled: true}`,
			field:   "spec.lifecycle",
			message: "lifecycle.enabled needs credentialsSecretRef: the hypervisor operator logs in to Keystone as a user of your own, by a password",
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
			message: "ovsAgent.enabled needs image.tag or image.digest: no version of the OVS agent is released",
		},
		"AgentOff": {
			reason: "What is off needs no image.",
			spec:   `agents: {ovsAgent: {enabled: false}, kvmNodeAgent: {enabled: false}}`,
		},
		"StorageSet": {
			reason:  "Disks are on nodes.",
			old:     new(`{}`),
			spec:    `storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}`,
			field:   "spec",
			message: "storage cannot be set or removed: disks of virtual machines do not move; make another pool of hypervisors beside this one",
		},
		"StorageRemoved": {
			reason:  "Disks are in a pool.",
			old:     new(`storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}`),
			spec:    `{}`,
			field:   "spec",
			message: "storage cannot be set or removed",
		},
		"StorageChanged": {
			reason:  "Disks are in another pool.",
			old:     new(`storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}`),
			spec:    `storage: {clusterRef: {namespace: storage, name: ceph}, pool: fast}`,
			field:   "spec.storage",
			message: "a pool cannot be changed",
		},
		"ModelsWithoutCustom": {
			reason:  "Models are read with mode custom only.",
			spec:    `cpu: {mode: host-passthrough, models: [EPYC-Rome]}`,
			field:   "spec.cpu",
			message: "models belongs to mode custom: name at least one model with it and none with another mode",
		},
		"CustomWithoutModels": {
			reason:  "Mode custom is nothing without models, in a slice too.",
			spec:    `slices: [{name: a, nodeSelector: {rack: "1"}, cpu: {mode: custom}}]`,
			field:   "spec.slices[0].cpu",
			message: "models belongs to mode custom",
		},
		"RatioOfDedicated": {
			reason:  "Processors of one virtual machine are not over-committed.",
			spec:    `cpu: {allocationRatio: 4, dedicatedSet: 2-31}`,
			field:   "spec.cpu",
			message: "allocationRatio holds for shared processors only: name them in sharedSet beside dedicatedSet, or leave allocationRatio out",
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
			reason: "Ranges and exclusions are what Nova reads.",
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
			message: "br-int is OVN's own bridge: name another one, such as br-ex",
		},
		"HostLibvirtWithImage": {
			reason:  "There is no container that could have them.",
			spec:    `virtualization: {libvirt: {mode: Host, resources: {requests: {cpu: 100m}}}}`,
			field:   "spec.virtualization.libvirt",
			message: "image and resources belong to mode Managed: with mode Host the node's operating system runs libvirt",
		},
		"VendorWithoutProduct": {
			reason:  "Either alone would match too much.",
			spec:    `pciDevices: [{name: gpu, vendorID: 10de}]`,
			field:   "spec.pciDevices[0]",
			message: "give vendorID and productID together",
		},
		"DeviceUnnamed": {
			reason:  "Nova would match every device.",
			spec:    `pciDevices: [{name: gpu}]`,
			field:   "spec.pciDevices[0]",
			message: "say which devices: give vendorID and productID, or address, or all three",
		},
		"DeviceUncounted": {
			reason:  "Nova would take the first device that there is.",
			spec:    `pciDevices: [{name: gpu, address: "0000:3b:00.0"}]`,
			field:   "spec.pciDevices[0]",
			message: "give resourceClass: Nova finds devices by it where it is not told vendor and product",
		},
		"Devices": {
			reason: "Each way to say which.",
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
			message: "give interface and physicalNetwork together: they say which network card leads to which network",
		},
		"NetworkOfNoCard": {
			reason:  "No agent would know of it, and no port be bound.",
			spec:    `slices: [{name: a, nodeSelector: {rack: "1"}, pciDevices: [{name: a, vendorID: "8086", productID: "1889", physicalNetwork: physnet1}]}]`,
			field:   "spec.slices[0].pciDevices[0]",
			message: "give interface and physicalNetwork together: they say which network card leads to which network",
		},
		"CardOfAnyKind": {
			reason:  "The node's own card would be a virtual machine's.",
			spec:    `pciDevices: [{name: a, interface: ens1f0, physicalNetwork: physnet1}]`,
			field:   "spec.pciDevices[0]",
			message: "say which devices: give vendorID and productID, or address, or all three",
		},
		"CardForFlavors": {
			reason:  "Placement would not count it.",
			spec:    `pciDevices: [{name: a, address: "0000:3b:00.1", interface: ens1f0, physicalNetwork: physnet1, resourceClass: CUSTOM_A}]`,
			field:   "spec.pciDevices[0]",
			message: "leave deviceType, numaPolicy and resourceClass out: they are for flavors, and ports ask for devices of a physicalNetwork",
		},
		"SameZone": {
			reason:  "Nova's own processes are there.",
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
			reason:  "How a libvirt of the node is reached is said on the node.",
			spec:    `virtualization: {libvirt: {mode: Host}, liveMigration: {timeoutAction: ForceComplete}}`,
			field:   "spec.virtualization",
			message: "liveMigration belongs to libvirt.mode Managed: with mode Host the node's operating system says how its libvirt is reached",
		},
		"HostLibvirtEvicts": {
			reason:  "Nobody here knows whether virtual machines move.",
			spec:    `virtualization: {libvirt: {mode: Host}, evictOnCordon: true}`,
			field:   "spec.virtualization",
			message: "evictOnCordon needs libvirt.mode Managed: with mode Host nobody here knows whether virtual machines move",
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
			message: "cluster cannot be set or removed: virtual machines do not move between clusters; delete the claim and claim it elsewhere",
		},
		"ClusterChanged": {
			reason:  "Another name is another cluster.",
			old:     new(`cluster: {ref: {name: metal}}`),
			spec:    `cluster: {ref: {name: west}}`,
			field:   "spec.cluster",
			message: "another cluster cannot be chosen: data does not move; delete the claim and claim it elsewhere",
		},
		"SliceTwice": {
			reason:  "A slice is found by its name.",
			spec:    `slices: [{name: a, nodeSelector: {rack: r1}}, {name: a, nodeSelector: {rack: r2}}]`,
			field:   "spec.slices[1]",
			message: "Duplicate value",
		},
	},
}

// hypervisorUnbuiltCases are about fields that only a definition with everything has.
var hypervisorUnbuiltCases = kindCases{
	base: hypervisorCases.base,
	cases: map[string]specCase{
		"ClusterBothKinds": {
			reason:  "The workloads run in one cluster.",
			spec:    `cluster: {ref: {name: west}, gardener: {region: eu}}`,
			field:   "spec.cluster",
			message: "say which cluster, in one way: a cluster that the platform offers is ref: {name: …}",
		},
		"ClusterRegionChanged": {
			reason:  "Another region is another cluster.",
			old:     new(`cluster: {gardener: {region: eu}}`),
			spec:    `cluster: {gardener: {region: us}}`,
			field:   "spec.cluster.gardener",
			message: "gardener.region cannot be changed: data does not move; delete the claim and claim it elsewhere",
		},
		"ClusterGrows": {
			reason: "A dedicated cluster can be enlarged and brought to a newer Kubernetes.",
			old:    new(`cluster: {gardener: {region: eu, kubernetesVersion: "1.34"}}`),
			spec:   `cluster: {gardener: {region: eu, kubernetesVersion: "1.35", workers: {minimum: 3, maximum: 9}}}`,
		},
		"WorkersReversed": {
			reason:  "A range has a lower and an upper end.",
			spec:    `cluster: {gardener: {region: eu, workers: {minimum: 5, maximum: 3}}}`,
			field:   "spec.cluster.gardener.workers",
			message: "workers.minimum must not exceed workers.maximum",
		},
	},
}
