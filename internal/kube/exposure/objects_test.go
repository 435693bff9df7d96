package exposure_test

import (
	"testing"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
)

// TestObjectsMatchReviewedManifests compares the complete objects that expose a service.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	meta := object.Meta{Name: "keystone", Namespace: "cloud", Labels: map[string]string{"a": "b"}}
	backend := exposure.Backend{Service: "keystone", Port: 5000, Host: "keystone.cloud.svc", CASecret: "keystone-tls", CAConfigMap: "authority",
		Limits: exposure.Limits{Request: 2 * time.Minute, Connect: time.Minute, Silence: 2 * time.Minute, BodyBytes: 1 << 20, HeaderBytes: 64 << 10},
	}
	outside := common.ServiceExposure{Hostname: "identity.example.com", Exposure: common.Exposure{
		IngressClassName: "public", IngressController: "ingress-nginx", Gateway: &common.Gateway{Name: "public", Namespace: "gateways"},
		Annotations: map[string]common.AnnotationValue{"c": "d"},
	}, TLS: common.TLS{IssuerRef: &common.IssuerReference{Name: "letsencrypt", Kind: "ClusterIssuer"}}}
	haproxy, other := outside, outside
	haproxy.IngressController, other.IngressController = "haproxy.org", "haproxy-ingress"
	objecttest.Run(t, map[string]objecttest.Case{
		"ingress": {
			Reason: "The certificate has the public host name; the connection to the Service is verified https.",
			Got:    exposure.IngressFor(meta, outside, backend),
			Want: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  annotations:
    c: d
    nginx.ingress.kubernetes.io/backend-protocol: HTTPS
    nginx.ingress.kubernetes.io/proxy-body-size: "1048576"
    nginx.ingress.kubernetes.io/proxy-buffer-size: 64k
    nginx.ingress.kubernetes.io/proxy-connect-timeout: "60"
    nginx.ingress.kubernetes.io/proxy-read-timeout: "120"
    nginx.ingress.kubernetes.io/proxy-send-timeout: "120"
    nginx.ingress.kubernetes.io/proxy-ssl-name: keystone.cloud.svc
    nginx.ingress.kubernetes.io/proxy-ssl-secret: cloud/keystone-tls
    nginx.ingress.kubernetes.io/proxy-ssl-server-name: "on"
    nginx.ingress.kubernetes.io/proxy-ssl-verify: "on"
  labels:
    a: b
  name: keystone
  namespace: cloud
spec:
  ingressClassName: public
  rules:
  - host: identity.example.com
    http:
      paths:
      - backend:
          service:
            name: keystone
            port:
              number: 5000
        path: /
        pathType: Prefix
  tls:
  - hosts:
    - identity.example.com
    secretName: keystone-public-tls
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  labels:
    a: b
  name: keystone-public-tls
  namespace: cloud
spec:
  dnsNames:
  - identity.example.com
  issuerRef:
    group: cert-manager.io
    kind: ClusterIssuer
    name: letsencrypt
  privateKey:
    algorithm: ECDSA
    rotationPolicy: Always
    size: 256
  secretName: keystone-public-tls
  usages:
  - digital signature
  - server auth
  - client auth
`,
		},
		"haproxy": {
			Reason: "The controller of HAProxy has other annotations.",
			Got:    exposure.IngressFor(meta, haproxy, backend)[:1],
			Want: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  annotations:
    c: d
    haproxy.org/server-ca: cloud/keystone-tls
    haproxy.org/server-sni: keystone.cloud.svc
    haproxy.org/server-ssl: "true"
    haproxy.org/timeout-server: 120s
  labels:
    a: b
  name: keystone
  namespace: cloud
spec:
  ingressClassName: public
  rules:
  - host: identity.example.com
    http:
      paths:
      - backend:
          service:
            name: keystone
            port:
              number: 5000
        path: /
        pathType: Prefix
  tls:
  - hosts:
    - identity.example.com
    secretName: keystone-public-tls
`,
		},
		"haproxy-ingress": {
			Reason: "So is the other one.",
			Got:    exposure.IngressFor(meta, other, backend)[:1],
			Want: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  annotations:
    c: d
    haproxy-ingress.github.io/backend-protocol: h1-ssl
    haproxy-ingress.github.io/secure-sni: keystone.cloud.svc
    haproxy-ingress.github.io/secure-verify-ca-secret: cloud/keystone-tls
    haproxy-ingress.github.io/secure-verify-hostname: keystone.cloud.svc
    haproxy-ingress.github.io/timeout-connect: 60s
    haproxy-ingress.github.io/timeout-server: 120s
  labels:
    a: b
  name: keystone
  namespace: cloud
spec:
  ingressClassName: public
  rules:
  - host: identity.example.com
    http:
      paths:
      - backend:
          service:
            name: keystone
            port:
              number: 5000
        path: /
        pathType: Prefix
  tls:
  - hosts:
    - identity.example.com
    secretName: keystone-public-tls
`,
		},
		"gateway": {
			Reason: "A Gateway verifies the Service's own name by the authority that signed it.",
			Got:    exposure.Route(meta, outside, backend),
			Want: `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  annotations:
    c: d
  labels:
    a: b
  name: keystone
  namespace: cloud
spec:
  hostnames:
  - identity.example.com
  parentRefs:
  - name: public
    namespace: gateways
  rules:
  - backendRefs:
    - name: keystone
      port: 5000
    matches:
    - path:
        type: PathPrefix
        value: /
    timeouts:
      request: 120s
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata:
  labels:
    a: b
  name: keystone
  namespace: cloud
spec:
  targetRefs:
  - group: ""
    kind: Service
    name: keystone
  validation:
    caCertificateRefs:
    - group: ""
      kind: ConfigMap
      name: authority
    hostname: keystone.cloud.svc
`,
		},
	})
}
