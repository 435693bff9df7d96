package apis_test

var keystoneCases = kindCases{
	base: `
openStackRelease: "2025.2"
target: {providerConfig: in-cluster}
region: RegionOne
database: {mariaDBRef: {name: mariadb}, host: mariadb, caSecretRef: {name: mariadb-ca, key: ca.crt}}
cache: {servers: ["memcached-0.memcached:11211"]}
endpoints: {public: https://keystone.example.com/v3, internal: http://keystone:5000/v3}
issuerRef: {name: internal, kind: Issuer}`,
	cases: map[string]specCase{
		"NoRegion": {
			reason:  "The parent fills in everything; nothing is guessed.",
			spec:    `region: null`,
			field:   "spec.region",
			message: "Required value",
		},
		"ServerWithoutPort": {
			reason:  "A server is host:port.",
			spec:    `cache: {servers: [memcached]}`,
			field:   "spec.cache.servers[0]",
			message: "should match",
		},
		"CredentialWindowLongerThanInterval": {
			reason:  "The default window is a week.",
			spec:    `korcCredential: {intervalDays: 7}`,
			field:   "spec.korcCredential",
			message: "preRotationDays must be smaller than intervalDays: a new credential would be due before the last one is in use",
		},
		"ScopesWithoutOpenID": {
			reason: "OAuth alone does not identify users.",
			spec: `federation: {provider: a, issuer: "https://a.example.com", metadataURL: "https://a.example.com/m", clientID: a,
  clientSecretRef: {name: a, key: b}, scopes: [email]}`,
			field:   "spec.federation.scopes",
			message: "scopes must contain openid",
		},
		"PlainIntrospection": {
			reason: "Tokens and the client's secret go there.",
			spec: `federation: {provider: a, issuer: "https://a.example.com", metadataURL: "https://a.example.com/m", clientID: a,
  clientSecretRef: {name: a, key: b}, introspectionURL: "http://a.example.com/i"}`,
			field:   "spec.federation.introspectionURL",
			message: "should match '^https://",
		},
		"TooFewKeys": {
			reason:  "A repository has a staged, a primary and a secondary key.",
			spec:    `fernet: {maxActiveKeys: 2}`,
			field:   "spec.fernet.maxActiveKeys",
			message: "should be greater than or equal to 3",
		},
	},
}

// service is the configuration that a control plane passes to each of its services.
const service = `
openStackRelease: "2025.2"
target: {providerConfig: in-cluster}
region: RegionOne
database: {mariaDBRef: {name: mariadb}, host: mariadb, caSecretRef: {name: mariadb-ca, key: ca.crt}}
cache: {servers: ["memcached-0.memcached:11211"]}
endpoints: {public: https://service.example.com, internal: https://service:8778}
issuerRef: {name: internal, kind: Issuer}
identity:
  internalURL: https://keystone:5000/v3
  publicURL: https://keystone.example.com/v3
  caSecretRef: {name: keystone-tls, key: ca.crt}
  adminCloudRef: {secretName: keystone-clouds, cloudName: admin}
  korcCloudRef: {secretName: keystone-korc-clouds, cloudName: korc}`

var placementCases = kindCases{
	base: service,
	cases: map[string]specCase{
		"NoIdentity": {
			reason:  "The parent fills in everything; nothing is guessed.",
			spec:    `identity: null`,
			field:   "spec.identity",
			message: "Required value",
		},
	},
}

// dashboard is the required configuration of a Horizon, which has no database.
const dashboard = `
openStackRelease: "2025.2"
target: {providerConfig: in-cluster}
region: RegionOne
cache: {servers: ["memcached-0.memcached.a.svc:11211"]}
endpoints: {public: "https://horizon.a.svc:8443", internal: "https://horizon.a.svc:8443"}
issuerRef: {name: internal-ca, kind: Issuer}
identity:
  internalURL: https://keystone.a.svc:5000/v3
  publicURL: https://keystone.a.svc:5000/v3
  caSecretRef: {name: keystone-tls, key: ca.crt}
`

