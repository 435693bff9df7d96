package apis_test

const (
	fileStore = `stores: [{name: main, file: {storageSize: 100Gi}}]`
	s3Store   = `stores: [{name: main, s3: {endpoint: https://s3.example.com, bucket: images, credentialsSecretRef: {name: s3}}}]`
)

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
		"ExemptUser": {reason: "As for users of services.", spec: `{exemptUser: true}`},
		"ExemptGroup": {
			reason: "Options belong to users.", spec: `{exemptUser: true, resource: {roleRef: admin, groupRef: operators, userRef: null}}`,
			field: "spec.exemptUser", message: "exemptUser applies to a user; set resource.userRef, or remove exemptUser",
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
