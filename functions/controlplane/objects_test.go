package controlplane

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// example returns the objects composed for a claim of examples/controlplane, without their wrapper Objects.
func example(t *testing.T, file string) map[string]map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../examples/controlplane/" + file)
	if err != nil {
		t.Fatal(err)
	}
	claim := map[string]any{}
	if err := yaml.Unmarshal(data, &claim); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(claim["spec"])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for name, o := range desired(t, readyCluster(t, string(spec), bare)) {
		out[name] = inner(o)
	}
	return out
}

// strip removes fields at any depth.
func strip(v any, fields []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, f := range fields {
			delete(v, f)
		}
		for _, inner := range v {
			strip(inner, fields)
		}
	case []any:
		for _, inner := range v {
			strip(inner, fields)
		}
	}
}

// TestObjectsMatchReviewedManifests compares the objects for operators with reviewed ones, for the example with all features.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	objects := example(t, "full.yaml")
	for name, tc := range map[string]struct {
		reason, resource string
		path             []string
		want             string
	}{
		"queue": {reason: "Three members, on different nodes, with TLS only; no pod is evicted while messages could be lost.", resource: "messaging", path: []string{"spec"}, want: `
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - podAffinityTerm:
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: rabbitmq
        topologyKey: kubernetes.io/hostname
      weight: 100
    - podAffinityTerm:
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: rabbitmq
        topologyKey: topology.kubernetes.io/zone
      weight: 50
delayStartSeconds: 0
imagePullSecrets:
- name: claim-pull-registry
override:
  statefulSet:
    spec:
      template:
        spec:
          automountServiceAccountToken: false
          containers:
          - name: rabbitmq
            volumeMounts:
            - mountPath: /etc/rabbitmq-members
              name: members-tls
              readOnly: true
          dnsConfig:
            searches:
            - rabbitmq-nodes.` + instance + `.svc.cluster.local
          priorityClassName: cobaltcore-infrastructure
          volumes:
          - name: members-tls
            secret:
              defaultMode: 288
              secretName: rabbitmq-members-tls
persistence:
  storage: 50Gi
  storageClassName: fast
rabbitmq:
  additionalConfig: |
    cluster_partition_handling = pause_minority
    default_queue_type = quorum
    ssl_options.verify = verify_none
    ssl_options.fail_if_no_peer_cert = false
    disk_free_limit.absolute = 4294967296
  envConfig: |
    SERVER_ADDITIONAL_ERL_ARGS="-proto_dist inet_tls -ssl_dist_opt server_certfile /etc/rabbitmq-members/tls.crt -ssl_dist_opt server_keyfile /etc/rabbitmq-members/tls.key -ssl_dist_opt server_cacertfile /etc/rabbitmq-members/ca.crt -ssl_dist_opt server_verify verify_peer -ssl_dist_opt client_certfile /etc/rabbitmq-members/tls.crt -ssl_dist_opt client_keyfile /etc/rabbitmq-members/tls.key -ssl_dist_opt client_cacertfile /etc/rabbitmq-members/ca.crt -ssl_dist_opt client_verify verify_peer -ssl_dist_opt server_fail_if_no_peer_cert true"
    RABBITMQ_CTL_ERL_ARGS="$SERVER_ADDITIONAL_ERL_ARGS"
replicas: 3
resources:
  limits:
    memory: 4Gi
  requests:
    cpu: "1"
    memory: 4Gi
terminationGracePeriodSeconds: 600
tls:
  caSecretName: rabbitmq-tls
  disableNonTLSListeners: true
  secretName: rabbitmq-tls
`},
		"locks": {reason: "Three members that elect a primary.", resource: "locks", path: []string{"spec"}, want: `
binding:
  secretName: valkey-binding
metrics:
  enabled: true
  monitor:
    additionalLabels:
      prometheus: platform
    enabled: true
    interval: 30s
persistence:
  enabled: true
  size: 8Gi
priorityClassName: cobaltcore-infrastructure
replicas: 3
resources:
  limits:
    memory: 1Gi
  requests:
    cpu: 200m
    memory: 512Mi
sentinel:
  enabled: true
tls:
  certManager:
    issuer:
      group: cert-manager.io
      kind: Issuer
      name: internal-ca
  enabled: true
`},
		"cache": {reason: "Each member has its own name.", resource: "memcached-keystone", path: []string{"spec", "template", "spec", "containers"}, want: `
- args:
  - -m
  - "1024"
  - -c
  - "4096"
  - -I
  - 2m
  livenessProbe:
    tcpSocket:
      port: memcached
  name: memcached
  ports:
  - containerPort: 11211
    name: memcached
  readinessProbe:
    tcpSocket:
      port: memcached
  resources:
    limits:
      memory: 1216Mi
    requests:
      cpu: 50m
      ephemeral-storage: 102Mi
      memory: 1216Mi
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop:
      - ALL
    readOnlyRootFilesystem: true
  volumeMounts:
  - mountPath: /tmp
    name: tmp
`},
		"cache's pods": {reason: "The claim sets the number.", resource: "memcached-keystone", path: []string{"spec", "replicas"}, want: `
3
`},
		"database": {reason: "The settings of the claim, and values derived from its size.", resource: "database", path: []string{"spec"}, want: `
affinity:
  antiAffinityEnabled: true
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - podAffinityTerm:
        labelSelector:
          matchLabels:
            app.kubernetes.io/instance: mariadb
            app.kubernetes.io/name: mariadb
        topologyKey: topology.kubernetes.io/zone
      weight: 100
galera:
  agent:
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
        - ALL
  enabled: true
  providerOptions:
    gcache.size: 2G
  recovery:
    clusterBootstrapTimeout: 720h0m0s
    enabled: true
  replicaThreads: 4
  sst: mariabackup
imagePullSecrets:
- name: claim-pull-registry
maxScaleRef:
  name: maxscale
  namespace: tenant-a-cloud-aab838129d70f8f9a33a
metrics:
  enabled: true
  exporter:
    podSecurityContext:
      fsGroup: 65534
      runAsGroup: 65534
      runAsNonRoot: true
      runAsUser: 65534
      seccompProfile:
        type: RuntimeDefault
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
        - ALL
myCnf: |
  [mariadb]
  max_connections=4096
  innodb_buffer_pool_size=5G
  max_allowed_packet=64M
  skip-name-resolve
  character-set-server=utf8
  collation-server=utf8_general_ci
  loose-innodb-snapshot-isolation=OFF
  loose-character-set-collations=utf8mb3=utf8mb3_general_ci,utf8mb4=utf8mb4_general_ci
podDisruptionBudget:
  maxUnavailable: 1
podSecurityContext:
  fsGroup: 999
  runAsGroup: 999
  runAsNonRoot: true
  runAsUser: 999
  seccompProfile:
    type: RuntimeDefault
priorityClassName: cobaltcore-infrastructure
readinessProbe:
  initialDelaySeconds: 1
  periodSeconds: 5
replicas: 3
resources:
  limits:
    memory: 8Gi
  requests:
    cpu: "2"
    memory: 8Gi
rootPasswordSecretKeyRef:
  generate: false
  key: password
  name: mariadb-root
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop:
    - ALL
startupProbe:
  failureThreshold: 21600
  initialDelaySeconds: 1
  periodSeconds: 2
storage:
  size: 200Gi
  storageClassName: fast
tls:
  clientCertIssuerRef:
    kind: Issuer
    name: internal-ca
  enabled: true
  galeraSSTEnabled: true
  required: true
  serverCertIssuerRef:
    kind: Issuer
    name: internal-ca
topologySpreadConstraints:
- labelSelector:
    matchLabels:
      app.kubernetes.io/instance: mariadb
      app.kubernetes.io/name: mariadb
  maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: DoNotSchedule
updateStrategy:
  type: ReplicasFirstPrimaryLast
`},
		"proxy": {reason: "The proxy has the same settings.", resource: "database-proxy", path: []string{"spec"}, want: `
imagePullSecrets:
- name: claim-pull-registry
mariaDbRef:
  name: mariadb
metrics:
  enabled: true
  exporter:
    podSecurityContext:
      fsGroup: 65534
      runAsGroup: 65534
      runAsNonRoot: true
      runAsUser: 65534
      seccompProfile:
        type: RuntimeDefault
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
        - ALL
podDisruptionBudget:
  maxUnavailable: 1
priorityClassName: cobaltcore-infrastructure
replicas: 2
resources:
  limits:
    memory: 2Gi
  requests:
    cpu: 250m
    memory: 512Mi
services:
- listener:
    name: primary-listener
    port: 3306
    protocol: MariaDBProtocol
  name: primary
  params:
    router_options: master
  router: readconnroute
tls:
  adminCertIssuerRef:
    kind: Issuer
    name: internal-ca
  enabled: true
  listenerCertIssuerRef:
    kind: Issuer
    name: internal-ca
topologySpreadConstraints:
- labelSelector:
    matchLabels:
      app.kubernetes.io/instance: maxscale
      app.kubernetes.io/name: maxscale
  maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: DoNotSchedule
`},
		"backup": {reason: "It has the settings of the claim and the copy of its Secret.", resource: "database-backup-", path: []string{"spec"}, want: `
backoffLimit: 20
compression: gzip
mariaDbRef:
  name: mariadb
maxRetention: 720h
podSecurityContext:
  fsGroup: 999
  runAsGroup: 999
  runAsNonRoot: true
  runAsUser: 999
  seccompProfile:
    type: RuntimeDefault
resources:
  limits:
    memory: 2Gi
  requests:
    cpu: 100m
    memory: 256Mi
restartPolicy: Never
schedule:
  cron: 30 1 * * *
  immediate: true
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop:
    - ALL
storage:
  s3:
    accessKeyIdSecretKeyRef:
      key: access-key-id
      name: tenant-backup-s3
    bucket: production-mariadb
    endpoint: s3.example.com:443
    prefix: cloud
    region: eu-de-1
    secretAccessKeySecretKeyRef:
      key: secret-access-key
      name: tenant-backup-s3
    tls:
      enabled: true
target: PreferReplica
timeout: 8h0m0s
`},
		"keystone": {reason: "All values are in its spec.", resource: "keystone", path: []string{"spec"}, want: `
bootstrap:
  adminUser: admin
cache:
  servers:
  - memcached-keystone-0.memcached-keystone.tenant-a-cloud-aab838129d70f8f9a33a.svc:11211
  - memcached-keystone-1.memcached-keystone.tenant-a-cloud-aab838129d70f8f9a33a.svc:11211
  - memcached-keystone-2.memcached-keystone.tenant-a-cloud-aab838129d70f8f9a33a.svc:11211
config:
  DEFAULT:
    max_token_size: 512
  security_compliance:
    lockout_duration: 1800
    lockout_failure_attempts: 6
    unique_last_password_count: 5
credentialKeys:
  rotationSchedule: 0 0 1 * *
database:
  caSecretRef:
    key: ca.crt
    name: mariadb-ca-bundle
  galera: true
  host: maxscale.tenant-a-cloud-aab838129d70f8f9a33a.svc
  mariaDBRef:
    name: mariadb
  port: 3306
deletionPolicy: Retain
domainIDs:
  employees: id-of-employees
endpoints:
  internal: https://keystone.tenant-a-cloud-aab838129d70f8f9a33a.svc:5000/v3
  public: https://identity.production.tenant-a.example.com/v3
exposure:
  allowedNamespaces:
  - gateway-system
  gateway:
    name: public
    namespace: gateway-system
    sectionName: https
  hostname: identity.production.tenant-a.example.com
  routing: Hostnames
  tls:
    enabled: true
  type: GatewayAPI
federation:
  clientID: keystone
  clientSecretRef:
    key: client-secret
    name: tenant-keycloak-client
  issuer: https://keycloak.example.com/realms/cloud
  metadataURL: https://keycloak.example.com/realms/cloud/.well-known/openid-configuration
  provider: keycloak
  scopes:
  - openid
  - email
  - profile
  trustedDashboards:
  - https://dashboard.production.tenant-a.example.com/auth/websso/
fernet:
  allowExpiredWindowSeconds: 172800
  rotationSchedule: 0 0 * * *
  tokenExpirationSeconds: 3600
identityBackends:
- domain: employees
  ldap:
    caSecretRef:
      key: ca.crt
      name: tenant-ldap-employees
    groupTreeDN: ou=groups,dc=example,dc=com
    options:
      query_scope: sub
      user_filter: (memberOf=cn=openstack,ou=groups,dc=example,dc=com)
      user_objectclass: inetOrgPerson
    passwordSecretRef:
      key: password
      name: tenant-ldap-employees
    suffix: dc=example,dc=com
    url: ldaps://ldap.example.com
    user: cn=keystone,ou=services,dc=example,dc=com
    userTreeDN: ou=people,dc=example,dc=com
images:
  pullSecrets:
  - claim-pull-registry
  registry: registry.example.com/mirror
issuerRef:
  kind: Issuer
  name: internal-ca
monitoring:
  enabled: true
  labels:
    prometheus: platform
nodeSelector:
  node-role.kubernetes.io/control-plane-services: ""
openStackRelease: "2025.2"
policy:
  identity:list_projects: rule:admin_required or role:auditor
region: eu-de-1
replicas: 3
resources:
  limits:
    memory: 2Gi
  requests:
    cpu: 500m
    memory: 1Gi
secretStore:
  kind: ClusterSecretStore
  name: openbao-cluster-store
  prefix: tenant-a/production
target:
  providerConfig: in-cluster
tolerations:
- effect: NoSchedule
  key: dedicated
  operator: Equal
  value: openstack
trustFlush:
  schedule: 15 * * * *
uwsgi:
  processes: 4
  threads: 1
`},
		"namespace": {reason: "The restricted standard is enforced where possible.", resource: "namespace", path: []string{"metadata", "labels"}, want: `
app.kubernetes.io/managed-by: crossplane-cobaltcore
pod-security.kubernetes.io/audit: restricted
pod-security.kubernetes.io/enforce: baseline
pod-security.kubernetes.io/warn: restricted
`},
		"certificate": {reason: "The certificate contains each member's name.", resource: "messaging-certificate", path: []string{"spec"}, want: `
dnsNames:
- rabbitmq.tenant-a-cloud-aab838129d70f8f9a33a.svc
- rabbitmq.tenant-a-cloud-aab838129d70f8f9a33a.svc.cluster.local
- '*.rabbitmq-nodes.tenant-a-cloud-aab838129d70f8f9a33a.svc'
- '*.rabbitmq-nodes.tenant-a-cloud-aab838129d70f8f9a33a.svc.cluster.local'
issuerRef:
  group: cert-manager.io
  kind: Issuer
  name: internal-ca
privateKey:
  algorithm: ECDSA
  rotationPolicy: Always
  size: 256
secretName: rabbitmq-tls
usages:
- digital signature
- server auth
- client auth
`},
	} {
		t.Run(name, func(t *testing.T) {
			var got any
			for resource, o := range objects {
				if resource == tc.resource || strings.HasSuffix(tc.resource, "-") && strings.HasPrefix(resource, tc.resource) {
					got = at(o, tc.path...)
				}
			}
			strip(got, []string{"image", "repository", "tag"})
			text, err := yaml.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(tc.want), strings.TrimSpace(string(text))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRetainedObjectsHaveUsages checks the users of retained Secrets.
func TestRetainedObjectsHaveUsages(t *testing.T) {
	var got []string
	objects := example(t, "full.yaml")
	for _, resource := range slices.Sorted(maps.Keys(objects)) {
		o := objects[resource]
		if api, _ := o["apiVersion"].(string); strings.HasPrefix(api, "protection.crossplane.io/") {
			got = append(got, fmt.Sprintf("%s: %s %s is used by %s %s, again %v", resource,
				at(o, "spec", "of", "kind"), at(o, "spec", "of", "resourceRef", "name"),
				at(o, "spec", "by", "kind"), at(o, "spec", "by", "resourceRef", "name"), at(o, "spec", "replayDeletion")))
		}
	}
	want := []string{
		"catalog-uses-keystone: Keystone keystone is used by IdentityCatalog catalog, again true",
		"keystone-uses-database: Object " + instance + "-database is used by Keystone keystone, again true",
		"keystone-uses-namespace: Object " + instance + "-namespace is used by Keystone keystone, again true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