var horizonCases = kindCases{
	base: dashboard,
	cases: map[string]specCase{
		"Everything": {
			reason: "All fields are accepted.",
			spec: `
title: Example ☁
multiDomain: true
sessionSeconds: 1800
websso: {choices: [{name: keycloak, label: Company account, provider: keycloak}], initialChoice: keycloak}
services: [{type: compute, internalURL: "https://nova.a.svc:8774/v2.1", policy: {"os_compute_api:servers:create": "role:member"}}]`,
		},
		"NoIdentity": {
			reason:  "The parent fills in everything; nothing is guessed.",
			spec:    `identity: null`,
			field:   "spec.identity",
			message: "Required value",
		},
		"PasswordFirst": {
			reason: "The way by a password is always there.",
			spec:   `websso: {choices: [{name: a, label: A}], initialChoice: credentials}`,
		},
		"ChoiceCalledAsPassword": {
			reason:  "It would take the place of the password.",
			spec:    `websso: {choices: [{name: credentials, label: A}]}`,
			field:   "spec.websso.choices[0].name",
			message: "credentials is reserved for the login with a password; choose another name",
		},
		"UnknownChoice": {
			reason:  "The choice does not exist.",
			spec:    `websso: {choices: [{name: a, label: A}], initialChoice: b}`,
			field:   "spec.websso.initialChoice",
			message: "initialChoice must be the name of an entry in choices, or credentials for a password",
		},
		"TitleOfTwoLines": {
			reason:  "A title has one line.",
			spec:    `title: "a\nb"`,
			field:   "spec.title",
			message: "should match",
		},
	},
}

const (
	fileStore = `stores: [{name: main, file: {storageSize: 100Gi}}]`
	s3Store   = `stores: [{name: main, s3: {endpoint: https://s3.example.com, bucket: images, credentialsSecretRef: {name: s3}}}]`
)

