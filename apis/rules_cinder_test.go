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
			reason:  "Everybody on the way would have the users' tokens.",
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
			message: "say where the backend keeps volumes: one of ceph, rbd and nfs",
		},
		"BackendTurned": {
			reason:  "Volumes would be looked for elsewhere.",
			old:     new(`backends: [{name: a, rbd: {secretRef: {name: ceph}}}]`),
			spec:    `backends: [{name: a, nfs: {shares: ["a:/b"]}}]`,
			field:   "spec.backends[0]",
			message: "a backend stays what it is: the volumes in it would be lost; add another backend beside it",
		},
		"BackendCalledAsSection": {
			reason:  "Its options would be those of Nova's address.",
			spec:    `backends: [{name: nova, rbd: {secretRef: {name: ceph}}}]`,
			field:   "spec.backends[0].name",
			message: "Cinder has a section of this name for something else; give the backend another name",
		},
		"BackendRemoved": {
			reason:  "Volumes are found by its name.",
			old:     new(`backends: [{name: a, rbd: {secretRef: {name: ceph}}}]`),
			spec:    `backends: []`,
			field:   "spec.backends",
			message: "a backend cannot be removed or renamed: its volumes are found by its name; take its volume types away, so that it gets no new ones",
		},
		"PoolChanged": {
			reason:  "So they are by its pool.",
			old:     new(`backends: [{name: a, rbd: {secretRef: {name: ceph}}}]`),
			spec:    `backends: [{name: a, rbd: {secretRef: {name: ceph}, pool: fast}}]`,
			field:   "spec.backends[0].rbd.pool",
			message: "pool cannot be changed: the volumes in it would be lost; add another backend and migrate them",
		},
		"ClusterChanged": {
			reason:  "So they are by its cluster.",
			old:     new(`backends: [{name: a, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: volumes}}]`),
			spec:    `backends: [{name: a, ceph: {clusterRef: {namespace: storage, name: other}, pool: volumes}}]`,
			field:   "spec.backends[0].ceph",
			message: "a pool cannot be changed: what is kept in it would be lost; add another one beside it",
		},
		"DefaultTypeUnknown": {
			reason:  "Every volume without a type would fail.",
			spec:    `defaultVolumeType: fast`,
			field:   "spec.defaultVolumeType",
			message: "defaultVolumeType has to be the name of one of volumeTypes or, without any, of one of the backends",
		},
		"TypeOfNothing": {
			reason:  "Every volume of the type would fail.",
			spec:    `volumeTypes: [{name: fast, backend: nfs}]`,
			field:   "spec.volumeTypes",
			message: "the backend of a volume type has to be the name of one of the backends",
		},
		"BackupToNowhere": {
			reason:  "A backup is kept somewhere.",
			spec:    `backup: {replicas: 1}`,
			field:   "spec.backup",
			message: "say where backups go: one of ceph, rbd, s3, swift, nfs and file",
		},
		"BackupTurned": {
			reason:  "Those that there are would not be found.",
			old:     new(`backup: {nfs: {share: "a:/b"}}`),
			spec:    `backup: {nfs: null, file: {storageSize: 1Gi}}`,
			field:   "spec.backup",
			message: "backups stay where they are: a service with another place would not find those that there are; delete them, leave backup out, and say another place then",
		},
		"BackupShrinks": {
			reason:  "No volume does.",
			old:     new(`backup: {file: {storageSize: 2Gi}}`),
			spec:    `backup: {file: {storageSize: 1Gi}}`,
			field:   "spec.backup.file",
			message: "storageSize cannot shrink: a volume only grows",
		},
		"BackupMoves": {
			reason:  "No volume does.",
			old:     new(`backup: {file: {storageSize: 2Gi}}`),
			spec:    `backup: {file: {storageSize: 2Gi, storageClass: fast}}`,
			field:   "spec.backup.file",
			message: "storageClass cannot be changed: a volume stays where it is",
		},
		"BackupShared": {
			reason:  "Kubernetes does not change it.",
			old:     new(`backup: {file: {storageSize: 2Gi, accessMode: ReadWriteOnce}}`),
			spec:    `backup: {file: {storageSize: 2Gi}}`,
			field:   "spec.backup.file",
			message: "accessMode cannot be changed: a volume stays as it is",
		},
		"CoordinationRemoved": {
			reason:  "Volumes of a cluster are managed by no process that is in none.",
			old:     new(`coordination: {bindingSecretRef: {name: valkey-binding}}`),
			spec:    `{}`,
			field:   "spec.coordination",
			message: "coordination cannot be removed: volumes belong to the cluster that shares its locks",
		},
	},
}
