package c5c3_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestObjectsMatchReviewedManifests compares the complete objects of the companion and of its custom resources.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	w := workload.Workload{Name: "companion", Namespace: "cloud", App: "companion", Instance: "cloud", Replicas: 2}
	meta := object.Meta{Name: "x", Namespace: "cloud", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}
	network, err := c5c3.Network(w, []string{"monitoring"}, []int32{443, 6443}, []int32{8774, 8778, 9696},
		"http://a.example.com", "https://b.example.com", "https://c.example.com:5000")
	if err != nil {
		t.Fatal(err)
	}
	objecttest.Run(t, map[string]objecttest.Case{
		"deployment": {
			Reason: "It watches its own namespace, elects a leader, and has a separate port for probes.",
			Got:    []runtime.Object{c5c3.Deployment(w, "companion:1"), c5c3.Service(w)},
			Want: `
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: companion
    app.kubernetes.io/part-of: openstack
  name: companion
  namespace: cloud
spec:
  replicas: 2
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: companion
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
    type: RollingUpdate
  template:
    metadata:
      labels:
        app.kubernetes.io/instance: cloud
        app.kubernetes.io/managed-by: crossplane-cobaltcore
        app.kubernetes.io/name: companion
        app.kubernetes.io/part-of: openstack
    spec:
      automountServiceAccountToken: true
      containers:
      - args:
        - --namespace=$(NAMESPACE)
        - --leader-elect
        env:
        - name: NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        image: companion:1
        livenessProbe:
          httpGet:
            path: /healthz
            port: health
        name: companion
        ports:
        - containerPort: 8443
          name: metrics
        - containerPort: 8081
          name: health
        readinessProbe:
          httpGet:
            path: /readyz
            port: health
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
        fsGroup: 65532
        runAsGroup: 65532
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: companion
      topologySpreadConstraints:
      - labelSelector:
          matchLabels:
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: companion
        maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
      - labelSelector:
          matchLabels:
            app.kubernetes.io/instance: cloud
            app.kubernetes.io/name: companion
        maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
      volumes:
      - emptyDir:
          sizeLimit: 1Gi
        name: tmp
---
apiVersion: v1
kind: Service
metadata:
  labels:
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: companion
    app.kubernetes.io/part-of: openstack
  name: companion
  namespace: cloud
spec:
  ports:
  - name: metrics
    port: 8443
    protocol: TCP
    targetPort: metrics
  selector:
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/name: companion
`,
		},
		"network": {
			Reason: "Egress to the API server, Keystone, services and public addresses at their distinct ports, and ingress from Prometheus.",
			Got:    []runtime.Object{network},
			Want: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  labels:
    app.kubernetes.io/instance: cloud
    app.kubernetes.io/managed-by: crossplane-cobaltcore
    app.kubernetes.io/name: companion
    app.kubernetes.io/part-of: openstack
  name: companion
  namespace: cloud
spec:
  egress:
  - ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
  - ports:
    - port: 80
      protocol: TCP
    - port: 443
      protocol: TCP
    - port: 5000
      protocol: TCP
    - port: 6443
      protocol: TCP
  - ports:
    - port: 5000
      protocol: TCP
    - port: 8774
      protocol: TCP
    - port: 8778
      protocol: TCP
    - port: 9696
      protocol: TCP
    to:
    - podSelector: {}
  ingress:
  - from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: monitoring
      podSelector: {}
    ports:
    - port: 8443
      protocol: TCP
  podSelector:
    matchLabels:
      app.kubernetes.io/instance: cloud
      app.kubernetes.io/name: companion
  policyTypes:
  - Ingress
  - Egress
`,
		},
		"rights": {
			Reason: "A Role and its binding are in the namespace of their objects, for the companion of that namespace.",
			Got:    granted(c5c3.Grant(meta, c5c3.SecretAggregate(meta, c5c3v1.SecretAggregateSpec{TargetSecretName: "domains"}))),
			Want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
rules:
- apiGroups:
  - ""
  resourceNames:
  - domains
  resources:
  - secrets
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - ""
  resourceNames:
  - domains
  resources:
  - secrets
  verbs:
  - update
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: x
subjects:
- kind: ServiceAccount
  name: companion
  namespace: cloud
`,
		},
		"kinds": {
			Reason: "Each kind has the correct group and version.",
			Got: []runtime.Object{
				c5c3.KeyRepository(meta, openstackv1.KeyRepositorySpec{}), c5c3.DatabaseSync(meta, openstackv1.DatabaseSyncSpec{}),
				c5c3.RoleAssignment(meta, openstackv1.RoleAssignmentSpec{}), c5c3.EndpointRegion(meta, openstackv1.EndpointRegionSpec{}),
				c5c3.IdentityCheck(meta, openstackv1.IdentityCheckSpec{}), c5c3.SecretAggregate(meta, c5c3v1.SecretAggregateSpec{}),
				c5c3.CredentialRotation(meta, c5c3v1.CredentialRotationSpec{}),
			},
			Want: `
apiVersion: openstack.c5c3.io/v1alpha1
kind: KeyRepository
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
---
apiVersion: openstack.c5c3.io/v1alpha1
kind: DatabaseSync
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
---
apiVersion: openstack.c5c3.io/v1alpha1
kind: RoleAssignment
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
---
apiVersion: openstack.c5c3.io/v1alpha1
kind: EndpointRegion
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
---
apiVersion: openstack.c5c3.io/v1alpha1
kind: IdentityCheck
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
---
apiVersion: c5c3.io/v1alpha1
kind: SecretAggregate
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
---
apiVersion: c5c3.io/v1alpha1
kind: CredentialRotation
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: x
  namespace: cloud
`,
		},
	})
}

func granted(role, binding runtime.Object) []runtime.Object { return []runtime.Object{role, binding} }

// TestObjectsContainTheirSpec tests that each kind gets the passed spec.
func TestObjectsContainTheirSpec(t *testing.T) {
	meta, clouds := object.Meta{Name: "x", Namespace: "cloud"}, common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
	check := openstackv1.IdentityCheckSpec{CloudCredentialsRef: clouds}
	role, region := openstackv1.RoleAssignmentSpec{CloudCredentialsRef: clouds}, openstackv1.EndpointRegionSpec{CloudCredentialsRef: clouds}
	rotation := c5c3v1.CredentialRotationSpec{SecretName: "s", CloudCredentialsRef: &clouds}
	aggregate := c5c3v1.SecretAggregateSpec{TargetSecretName: "s"}
	keys, schema := openstackv1.KeyRepositorySpec{SecretName: "s"}, openstackv1.DatabaseSyncSpec{}
	schema.Template.Spec.ServiceAccountName = "s"
	for name, specs := range map[string][2]any{
		"IdentityCheck": {check, c5c3.IdentityCheck(meta, check).Spec}, "RoleAssignment": {role, c5c3.RoleAssignment(meta, role).Spec},
		"EndpointRegion": {region, c5c3.EndpointRegion(meta, region).Spec}, "CredentialRotation": {rotation, c5c3.CredentialRotation(meta, rotation).Spec},
		"SecretAggregate": {aggregate, c5c3.SecretAggregate(meta, aggregate).Spec}, "KeyRepository": {keys, c5c3.KeyRepository(meta, keys).Spec},
		"DatabaseSync": {schema, c5c3.DatabaseSync(meta, schema).Spec},
	} {
		if diff := cmp.Diff(specs[0], specs[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