var glanceCases = kindCases{
	base: service,
	cases: map[string]specCase{
		"Stores": {
			reason: "One of each, several at once.",
			spec: `
defaultStore: fast
stores:
- {name: main, description: Slow and large, file: {storageSize: 100Gi, storageClass: nfs}}
- {name: fast, rbd: {secretRef: {name: ceph}, networks: [10.0.0.0/8, "fd00::/8"]}}
- {name: far_2, s3: {endpoint: "http://[fd00::1]:9000", bucket: images, urlFormat: path, credentialsSecretRef: {name: s3}, caSecretRef: {name: s3, key: ca.crt}}}
- {name: old, swift: {authURL: https://keystone.example.com/v3, credentialsSecretRef: {name: swift}}}
- {name: ordered, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}
storageClients:
- {name: stores.ordered, ref: storage/ceph/images, instance: storage-ceph-1, fsid: a, monitors: ["[v2:10.0.0.1:3300]"], networks: [10.0.0.0/8], pool: images, user: glance, secretName: key, secretUUID: b}
import: {methods: [web-download, glance-direct], webDownload: {allowedHosts: [cloud-images.example.com, 10.0.0.1]}, convertTo: raw, staging: {storageSize: 50Gi}}
imageCache: {storageSize: 50Gi}`,
		},
		"StoreOfNothing": {
			reason:  "A store keeps images somewhere.",
			spec:    `stores: [{name: main}]`,
			field:   "spec.stores[0]",
			message: "set exactly one of file, s3, rbd, ceph and swift",
		},
		"StoreOfTwo": {
			reason:  "And in one place.",
			spec:    `stores: [{name: main, file: {storageSize: 1Gi}, rbd: {secretRef: {name: ceph}}}]`,
			field:   "spec.stores[0]",
			message: "set exactly one of file, s3, rbd, ceph and swift",
		},
		"StorePoolChanged": {
			reason:  "The images in the pool would be lost.",
			old:     new(`stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}]`),
			spec:    `stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: fast}}]`,
			field:   "spec.stores[0].ceph",
			message: "pool is immutable, because its contents would become unreachable; add another entry with the other pool",
		},
		"StoreWithHyphen": {
			reason:  "No shell exports a variable with a hyphen.",
			spec:    `stores: [{name: ceph-rbd, file: {storageSize: 1Gi}}]`,
			field:   "spec.stores[0].name",
			message: "should match",
		},
		"StoreCalledAsSection": {
			reason:  "Its section would contain the options of the database.",
			spec:    `stores: [{name: database, file: {storageSize: 1Gi}}]`,
			field:   "spec.stores[0].name",
			message: "this name is reserved: it is another section of Glance's configuration; choose another name",
		},
		"StoreCalledAsReserved": {
			reason:  "Glance does not start with it.",
			spec:    `stores: [{name: os_glance_mine, file: {storageSize: 1Gi}}]`,
			field:   "spec.stores[0].name",
			message: "this name is reserved: it is another section of Glance's configuration; choose another name",
		},
		"StoreCalledAsDriver": {
			reason: "Glance has no section of a driver's name.",
			spec:   `stores: [{name: file, file: {storageSize: 1Gi}}]`,
		},
		"StoreTurned": {
			reason:  "Glance would not find existing images.",
			old:     new(fileStore),
			spec:    s3Store,
			field:   "spec.stores[0]",
			message: "the storage of a store is immutable, because its images would be lost; add another store",
		},
		"StoreAdded": {
			reason: "There can be more of them.",
			old:    new(fileStore),
			spec:   `stores: [{name: other, rbd: {secretRef: {name: ceph}}}, {name: main, file: {storageSize: 200Gi}}]`,
		},
		"DefaultStoreUnknown": {
			reason:  "The default store must exist.",
			spec:    `{defaultStore: fast, ` + fileStore + `}`,
			field:   "spec.defaultStore",
			message: "defaultStore must be the name of an entry in stores",
		},
		"FileStoreShrinks": {
			reason:  "Volumes only grow.",
			old:     new(`stores: [{name: main, file: {storageSize: 1Ti}}]`),
			spec:    fileStore,
			field:   "spec.stores[0].file",
			message: "storageSize cannot be reduced; add another store and copy the images",
		},
		"FileStoreClass": {
			reason:  "A class that is named later is another one.",
			old:     new(fileStore),
			spec:    `stores: [{name: main, file: {storageSize: 100Gi, storageClass: nfs}}]`,
			field:   "spec.stores[0].file",
			message: "storageClass is immutable; add another store and copy the images",
		},
		"FileStoreAccess": {
			reason:  "The default is a choice, too.",
			old:     new(fileStore),
			spec:    `stores: [{name: main, file: {storageSize: 100Gi, accessMode: ReadWriteOnce}}]`,
			field:   "spec.stores[0].file",
			message: "accessMode is immutable; add another store and copy the images",
		},
		"S3EndpointWithPath": {
			reason:  "An image's address is <server>/<bucket>/<image>.",
			spec:    `stores: [{name: main, s3: {endpoint: https://s3.example.com/, bucket: images, credentialsSecretRef: {name: s3}}}]`,
			field:   "spec.stores[0].s3.endpoint",
			message: "should match",
		},
		"S3Bucket": {
			reason:  "The old one's images stay in the old one.",
			old:     new(s3Store),
			spec:    `stores: [{name: main, s3: {endpoint: https://s3.example.com, bucket: other, credentialsSecretRef: {name: s3}}}]`,
			field:   "spec.stores[0].s3.bucket",
			message: "bucket is immutable: the images in it would be lost; add another store and copy them",
		},
		"S3Moves": {
			reason: "A server may get another name, and other keys.",
			old:    new(s3Store),
			spec:   `stores: [{name: main, s3: {endpoint: "https://s3.example.org:443", bucket: images, credentialsSecretRef: {name: new}}}]`,
		},
		"RBDPool": {
			reason:  "The default pool is one, too.",
			old:     new(`stores: [{name: main, rbd: {secretRef: {name: ceph}}}]`),
			spec:    `stores: [{name: main, rbd: {secretRef: {name: ceph}, pool: other}}]`,
			field:   "spec.stores[0].rbd.pool",
			message: "pool is immutable: the images in it would be lost; add another store and copy them",
		},
		"RBDNetworks": {
			reason:  "An address is no network.",
			spec:    `stores: [{name: main, rbd: {secretRef: {name: ceph}, networks: [10.0.0.0/33]}}]`,
			field:   "spec.stores[0].rbd.networks[0]",
			message: "must be a range of addresses, such as 10.0.1.0/24",
		},
		"SwiftContainer": {
			reason:  "The default container is one, too.",
			old:     new(`stores: [{name: main, swift: {authURL: https://keystone.example.com/v3, credentialsSecretRef: {name: swift}}}]`),
			spec:    `stores: [{name: main, swift: {authURL: https://keystone.example.com/v3, container: other, credentialsSecretRef: {name: swift}}}]`,
			field:   "spec.stores[0].swift.container",
			message: "container is immutable: the images in it would be lost; add another store and copy them",
		},
		"WebDownloadOfNobody": {
			reason:  "Its filter would be taken for a permission.",
			spec:    `import: {methods: [glance-direct], webDownload: {allowedPorts: [443]}}`,
			field:   "spec.import",
			message: "webDownload requires the method web-download; add it to methods, or remove webDownload",
		},
		"ImportMethodUnknown": {
			reason:  "It needs other clouds' tokens.",
			spec:    `import: {methods: [glance-download]}`,
			field:   "spec.import.methods[0]",
			message: "supported values",
		},
	},
}

