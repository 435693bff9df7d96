package apis_test

var storageCases = kindCases{
	base: `nodes: [{name: node-1, devices: [{name: nvme0n1}]}]`,
	cases: map[string]specCase{
		"NoDevices": {
			reason:  "Data has to be kept somewhere.",
			spec:    `nodes: null`,
			field:   "spec",
			message: "say where data is kept by exactly one of nodes (nodes and devices by name), deviceSelector (devices by pattern) and external (a Ceph cluster that exists)",
		},
		"NodesAndSelector": {
			reason:  "Two ways to choose devices contradict each other.",
			spec:    `deviceSelector: {all: true}`,
			field:   "spec",
			message: "say where data is kept by exactly one of",
		},
		"SingleCopy": {
			reason:  "A single copy is lost with its disk.",
			spec:    `replicationFactor: 1`,
			field:   "spec",
			message: "replicationFactor 1 loses data with the first disk: use 2 or more, or say allowDataLoss: true",
		},
		"SingleCopyWanted": {
			reason: "Someone said so.",
			spec:   `{replicationFactor: 1, allowDataLoss: true}`,
		},
		"SingleCopyInPool": {
			reason:  "The word is needed at each pool that says 1.",
			spec:    `pools: [{name: vms, replicated: {size: 1}}]`,
			field:   "spec.pools[0].replicated",
			message: "size 1 loses data with the first disk: use 2 or more, or say allowDataLoss: true",
		},
		"SelectorEmpty": {
			reason:  "An empty selector would match nothing or everything.",
			spec:    `{nodes: null, deviceSelector: {}}`,
			field:   "spec.deviceSelector",
			message: "choose devices by exactly one of filter, pathFilter and all: true (every empty device of every node)",
		},
		"PoolOfBothKinds": {
			reason:  "Copies and pieces exclude each other.",
			spec:    `pools: [{name: x, application: rgw, replicated: {size: 3}, erasureCoded: {dataChunks: 2, codingChunks: 1}}]`,
			field:   "spec.pools[0]",
			message: "a pool is either replicated or erasureCoded",
		},
		"MonitorsEven": {
			reason:  "A majority of four is no better than one of three.",
			spec:    `monitors: {count: 4}`,
			field:   "spec.monitors",
			message: "monitors.count must be odd: monitors need a majority",
		},
		"RangesWithoutHostNetwork": {
			reason:  "Pods have no address in them.",
			spec:    `network: {host: false, publicCIDRs: [10.0.0.0/24]}`,
			field:   "spec.network",
			message: "publicCIDRs and clusterCIDRs need host: true: pods have addresses of the cluster's network only",
		},
		"RangeWrong": {
			reason:  "300 is no byte.",
			spec:    `network: {clusterCIDRs: [10.0.300.0/24]}`,
			field:   "spec.network.clusterCIDRs[0]",
			message: "must be a range of addresses, such as 10.0.1.0/24",
		},
		"BlockDevicesErasureCoded": {
			reason:  "Headers of block devices need a replicated pool.",
			spec:    `pools: [{name: volumes, erasureCoded: {dataChunks: 4, codingChunks: 2}}]`,
			field:   "spec.pools[0]",
			message: "a pool of application rbd must be replicated: an erasure-coded pool cannot keep the headers of block devices",
		},
		"PoolConverted": {
			reason:  "A pool keeps its kind.",
			old:     new(`pools: [{name: x, application: rgw}]`),
			spec:    `pools: [{name: x, application: rgw, erasureCoded: {dataChunks: 2, codingChunks: 1}}]`,
			field:   "spec.pools[0]",
			message: "erasureCoded cannot be changed: Ceph cannot convert a pool; make another pool",
		},
		"QuotaEmpty": {
			reason:  "A quota of nothing is a mistake.",
			spec:    `pools: [{name: x, quota: {}}]`,
			field:   "spec.pools[0].quota",
			message: "give maxSize, maxObjects or both",
		},
		"NetworkTurned": {
			reason:  "Clients and virtual machines remember monitors by their addresses.",
			old:     new(`{}`),
			spec:    `network: {host: false}`,
			field:   "spec",
			message: "network.host cannot be changed: clients know the monitors by their addresses; make another claim",
		},
		"EncryptedLater": {
			reason:  "Nobody encrypts what is there.",
			old:     new(`{}`),
			spec:    `osds: {encrypted: true}`,
			field:   "spec",
			message: "osds.encrypted cannot be changed: a device that is in use stays as it is; make another claim",
		},
		"ResourcesLater": {
			reason: "A daemon may get more memory.",
			old:    new(`osds: {encrypted: true}`),
			spec:   `osds: {encrypted: true, resources: {requests: {memory: 8Gi}}}`,
		},
		"ConsumersLater": {
			reason:  "What all share is nobody's own.",
			old:     new(`{}`),
			spec:    `consumers: [{name: a, controlPlaneRef: {namespace: a, name: a}}]`,
			field:   "spec",
			message: "consumers cannot be set or removed as a whole: pools that all share and pools of each are others; make another claim",
		},
		"ConsumerMore": {
			reason: "Another control plane comes.",
			old:    new(`consumers: [{name: a, controlPlaneRef: {namespace: a, name: a}}]`),
			spec:   `consumers: [{name: a, controlPlaneRef: {namespace: a, name: a}}, {name: b, controlPlaneRef: {namespace: a, name: b}, quotas: [{pool: images, maxSize: 1Ti}]}]`,
		},
		"KeystoneRoles": {
			reason: "Who may come is a matter of today.",
			old:    new(`objectStores: [{name: s, keystone: {controlPlaneRef: {namespace: a, name: a}, protocols: [s3, swift]}}]`),
			spec:   `objectStores: [{name: s, keystone: {controlPlaneRef: {namespace: a, name: a}, protocols: [swift, s3], acceptedRoles: [writer]}}]`,
		},
		"KeystoneChanged": {
			reason:  "What projects of a cloud keep is theirs.",
			old:     new(`objectStores: [{name: s, keystone: {controlPlaneRef: {namespace: a, name: a}}}]`),
			spec:    `objectStores: [{name: s, keystone: {controlPlaneRef: {namespace: a, name: b}}}]`,
			field:   "spec.objectStores[0].keystone",
			message: "controlPlaneRef cannot be changed: projects of that cloud have objects; leave keystone out first",
		},
		"ProtocolsChanged": {
			reason:  "The type under which clients find the first cannot be changed.",
			old:     new(`objectStores: [{name: s, keystone: {controlPlaneRef: {namespace: a, name: a}}}]`),
			spec:    `objectStores: [{name: s, keystone: {controlPlaneRef: {namespace: a, name: a}, protocols: [s3]}}]`,
			field:   "spec.objectStores[0].keystone",
			message: "protocols cannot be changed: clients find them in the catalog; leave keystone out first",
		},
		"NoRoles": {
			reason:  "Nobody could come.",
			spec:    `objectStores: [{name: s, keystone: {controlPlaneRef: {namespace: a, name: a}, acceptedRoles: []}}]`,
			field:   "spec.objectStores[0].keystone.acceptedRoles",
			message: "at least 1",
		},
		"PurposeOfFiles": {
			reason:  "Glance keeps no images in a file system.",
			spec:    `pools: [{name: x, application: cephfs, purpose: images}]`,
			field:   "spec.pools[0]",
			message: "purpose is for pools of application rbd: OpenStack keeps nothing in others",
		},
		"Mirrored": {
			reason: "Snapshots of those that somebody chooses, both ways.",
			spec: `{pools: [{name: v, mirroring: {snapshotSchedules: [{interval: 15m}, {interval: 1d, startTime: "02:00:00Z"}]}}], ` +
				`mirroring: {peer: {secretRef: {name: other}}}}`,
		},
		"MirroredNothing": {
			reason:  "No pool is copied.",
			spec:    `mirroring: {}`,
			field:   "spec",
			message: "mirroring says how pools with mirroring are copied: give one of pools mirroring: {}, or remove mirroring",
		},
		"MirroredObjects": {
			reason:  "There are no block devices in it.",
			spec:    `pools: [{name: x, application: rgw, mirroring: {}}]`,
			field:   "spec.pools[0]",
			message: "mirroring is for pools of application rbd: Ceph copies block devices by it",
		},
		"MirroredJournals": {
			reason:  "They know no snapshots.",
			spec:    `pools: [{name: v, mirroring: {mode: pool, snapshotSchedules: [{interval: 1h}]}}]`,
			field:   "spec.pools[0].mirroring",
			message: "snapshotSchedules need mode image: in mode pool Ceph copies by journals alone",
		},
		"MirroringRemoved": {
			reason:  "Rook would leave the other cluster with the pool.",
			old:     new(`{pools: [{name: v, mirroring: {}}], mirroring: {daemons: 2}}`),
			spec:    `pools: [{name: v, mirroring: {}}]`,
			field:   "spec",
			message: "mirroring cannot be removed while a pool is copied: remove mirroring of the pools, too",
		},
		"MirroringEnded": {
			reason: "Rook takes the other cluster out of the pool.",
			old:    new(`{pools: [{name: v, mirroring: {snapshotSchedules: [{interval: 1h}]}}], mirroring: {peer: {secretRef: {name: other}}}}`),
			spec:   `pools: [{name: v}]`,
		},
		"MirrorPeerLater": {
			reason: "Its token is there at last.",
			old:    new(`{pools: [{name: v, mirroring: {}}], mirroring: {daemons: 2}}`),
			spec:   `{pools: [{name: v, mirroring: {}}], mirroring: {peer: {secretRef: {name: other}, direction: rx-only}}}`,
		},
		"MirrorPeerRemoved": {
			reason: "Rook would leave it with the pool.",
			old:    new(`{pools: [{name: v, mirroring: {}}], mirroring: {peer: {secretRef: {name: other}}}}`),
			spec:   `{pools: [{name: v, mirroring: {}}], mirroring: {daemons: 2}}`,
			field:  "spec.mirroring",
			message: "mirroring.peer cannot be removed: Rook takes the other cluster out of a pool only together with the pool's mirroring; " +
				"remove mirroring of the pools",
		},
		"MirrorDirectionChanged": {
			reason: "Rook would not change it.",
			old:    new(`{pools: [{name: v, mirroring: {}}], mirroring: {peer: {secretRef: {name: other}, direction: rx-only}}}`),
			spec:   `{pools: [{name: v, mirroring: {}}], mirroring: {peer: {secretRef: {name: other}}}}`,
			field:  "spec.mirroring.peer",
			message: "peer.direction cannot be changed: Rook leaves a pool's other cluster as it is; remove mirroring of the pools, and then say it " +
				"anew",
		},
		"MirrorSchedulesRemoved": {
			reason:  "Rook would go on with them.",
			old:     new(`pools: [{name: v, mirroring: {snapshotSchedules: [{interval: 1h}]}}]`),
			spec:    `pools: [{name: v, mirroring: {}}]`,
			field:   "spec.pools[0].mirroring",
			message: "snapshotSchedules cannot be removed as a whole: Rook leaves the last ones with the pool; keep one",
		},
		"NFSNothing": {
			reason:  "There is nothing to serve.",
			spec:    `nfs: [{name: n1}]`,
			field:   "spec",
			message: "nfs serves file systems: name one in filesystems, or remove nfs",
		},
		"ClassOfPurpose": {
			reason:  "Users of OpenStack write in it.",
			spec:    `pools: [{name: p, purpose: volumes, storageClass: {}}]`,
			field:   "spec.pools[0]",
			message: "storageClass is for pools of application rbd without purpose: OpenStack's users write in those with one",
		},
		"ClassChanged": {
			reason: "Kubernetes changes nothing of it.",
			old:    new(`pools: [{name: p, storageClass: {}}]`),
			spec:   `pools: [{name: p, storageClass: {reclaimPolicy: Delete}}]`,
			field:  "spec.pools[0].storageClass",
			message: "storageClass.reclaimPolicy cannot be changed: Kubernetes does not change a StorageClass; remove storageClass, have the platform " +
				"team delete it, and say it anew",
		},
		"ExternalWithMonitors": {
			reason: "Nobody may change a Ceph cluster that someone else runs.",
			spec:   `{nodes: null, external: {fsid: 5b1a1b1e-0000-4000-8000-000000000001, monitors: ["[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"], clients: [{service: glance, secretRef: {name: ceph}}]}, monitors: {count: 3}}`,
			field:  "spec",
			message: "with external only pools, monitoring and allowedNamespaces can be given: the rest belongs to whoever runs that Ceph cluster; " +
				"remove cluster, stretched, monitors, managers, network, dashboard, image, osds, objectStores, filesystems, consumers, targetCapacity, " +
				"mirroring, nfs, and how pools are kept",
		},
		"ExternalWithPools": {
			reason: "Pools of a foreign cluster are named to be used.",
			spec:   `{nodes: null, external: {fsid: 5b1a1b1e-0000-4000-8000-000000000001, monitors: ["[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"], clients: [{service: glance, secretRef: {name: ceph}}]}, pools: [{name: images}]}`,
		},
		"ExternalSet": {
			reason:  "Data does not move into another cluster.",
			old:     new(`{}`),
			spec:    `{nodes: null, external: {fsid: 5b1a1b1e-0000-4000-8000-000000000001, monitors: ["[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"], clients: [{service: glance, secretRef: {name: ceph}}]}}`,
			field:   "spec",
			message: "external cannot be set or removed: data does not move; make another claim",
		},
		"ExternalWithQuota": {
			reason:  "The same, of a pool.",
			spec:    `{nodes: null, external: {fsid: 5b1a1b1e-0000-4000-8000-000000000001, monitors: ["[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"], clients: [{service: glance, secretRef: {name: ceph}}]}, pools: [{name: images, quota: {maxSize: 1Ti}}]}`,
			field:   "spec",
			message: "with external only pools, monitoring and allowedNamespaces can be given",
		},
		"ExternalMonitor": {
			reason:  "It would become a line of ceph.conf.",
			spec:    `{nodes: null, external: {fsid: 5b1a1b1e-0000-4000-8000-000000000001, monitors: ["a b"], clients: [{service: glance, secretRef: {name: ceph}}]}}`,
			field:   "spec.external.monitors[0]",
			message: "should match",
		},
		"StretchedSet": {
			reason:  "Stretch mode is for life.",
			old:     new(`replicationFactor: 4`),
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}}`,
			field:   "spec",
			message: "stretched cannot be set or removed: Ceph cannot leave stretch mode; make another claim",
		},
		"StretchedThreeCopies": {
			reason:  "Each zone needs the same number of copies.",
			spec:    `stretched: {zones: [a, b], arbiter: {zone: c}}`,
			field:   "spec",
			message: "stretched needs replicationFactor 4: two copies in each of two zones",
		},
		"StretchedErasureCoded": {
			reason:  "Stretch mode knows replicated pools only.",
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}, objectStores: [{name: s3, dataPool: {erasureCoded: {dataChunks: 2, codingChunks: 1}}}]}`,
			field:   "spec",
			message: "stretched needs pools that are replicated with size 4: Ceph refuses others in stretch mode",
		},
		"StretchedPoolOfTwo": {
			reason:  "The same for a pool of its own size.",
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}, pools: [{name: vms, replicated: {size: 2}}]}`,
			field:   "spec",
			message: "stretched needs pools that are replicated with size 4",
		},
		"StretchedFilesystemOfThree": {
			reason:  "And for a file system.",
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}, filesystems: [{name: fs, dataPool: {replicated: {size: 3}}}]}`,
			field:   "spec",
			message: "stretched needs pools that are replicated with size 4",
		},
		"StretchedSevenMonitors": {
			reason:  "Rook takes 5, or 3 at least.",
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}, monitors: {count: 7}}`,
			field:   "spec",
			message: "stretched needs monitors.count 5 (two in each zone and the arbiter), or 3 at least",
		},
		"ArbiterInDataZone": {
			reason:  "The arbiter must survive the loss of either zone.",
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: b}}}`,
			field:   "spec.stretched",
			message: "arbiter.zone must be a third zone: in one of zones the arbiter would fail along with it",
		},
		"ZonesChanged": {
			reason:  "The data lies in the zones.",
			old:     new(`{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}}`),
			spec:    `{replicationFactor: 4, stretched: {zones: [a, d], arbiter: {zone: c}}}`,
			field:   "spec.stretched",
			message: "zones cannot be changed: the data lies in them",
		},
		"ArbiterMoved": {
			reason:  "Its monitor is there.",
			old:     new(`{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}}`),
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: d}}}`,
			field:   "spec.stretched.arbiter",
			message: "arbiter.zone cannot be changed: a monitor stays in its zone; make another claim",
		},
		"TwoZones": {
			reason: "Two zones, and a third that decides.",
			spec:   `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c}}, monitors: {count: 3}}`,
		},
		"ArbiterNowhere": {
			reason:  "Nobody would decide.",
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {}}}`,
			field:   "spec.stretched.arbiter",
			message: "say where the arbiter runs, in one place: zone is a third zone of the same cluster",
		},
	},
}

// storageUnbuiltCases are about fields that only a definition with everything has.
var storageUnbuiltCases = kindCases{
	base: storageCases.base,
	cases: map[string]specCase{
		"ClusterSet": {
			reason:  "Data does not move.",
			old:     new(`{}`),
			spec:    `cluster: {ref: {name: metal}}`,
			field:   "spec",
			message: "cluster cannot be set or removed: data does not move; delete the claim and claim it elsewhere",
		},
		"Stretched": {
			reason: "Two zones and an arbiter in another cluster.",
			spec:   `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {clusterRef: {name: third}}}, monitors: {count: 5}}`,
		},
		"ArbiterTwice": {
			reason:  "One monitor decides.",
			spec:    `{replicationFactor: 4, stretched: {zones: [a, b], arbiter: {zone: c, clusterRef: {name: third}}}}`,
			field:   "spec.stretched.arbiter",
			message: "say where the arbiter runs, in one place: zone is a third zone of the same cluster",
		},
	},
}
