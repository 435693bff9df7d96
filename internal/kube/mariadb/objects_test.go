package mariadb_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
)

// TestObjectsMatchReviewedManifests compares complete objects of the operator.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	meta := object.Meta{Name: "mariadb", Namespace: "cloud"}
	placement := common.Placement{
		NodeSelector: map[string]common.LabelValue{"disk": "fast"},
		Tolerations:  []common.Toleration{{Key: "database", Operator: "Exists", Effect: "NoSchedule"}},
	}
	resources := &common.Resources{Requests: &common.ResourceAmounts{Memory: new(resource.MustParse("1Gi"))}}
	bucket := mariadb.Bucket{Name: "backups", Endpoint: "s3.example.com:443", Region: "eu", Prefix: "cloud", Secret: "s3", PrivateCA: true}
	exporter := mariadb.Exporter{Enabled: true, Image: "exporter:1", Placement: placement}
	account := mariadb.Account{Meta: object.Meta{Name: "keystone", Namespace: "cloud"}, Server: "mariadb", Secret: "keystone-database"}
	objecttest.Run(t, map[string]objecttest.Case{
		"single": {
			Reason: "A single server has TLS, an existing password and restricted pods, like all servers.",
			Got: []runtime.Object{mariadb.Server{
				Meta: meta, Replicas: 1, RootSecret: "mariadb-root", StorageSize: "10Gi", Issuer: "internal-ca", BufferPool: "1G", Connections: 100,
			}.Object()},
			Want: `
apiVersion: k8s.mariadb.com/v1alpha1
kind: MariaDB
metadata:
  name: mariadb
  namespace: cloud
spec:
  metrics:
    enabled: false
  myCnf: |
    [mariadb]
    max_connections=100
    innodb_buffer_pool_size=1G
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
  replicas: 1
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
    failureThreshold: 300
    initialDelaySeconds: 1
    periodSeconds: 2
  storage:
    size: 10Gi
  tls:
    clientCertIssuerRef:
      kind: Issuer
      name: internal-ca
    enabled: true
    required: true
    serverCertIssuerRef:
      kind: Issuer
      name: internal-ca
  updateStrategy:
    type: ReplicasFirstPrimaryLast
`,
		},
		"cluster": {
			Reason: "Several copy one database, encrypted, on nodes and in zones of their own, and have hours to do so.",
			Got: []runtime.Object{mariadb.Server{
				Meta: meta, Replicas: 3, RootSecret: "mariadb-root", StorageSize: "10Gi", StorageClass: "ssd", Issuer: "internal-ca", BufferPool: "1G",
				Connections: 100, MaxScale: "maxscale", Image: "mariadb:11", Exporter: exporter, Placement: placement, Resources: resources,
				PullSecrets: []common.ObjectName{"pull"}, Primary: new(int64(2)), Transfer: &mariadb.Transfer{Cache: "1G", Threads: 4},
				Bootstrap: mariadb.Bootstrap(bucket, "2026-05-01T03:00:00Z"),
			}.Object()},
			Want: `
apiVersion: k8s.mariadb.com/v1alpha1
kind: MariaDB
metadata:
  name: mariadb
  namespace: cloud
spec:
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
  bootstrapFrom:
    backupContentType: Physical
    s3:
      accessKeyIdSecretKeyRef:
        key: access-key-id
        name: s3
      bucket: backups
      endpoint: s3.example.com:443
      prefix: cloud
      region: eu
      secretAccessKeySecretKeyRef:
        key: secret-access-key
        name: s3
      tls:
        caSecretKeyRef:
          key: ca.crt
          name: s3
        enabled: true
    targetRecoveryTime: "2026-05-01T03:00:00Z"
  galera:
    agent:
      securityContext:
        allowPrivilegeEscalation: false
        capabilities:
          drop:
          - ALL
    enabled: true
    primary:
      podIndex: 2
    providerOptions:
      gcache.size: 1G
    recovery:
      clusterBootstrapTimeout: 720h0m0s
      enabled: true
    replicaThreads: 4
    sst: mariabackup
  image: mariadb:11
  imagePullSecrets:
  - name: pull
  maxScaleRef:
    name: maxscale
    namespace: cloud
  metrics:
    enabled: true
    exporter:
      image: exporter:1
      nodeSelector:
        disk: fast
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
      tolerations:
      - effect: NoSchedule
        key: database
        operator: Exists
  myCnf: |
    [mariadb]
    max_connections=100
    innodb_buffer_pool_size=1G
    max_allowed_packet=64M
    skip-name-resolve
    character-set-server=utf8
    collation-server=utf8_general_ci
    loose-innodb-snapshot-isolation=OFF
    loose-character-set-collations=utf8mb3=utf8mb3_general_ci,utf8mb4=utf8mb4_general_ci
  nodeSelector:
    disk: fast
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
    requests:
      memory: 1Gi
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
    size: 10Gi
    storageClassName: ssd
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
  tolerations:
  - effect: NoSchedule
    key: database
    operator: Exists
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
`,
		},
		"proxy": {
			Reason: "A proxy leads all connections to the one member that takes writes, by TLS of our own authority.",
			Got: []runtime.Object{mariadb.Proxy{
				Meta: object.Meta{Name: "maxscale", Namespace: "cloud"}, Server: "mariadb", Replicas: 2, Port: 3306, Issuer: "internal-ca",
				Image: "maxscale:1", Resources: resources, Placement: placement, Exporter: mariadb.Exporter{}, PullSecrets: []common.ObjectName{"pull"},
			}.Object()},
			Want: `
apiVersion: k8s.mariadb.com/v1alpha1
kind: MaxScale
metadata:
  name: maxscale
  namespace: cloud
spec:
  image: maxscale:1
  imagePullSecrets:
  - name: pull
  mariaDbRef:
    name: mariadb
  metrics:
    enabled: false
  nodeSelector:
    disk: fast
  podDisruptionBudget:
    maxUnavailable: 1
  replicas: 2
  resources:
    requests:
      memory: 1Gi
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
  tolerations:
  - effect: NoSchedule
    key: database
    operator: Exists
  topologySpreadConstraints:
  - labelSelector:
      matchLabels:
        app.kubernetes.io/instance: maxscale
        app.kubernetes.io/name: maxscale
    maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: DoNotSchedule
`,
		},
		"backup": {
			Reason: "A backup is taken from a member without writes, checked against the bucket's own authority, and kept for as many days.",
			Got: []runtime.Object{mariadb.Backup{
				Meta: meta, Server: "mariadb", Cron: "0 3 * * *", Days: 14, Bucket: bucket, Timeout: 2 * time.Hour,
				StagingSize: "20Gi", StagingClass: "ssd", Tolerations: placement.Tolerations, Resources: resources,
			}.Object()},
			Want: `
apiVersion: k8s.mariadb.com/v1alpha1
kind: PhysicalBackup
metadata:
  name: mariadb
  namespace: cloud
spec:
  backoffLimit: 20
  compression: gzip
  mariaDbRef:
    name: mariadb
  maxRetention: 336h
  podSecurityContext:
    fsGroup: 999
    runAsGroup: 999
    runAsNonRoot: true
    runAsUser: 999
    seccompProfile:
      type: RuntimeDefault
  resources:
    requests:
      memory: 1Gi
  restartPolicy: Never
  schedule:
    cron: 0 3 * * *
    immediate: true
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop:
      - ALL
  stagingStorage:
    persistentVolumeClaim:
      accessModes:
      - ReadWriteOnce
      resources:
        requests:
          storage: 20Gi
      storageClassName: ssd
  storage:
    s3:
      accessKeyIdSecretKeyRef:
        key: access-key-id
        name: s3
      bucket: backups
      endpoint: s3.example.com:443
      prefix: cloud
      region: eu
      secretAccessKeySecretKeyRef:
        key: secret-access-key
        name: s3
      tls:
        caSecretKeyRef:
          key: ca.crt
          name: s3
        enabled: true
  target: PreferReplica
  timeout: 2h0m0s
  tolerations:
  - effect: NoSchedule
    key: database
    operator: Exists
`,
		},
		"backup on the node's disk": {
			Reason: "Unset fields of the platform keep the operator's defaults.",
			Got: []runtime.Object{mariadb.Backup{
				Meta: meta, Server: "mariadb", Cron: "0 3 * * *", Days: 1, Bucket: mariadb.Bucket{Name: "b", Endpoint: "s3:443", Secret: "s3"}, Timeout: time.Hour, Restarts: true,
			}.Object()},
			Want: `
apiVersion: k8s.mariadb.com/v1alpha1
kind: PhysicalBackup
metadata:
  name: mariadb
  namespace: cloud
spec:
  backoffLimit: 20
  compression: gzip
  mariaDbRef:
    name: mariadb
  maxRetention: 24h
  podSecurityContext:
    fsGroup: 999
    runAsGroup: 999
    runAsNonRoot: true
    runAsUser: 999
    seccompProfile:
      type: RuntimeDefault
  schedule:
    cron: 0 3 * * *
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
        name: s3
      bucket: b
      endpoint: s3:443
      secretAccessKeySecretKeyRef:
        key: secret-access-key
        name: s3
      tls:
        enabled: true
  target: PreferReplica
  timeout: 1h0m0s
`,
		},
		"account": {
			Reason: "A service may do everything in its own database, by TLS alone, and nothing is dropped with the objects.",
			Got:    []runtime.Object{account.Database(), account.User(), account.Grant()},
			Want: `
apiVersion: k8s.mariadb.com/v1alpha1
kind: Database
metadata:
  name: keystone
  namespace: cloud
spec:
  characterSet: utf8
  cleanupPolicy: Skip
  collate: utf8_general_ci
  mariaDbRef:
    name: mariadb
  name: keystone
---
apiVersion: k8s.mariadb.com/v1alpha1
kind: User
metadata:
  name: keystone
  namespace: cloud
spec:
  cleanupPolicy: Skip
  host: '%'
  mariaDbRef:
    name: mariadb
  maxUserConnections: 0
  name: keystone
  passwordSecretKeyRef:
    key: password
    name: keystone-database
  require:
    ssl: true
---
apiVersion: k8s.mariadb.com/v1alpha1
kind: Grant
metadata:
  name: keystone
  namespace: cloud
spec:
  cleanupPolicy: Skip
  database: keystone
  host: '%'
  mariaDbRef:
    name: mariadb
  privileges:
  - ALL PRIVILEGES
  table: '*'
  username: keystone
`,
		},
		"external": {
			Reason: "For an external server, the operator verifies the name and sends no certificate, and objects refer to it by kind.",
			Got: []runtime.Object{
				mariadb.External{
					Meta: meta, Host: "db.example.com", Port: 3307, User: "cloud-admin", Secret: "corporate",
				}.Object(),
				mariadb.Account{
					Meta: object.Meta{Name: "keystone", Namespace: "cloud"}, Server: "mariadb", External: true, Schema: "os_1_keystone",
				}.Database(),
			},
			Want: `
apiVersion: k8s.mariadb.com/v1alpha1
kind: ExternalMariaDB
metadata:
  name: mariadb
  namespace: cloud
spec:
  host: db.example.com
  passwordSecretKeyRef:
    key: password
    name: corporate
  port: 3307
  tls:
    enabled: true
    mutual: false
    serverCASecretRef:
      name: corporate
  username: cloud-admin
---
apiVersion: k8s.mariadb.com/v1alpha1
kind: Database
metadata:
  name: keystone
  namespace: cloud
spec:
  characterSet: utf8
  cleanupPolicy: Skip
  collate: utf8_general_ci
  mariaDbRef:
    kind: ExternalMariaDB
    name: mariadb
  name: os_1_keystone
`,
		},
		"metrics": {
			Reason: "Each member is a target of the exporter, with its name as instance.",
			Got:    []runtime.Object{mariadb.Monitor(meta, common.Monitoring{Labels: map[string]common.LabelValue{"prometheus": "platform"}}, 2, 3306)},
			Want: `
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  labels:
    prometheus: platform
  name: mariadb
  namespace: cloud
spec:
  endpoints:
  - interval: 30s
    params:
      target:
      - mariadb-0.mariadb-internal.cloud.svc:3306
    path: /probe
    port: metrics
    relabelings:
    - replacement: mariadb-0
      targetLabel: instance
  - interval: 30s
    params:
      target:
      - mariadb-1.mariadb-internal.cloud.svc:3306
    path: /probe
    port: metrics
    relabelings:
    - replacement: mariadb-1
      targetLabel: instance
  selector:
    matchLabels:
      app.kubernetes.io/instance: mariadb-metrics
      app.kubernetes.io/name: exporter
`,
		},
	})
}