var platformCases = kindCases{
	base: `domain: cloud.example.com`,
	cases: map[string]specCase{
		"DomainWithoutDot": {
			reason:  "A domain has at least two labels.",
			spec:    `domain: cloud`,
			field:   "spec.domain",
			message: "should match",
		},
		"ClusterTwice": {
			reason:  "Claims name a cluster by its name.",
			spec:    `clusters: [{name: a, providerConfig: a, allowedNamespaces: ["*"]}, {name: a, providerConfig: b, allowedNamespaces: ["*"]}]`,
			field:   "spec.clusters[1]",
			message: "Duplicate value",
		},
		"Limit": {
			reason: "Every list accepts the examples of its description.",
			spec: `limits: [{name: team, namespaces: [team-a, "team-b-*"], registries: [registry.example.com/openstack], domains: ["{namespace}.example.com", example.org],
  secretStores: ["ClusterSecretStore/openbao/{namespace}"], gateways: [gateway-system/public/https], ingressClasses: [nginx], exposureNamespaces: [ingress-nginx],
  annotations: ["nginx.ingress.kubernetes.io/proxy-*"], issuers: [ClusterIssuer/letsencrypt], nodeSelectors: [topology.kubernetes.io/zone],
  tolerations: ["dedicated=openstack:NoSchedule"], storageClasses: [fast], monitoringLabels: [prometheus=team-a], s3Endpoints: ["*.example.com:443", "[fd00::1]:9000"],
  directoryHosts: [ldap.example.com], openIDHosts: ["*"], keystoneHosts: [identity.example.com], databaseHosts: ["db.example.com:3306"], downloadHosts: ["*.example.com"], storageNetworks: [10.0.0.0/8, "*"], nfsServers: [nfs.example.com], vaultServers: ["vault.example.com:8200"], hypervisorNetworks: ["fd00::/8"], maxima: {replicas: 5, processes: 4, storage: 500Gi, cpu: "16", memory: 64Gi}}]`,
		},
		"LimitOfURL": {
			reason:  "It is about hosts.",
			spec:    `limits: [{name: a, namespaces: ["*"], openIDHosts: ["https://id.example.com"]}]`,
			field:   "spec.limits[0].openIDHosts[0]",
			message: "should match",
		},
		"LimitOfNoNetwork": {
			reason:  "No claim's network lies in it.",
			spec:    `limits: [{name: a, namespaces: ["*"], storageNetworks: [10.0.300.0/8]}]`,
			field:   "spec.limits[0].storageNetworks[0]",
			message: "must be a range of addresses, such as 10.0.1.0/24, or *",
		},
		"LimitOfNoHypervisors": {
			reason:  "There is no such network.",
			spec:    `limits: [{name: a, namespaces: ["*"], hypervisorNetworks: [10.0.300.0/8]}]`,
			field:   "spec.limits[0].hypervisorNetworks[0]",
			message: "must be a range of addresses, such as 10.0.1.0/24, or *",
		},
		"LimitOfOtherNamespace": {
			reason:  "A name for the whole of the domain is the claim's namespace's.",
			spec:    `limits: [{name: a, namespaces: ["*"], domains: ["{claim}.example.com"]}]`,
			field:   "spec.limits[0].domains[0]",
			message: "should match",
		},
		"ClusterForNobody": {
			reason:  "A cluster without users is a mistake.",
			spec:    `clusters: [{name: a, providerConfig: a, allowedNamespaces: []}]`,
			field:   "spec.clusters[0].allowedNamespaces",
			message: "should have at least 1 items",
		},
		"InstanceTwice": {
			reason: "Two claims would have one namespace.",
			spec:   `instances: [{namespace: a, name: c, instance: a-c-1a2b3}, {namespace: b, name: c, instance: a-c-1a2b3}]`,
			field:  "spec.instances", message: "every entry must have a different instance",
		},
		"ClaimTwice": {
			reason: "A claim has one instance.",
			spec:   `instances: [{namespace: a, name: c, instance: a-c-1a2b3}, {namespace: a, name: c, instance: a-c-3b2a1}]`,
			field:  "spec.instances[1]", message: "Duplicate value",
		},
		"InstanceOfNobody": {
			reason: "A namespace that no control plane can have had is another's.",
			spec:   `instances: [{namespace: a, name: c, instance: kube-system}]`,
			field:  "spec.instances[0].instance", message: "should match",
		},
		"Instances": {reason: "One of each kind of name.", spec: `instances: [{namespace: a, name: c.d, instance: a-c-1a2b3}, ` +
			`{namespace: b, name: c, instance: b-c-0123456789abcdef0123}]`},
		"PrefixUp": {
			reason: "A store would resolve it to another's path.", spec: `secretStore: {name: s, prefix: a/../b}`,
			field: "spec.secretStore.prefix", message: "should match",
		},
		"PrefixEmptyPart": {
			reason: "Some stores take two slashes for one.", spec: `secretStore: {name: s, prefix: a//b}`,
			field: "spec.secretStore.prefix", message: "should match",
		},
	},
}

