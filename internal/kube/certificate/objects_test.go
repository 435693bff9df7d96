package certificate_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// TestObjectsMatchReviewedManifests compares complete cert-manager objects.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	meta := object.Meta{Name: "internal-ca", Namespace: "cloud"}
	objecttest.Run(t, map[string]objecttest.Case{
		"authority": {
			Reason: "An authority keeps its key for ten years, and signs by it alone.",
			Got: []runtime.Object{
				certificate.SelfSigned(meta), certificate.Authority(meta, "self-signed"), certificate.CAIssuer(meta, "internal-ca"),
			},
			Want: `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: internal-ca
  namespace: cloud
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: internal-ca
  namespace: cloud
spec:
  commonName: internal-ca
  duration: 87600h
  isCA: true
  issuerRef:
    group: cert-manager.io
    kind: Issuer
    name: self-signed
  privateKey:
    algorithm: ECDSA
    rotationPolicy: Never
    size: 256
  secretName: internal-ca
  usages:
  - cert sign
  - crl sign
  - digital signature
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: internal-ca
  namespace: cloud
spec:
  ca:
    secretName: internal-ca
`,
		},
		"server": {
			Reason: "A server has a new key with each certificate, for its own names.",
			Got: []runtime.Object{
				certificate.Server(object.Meta{Name: "tls", Namespace: "cloud"}, common.IssuerReference{Name: "internal-ca", Kind: "Issuer"}, "a.cloud.svc", "b"),
			},
			Want: `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: tls
  namespace: cloud
spec:
  dnsNames:
  - a.cloud.svc
  - b
  issuerRef:
    group: cert-manager.io
    kind: Issuer
    name: internal-ca
  privateKey:
    algorithm: ECDSA
    rotationPolicy: Always
    size: 256
  secretName: tls
  usages:
  - digital signature
  - server auth
  - client auth
`,
		},
		"peer": {
			Reason: "Peers know each other by a name, and libvirt and QEMU want the usage of keys that ECDSA does not have.",
			Got: []runtime.Object{
				certificate.Peer(object.Meta{Name: "tls", Namespace: "pool"}, common.IssuerReference{Name: "ca", Kind: "Issuer"}, "pool", "*.pool.pod"),
			},
			Want: `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: tls
  namespace: pool
spec:
  commonName: pool
  dnsNames:
  - '*.pool.pod'
  issuerRef:
    group: cert-manager.io
    kind: Issuer
    name: ca
  privateKey:
    algorithm: ECDSA
    rotationPolicy: Always
    size: 256
  secretName: tls
  usages:
  - digital signature
  - key encipherment
  - server auth
  - client auth
`,
		},
		"vnc": {
			Reason: "A client cannot pose as a server. Both have a subject, which QEMU and libvirt require.",
			Got: []runtime.Object{
				certificate.VNCServer(object.Meta{Name: "pool-vnc", Namespace: "cloud"}, common.IssuerReference{Name: "ca", Kind: "Issuer"}, "pool", "vnc.pool.svc"),
				certificate.VNCClient(object.Meta{Name: "client", Namespace: "cloud"}, common.IssuerReference{Name: "ca", Kind: "Issuer"}, "proxy", "proxy.svc"),
			},
			Want: `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: pool-vnc
  namespace: cloud
spec:
  commonName: pool
  dnsNames:
  - vnc.pool.svc
  issuerRef:
    group: cert-manager.io
    kind: Issuer
    name: ca
  privateKey:
    algorithm: ECDSA
    rotationPolicy: Always
    size: 256
  secretName: pool-vnc
  usages:
  - digital signature
  - key encipherment
  - server auth
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: client
  namespace: cloud
spec:
  commonName: proxy
  dnsNames:
  - proxy.svc
  issuerRef:
    group: cert-manager.io
    kind: Issuer
    name: ca
  privateKey:
    algorithm: ECDSA
    rotationPolicy: Always
    size: 256
  secretName: client
  usages:
  - digital signature
  - key encipherment
  - client auth
`,
		},
		"trusted": {
			Reason: "Only the authority of the source is copied.",
			Got: []runtime.Object{certificate.CABundleSecret(
				object.Meta{Name: "queue-tls", Namespace: "cloud"}, secret.Source{Store: "tenant", StoreKind: "SecretStore", Key: "authorities"}, "a.pem",
			)},
			Want: `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: queue-tls
  namespace: cloud
spec:
  data:
  - remoteRef:
      key: authorities
      property: a.pem
    secretKey: authority
  refreshInterval: 5m0s
  refreshPolicy: Periodic
  secretStoreRef:
    kind: SecretStore
    name: tenant
  target:
    creationPolicy: Orphan
    deletionPolicy: Retain
    name: queue-tls
    template:
      data:
        ca.crt: '{{ .authority }}'
      engineVersion: v2
      type: Opaque
`,
		},
	})
}
