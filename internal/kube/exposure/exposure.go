// Package exposure builds the objects that expose the API of a service: an HTTPRoute or an Ingress, and their certificates.
package exposure

import (
	"maps"
	"slices"
	"strconv"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Types of exposure.
const (
	None       = "None"
	GatewayAPI = "GatewayAPI"
	Ingress    = "Ingress"
)

// Backend is the Service of the API. It serves https with its own certificate.
type Backend struct {
	// Service and port.
	Service string
	Port    int32
	// Host is the name in the backend's certificate, CASecret the Secret whose ca.crt signed it.
	Host, CASecret string
	// CAConfigMap is a ConfigMap with the same ca.crt. Empty: none.
	CAConfigMap string
	Limits      Limits
}

// Limits of a proxy in front of a backend. Each is higher than the backend's own.
type Limits struct {
	// Request is the maximum duration of a request. 0: unlimited.
	Request time.Duration
	// Connect is the timeout for connecting to the backend, which completes the TLS handshake once it has a slot for the request.
	Connect time.Duration
	// Silence is the idle timeout of client and backend.
	Silence time.Duration
	// BodyBytes is the maximum size of a request body. 0: unlimited.
	BodyBytes int64
	// HeaderBytes is the maximum size of response headers.
	HeaderBytes int
	// Streams reports whether bodies are passed on without buffering.
	Streams bool
}

// authority returns the reference with which a Gateway verifies the backend. Every Gateway supports a ConfigMap, some also a Secret
// (https://gateway-api.sigs.k8s.io/api-types/backendtlspolicy/).
func (b Backend) authority() object.Map {
	if b.CAConfigMap == "" {
		return object.Map{"group": "", "kind": "Secret", "name": b.CASecret}
	}
	return object.Map{"group": "", "kind": "ConfigMap", "name": b.CAConfigMap}
}

// Route builds the HTTPRoute to a backend, and the policy with which the Gateway verifies the backend's certificate.
func Route(meta object.Meta, e common.ServiceExposure, b Backend) []runtime.Object {
	parent := object.WithOptional(object.Map{"name": string(e.Gateway.Name), "namespace": string(e.Gateway.Namespace)},
		object.Map{"sectionName": string(e.Gateway.SectionName)})
	rule := object.Map{
		"matches":     object.List{object.Map{"path": object.Map{"type": "PathPrefix", "value": path(e)}}},
		"backendRefs": object.List{object.Map{"name": b.Service, "port": int64(b.Port)}},
	}
	// 0s disables the timeout (https://gateway-api.sigs.k8s.io/guides/http-timeouts/). Without the field, Envoy ends a request after 15 s,
	// and an idle stream after 5 minutes. Each request is attempted once, so backendRequest would repeat the limit.
	rule["timeouts"] = object.Map{"request": seconds(b.Limits.Request) + "s"}
	if e.Path != "" {
		rule["filters"] = object.List{object.Map{
			"type":       "URLRewrite",
			"urlRewrite": object.Map{"path": object.Map{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
		}}
	}
	routeMeta := meta
	routeMeta.Annotations = annotations(e)
	return []runtime.Object{
		object.New("gateway.networking.k8s.io/v1", "HTTPRoute", routeMeta, object.Map{
			"parentRefs": object.List{parent},
			"hostnames":  object.Array(e.Hostname),
			"rules":      object.List{rule},
		}),
		object.New("gateway.networking.k8s.io/v1", "BackendTLSPolicy", meta, object.Map{
			"targetRefs": object.List{object.Map{"group": "", "kind": "Service", "name": b.Service}},
			"validation": object.Map{
				"hostname":          b.Host,
				"caCertificateRefs": object.List{b.authority()},
			},
		}),
	}
}

// IngressFor builds the Ingress to a backend, and the certificate of its host name if an issuer is set.
func IngressFor(meta object.Meta, e common.ServiceExposure, b Backend) []runtime.Object {
	tlsSecret := meta.Name + "-public-tls"
	ingress := &networkingv1.Ingress{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{
			Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels, Annotations: ingressAnnotations(meta, e, b),
		},
		Spec: networkingv1.IngressSpec{
			Rules: []networkingv1.IngressRule{{
				Host: string(e.Hostname),
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{
						Path:     path(e),
						PathType: ptr.To(networkingv1.PathTypePrefix),
						Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
							Name: b.Service,
							Port: networkingv1.ServiceBackendPort{Number: b.Port},
						}},
					}},
				}},
			}},
		},
	}
	if e.IngressClassName != "" {
		ingress.Spec.IngressClassName = new(string(e.IngressClassName))
	}
	out := []runtime.Object{ingress}
	if ptr.Deref(e.TLS.Enabled, true) {
		tls := networkingv1.IngressTLS{Hosts: []string{string(e.Hostname)}}
		if e.TLS.IssuerRef != nil {
			tls.SecretName = tlsSecret
			certMeta := meta
			certMeta.Name = tlsSecret
			out = append(out, certificate.Server(certMeta, *e.TLS.IssuerRef, string(e.Hostname)))
		}
		ingress.Spec.TLS = []networkingv1.IngressTLS{tls}
	}
	return out
}