var keyRepositoryCases = kindCases{
	base: `{type: Credential, secretName: keys, rotationSchedule: "0 0 * * 0"}`,
	cases: map[string]specCase{
		"SecretRenamed": {
			reason:  "The keys in use would be left behind.",
			old:     new(`{}`),
			spec:    `secretName: other`,
			field:   "spec",
			message: "type and secretName are immutable: the current keys would be lost",
		},
		"FernetWithoutLifetime": {
			reason:  "The number of keys follows from it.",
			spec:    `type: Fernet`,
			field:   "spec",
			message: "token is required for keys of type Fernet: its lifetime determines how long keys are kept",
		},
		"Fernet": {
			reason: "With a lifetime it is complete.",
			spec:   `{type: Fernet, token: {expirationSeconds: 3600, allowExpiredWindowSeconds: 172800}}`,
		},
		"ScheduleOfFourFields": {
			reason:  "Cron has five fields.",
			spec:    `rotationSchedule: "*/5 * * *"`,
			field:   "spec.rotationSchedule",
			message: "should match",
		},
	},
}

var databaseSyncCases = kindCases{
	base: `
release: "2025.2"
sync: [{name: sync, command: [keystone-manage, db_sync]}]
template: {spec: {containers: [{name: sync, image: keystone}]}}`,
	cases: map[string]specCase{
		"NoSteps": {
			reason:  "Without a step there is no schema.",
			spec:    `sync: []`,
			field:   "spec.sync",
			message: "should have at least 1 items",
		},
		"AnyTemplate": {
			reason: "The template is kept whole.",
			spec:   `template: {metadata: {labels: {a: b}}, spec: {volumes: [{name: x, emptyDir: {}}]}}`,
		},
		"TemplateNoObject": {
			reason:  "The template is an object.",
			spec:    `template: pod`,
			field:   "spec.template",
			message: "must be of type object",
		},
	},
}

