package secret_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// TestObjectsMatchReviewedManifests compares complete objects of External Secrets.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	meta := object.Meta{Name: "keystone-database", Namespace: "cloud"}
	store := common.SecretStoreReference{Name: "openbao", Kind: "ClusterSecretStore", Prefix: "kv"}
	stored := secret.Stored(store, "cloud", "root")
	objecttest.Run(t, map[string]objecttest.Case{
		"generated": {
			Reason: "A password of letters and digits is generated once, and outlives the ExternalSecret.",
			Got:    []runtime.Object{secret.Generator(meta), secret.Generated(meta, "passwords", "keystone", object.Map{"watched": "true"})},
			Want: `
apiVersion: generators.external-secrets.io/v1alpha1
kind: Password
metadata:
  name: keystone-database
  namespace: cloud
spec:
  allowRepeat: true
  digits: 6
  length: 32
  noUpper: false
  symbols: 0
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: keystone-database
  namespace: cloud
spec:
  dataFrom:
  - sourceRef:
      generatorRef:
        apiVersion: generators.external-secrets.io/v1alpha1
        kind: Password
        name: passwords
  refreshPolicy: CreatedOnce
  target:
    creationPolicy: Orphan
    name: keystone-database
    template:
      data:
        password: '{{ .password }}'
        username: keystone
      engineVersion: v2
      metadata:
        labels:
          watched: "true"
`,
		},
		"given": {
			Reason: "A given password results in the same Secret.",
			Got:    []runtime.Object{secret.Given(meta, "keystone", stored, "secret-key")},
			Want: `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: keystone-database
  namespace: cloud
spec:
  data:
  - remoteRef:
      key: kv/cloud/root
      property: secret-key
    secretKey: password
  refreshPolicy: CreatedOnce
  secretStoreRef:
    kind: ClusterSecretStore
    name: openbao
  target:
    creationPolicy: Orphan
    name: keystone-database
    template:
      data:
        password: '{{ .password }}'
        username: keystone
      engineVersion: v2
`,
		},
		"backup": {
			Reason: "Values that cannot be regenerated are kept in a store and never deleted there.",
			Got:    []runtime.Object{secret.Backup(meta, store, "cloud", "username", "password"), secret.BackupOnce(meta, store, "cloud")},
			Want: `
apiVersion: external-secrets.io/v1alpha1
kind: PushSecret
metadata:
  name: keystone-database
  namespace: cloud
spec:
  data:
  - match:
      remoteRef:
        property: username
        remoteKey: kv/cloud/keystone-database
      secretKey: username
  - match:
      remoteRef:
        property: password
        remoteKey: kv/cloud/keystone-database
      secretKey: password
  deletionPolicy: None
  refreshInterval: 1h
  secretStoreRefs:
  - kind: ClusterSecretStore
    name: openbao
  selector:
    secret:
      name: keystone-database
  updatePolicy: Replace
---
apiVersion: external-secrets.io/v1alpha1
kind: PushSecret
metadata:
  name: keystone-database
  namespace: cloud
spec:
  data:
  - match:
      remoteRef:
        remoteKey: kv/cloud/keystone-database
  deletionPolicy: None
  refreshInterval: 1h
  secretStoreRefs:
  - kind: ClusterSecretStore
    name: openbao
  selector:
    secret:
      name: keystone-database
  updatePolicy: IfNotExists
`,
		},
		"store": {
			Reason: "Another namespace is read by a ServiceAccount, at the API server that the cluster's own authority vouches for.",
			Got:    []runtime.Object{secret.Store(meta, "reader", "tenant")},
			Want: `
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata:
  name: keystone-database
  namespace: cloud
spec:
  provider:
    kubernetes:
      auth:
        serviceAccount:
          name: reader
      remoteNamespace: tenant
      server:
        caProvider:
          key: ca.crt
          name: kube-root-ca.crt
          type: ConfigMap
        url: https://kubernetes.default.svc
`,
		},
		"copied": {
			Reason: "A copy follows its source, is kept while that is unreadable, and is deleted with the ExternalSecret.",
			Got:    []runtime.Object{secret.Copied(meta, stored, corev1.SecretTypeOpaque, false, "username", "password")},
			Want: `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: keystone-database
  namespace: cloud
spec:
  data:
  - remoteRef:
      key: kv/cloud/root
      property: username
    secretKey: username
  - remoteRef:
      key: kv/cloud/root
      property: password
    secretKey: password
  refreshInterval: 5m0s
  refreshPolicy: Periodic
  secretStoreRef:
    kind: ClusterSecretStore
    name: openbao
  target:
    creationPolicy: Owner
    deletionPolicy: Retain
    name: keystone-database
    template:
      engineVersion: v2
      type: Opaque
`,
		},
		"kept": {
			Reason: "One that is to be kept stays.",
			Got:    []runtime.Object{secret.Copied(meta, secret.Source{Store: "s", StoreKind: "SecretStore", Key: "k"}, corev1.SecretTypeDockerConfigJson, true)},
			Want: `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: keystone-database
  namespace: cloud
spec:
  data: []
  refreshInterval: 5m0s
  refreshPolicy: Periodic
  secretStoreRef:
    kind: SecretStore
    name: s
  target:
    creationPolicy: Orphan
    deletionPolicy: Retain
    name: keystone-database
    template:
      engineVersion: v2
      type: kubernetes.io/dockerconfigjson
`,
		},
		"pushed": {
			Reason: "Pushed entries are deleted with the PushSecret.",
			Got:    []runtime.Object{secret.Pushed(meta, meta.Name, stored, "username", "password")},
			Want: `
apiVersion: external-secrets.io/v1alpha1
kind: PushSecret
metadata:
  name: keystone-database
  namespace: cloud
spec:
  data:
  - match:
      remoteRef:
        property: username
        remoteKey: kv/cloud/root
      secretKey: username
  - match:
      remoteRef:
        property: password
        remoteKey: kv/cloud/root
      secretKey: password
  deletionPolicy: Delete
  refreshInterval: 5m0s
  secretStoreRefs:
  - kind: ClusterSecretStore
    name: openbao
  selector:
    secret:
      name: keystone-database
  updatePolicy: Replace
`,
		},
	})
}
