package apis_test

var cinderCases = kindCases{
	base: service + `
queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.cloud.svc, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
backends: [{name: ceph-rbd, rbd: {secretRef: {name: ceph}}}]
api: {replicas: 1}
scheduler: {replicas: 1}
volume: {replicas: 1}`,
	cases: map[string]specCase{
		"Backends": {
			reason: "One of each, with types and backups.",
			spec: `
backends:
- {name: ceph-rbd, rbd: {secretRef: {name: ceph}, networks: [10.0.0.0/8]}, volume: {replicas: 2}}
- {name: ordered, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: volumes}}
- {name: nfs_1, nfs: {shares: ["nfs.example.com:/volumes"], mountOptions: "vers=4.2"}, availabilityZone: east}
volumeTypes: [{name: fast, backend: ceph-rbd}, {name: any, private: true, description: Any, extraSpecs: {multiattach: "<is> True"}}]
defaultVolumeType: fast
coordination: {bindingSecretRef: {name: valkey-binding}, sentinel: true}
backup: {replicas: 1, s3: {bucket: abc, endpoint: "https://s3.example.com", credentialsSecretRef: {name: s3}}}`,
		},
		"BackupInObjects": {
			reason: "In the object store of the cloud.",
			spec:   `backup: {replicas: 1, swift: {url: "https://objects.example.com:8443/swift/v1/AUTH_", container: nightly, caSecretRef: {name: objects, key: ca.crt}}}`,
		},
		"BackupInPlainText": {
			reason:  "Users' tokens would be sent without encryption.",
			spec:    `backup: {replicas: 1, swift: {url: "http://objects.example.com/v1/AUTH_"}}`,
			field:   "spec.backup.swift.url",
			message: "should match",
		},
		"BackupInNoAccount": {
			reason:  "The ID of a project would be the name of a container.",
			spec:    `backup: {replicas: 1, swift: {url: "https://objects.example.com/"}}`,
			field:   "spec.backup.swift.url",
			message: "should match",
		},
		"BackendOfNothing": {
			reason:  "A backend keeps volumes somewhere.",
			spec:    `backends: [{name: a}]`,
			field:   "spec.backends[0]",
			message: "set exactly one of ceph, rbd and nfs",
		},
		"BackendTurned": {
			reason:  "Cinder would not find existing volumes.",
			old:     new(`backends: [{name: a, rbd: {secretRef: {name: ceph}}}]`),
			spec:    `backends: [{name: a, nfs: {shares: ["a:/b"]}}]`,
			field:   "spec.backends[0]",
			message: "the storage of a backend is immutable, because its volumes would become unreachable; add another backend",
		},
		"BackendCalledAsSection": {
			reason:  "Its section would contain the options of Nova's address.",
			spec:    `backends: [{name: nova, rbd: {secretRef: {name: ceph}}}]`,
			field:   "spec.backends[0].name",
			message: "this name is reserved: it is another section of Cinder's configuration; choose another name",
		},
		"BackendRemoved": {
			reason:  "Volumes are found by its name.",
			old:     new(`backends: [{name: a, rbd: {secretRef: {name: ceph}}}]`),
			spec:    `backends: []`,
			field:   "spec.backends",
			message: "a backend cannot be removed or renamed, because volumes refer to it by name; remove its volume types instead, so that it gets no new volumes",
		},
		"PoolChanged": {
			reason:  "So they are by its pool.",
			old:     new(`backends: [{name: a, rbd: {secretRef: {name: ceph}}}]`),
			spec:    `backends: [{name: a, rbd: {secretRef: {name: ceph}, pool: fast}}]`,
			field:   "spec.backends[0].rbd.pool",
			message: "pool is immutable: the volumes in it would become unreachable; add another backend and migrate them",
		},
		"ClusterChanged": {
			reason:  "So they are by its cluster.",
			old:     new(`backends: [{name: a, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: volumes}}]`),
			spec:    `backends: [{name: a, ceph: {clusterRef: {namespace: storage, name: other}, pool: volumes}}]`,
			field:   "spec.backends[0].ceph",
			message: "pool is immutable, because its contents would become unreachable; add another entry with the other pool",
		},
		"DefaultTypeUnknown": {
			reason:  "Every volume without a type would fail.",
			spec:    `defaultVolumeType: fast`,
			field:   "spec.defaultVolumeType",
			message: "defaultVolumeType must be the name of an entry in volumeTypes or, if volumeTypes is empty, in backends",
		},
		"TypeOfNothing": {
			reason:  "Every volume of the type would fail.",
			spec:    `volumeTypes: [{name: fast, backend: nfs}]`,
			field:   "spec.volumeTypes",
			message: "volumeTypes[].backend must be the name of an entry in backends",
		},
		"BackupToNowhere": {
			reason:  "A backup is kept somewhere.",
			spec:    `backup: {replicas: 1}`,
			field:   "spec.backup",
			message: "set exactly one of ceph, rbd, s3, swift, nfs and file",
		},
		"BackupTurned": {
			reason:  "Cinder would not find existing backups.",
			old:     new(`backup: {nfs: {share: "a:/b"}}`),
			spec:    `backup: {nfs: null, file: {storageSize: 1Gi}}`,
			field:   "spec.backup",
			message: "the backup location is immutable, because existing backups would become unreachable; delete the backups, remove backup, and set the new location in a second edit",
		},
		"BackupShrinks": {
			reason:  "No volume does.",
			old:     new(`backup: {file: {storageSize: 2Gi}}`),
			spec:    `backup: {file: {storageSize: 1Gi}}`,
			field:   "spec.backup.file",
			message: "storageSize cannot be reduced: a volume cannot shrink; restore the previous value, or set a larger one",
		},
		"BackupMoves": {
			reason:  "No volume does.",
			old:     new(`backup: {file: {storageSize: 2Gi}}`),
			spec:    `backup: {file: {storageSize: 2Gi, storageClass: fast}}`,
			field:   "spec.backup.file",
			message: "storageClass is immutable: the data of a volume cannot be moved; restore the previous value",
		},
		"BackupShared": {
			reason:  "Kubernetes does not change it.",
			old:     new(`backup: {file: {storageSize: 2Gi, accessMode: ReadWriteOnce}}`),
			spec:    `backup: {file: {storageSize: 2Gi}}`,
			field:   "spec.backup.file",
			message: "accessMode is immutable: the access mode of a volume cannot be changed; restore the previous value",
		},
		"CoordinationRemoved": {
			reason:  "Volumes of a cluster are managed by no process that is in none.",
			old:     new(`coordination: {bindingSecretRef: {name: valkey-binding}}`),
			spec:    `{}`,
			field:   "spec.coordination",
			message: "coordination cannot be removed: volumes belong to the cluster that shares its locks; restore it",
		},
	},
}