var credentialRotationCases = kindCases{
	base: `{target: Password, userName: glance, secretName: glance, cloudCredentialsRef: {secretName: glance-clouds, cloudName: glance}}`,
	cases: map[string]specCase{
		"WindowLongerThanInterval": {
			reason:  "The next credential would be due before the last one is in use.",
			spec:    `{intervalDays: 7, preRotationDays: 7}`,
			field:   "spec",
			message: "preRotationDays must be smaller than intervalDays: a new credential would be due before the last one is in use",
		},
		"CopyOfPassword": {
			reason:  "Users of the copy would be locked out until it is updated.",
			spec:    `consumers: [{kind: SecretAggregate, name: clouds}]`,
			field:   "spec",
			message: "a SecretAggregate can be a consumer only when target is ApplicationCredential: its copy of a password would be late, and clients with an open connection to a queue do not read it again",
		},
		"CopyOfApplicationCredential": {
			reason: "The old one is valid until the copy is renewed.",
			spec:   `{target: ApplicationCredential, consumers: [{kind: SecretAggregate, name: clouds}]}`,
		},
		"Roles": {
			reason: "A credential has the roles that its service needs.",
			spec:   `{target: ApplicationCredential, roles: [service, admin]}`,
		},
		"RolesOfPassword": {
			reason:  "Who has the password has all roles of its user.",
			spec:    `roles: [service]`,
			field:   "spec",
			message: "roles can be set only when target is ApplicationCredential",
		},
		"QueueUser": {
			reason: "A user of RabbitMQ requires no login to Keystone.",
			spec:   `{target: QueueUser, userName: null, cloudCredentialsRef: null, queue: {permissions: [{rabbitMQRef: {name: rabbitmq}, vhost: nova}]}}`,
		},
		"QueueUserElsewhere": {
			reason: "The queue may be external.",
			spec:   `{target: QueueUser, userName: null, cloudCredentialsRef: null, queue: {permissions: [{connectionSecretRef: {name: a}, vhost: nova}]}}`,
		},
		"QueueUserOfTwo": {
			reason:  "On which of the two?",
			spec:    `{target: QueueUser, userName: null, cloudCredentialsRef: null, queue: {permissions: [{rabbitMQRef: {name: a}, connectionSecretRef: {name: a}, vhost: nova}]}}`,
			field:   "spec.queue.permissions[0]",
			message: "set exactly one of rabbitMQRef and connectionSecretRef",
		},
		"QueueUserOfNone": {
			reason:  "On none.",
			spec:    `{target: QueueUser, userName: null, cloudCredentialsRef: null, queue: {permissions: [{vhost: nova}]}}`,
			field:   "spec.queue.permissions[0]",
			message: "set exactly one of rabbitMQRef and connectionSecretRef",
		},
		"QueueUserWithLogin": {
			reason:  "The login would not be used.",
			spec:    `{target: QueueUser, queue: {permissions: [{rabbitMQRef: {name: rabbitmq}, vhost: nova}]}}`,
			field:   "spec",
			message: "userName and cloudCredentialsRef are required for ApplicationCredential and Password and must be omitted for QueueUser",
		},
		"PasswordOfNobody": {
			reason:  "Keystone requires a user.",
			spec:    `userName: null`,
			field:   "spec",
			message: "userName and cloudCredentialsRef are required for ApplicationCredential and Password and must be omitted for QueueUser",
		},
		"QueueUserOfNoQueue": {
			reason:  "It could do nothing.",
			spec:    `{target: QueueUser, userName: null, cloudCredentialsRef: null}`,
			field:   "spec",
			message: "queue is required when target is QueueUser and must be omitted otherwise",
		},
		"QueueOfPassword": {
			reason:  "It would be ignored.",
			spec:    `queue: {permissions: [{rabbitMQRef: {name: rabbitmq}, vhost: nova}]}`,
			field:   "spec",
			message: "queue is required when target is QueueUser and must be omitted otherwise",
		},
		"AnotherVhost": {
			reason: "Another cell changes the permissions of the current user.",
			old:    new(`{target: QueueUser, userName: null, cloudCredentialsRef: null, queue: {permissions: [{rabbitMQRef: {name: rabbitmq}, vhost: nova}]}}`),
			spec:   `{target: QueueUser, userName: null, cloudCredentialsRef: null, queue: {permissions: [{rabbitMQRef: {name: cell}, vhost: nova_cell1}]}}`,
		},
		"NoRoles": {
			reason:  "None would be read as all.",
			spec:    `{target: ApplicationCredential, roles: []}`,
			field:   "spec.roles",
			message: "should have at least 1 items",
		},
		"RolesChanged": {
			reason: "Another credential takes its place.",
			old:    new(`{target: ApplicationCredential, roles: [service]}`),
			spec:   `{target: ApplicationCredential, roles: [service, admin]}`,
		},
		"TargetChanged": {
			reason:  "A password is not an application credential.",
			old:     new(`{}`),
			spec:    `target: ApplicationCredential`,
			field:   "spec",
			message: "target, userName and secretName are immutable; create another CredentialRotation",
		},
	},
}