func path(e common.ServiceExposure) string {
	if e.Path == "" {
		return "/"
	}
	return e.Path
}

func annotations(e common.ServiceExposure) map[string]string {
	out := map[string]string{}
	for k, v := range e.Annotations {
		out[k] = string(v)
	}
	return out
}

// backendAnnotations contains annotations for https to the backend and verification of its certificate, by controller, from
// their documentation:
//   - https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/
//   - https://www.haproxy.com/documentation/kubernetes-ingress/community/configuration-reference/ingress/
//   - https://haproxy-ingress.github.io/docs/configuration/keys/
//
// Controllers that need annotations of the Service, or custom resources, are not supported.
var backendAnnotations = map[string]func(namespace string, b Backend) map[string]string{
	"ingress-nginx": func(namespace string, b Backend) map[string]string {
		const prefix = "nginx.ingress.kubernetes.io/"
		return map[string]string{
			prefix + "backend-protocol":      "HTTPS",
			prefix + "proxy-ssl-secret":      namespace + "/" + b.CASecret,
			prefix + "proxy-ssl-verify":      "on",
			prefix + "proxy-ssl-name":        b.Host,
			prefix + "proxy-ssl-server-name": "on",
		}
	},
	"haproxy.org": func(namespace string, b Backend) map[string]string {
		const prefix = "haproxy.org/"
		return map[string]string{prefix + "server-ssl": "true", prefix + "server-ca": namespace + "/" + b.CASecret, prefix + "server-sni": b.Host}
	},
	"haproxy-ingress": func(namespace string, b Backend) map[string]string {
		const prefix = "haproxy-ingress.github.io/"
		return map[string]string{
			prefix + "backend-protocol":        "h1-ssl",
			prefix + "secure-verify-ca-secret": namespace + "/" + b.CASecret,
			prefix + "secure-verify-hostname":  b.Host,
			prefix + "secure-sni":              b.Host,
		}
	},
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// limitAnnotations contains annotations with the limits for one backend, by controller. Limits that apply to a whole controller are in
// docs/proxies.md: request headers, HAProxy's client timeout, and the connect timeout of haproxy.org.
var limitAnnotations = map[string]func(l Limits) map[string]string{
	"ingress-nginx": func(l Limits) map[string]string {
		const prefix = "nginx.ingress.kubernetes.io/"
		out := map[string]string{
			prefix + "proxy-body-size": strconv.FormatInt(l.BodyBytes, 10),
			// It covers the TLS handshake, as HAProxy's timeout connect does.
			prefix + "proxy-connect-timeout": seconds(l.Connect),
			prefix + "proxy-read-timeout":    seconds(l.Silence),
			prefix + "proxy-send-timeout":    seconds(l.Silence),
			prefix + "proxy-buffer-size":     strconv.Itoa(l.HeaderBytes>>10) + "k",
		}
		if l.Streams {
			out[prefix+"proxy-request-buffering"] = "off"
			out[prefix+"proxy-buffering"] = "off"
		}
		return out
	},
	"haproxy.org": func(l Limits) map[string]string {
		return map[string]string{"haproxy.org/timeout-server": seconds(l.Silence) + "s"}
	},
	"haproxy-ingress": func(l Limits) map[string]string {
		const prefix = "haproxy-ingress.github.io/"
		out := map[string]string{prefix + "timeout-connect": seconds(l.Connect) + "s", prefix + "timeout-server": seconds(l.Silence) + "s"}
		if l.Streams {
			out[prefix+"timeout-tunnel"] = seconds(l.Silence) + "s"
		}
		return out
	},
}

// ingressAnnotations returns the annotations of the exposure, and the ones that its controller requires.
func ingressAnnotations(meta object.Meta, e common.ServiceExposure, b Backend) map[string]string {
	out := map[string]string{}
	if of := backendAnnotations[e.IngressController]; of != nil {
		maps.Copy(out, of(meta.Namespace, b))
	}
	if of := limitAnnotations[e.IngressController]; of != nil {
		maps.Copy(out, of(b.Limits))
	}
	maps.Copy(out, annotations(e))
	return out
}

// Namespaces returns the sorted namespaces that ingress is allowed from; none means all.
func Namespaces(e *common.ServiceExposure) []string {
	if e == nil {
		return nil
	}
	var out []string
	for _, n := range e.AllowedNamespaces {
		out = append(out, string(n))
	}
	slices.Sort(out)
	return out
}
