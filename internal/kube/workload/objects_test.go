package workload_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestObjectsMatchReviewedManifests compares the complete objects of a workload.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	api := workload.Workload{Name: "keystone", Namespace: "cloud", App: "keystone", Instance: "cloud", Component: "api", Replicas: 2}
	placed := api
	placed.Resources = &common.Resources{
		Requests: &common.ResourceAmounts{CPU: new(resource.MustParse("1")), EphemeralStorage: new(resource.MustParse("2Gi"))},
		Limits:   &common.ResourceAmounts{Memory: new(resource.MustParse("3Gi"))},
	}
	placed.PullSecrets = []common.ObjectName{"pull"}
	placed.Placement = common.Placement{
		NodeSelector: map[string]common.LabelValue{"disk": "fast"},
		Tolerations:  []common.Toleration{{Key: "a", Operator: "Equal", Value: "b", Effect: "NoExecute", TolerationSeconds: new(int64(9))}},
	}
	served := corev1.Container{Name: "api", Image: "keystone:1"}
	workload.Probes(&served, "https", "/healthcheck")
	workload.Drain(&served)
	pod := workload.Pod{
		UserID: 42, Containers: []corev1.Container{served}, InitContainers: []corev1.Container{{Name: "init"}},
		Volumes: []corev1.Volume{
			workload.ConfigVolume("config", "keystone-config"), workload.SecretVolume("keys", "keystone-fernet"), workload.SecretVolume("ca", "ca", "ca.crt"),
		},
		ServiceAccount: "keystone", APIAccess: true, GraceSeconds: workload.Grace(time.Minute), Annotations: map[string]string{"rolls": "1"},
	}
	task := workload.Pod{UserID: 42, Containers: []corev1.Container{{
		Name: "task", Env: []corev1.EnvVar{workload.SecretEnv("PASSWORD", "database", "password")},
		VolumeMounts: []corev1.VolumeMount{workload.Mount("keys", "/keys"), workload.MountFile("config", "/etc/a", "a")},
	}}}
	members := workload.Workload{Name: "ovn-nb", Namespace: "cloud", App: "ovn", Instance: "cloud", Component: "nb", Replicas: 3}
	member := workload.Pod{UserID: 42, Containers: []corev1.Container{{Name: "nb"}}}
	objecttest.Run(t, map[string]objecttest.Case{
		"deployment": {
			Reason: "A roll-out takes no pod away before another serves; pods are restricted, spread, drained and probed.",
			Got:    []runtime.Object{placed.Deployment(pod)},
			Want: `
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  replicas: 2
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/component: api
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: keystone
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
    type: RollingUpdate
  template:
    metadata:
      annotations:
        rolls: "1"
      labels:
        app.kubernetes.io/component: api
        app.kubernetes.io/instance: cloud
        app.kubernetes.io/managed-by: crossplane-cobaltcore
        app.kubernetes.io/name: keystone
        app.kubernetes.io/part-of: openstack
    spec:
      automountServiceAccountToken: true
      containers:
      - image: keystone:1
        lifecycle:
          preStop:
            sleep:
              seconds: 10
        livenessProbe:
          failureThreshold: 6
          httpGet:
            path: /healthcheck
            port: https
            scheme: HTTPS
          periodSeconds: 10
          timeoutSeconds: 5
        name: api
        readinessProbe:
          failureThreshold: 2
          httpGet:
            path: /healthcheck
            port: https
            scheme: HTTPS
          periodSeconds: 5
          timeoutSeconds: 5
        resources:
          limits:
            memory: 3Gi
          requests:
            cpu: "1"
            ephemeral-storage: 2Gi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        startupProbe:
          failureThreshold: 60
          httpGet:
            path: /healthcheck
            port: https
            scheme: HTTPS
          periodSeconds: 2
          timeoutSeconds: 5
        volumeMounts:
        - mountPath: /tmp
          name: tmp
      enableServiceLinks: false
      imagePullSecrets:
      - name: pull
      initContainers:
      - name: init
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        volumeMounts:
        - mountPath: /tmp
          name: tmp
      nodeSelector:
        disk: fast
      securityContext:
        fsGroup: 42
        runAsGroup: 42
        runAsNonRoot: true
        runAsUser: 42
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: keystone
      terminationGracePeriodSeconds: 75
      tolerations:
      - effect: NoExecute
        key: a
        operator: Equal
        tolerationSeconds: 9
        value: b
      topologySpreadConstraints:
      - labelSelector:
          matchLabels:
            app.kubernetes.io/component: api
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: keystone
        maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
      - labelSelector:
          matchLabels:
            app.kubernetes.io/component: api
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: keystone
        maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
      volumes:
      - emptyDir:
          sizeLimit: 1Gi
        name: tmp
      - configMap:
          name: keystone-config
        name: config
      - name: keys
        secret:
          defaultMode: 288
          secretName: keystone-fernet
      - name: ca
        secret:
          defaultMode: 288
          items:
          - key: ca.crt
            path: ca.crt
          secretName: ca
`,
		},
		"statefulset": {
			Reason: "Members start side by side, with names below the Service of the same name.",
			Got:    []runtime.Object{api.StatefulSet(workload.Pod{UserID: 1})},
			Want: `
apiVersion: apps/v1
kind: StatefulSet
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  podManagementPolicy: Parallel
  replicas: 2
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/component: api
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: keystone
  serviceName: keystone
  template:
    metadata:
      labels:
        app.kubernetes.io/component: api
        app.kubernetes.io/instance: cloud
        app.kubernetes.io/managed-by: crossplane-cobaltcore
        app.kubernetes.io/name: keystone
        app.kubernetes.io/part-of: openstack
    spec:
      automountServiceAccountToken: false
      containers: []
      enableServiceLinks: false
      securityContext:
        fsGroup: 1
        runAsGroup: 1
        runAsNonRoot: true
        runAsUser: 1
        seccompProfile:
          type: RuntimeDefault
      topologySpreadConstraints:
      - labelSelector:
          matchLabels:
            app.kubernetes.io/component: api
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: keystone
        maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
      - labelSelector:
          matchLabels:
            app.kubernetes.io/component: api
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: keystone
        maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
      volumes:
      - emptyDir:
          sizeLimit: 1Gi
        name: tmp
`,
		},
		"volumes": {
			Reason: "Each member has a separate volume, which outlives it.",
			Got:    []runtime.Object{members.StatefulSet(member, workload.Claim{Name: "data", Size: resource.MustParse("10Gi"), Class: "fast"})},
			Want: `
apiVersion: apps/v1
kind: StatefulSet
metadata:
  labels:
    app.kubernetes.io/component: nb
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: ovn
    app.kubernetes.io/part-of: openstack
  name: ovn-nb
  namespace: cloud
spec:
  persistentVolumeClaimRetentionPolicy:
    whenDeleted: Retain
    whenScaled: Retain
  podManagementPolicy: Parallel
  replicas: 3
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/component: nb
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: ovn
  serviceName: ovn-nb
  template:
    metadata:
      labels:
        app.kubernetes.io/component: nb
        app.kubernetes.io/instance: cloud
        app.kubernetes.io/managed-by: crossplane-cobaltcore
        app.kubernetes.io/name: ovn
        app.kubernetes.io/part-of: openstack
    spec:
      automountServiceAccountToken: false
      containers:
      - name: nb
        resources:
          requests:
            ephemeral-storage: 102Mi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        volumeMounts:
        - mountPath: /tmp
          name: tmp
      enableServiceLinks: false
      securityContext:
        fsGroup: 42
        runAsGroup: 42
        runAsNonRoot: true
        runAsUser: 42
        seccompProfile:
          type: RuntimeDefault
      topologySpreadConstraints:
      - labelSelector:
          matchLabels:
            app.kubernetes.io/component: nb
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: ovn
        maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
      - labelSelector:
          matchLabels:
            app.kubernetes.io/component: nb
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: ovn
        maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
      volumes:
      - emptyDir:
          sizeLimit: 1Gi
        name: tmp
  volumeClaimTemplates:
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata:
      name: data
    spec:
      accessModes:
      - ReadWriteOnce
      resources:
        requests:
          storage: 10Gi
      storageClassName: fast
`,
		},
		"daemonset": {
			Reason: "A pod on every node, with update strategy OnDelete.",
			Got:    []runtime.Object{members.DaemonSet(member, "OnDelete")},
			Want: `
apiVersion: apps/v1
kind: DaemonSet
metadata:
  labels:
    app.kubernetes.io/component: nb
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: ovn
    app.kubernetes.io/part-of: openstack
  name: ovn-nb
  namespace: cloud
spec:
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/component: nb
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: ovn
  template:
    metadata:
      labels:
        app.kubernetes.io/component: nb
        app.kubernetes.io/instance: cloud
        app.kubernetes.io/managed-by: crossplane-cobaltcore
        app.kubernetes.io/name: ovn
        app.kubernetes.io/part-of: openstack
    spec:
      automountServiceAccountToken: false
      containers:
      - name: nb
        resources:
          requests:
            ephemeral-storage: 102Mi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        volumeMounts:
        - mountPath: /tmp
          name: tmp
      enableServiceLinks: false
      securityContext:
        fsGroup: 42
        runAsGroup: 42
        runAsNonRoot: true
        runAsUser: 42
        seccompProfile:
          type: RuntimeDefault
      volumes:
      - emptyDir:
          sizeLimit: 1Gi
        name: tmp
  updateStrategy:
    type: OnDelete
`,
		},
		"jobs": {
			Reason: "A Job runs one pod to its end and is the record of it; of a CronJob's, one runs at a time, and none for ever.",
			Got:    []runtime.Object{api.Job(task, 4), api.CronJob(task, "0 * * * *", true)},
			Want: `
apiVersion: batch/v1
kind: Job
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  backoffLimit: 4
  template:
    metadata:
      labels:
        app.kubernetes.io/component: api
        app.kubernetes.io/instance: cloud
        app.kubernetes.io/managed-by: crossplane-cobaltcore
        app.kubernetes.io/name: keystone
        app.kubernetes.io/part-of: openstack
    spec:
      automountServiceAccountToken: false
      containers:
      - env:
        - name: PASSWORD
          valueFrom:
            secretKeyRef:
              key: password
              name: database
        name: task
        resources:
          requests:
            ephemeral-storage: 102Mi
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        volumeMounts:
        - mountPath: /tmp
          name: tmp
        - mountPath: /keys
          name: keys
          readOnly: true
        - mountPath: /etc/a
          name: config
          readOnly: true
          subPath: a
      enableServiceLinks: false
      restartPolicy: Never
      securityContext:
        fsGroup: 42
        runAsGroup: 42
        runAsNonRoot: true
        runAsUser: 42
        seccompProfile:
          type: RuntimeDefault
      volumes:
      - emptyDir:
          sizeLimit: 1Gi
        name: tmp
---
apiVersion: batch/v1
kind: CronJob
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  concurrencyPolicy: Forbid
  failedJobsHistoryLimit: 3
  jobTemplate:
    metadata:
      labels:
        app.kubernetes.io/component: api
        app.kubernetes.io/instance: cloud
        app.kubernetes.io/managed-by: crossplane-cobaltcore
        app.kubernetes.io/name: keystone
        app.kubernetes.io/part-of: openstack
    spec:
      activeDeadlineSeconds: 1800
      backoffLimit: 2
      template:
        metadata:
          labels:
            app.kubernetes.io/component: api
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/managed-by: crossplane-cobaltcore
            app.kubernetes.io/name: keystone
            app.kubernetes.io/part-of: openstack
        spec:
          automountServiceAccountToken: false
          containers:
          - env:
            - name: PASSWORD
              valueFrom:
                secretKeyRef:
                  key: password
                  name: database
            name: task
            resources:
              requests:
                ephemeral-storage: 102Mi
            securityContext:
              allowPrivilegeEscalation: false
              capabilities:
                drop:
                - ALL
              readOnlyRootFilesystem: true
            volumeMounts:
            - mountPath: /tmp
              name: tmp
            - mountPath: /keys
              name: keys
              readOnly: true
            - mountPath: /etc/a
              name: config
              readOnly: true
              subPath: a
          enableServiceLinks: false
          restartPolicy: Never
          securityContext:
            fsGroup: 42
            runAsGroup: 42
            runAsNonRoot: true
            runAsUser: 42
            seccompProfile:
              type: RuntimeDefault
          volumes:
          - emptyDir:
              sizeLimit: 1Gi
            name: tmp
  schedule: 0 * * * *
  startingDeadlineSeconds: 300
  successfulJobsHistoryLimit: 1
  suspend: true
`,
		},
		"services": {
			Reason: "A Service leads to ports by name; members of a cluster find each other before they are ready.",
			Got:    []runtime.Object{api.Service(workload.Port("https", 5000)), api.HeadlessService(workload.Port("raft", 6641))},
			Want: `
apiVersion: v1
kind: Service
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  ports:
  - name: https
    port: 5000
    protocol: TCP
    targetPort: https
  selector:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/name: keystone
---
apiVersion: v1
kind: Service
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  clusterIP: None
  ports:
  - name: raft
    port: 6641
    protocol: TCP
    targetPort: raft
  publishNotReadyAddresses: true
  selector:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/name: keystone
`,
		},
		"rest": {
			Reason: "At most one pod is disrupted; a token is mounted only on request; configuration is immutable.",
			Got:    []runtime.Object{api.DisruptionBudget(), api.ServiceAccount(), api.ConfigMap("keystone-1", map[string]string{"a": "b"})},
			Want: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/component: api
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: keystone
---
apiVersion: v1
automountServiceAccountToken: false
kind: ServiceAccount
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
---
apiVersion: v1
data:
  a: b
immutable: true
kind: ConfigMap
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone-1
  namespace: cloud
`,
		},
		"policy": {
			Reason: "Only the given traffic and DNS are allowed.",
			Got: []runtime.Object{api.NetworkPolicy(
				[]workload.Flow{{Anywhere: true, Ports: []int32{5000}}, {
					Pods:        map[string]string{"a": "b"},
					Expressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpExists}},
				}},
				[]workload.Flow{{Namespaces: []string{"x", "y"}, Pods: map[string]string{"a": "b"}, Ports: []int32{1, 2}}},
			)},
			Want: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  labels:
    app.kubernetes.io/component: api
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: keystone
    app.kubernetes.io/part-of: openstack
  name: keystone
  namespace: cloud
spec:
  egress:
  - ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
  - ports:
    - port: 1
      protocol: TCP
    - port: 2
      protocol: TCP
    to:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: x
      podSelector:
        matchLabels:
          a: b
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: "y"
      podSelector:
        matchLabels:
          a: b
  ingress:
  - ports:
    - port: 5000
      protocol: TCP
  - from:
    - podSelector:
        matchExpressions:
        - key: c
          operator: Exists
        matchLabels:
          a: b
  podSelector:
    matchLabels:
      app.kubernetes.io/component: api
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: keystone
  policyTypes:
  - Ingress
  - Egress
`,
		},
	})
}