var roleAssignmentCases = kindCases{
	base: `{cloudCredentialsRef: {secretName: clouds, cloudName: admin}, resource: {roleRef: admin, userRef: glance, projectRef: service}}`,
	cases: map[string]specCase{
		"System": {
			reason: "A role on the system is in no project.",
			spec:   `{resource: {roleRef: admin, groupRef: operators, projectRef: null, userRef: null, system: all}}`,
		},
		"UserAndGroup": {
			reason:  "It is one assignment.",
			spec:    `{resource: {roleRef: admin, userRef: glance, groupRef: operators, projectRef: service}}`,
			field:   "spec.resource",
			message: "set exactly one of userRef and groupRef",
		},
		"TwoPlaces": {
			reason:  "It is one assignment.",
			spec:    `{resource: {roleRef: admin, userRef: glance, projectRef: service, domainRef: default}}`,
			field:   "spec.resource",
			message: "set exactly one of projectRef, domainRef and system: all",
		},
		"ResourceChanged": {
			reason:  "The old assignment would be left behind.",
			old:     new(`{}`),
			spec:    `{resource: {roleRef: member, userRef: glance, projectRef: service}}`,
			field:   "spec.resource",
			message: "resource is immutable; create another RoleAssignment",
		},
	},
}

var secretAggregateCases = kindCases{
	base: `{targetSecretName: all, sources: [{name: a, secretKeyRef: {name: s, key: k}}], template: {out: "{{ .a }}"}}`,
	cases: map[string]specCase{
		"TargetChanged": {
			reason:  "Pods mount it by name.",
			old:     new(`{}`),
			spec:    `targetSecretName: other`,
			field:   "spec",
			message: "targetSecretName is immutable: pods mount the Secret by name; restore the previous value",
		},
	},
}

var tempestCases = kindCases{
	base: `
openStackRelease: "2025.2"
target: {providerConfig: in-cluster}
region: RegionOne
identity:
  internalURL: https://keystone.a.svc:5000/v3
  publicURL: https://keystone.a.svc:5000/v3
  caSecretRef: {name: keystone-tls, key: ca.crt}
  adminCloudRef: {secretName: keystone-clouds, cloudName: admin}
  korcCloudRef: {secretName: keystone-korc-clouds, cloudName: admin}
services: [{type: identity, internalURL: "https://keystone.a.svc:5000/v3"}]
`,
	cases: map[string]specCase{
		"Everything": {
			reason: "All fields are accepted.",
			spec: `
schedule: "30 1 * * 6"
tests: {services: [identity], concurrency: 32, includeRegex: "^tempest", excludeRegex: "slow"}
passwords: {lockoutAttempts: 2, lockoutSeconds: 5, remembered: 2}`,
		},
		"UnknownService": {
			reason:  "There are no tests of the service.",
			spec:    `tests: {services: [dashboard]}`,
			field:   "spec.tests.services[0]",
			message: "Unsupported value",
		},
		"NoServices": {
			reason:  "Keystone is always there.",
			spec:    `services: []`,
			field:   "spec.services",
			message: "should have at least 1 items",
		},
	},
}
