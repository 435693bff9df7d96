package apis_test

import "strings"

// externalKeystone returns a spec with an external Keystone, with further fields of the Keystone and of the claim, and the required
// region.
func externalKeystone(keystone, more string) string {
	return "global: {region: eu-de-2}\nservices: {keystone: {external: {authURL: 'https://identity.example.com/v3', user: cloud-admin, " +
		"caSecretRef: {name: corporate, key: ca.crt}, passwordSecretRef: {name: corporate, key: password}}" + keystone + "}}\n" + more
}

// externalDatabase returns a spec with an external database and further fields.
func externalDatabase(more string) string {
	return "infrastructure: {mariadb: {external: {host: db.example.com, user: cloud-admin, secretRef: {name: corporate}}" + more + "}}"
}

const onePodStore = `stores: [{name: main, file: {storageSize: 100Gi, accessMode: ReadWriteOnce}}]`

var controlPlaneCases = kindCases{
	base: `openStackRelease: "2025.2"`,
	cases: map[string]specCase{
		"Tests": {
			reason: "A schedule and a selection of tests are optional; the permission is required.",
			spec:   `tempest: {enabled: true, allowAdministration: true, tests: {services: [identity, image], concurrency: 4, includeRegex: "^tempest\\.api", excludeRegex: slow}}`,
		},
		"TestsNotAllowed": {
			reason:  "An administrator requires an explicit permission.",
			spec:    `tempest: {enabled: true}`,
			field:   "spec.tempest.allowAdministration",
			message: "Tempest requires an administrator account; set allowAdministration: true or disable Tempest",
		},
		"TestsOff": {
			reason: "Disabled tests require no permission.",
			spec:   `tempest: {enabled: false, schedule: "0 2 * * *"}`,
		},
		"ReleaseUnknown": {
			reason:  "Only releases of the table are accepted.",
			spec:    `openStackRelease: "2024.2"`,
			field:   "spec.openStackRelease",
			message: `supported values: "2025.1", "2025.2", "2026.1", "2026.2"`,
		},
		"ReleaseUnquoted": {
			reason:  "2025.2 without quotes is a number.",
			spec:    `openStackRelease: 2025.2`,
			field:   "spec.openStackRelease",
			message: "must be of type string",
		},
		"UnknownField": {
			reason:  "A misspelt field is refused, not dropped.",
			spec:    `infrastructure: {mariadb: {replica: 3}}`,
			field:   "spec.infrastructure.mariadb.replica",
			message: "unknown field",
		},
		"SizeChanges": {
			reason: "A control plane can grow.",
			old:    new(`size: small`),
			spec:   `size: large`,
		},
		"ReplicasOutOfRange": {
			reason:  "Numbers have bounds.",
			spec:    `services: {keystone: {replicas: 33}}`,
			field:   "spec.services.keystone.replicas",
			message: "should be less than or equal to 32",
		},
		"Seed": {
			reason: "The example of CobaltCore's control plane, without the platform's fields and Cortex.",
			spec: `
infrastructure:
  mariadb: {replicas: 3, storageSize: 100Gi, storageClass: ceph-rbd}
  rabbitmq: {replicas: 3, storageSize: 20Gi}
  valkey: {replicas: 3, sentinel: {enabled: true}}
  memcached: {replicas: 3, memory: 1Gi}
services:
  keystone: {enabled: true, replicas: 3}
  glance: {enabled: true, replicas: 2, stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}]}
  placement: {enabled: true, replicas: 2}
  nova: {enabled: true, api: {replicas: 3}, scheduler: {replicas: 2}, conductor: {replicas: 2}, cells: [{name: cell1}]}
  neutron: {enabled: true, api: {replicas: 3}, ml2: {typeDrivers: [geneve, vlan, flat], tenantNetworkTypes: [geneve], extensionDrivers: [port_security]}}
  cinder:
    enabled: true
    api: {replicas: 2}
    scheduler: {replicas: 2}
    backends: [{name: ceph-rbd, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: volumes}}]
    defaultVolumeType: ceph-rbd
tempest: {enabled: false, schedule: "0 2 * * *", tests: {services: [compute], concurrency: 4, includeRegex: "tempest\\.(api|scenario)"}}
korc: {enabled: true, bootstrapResources: [domains, projects]}
global: {region: RegionOne, tls: {enabled: true, issuerRef: {name: letsencrypt-prod, kind: ClusterIssuer}}, monitoring: {enabled: true}}`,
		},
		"Cells": {
			reason: "Each cell may have its own settings.",
			spec: `
services:
  nova:
    enabled: true
    metadata: {perCell: true, replicas: 2}
    consoles: {graphical: SPICE, serial: true}
    quotas: {instances: -1, cores: 100, memoryMiB: 65536}
    cells:
    - name: cell1
      consoles: {hostname: vnc.example.com, serialHostname: serial.example.com}
    - name: cell2
      disabled: true
      conductor: {replicas: 4, cpu: 2, memory: 1Gi}
      infrastructure: {mariadb: {replicas: 3, storageSize: 50Gi}, rabbitmq: {replicas: 3, memory: 2Gi}}`,
		},
		"Networks": {
			reason: "All of it.",
			spec: `
services:
  neutron:
    ml2:
      typeDrivers: [geneve, vlan, flat]
      tenantNetworkTypes: [geneve, vlan]
      physicalNetworks: [{name: physnet1, flat: true, vlanRanges: ["100:199", "300:399"], mtu: 9000}]
      mtu: 9000
      vniRange: "1:65536"
    dnsServers: [10.0.0.53, "fd00::53"]
    servicePlugins: [ovn-router, qos]
    ovn:
      northbound: {replicas: 3, storageSize: 10Gi, storageClass: local-path, memory: 512Mi, cpu: 250m}
      southbound: {replicas: 3, exposure: {type: LoadBalancer, networks: [10.0.0.0/8]}}
      northd: {replicas: 2}
      relay: {replicas: 3}
      ovnImage: {tag: 24.03.4}
infrastructure: {rabbitmq: {exposure: {type: NodePort, nodes: nodes.example.com}}}`,
		},
		"ProcessCPUs": {
			reason: "Whole cores need no quotes.",
			spec:   `services: {heat: {api: {cpu: 2, memory: 1Gi}, engine: {cpu: 500m}, cfn: {cpu: "0.25", hostname: cfn.example.com}}}`,
		},
		"ProcessNoCPU": {
			reason:  "No process runs without a processor.",
			spec:    `services: {heat: {api: {cpu: 0}}}`,
			field:   "spec.services.heat.api.cpu",
			message: "must be more than 0 cores, such as 500m or 2",
		},
		"ProcessCPUUnit": {
			reason:  "Mi is a unit of bytes.",
			spec:    `services: {heat: {api: {cpu: 500Mi}}}`,
			field:   "spec.services.heat.api.cpu",
			message: "must be more than 0 cores, such as 500m or 2",
		},
		"ProcessMemoryWithoutUnit": {
			reason:  "512 bytes are never meant.",
			spec:    `services: {heat: {api: {memory: "512"}}}`,
			field:   "spec.services.heat.api.memory",
			message: "should match",
		},
		"HypervisorOfNoNetwork": {
			reason:  "There is no such network.",
			spec:    `services: {nova: {cells: [{name: cell1, hypervisorNetworks: [10.0.300.0/8]}]}}`,
			field:   "spec.services.nova.cells[0].hypervisorNetworks[0]",
			message: "must be a range of addresses, such as 10.0.1.0/24",
		},
		"VNCRequired": {
			reason: "VNC is the default of graphical consoles.",
			spec:   `services: {nova: {consoles: {serial: true, vnc: {tls: Required}}}}`,
		},
		"VNCOfSPICE": {
			reason:  "Nova's proxy for SPICE has no TLS to hypervisors.",
			spec:    `services: {nova: {consoles: {graphical: SPICE, vnc: {tls: Required}}}}`,
			field:   "spec.services.nova.consoles.vnc",
			message: "vnc requires graphical: VNC; set it, or remove vnc",
		},
		"CellZero": {
			reason:  "The name is used by Nova.",
			spec:    `services: {nova: {cells: [{name: cell0}]}}`,
			field:   "spec.services.nova.cells[0].name",
			message: "cell0 and api are reserved, because the database of a cell is named nova_<cell>; choose another name",
		},
		"CellAPI": {
			reason:  "Its database would be the database of Nova's API.",
			spec:    `services: {nova: {cells: [{name: api}]}}`,
			field:   "spec.services.nova.cells[0].name",
			message: "cell0 and api are reserved, because the database of a cell is named nova_<cell>; choose another name",
		},
		"CellTakenBack": {
			reason: "CEL allows the removal of a cell that was never composed; the function rejects the removal of others.",
			old:    new(`services: {nova: {enabled: true, cells: [{name: cell1}, {name: cell2, infrastructure: {mariadb: {}, rabbitmq: {}}}]}}`),
			spec:   `services: {nova: {enabled: true, cells: [{name: cell1}]}}`,
		},
		"CellServersTakenBack": {
			reason: "The same.",
			old:    new(`services: {nova: {enabled: true, cells: [{name: cell1, infrastructure: {mariadb: {}, rabbitmq: {}}}]}}`),
			spec:   `services: {nova: {enabled: true, cells: [{name: cell1}]}}`,
		},
		"CellDatabaseTakenBack": {
			reason: "The same.",
			old:    new(`services: {nova: {enabled: true, cells: [{name: cell1, infrastructure: {mariadb: {}, rabbitmq: {}}}]}}`),
			spec:   `services: {nova: {enabled: true, cells: [{name: cell1, infrastructure: {rabbitmq: {}}}]}}`,
		},
		"CellGivenUpWhileOff": {
			reason:  "Nova's database still names it, and the function has nothing to compare with.",
			old:     new(`services: {nova: {enabled: false, cells: [{name: cell1}, {name: cell2}]}}`),
			spec:    `services: {nova: {enabled: true, cells: [{name: cell1}]}}`,
			field:   "spec.services.nova.cells",
			message: "cells cannot be removed or renamed, and their own mariadb and rabbitmq cannot be added or removed, while Nova is disabled; enable Nova first",
		},
		"CellDatabaseGivenUpWithNova": {
			reason:  "When it is on again, the cell would be in another database.",
			old:     new(`services: {nova: {enabled: true, cells: [{name: cell1, infrastructure: {mariadb: {}, rabbitmq: {}}}]}}`),
			spec:    `services: {nova: {enabled: false, cells: [{name: cell1, infrastructure: {rabbitmq: {}}}]}}`,
			field:   "spec.services.nova.cells",
			message: "cells cannot be removed or renamed, and their own mariadb and rabbitmq cannot be added or removed, while Nova is disabled; enable Nova first",
		},
		"CellOfNothing": {
			reason:  "An empty object is ambiguous.",
			spec:    `services: {nova: {cells: [{name: cell1, infrastructure: {}}]}}`,
			field:   "spec.services.nova.cells[0].infrastructure",
			message: "set mariadb: {}, rabbitmq: {} or both, or remove infrastructure",
		},
		"CellMembers": {
			reason:  "Each write waits for all.",
			spec:    `services: {nova: {cells: [{name: cell1, infrastructure: {mariadb: {replicas: 11}}}]}}`,
			field:   "spec.services.nova.cells[0].infrastructure.mariadb",
			message: "replicas must be at most 9: a majority must agree on each write",
		},
		"CellShrinks": {
			reason:  "Volumes do not.",
			old:     new(`services: {nova: {cells: [{name: cell1, infrastructure: {mariadb: {storageSize: 50Gi}}}]}}`),
			spec:    `services: {nova: {cells: [{name: cell1, infrastructure: {mariadb: {storageSize: 40Gi}}}]}}`,
			field:   "spec.services.nova.cells[0].infrastructure.mariadb",
			message: "storageSize cannot shrink",
		},
		"ClusterWithoutName": {
			reason:  "A cluster requires a name.",
			spec:    `cluster: {}`,
			field:   "spec.cluster",
			message: "ref is required: set the name of a cluster that the platform provides, or remove cluster",
		},
		"KORC": {
			reason: "Fixed values may be set explicitly.",
			spec:   `korc: {enabled: true, bootstrapResources: [domains, projects]}`,
		},
		"KORCOff": {
			reason:  "Nothing would be in the catalog.",
			spec:    `korc: {enabled: false}`,
			field:   "spec.korc",
			message: "K-ORC cannot be disabled: it creates the catalog entries and the users of services",
		},
		"CredentialEveryWeek": {
			reason: "Replaced every six days, used for one more.",
			spec:   `korc: {credentialRotation: {intervalDays: 7, preRotationDays: 1}}`,
		},
		"CredentialWindowLongerThanInterval": {
			reason:  "The default window is a week.",
			spec:    `korc: {credentialRotation: {intervalDays: 7}}`,
			field:   "spec.korc.credentialRotation",
			message: "preRotationDays must be smaller than intervalDays: a new credential would be due before the last one is in use",
		},
		"HostnameWithSpace": {
			reason:  "Host names have a form.",
			spec:    `global: {domain: "cloud example.com"}`,
			field:   "spec.global.domain",
			message: "should match",
		},
		"PolicyWithNewline": {
			reason:  "A policy check is one line.",
			spec:    "services: {keystone: {policy: {\"identity:get_user\": \"role:admin\\nextra: 1\"}}}",
			field:   "spec.services.keystone.policy.identity:get_user",
			message: "should match",
		},

		"HostnameIsAnAddress": {
			reason:  "Neither an Ingress nor an HTTPRoute takes an address as its host.",
			spec:    `services: {keystone: {hostname: 192.0.2.1}}`,
			field:   "spec.services.keystone.hostname",
			message: "should match",
		},
		"HostnameForNobody": {
			reason:  "A host name without exposure is a mistake in one of the two fields.",
			spec:    `{services: {keystone: {hostname: login.example.com}}, global: {exposure: {type: None}}}`,
			field:   "spec.services.keystone.hostname",
			message: "hostname has no effect with global.exposure.type None; remove hostname or change the exposure type",
		},
		"ImagesForNobody": {
			reason:  "The same for another service.",
			spec:    `{services: {glance: {hostname: images.example.com}}, global: {exposure: {type: None}}}`,
			field:   "spec.services",
			message: "hostname of Glance and Placement has no effect with global.exposure.type None; remove it or change the exposure type",
		},
		"InventoryForNobody": {
			reason:  "And for the third.",
			spec:    `{services: {placement: {hostname: placement.example.com}}, global: {exposure: {type: None}}}`,
			field:   "spec.services",
			message: "hostname of Glance and Placement has no effect with global.exposure.type None; remove it or change the exposure type",
		},
		"HostnameOfThePlatformsExposure": {
			reason: "The platform may expose it.",
			spec:   `services: {keystone: {hostname: login.example.com}}`,
		},
		"IssuerWithoutTLS": {
			reason:  "Without TLS, no certificate is issued.",
			spec:    `global: {tls: {enabled: false, issuerRef: {name: letsencrypt}}}`,
			field:   "spec.global.tls.issuerRef",
			message: "issuerRef has no effect without TLS; remove issuerRef or set enabled to true",
		},
		"WithoutTLS": {
			reason: "TLS can be disabled independent of the platform's issuer.",
			spec:   `global: {tls: {enabled: false}}`,
		},
		"StorePrefix": {
			reason: "A path of plain parts.",
			spec:   `global: {secretStore: {name: vault, prefix: teams/a.b/c-d_e}}`,
		},
		"StorePrefixUp": {
			reason:  "It would leave the place that the platform keeps for it.",
			spec:    `global: {secretStore: {name: vault, prefix: a/../../b}}`,
			field:   "spec.global.secretStore.prefix",
			message: "should match",
		},
		"StorePrefixEmptyPart": {
			reason:  "Stores interpret an empty segment differently.",
			spec:    `global: {secretStore: {name: vault, prefix: a//b}}`,
			field:   "spec.global.secretStore.prefix",
			message: "should match",
		},
		"StorePrefixSlash": {
			reason:  "The same at the end.",
			spec:    `global: {secretStore: {name: vault, prefix: a/}}`,
			field:   "spec.global.secretStore.prefix",
			message: "should match",
		},
		"Bucket": {
			reason: "All fields of a bucket are accepted.",
			spec: `infrastructure: {mariadb: {backup: {s3: {bucket: abc, endpoint: "s3.example.com:65535", region: eu-de_1.b, prefix: clouds/a.b,
				credentialsSecretRef: {name: s3}}}}}`,
		},
		"BucketRegionVariable": {
			reason:  "Arguments of a container are expanded, and the region is sent to the object store.",
			spec:    `infrastructure: {mariadb: {backup: {s3: {bucket: abc, endpoint: s3, region: $(AWS_SECRET_ACCESS_KEY), credentialsSecretRef: {name: s3}}}}}`,
			field:   "spec.infrastructure.mariadb.backup.s3.region",
			message: "should match",
		},
		"BucketPort": {
			reason:  "There is no such port.",
			spec:    `infrastructure: {mariadb: {backup: {s3: {bucket: abc, endpoint: "s3:65536", credentialsSecretRef: {name: s3}}}}}`,
			field:   "spec.infrastructure.mariadb.backup.s3.endpoint",
			message: "should match",
		},
		"BucketPrefixUp": {
			reason:  "It leads out of the bucket's part.",
			spec:    `infrastructure: {mariadb: {restoreFrom: {s3: {bucket: abc, endpoint: s3, prefix: ../../other, credentialsSecretRef: {name: s3}}}}}`,
			field:   "spec.infrastructure.mariadb.restoreFrom.s3.prefix",
			message: "should match",
		},
		"BucketPrefixSlash": {
			reason:  "It starts in the bucket anyway.",
			spec:    `infrastructure: {mariadb: {restoreFrom: {s3: {bucket: abc, endpoint: s3, prefix: /other, credentialsSecretRef: {name: s3}}}}}`,
			field:   "spec.infrastructure.mariadb.restoreFrom.s3.prefix",
			message: "should match",
		},
		"GlanceWithoutStore": {
			reason:  "The location of images has no default.",
			spec:    `services: {glance: {enabled: true}}`,
			field:   "spec.services.glance.stores",
			message: "Glance requires at least one store; set stores: [{name: main, file: {storageSize: 100Gi}}], or a store with s3, rbd or swift",
		},
		"ImagesPurgedFirst": {
			reason:  "Properties of an image refer to its row, which could not be removed.",
			spec:    `services: {glance: {enabled: true, ` + fileStore + `, archive: {afterDays: 200}}}`,
			field:   "spec.services.glance.archive.imagesAfterDays",
			message: "imagesAfterDays cannot be less than afterDays; raise imagesAfterDays, or lower afterDays",
		},
		"ImagesPurgedTogether": {
			reason: "Rows of images are removed after the rows that refer to them, in the same run.",
			spec:   `services: {glance: {enabled: true, ` + fileStore + `, archive: {afterDays: 200, imagesAfterDays: 200}}}`,
		},
		"GlanceOffWithoutStore": {
			reason: "A disabled Glance requires no store.",
			spec:   `services: {glance: {enabled: false, uwsgi: {threads: 8}}, placement: {enabled: true, uwsgi: {processes: 2}}}`,
		},
		"StoreOfOnePod": {
			reason:  "Two pods of a small cloud would fight for the volume.",
			spec:    `services: {glance: {enabled: true, ` + onePodStore + `}}`,
			field:   "spec.services.glance.replicas",
			message: "a store with accessMode ReadWriteOnce supports one pod only; set replicas: 1 or accessMode: ReadWriteMany",
		},
		"StoreOfOnePodForThree": {
			reason:  "So would three of a tiny one.",
			spec:    `{size: development, services: {glance: {enabled: true, replicas: 3, ` + onePodStore + `}}}`,
			field:   "spec.services.glance.replicas",
			message: "a store with accessMode ReadWriteOnce supports one pod only; set replicas: 1 or accessMode: ReadWriteMany",
		},
		"StoreOfOnePodAlone": {
			reason: "One pod can have it.",
			spec:   `services: {glance: {enabled: true, replicas: 1, ` + onePodStore + `}}`,
		},
		"StoreOfOnePodBySize": {
			reason: "A development cloud has one of each.",
			spec:   `{size: development, services: {glance: {enabled: true, ` + onePodStore + `}}}`,
		},
		"StoreRemoved": {
			reason:  "Images are found by its name.",
			old:     new(`services: {glance: {enabled: true, ` + fileStore + `}}`),
			spec:    `services: {glance: {enabled: true, stores: [{name: other, file: {storageSize: 100Gi}}]}}`,
			field:   "spec.services.glance.stores",
			message: "a store cannot be removed or renamed, because its images would be lost; copy the images to another store and set deletionPolicy: Delete in the edit that removes the store",
		},
		"StoresForgotten": {
			reason:  "Images outlive a service that is switched off, too.",
			old:     new(`services: {glance: {enabled: true, ` + fileStore + `}}`),
			spec:    `{}`,
			field:   "spec.services.glance.stores",
			message: "a store cannot be removed or renamed, because its images would be lost; copy the images to another store and set deletionPolicy: Delete in the edit that removes the store",
		},
		"StoreDeleted": {
			reason: "The deletion policy confirms the loss of the images.",
			old:    new(`services: {glance: {enabled: true, ` + fileStore + `}}`),
			spec:   `{deletionPolicy: Delete, services: {glance: {enabled: true, stores: [{name: other, file: {storageSize: 100Gi}}]}}}`,
		},
		"GlanceSwitchedOff": {
			reason: "The stores of a disabled Glance stay in the claim.",
			old:    new(`services: {glance: {enabled: true, ` + fileStore + `, imageCache: {storageSize: 1Gi}}}`),
			spec:   `services: {glance: {enabled: false, ` + fileStore + `}}`,
		},
		"StagingGrows": {
			reason:  "The volumes of a StatefulSet are immutable.",
			old:     new(`services: {glance: {enabled: true, ` + fileStore + `, import: {staging: {storageSize: 1Gi}}}}`),
			spec:    `services: {glance: {enabled: true, ` + fileStore + `, import: {staging: {storageSize: 2Gi}}}}`,
			field:   "spec.services.glance",
			message: "import.staging and imageCache are immutable while Glance is enabled, because pods keep their volumes; disable Glance, change them, and enable it again",
		},
		"ImageCacheAdded": {
			reason:  "Nor does it get more of them.",
			old:     new(`services: {glance: {enabled: true, ` + fileStore + `}}`),
			spec:    `services: {glance: {enabled: true, ` + fileStore + `, imageCache: {storageSize: 2Gi}}}`,
			field:   "spec.services.glance",
			message: "import.staging and imageCache are immutable while Glance is enabled, because pods keep their volumes; disable Glance, change them, and enable it again",
		},
		"ClusterSet": {
			reason:  "An existing control plane does not move to another cluster.",
			old:     new(`{}`),
			spec:    `cluster: {ref: {name: west}}`,
			field:   "spec",
			message: "cluster cannot be added or removed: data cannot be moved; delete the claim and create it with or without cluster",
		},
		"ClusterRenamed": {
			reason:  "Another name is another cluster.",
			old:     new(`cluster: {ref: {name: west}}`),
			spec:    `cluster: {ref: {name: east}}`,
			field:   "spec.cluster",
			message: "cluster is immutable: data cannot be moved; delete the claim and create it with the other cluster",
		},
		"ImageTagAndDigest": {
			reason:  "An image is named in one way.",
			spec:    `services: {keystone: {image: {tag: 28.1.0, digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}`,
			field:   "spec.services.keystone.image",
			message: "set tag or digest, not both",
		},
		"ImageTags": {
			reason: "Versions, patched versions, branches and commits are tags.",
			spec:   `services: {keystone: {image: {tag: 28.1.0-p1}}, placement: {image: {tag: stable-2025.2}}, glance: {image: {tag: a1b2c3d}}}`,
		},
		"CPUZero": {
			reason:  "No container runs without a processor.",
			spec:    `services: {keystone: {resources: {requests: {cpu: 0}}}}`,
			field:   "spec.services.keystone.resources.requests.cpu",
			message: "must be more than 0 cores: 500m is half a core",
		},
		"CPUUnit": {
			reason:  "Mi is a unit of bytes: 500Mi would be half a billion cores.",
			spec:    `services: {keystone: {resources: {requests: {cpu: 500Mi}}}}`,
			field:   "spec.services.keystone.resources.requests.cpu",
			message: "must be cores, without a unit of bytes: 500m is half a core, 2 are two",
		},
		"CPUs": {
			reason: "Cores, and thousandths of one.",
			spec:   `services: {keystone: {resources: {requests: {cpu: "1.5"}, limits: {cpu: 1500m}}}}`,
		},
		"MemoryWithoutUnit": {
			reason:  "512 is bytes; 512Mi was meant.",
			spec:    `services: {keystone: {resources: {limits: {memory: 512}}}}`,
			field:   "spec.services.keystone.resources.limits.memory",
			message: "must be at least 1Mi; add the unit: 512Mi, not 512 or 512m",
		},
		"MemoryNegative": {
			reason:  "A quantity may have a sign, an amount of memory may not.",
			spec:    `services: {keystone: {resources: {limits: {memory: -1Gi}}}}`,
			field:   "spec.services.keystone.resources.limits.memory",
			message: "must be at least 1Mi",
		},
		"MemoryExponent": {
			reason:  "A parser would compute all digits of the number, for hours.",
			spec:    `services: {keystone: {resources: {limits: {memory: 1.5e999999999}}}}`,
			field:   "spec.services.keystone.resources.limits.memory",
			message: "should match",
		},
		"CPUExponents": {
			reason:  "The comparison of request and limit must not parse them, either.",
			spec:    `services: {keystone: {resources: {requests: {cpu: 1e999999999}, limits: {cpu: 1}}}}`,
			field:   "spec.services.keystone.resources.requests.cpu",
			message: "should match",
		},
		"RequestAboveLimitCPU": {
			reason:  "A Deployment with it would be refused later, where the tenant does not look.",
			spec:    `services: {keystone: {resources: {requests: {cpu: 2}, limits: {cpu: 500m}}}}`,
			field:   "spec.services.keystone.resources",
			message: "requests.cpu must not exceed limits.cpu",
		},
		"RequestAboveLimitMemory": {
			reason:  "The same for memory.",
			spec:    `infrastructure: {mariadb: {resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}}}`,
			field:   "spec.infrastructure.mariadb.resources",
			message: "requests.memory must not exceed limits.memory",
		},
		"TolerationWithoutKey": {
			reason:  "Equal compares the value of a key.",
			spec:    `services: {keystone: {tolerations: [{operator: Equal, value: x}]}}`,
			field:   "spec.services.keystone.tolerations[0]",
			message: "operator Exists cannot have a value; operator Equal requires a key",
		},
		"TolerationOfEverything": {
			reason: "Exists without a key tolerates every taint.",
			spec:   `services: {keystone: {tolerations: [{operator: Exists}]}}`,
		},
		"RegionChanged": {
			reason:  "The region is in every catalog entry.",
			old:     new(`{}`),
			spec:    `global: {region: west}`,
			field:   "spec.global",
			message: "region is immutable: it is part of every entry of the service catalog; restore the previous value",
		},
		"GatewayMissing": {
			reason:  "Routes attach to a Gateway.",
			spec:    `global: {exposure: {type: GatewayAPI}}`,
			field:   "spec.global.exposure",
			message: "exposure of type GatewayAPI requires gateway.name and gateway.namespace",
		},
		"IngressPaths": {
			reason:  "Ingress cannot rewrite paths.",
			spec:    `global: {exposure: {type: Ingress, routing: Paths}}`,
			field:   "spec.global.exposure",
			message: "routing Paths requires type GatewayAPI, because Ingress has no portable field to rewrite paths; use routing Hostnames",
		},
		"GaleraEven": {
			reason:  "Two halves of an even cluster both stop.",
			spec:    `infrastructure: {mariadb: {replicas: 2}}`,
			field:   "spec.infrastructure.mariadb",
			message: "replicas must be odd: an even Galera cluster can split into halves that both stop",
		},
		"StorageClassRemoved": {
			reason:  "A volume's class stays, even if all of mariadb is taken out of the claim.",
			old:     new(`infrastructure: {mariadb: {storageClass: fast}}`),
			spec:    `{}`,
			field:   "spec.infrastructure.mariadb",
			message: "storageClass is immutable: data cannot be moved between storage classes; restore the previous value",
		},
		"StorageShrinks": {
			reason:  "Volumes only grow.",
			old:     new(`infrastructure: {rabbitmq: {storageSize: 1Ti}}`),
			spec:    `infrastructure: {rabbitmq: {storageSize: 900Gi}}`,
			field:   "spec.infrastructure.rabbitmq",
			message: "storageSize cannot shrink",
		},
		"StorageGrows": {
			reason: "Sizes are compared as amounts, not as text.",
			old:    new(`infrastructure: {valkey: {storageSize: 900Mi}}`),
			spec:   `infrastructure: {valkey: {storageSize: 1Gi}}`,
		},
		"QueueOffWithMembers": {
			reason:  "A disabled queue has no members.",
			spec:    `infrastructure: {rabbitmq: {enabled: false, replicas: 5}}`,
			field:   "spec.infrastructure.rabbitmq",
			message: "fields of a disabled message queue have no effect; set only enabled, or set enabled: true",
		},
		"QueueOffAndExposed": {
			reason:  "A disabled queue has no address.",
			spec:    `infrastructure: {rabbitmq: {enabled: false, exposure: {type: LoadBalancer}}}`,
			field:   "spec.infrastructure.rabbitmq",
			message: "fields of a disabled message queue have no effect; set only enabled, or set enabled: true",
		},
		"QueueNodePort": {
			reason:  "A port alone is no address.",
			spec:    `infrastructure: {rabbitmq: {exposure: {type: NodePort}}}`,
			field:   "spec.infrastructure.rabbitmq.exposure.nodes",
			message: "exposure of type NodePort requires nodes: a name or an address of the nodes",
		},
		"QueueOff": {
			reason: "A storage class cannot be taken back, so it may stay.",
			old:    new(`infrastructure: {rabbitmq: {storageClass: fast}}`),
			spec:   `infrastructure: {rabbitmq: {enabled: false, storageClass: fast}}`,
		},
		"StoreOffWithSentinel": {
			reason:  "A disabled store has no sentinels.",
			spec:    `infrastructure: {valkey: {enabled: false, sentinel: {enabled: true}}}`,
			field:   "spec.infrastructure.valkey",
			message: "fields of a disabled key-value store have no effect; set only enabled, or set enabled: true",
		},
		"TwoSentinels": {
			reason:  "Either's loss stops both.",
			spec:    `infrastructure: {valkey: {replicas: 2}}`,
			field:   "spec.infrastructure.valkey",
			message: "2 sentinels cannot fail over, because a majority of at least three must agree; use 3 replicas, or 2 with sentinel.enabled false",
		},
		"TwoWithoutSentinel": {
			reason: "A copy may be wanted.",
			spec:   `infrastructure: {valkey: {replicas: 2, sentinel: {enabled: false}}}`,
		},
		"OneSentinel": {
			reason:  "A single sentinel has no majority.",
			spec:    `infrastructure: {valkey: {replicas: 1, sentinel: {enabled: true}}}`,
			field:   "spec.infrastructure.valkey",
			message: "sentinels require at least 3 replicas, because a majority of at least three must agree",
		},
		"ProxiesWithoutProxy": {
			reason:  "The number would have no effect.",
			spec:    `infrastructure: {mariadb: {maxScale: {enabled: false, replicas: 2}}}`,
			field:   "spec.infrastructure.mariadb.maxScale.replicas",
			message: "replicas cannot be set without the proxy: remove replicas, or set enabled to true",
		},
		"RabbitMQEven": {
			reason:  "Quorum queues need a majority.",
			spec:    `infrastructure: {rabbitmq: {replicas: 4}}`,
			field:   "spec.infrastructure.rabbitmq",
			message: "replicas must be odd: quorum queues need a majority",
		},
		"KeystoneOff": {
			reason:  "Nothing works without Keystone.",
			spec:    `services: {keystone: {enabled: false}}`,
			field:   "spec.services.keystone",
			message: "Keystone cannot be disabled: every other service authenticates through it",
		},
		"AdminRenamed": {
			reason:  "Bootstrap would make another administrator, also where the first name was the default.",
			old:     new(`{}`),
			spec:    `services: {keystone: {bootstrap: {adminUser: root}}}`,
			field:   "spec.services.keystone.bootstrap",
			message: "adminUser is immutable: bootstrap would create a second administrator; restore the previous value",
		},
		"DefaultDomainInDirectory": {
			reason:  "The service users live in the domain Default, however it is written.",
			spec:    `services: {keystone: {identityBackends: [{domain: default, ldap: {url: "ldaps://ldap.example.com", suffix: dc=x, userTreeDN: ou=y}}]}}`,
			field:   "spec.services.keystone.identityBackends[0]",
			message: "the domain Default must keep its users in the database: it contains the administrator and the service users",
		},
		"DirectoryUserWithoutPassword": {
			reason:  "A user without a password would log in anonymously.",
			spec:    `services: {keystone: {identityBackends: [{domain: x, ldap: {url: "ldaps://ldap.example.com", user: cn=k, suffix: dc=x, userTreeDN: ou=y}}]}}`,
			field:   "spec.services.keystone.identityBackends[0].ldap",
			message: "set user and passwordSecretRef together, or neither to log in anonymously",
		},
		"NoBackend": {
			reason:  "No volume could be made.",
			spec:    `services: {cinder: {enabled: true}}`,
			field:   "spec.services.cinder.backends",
			message: "Cinder requires at least one backend; set backends: [{name: ceph-rbd, rbd: {secretRef: {name: …}}}], or a backend with nfs",
		},
		"EvenMembers": {
			reason:  "A majority of two is two.",
			spec:    `services: {neutron: {ovn: {northbound: {replicas: 2}}}}`,
			field:   "spec.services.neutron.ovn.northbound",
			message: "replicas must be odd: a majority must agree",
		},
		"OVNWithoutOVN": {
			reason:  "With mechanism OVS, OVN does not run.",
			spec:    `services: {neutron: {mechanism: OVS, ovn: {}}}`,
			field:   "spec.services.neutron.ovn",
			message: "ovn cannot be set with mechanism OVS; remove ovn",
		},
		"ExternalOVN": {
			reason: "The databases may be external.",
			spec:   `services: {neutron: {ovn: {external: {northbound: "ssl:a:1", southbound: "ssl:a:2", networks: [10.20.0.0/24], clientSecretRef: {name: a}}}}}`,
		},
		"ExternalOVNIsTold": {
			reason:  "The fields would have no effect.",
			spec:    `services: {neutron: {ovn: {northd: {replicas: 1}, external: {northbound: "ssl:a:1", southbound: "ssl:a:2", networks: [10.20.0.0/24], clientSecretRef: {name: a}}}}}`,
			field:   "spec.services.neutron.ovn.external",
			message: "only external and sync can be set for external OVN databases",
		},
		"ExternalOVNRepaired": {
			reason:  "Entries of other users would be deleted.",
			spec:    `services: {neutron: {ovn: {sync: {request: a, mode: Repair}, external: {northbound: "ssl:a:1", southbound: "ssl:a:2", networks: [10.20.0.0/24], clientSecretRef: {name: a}}}}}`,
			field:   "spec.services.neutron.ovn.sync.mode",
			message: "sync.mode must be Log for external OVN databases: a repair would delete entries of their other users",
		},
		"ExternalOVNSet": {
			reason:  "Networks do not move.",
			old:     new(`services: {neutron: {enabled: true}}`),
			spec:    `services: {neutron: {enabled: true, ovn: {external: {northbound: "ssl:a:1", southbound: "ssl:a:2", networks: [10.20.0.0/24], clientSecretRef: {name: a}}}}}`,
			field:   "spec.services.neutron.ovn.external",
			message: "external cannot be added or removed: networks cannot be moved to another OVN; create another control plane",
		},
		"MechanismChanged": {
			reason:  "Existing ports are bound by the mechanism.",
			old:     new(`services: {neutron: {}}`),
			spec:    `services: {neutron: {mechanism: OVS}}`,
			field:   "spec.services.neutron.mechanism",
			message: "mechanism is immutable: existing ports stay bound to it; create another control plane",
		},
		"TenantsWithoutDriver": {
			reason:  "Neutron would not start.",
			spec:    `services: {neutron: {ml2: {typeDrivers: [geneve], tenantNetworkTypes: [vxlan]}}}`,
			field:   "spec.services.neutron.ml2.tenantNetworkTypes",
			message: "tenantNetworkTypes must contain only entries of typeDrivers",
		},
		"VLANsOfNothing": {
			reason:  "Projects would get no network.",
			spec:    `services: {neutron: {ml2: {tenantNetworkTypes: [vlan], physicalNetworks: [{name: physnet1}]}}}`,
			field:   "spec.services.neutron.ml2.physicalNetworks",
			message: "vlan in tenantNetworkTypes requires a physical network with vlanRanges",
		},
		"DNSServerByName": {
			reason:  "Virtual machines cannot resolve the name of their DNS server.",
			spec:    `services: {neutron: {dnsServers: [dns.example.com]}}`,
			field:   "spec.services.neutron.dnsServers[0]",
			message: "must be an IP address, such as 10.0.1.1",
		},
		"DatabaseElsewhere": {
			reason: "Host, user and Secret are sufficient.",
			spec:   externalDatabase(""),
		},
		"DatabaseElsewhereByAddress": {
			reason: "It may be at another port, and a name may be a short one.",
			spec:   "infrastructure: {mariadb: {external: {host: db, port: 13306, user: cloud@example.com, secretRef: {name: corporate}}}}",
		},
		"DatabaseElsewhereWithPort": {
			reason:  "The port has a separate field.",
			spec:    "infrastructure: {mariadb: {external: {host: 'db.example.com:3306', user: a, secretRef: {name: corporate}}}}",
			field:   "spec.infrastructure.mariadb.external.host",
			message: "should match",
		},
		"DatabaseElsewhereByStatement": {
			reason:  "A user name cannot contain SQL.",
			spec:    "infrastructure: {mariadb: {external: {host: db.example.com, user: \"a'@'%\", secretRef: {name: corporate}}}}",
			field:   "spec.infrastructure.mariadb.external.user",
			message: "should match",
		},
		"DatabaseElsewhereWithoutSecret": {
			reason:  "A login requires the Secret.",
			spec:    "infrastructure: {mariadb: {external: {host: db.example.com, user: a}}}",
			field:   "spec.infrastructure.mariadb.external.secretRef",
			message: "Required value",
		},
		"DatabaseElsewhereWithMembers": {
			reason:  "Nothing would have them.",
			spec:    externalDatabase(", replicas: 3"),
			field:   "spec.infrastructure.mariadb.external",
			message: "replicas, storageSize, storageClass, resources, nodeSelector, tolerations and maxScale cannot be set for an external database",
		},
		"DatabaseElsewhereWithProxy": {
			reason:  "It would lead nowhere.",
			spec:    externalDatabase(", maxScale: {enabled: true}"),
			field:   "spec.infrastructure.mariadb.external",
			message: "replicas, storageSize, storageClass, resources, nodeSelector, tolerations and maxScale cannot be set for an external database",
		},
		"DatabaseElsewhereWithBackup": {
			reason: "The control plane does not back up an external database.",
			spec: externalDatabase(", backup: {s3: {bucket: cloud-backups, endpoint: 's3.example.com:443', " +
				"credentialsSecretRef: {name: s3}}}"),
			field:   "spec.infrastructure.mariadb.external",
			message: "backup, restoreFrom and metrics cannot be set for an external database; its operator is responsible for them",
		},
		"DatabaseElsewhereWithMetrics": {
			reason:  "An external database has no exporter.",
			spec:    externalDatabase(", metrics: {enabled: false}"),
			field:   "spec.infrastructure.mariadb.external",
			message: "backup, restoreFrom and metrics cannot be set for an external database; its operator is responsible for them",
		},
		"DatabaseElsewhereLater": {
			reason:  "Rows do not move.",
			old:     new("size: small"),
			spec:    externalDatabase(""),
			field:   "spec.infrastructure.mariadb",
			message: "external cannot be added or removed: data cannot be moved between databases; create another control plane",
		},
		"DatabaseElsewhereNoLonger": {
			reason:  "The same the other way round.",
			old:     new(externalDatabase("")),
			spec:    "size: small",
			field:   "spec.infrastructure.mariadb",
			message: "external cannot be added or removed: data cannot be moved between databases; create another control plane",
		},
		"DatabaseElsewhereMoves": {
			reason: "The same databases may get another address, and another administrator.",
			old:    new(externalDatabase("")),
			spec:   "infrastructure: {mariadb: {external: {host: db2.example.com, port: 3307, user: another, secretRef: {name: b}}}}",
		},
		"QueueElsewhere": {
			reason: "Host, authority and user are sufficient.",
			spec:   externalQueue("", ""),
		},
		"QueueElsewhereAtPorts": {
			reason: "A load balancer may use other ports.",
			spec:   externalQueue(", port: 443, managementPort: 8443", ""),
		},
		"QueueElsewhereByTemplate": {
			reason:  "The name stands in the template of a Secret.",
			spec:    strings.Replace(externalQueue("", ""), "user: cloud-admin", "user: '{{ .password }}'", 1),
			field:   "spec.infrastructure.rabbitmq.external.user",
			message: "should match",
		},
		"QueueElsewhereByURL": {
			reason:  "A URL contains a protocol, and its path would be lost.",
			spec:    strings.Replace(externalQueue("", ""), "host: queue.example.com", "host: 'https://queue.example.com'", 1),
			field:   "spec.infrastructure.rabbitmq.external.host",
			message: "should match",
		},
		"QueueElsewhereByNoName": {
			reason:  "No host has it, and no program reads it alike.",
			spec:    strings.Replace(externalQueue("", ""), "host: queue.example.com", "host: queue..example.com", 1),
			field:   "spec.infrastructure.rabbitmq.external.host",
			message: "should match",
		},
		"QueueElsewhereOff": {
			reason:  "An external queue cannot be disabled.",
			spec:    externalQueue("", ", enabled: false"),
			field:   "spec.infrastructure.rabbitmq.external",
			message: "only external can be set for an external message queue",
		},
		"QueueElsewhereWithMembers": {
			reason:  "The members of an external queue are not managed.",
			spec:    externalQueue("", ", replicas: 3"),
			field:   "spec.infrastructure.rabbitmq.external",
			message: "only external can be set for an external message queue",
		},
		"QueueElsewhereExposed": {
			reason:  "It has an address.",
			spec:    externalQueue("", ", exposure: {type: LoadBalancer, networks: [10.0.0.0/8]}"),
			field:   "spec.infrastructure.rabbitmq.external",
			message: "only external can be set for an external message queue",
		},
		"QueueElsewhereLater": {
			reason:  "Messages in a queue cannot be moved.",
			old:     new(""),
			spec:    externalQueue("", ""),
			field:   "spec.infrastructure.rabbitmq",
			message: "external cannot be added or removed, and its host is immutable: virtual hosts and users cannot be moved to another queue; create another control plane",
		},
		"QueueElsewhereNoLonger": {
			reason:  "The same the other way round.",
			old:     new(externalQueue("", "")),
			spec:    "",
			field:   "spec.infrastructure.rabbitmq",
			message: "external cannot be added or removed, and its host is immutable: virtual hosts and users cannot be moved to another queue; create another control plane",
		},
		"QueueElsewhereMoves": {
			reason:  "RabbitMQ's operator would not create existing objects again on the other queue.",
			old:     new(externalQueue("", "")),
			spec:    strings.Replace(externalQueue("", ""), "queue.example.com", "another.example.com", 1),
			field:   "spec.infrastructure.rabbitmq",
			message: "external cannot be added or removed, and its host is immutable: virtual hosts and users cannot be moved to another queue; create another control plane",
		},
		"QueueElsewhereAnotherAdministrator": {
			reason: "The same queue may be administrated by another one, and at another port.",
			old:    new(externalQueue("", "")),
			spec:   strings.Replace(externalQueue(", managementPort: 443", ""), "user: cloud-admin", "user: another", 1),
		},
		"KeystoneElsewhere": {
			reason: "Address, authority and user are sufficient.",
			spec:   externalKeystone("", ""),
		},
		"KeystoneElsewhereInDomains": {
			reason: "An administrator may be of another domain, and of another project, and be known by an address.",
			spec: "global: {region: eu-de-2}\nservices: {keystone: {external: {authURL: 'https://identity.example.com:5000/identity/v3', " +
				"user: cloud@example.com, userDomain: staff, project: clouds, projectDomain: ops, caSecretRef: {name: a, key: ca.crt}, " +
				"passwordSecretRef: {name: b, key: password}}}}",
		},
		"KeystoneElsewhereUnencrypted": {
			reason: "A password would be read on the way.",
			spec: "global: {region: eu-de-2}\nservices: {keystone: {external: {authURL: 'http://identity.example.com/v3', user: a, " +
				"caSecretRef: {name: a, key: ca.crt}, passwordSecretRef: {name: b, key: password}}}}",
			field:   "spec.services.keystone.external.authURL",
			message: "authURL must begin with https://, because requests contain passwords, and end with /v3",
		},
		"KeystoneElsewhereByTemplate": {
			reason: "The name stands in the template of a Secret.",
			spec: "global: {region: eu-de-2}\nservices: {keystone: {external: {authURL: 'https://identity.example.com/v3', user: '{{ .password }}', " +
				"caSecretRef: {name: a, key: ca.crt}, passwordSecretRef: {name: b, key: password}}}}",
			field:   "spec.services.keystone.external.user",
			message: "should match",
		},
		"KeystoneElsewhereWithPods": {
			reason:  "Nothing would have them.",
			spec:    externalKeystone(", replicas: 3", ""),
			field:   "spec.services.keystone.external",
			message: "replicas, resources, nodeSelector, tolerations, uwsgi, image and hostname cannot be set for an external Keystone",
		},
		"KeystoneElsewhereWithHostname": {
			reason:  "An external Keystone does not use the host name.",
			spec:    externalKeystone(", hostname: identity.cloud.example.com", ""),
			field:   "spec.services.keystone.external",
			message: "replicas, resources, nodeSelector, tolerations, uwsgi, image and hostname cannot be set for an external Keystone",
		},
		"KeystoneElsewhereWithRules": {
			reason:  "An external Keystone does not read the rules.",
			spec:    externalKeystone(", policy: {'identity:list_users': '@'}", ""),
			field:   "spec.services.keystone.external",
			message: "policy, allowUnknown, fernet, credentialKeys and trustFlush cannot be set for an external Keystone",
		},
		"KeystoneElsewhereWithKeys": {
			reason:  "They are not in this cloud.",
			spec:    externalKeystone(", fernet: {suspend: true}", ""),
			field:   "spec.services.keystone.external",
			message: "policy, allowUnknown, fernet, credentialKeys and trustFlush cannot be set for an external Keystone",
		},
		"KeystoneElsewhereWithDirectory": {
			reason: "Its file would be nowhere.",
			spec: externalKeystone(", identityBackends: [{domain: a, ldap: {url: 'ldap://ldap.example.com', suffix: 'dc=a', userTreeDN: 'ou=a'}}]",
				""),
			field:   "spec.services.keystone.external",
			message: "identityBackends, federation and bootstrap cannot be set for an external Keystone",
		},
		"KeystoneElsewhereWithBootstrap": {
			reason:  "It has been bootstrapped.",
			spec:    externalKeystone(", bootstrap: {adminUser: root}", ""),
			field:   "spec.services.keystone.external",
			message: "identityBackends, federation and bootstrap cannot be set for an external Keystone",
		},
		"KeystoneElsewhereLater": {
			reason:  "Images belong to projects that the other one does not know.",
			old:     new("global: {region: eu-de-2}"),
			spec:    externalKeystone("", ""),
			field:   "spec.services.keystone",
			message: "external cannot be added or removed: data of services belongs to projects of one Keystone; create another control plane",
		},
		"KeystoneElsewhereNoLonger": {
			reason:  "The same the other way round.",
			old:     new(externalKeystone("", "")),
			spec:    "global: {region: eu-de-2}",
			field:   "spec.services.keystone",
			message: "external cannot be added or removed: data of services belongs to projects of one Keystone; create another control plane",
		},
		"KeystoneElsewhereMoves": {
			reason: "The same Keystone may get another address, and another administrator.",
			old:    new(externalKeystone("", "")),
			spec: "global: {region: eu-de-2}\nservices: {keystone: {external: {authURL: 'https://keystone.example.com/v3', user: another, " +
				"caSecretRef: {name: a, key: ca.crt}, passwordSecretRef: {name: b, key: password}}}}",
		},
		"KeystoneElsewhereInRegionOne": {
			reason: "The region may contain services of others.",
			spec: "services: {keystone: {external: {authURL: 'https://identity.example.com/v3', user: a, " +
				"caSecretRef: {name: a, key: ca.crt}, passwordSecretRef: {name: b, key: password}}}}",
			field:   "spec.global.region",
			message: "global.region is required with an external Keystone and must not be RegionOne, which may already exist there",
		},
		"KeystoneElsewhereTested": {
			reason:  "Tests create administrators in a Keystone of another operator.",
			spec:    externalKeystone("", "tempest: {enabled: true, allowAdministration: true}"),
			field:   "spec.tempest",
			message: "Tempest cannot be used with an external Keystone, because it creates administrators; disable tempest",
		},
		"KeystoneElsewhereImported": {
			reason:  "The bootstrap objects belong to another cloud.",
			spec:    externalKeystone("", "korc: {bootstrapResources: [users]}"),
			field:   "spec.korc.bootstrapResources",
			message: "korc.bootstrapResources cannot be set with an external Keystone: this cloud has not bootstrapped it",
		},
		"KeystoneElsewhereRotates": {
			reason: "Credentials are this cloud's own.",
			spec:   externalKeystone("", "korc: {credentialRotation: {intervalDays: 30}}"),
		},
		"KeystoneElsewhereWithGuests": {
			reason:  "They would get an account there.",
			spec:    externalKeystone("", "keystoneServices: [{namespace: a, name: b}]"),
			field:   "spec.keystoneServices",
			message: "keystoneServices cannot be set with an external Keystone; its operator grants access",
		},
	},
}

// externalQueue returns a spec with an external queue, with further fields of external and of rabbitmq.
func externalQueue(external, more string) string {
	return "infrastructure: {rabbitmq: {external: {host: queue.example.com, user: cloud-admin, caSecretRef: {name: a, key: ca.crt}, " +
		"passwordSecretRef: {name: b, key: password}" + external + "}" + more + "}}"
}
