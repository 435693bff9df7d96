package exposure

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

var (
	meta    = object.Meta{Name: "keystone", Namespace: "cloud", Labels: map[string]string{"a": "b"}}
	backend = Backend{Service: "keystone", Port: 5000, Host: "keystone.cloud.svc", CASecret: "keystone-tls"}
)

func spec(t *testing.T, o runtime.Object) map[string]any {
	t.Helper()
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("%T", o)
	}
	return u.Object["spec"].(map[string]any)
}

// TestRoute tests that a route matches the host name, and removes a path prefix that the service does not serve.
func TestRoute(t *testing.T) {
	e := common.ServiceExposure{Hostname: "keystone.example.com", Exposure: common.Exposure{
		Type: GatewayAPI, Gateway: &common.Gateway{Name: "public", Namespace: "gateways"},
		Annotations: map[string]common.AnnotationValue{"c": "d"},
	}}
	to := object.List{object.Map{"name": "keystone", "port": int64(5000)}}
	limited := object.Map{"request": "120s"}
	match := func(path string) object.List {
		return object.List{object.Map{"path": object.Map{"type": "PathPrefix", "value": path}}}
	}
	for name, tc := range map[string]struct {
		change func(*common.ServiceExposure)
		want   object.Map
	}{
		"host": {func(*common.ServiceExposure) {}, object.Map{
			"parentRefs": object.List{object.Map{"name": "public", "namespace": "gateways"}}, "hostnames": object.List{"keystone.example.com"},
			"rules": object.List{object.Map{"matches": match("/"), "backendRefs": to, "timeouts": limited}},
		}},
		"path and listener": {func(e *common.ServiceExposure) { e.Path, e.Gateway.SectionName = "/identity", "https" }, object.Map{
			"parentRefs": object.List{object.Map{"name": "public", "namespace": "gateways", "sectionName": "https"}}, "hostnames": object.List{"keystone.example.com"},
			"rules": object.List{object.Map{"matches": match("/identity"), "backendRefs": to, "timeouts": limited, "filters": object.List{object.Map{
				"type": "URLRewrite", "urlRewrite": object.Map{"path": object.Map{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
			}}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := *e.DeepCopy()
			tc.change(&e)
			b := backend
			b.Limits = Limits{Request: 2 * time.Minute, Silence: time.Hour}
			objects := Route(meta, e, b)
			if len(objects) != 2 {
				t.Fatalf("%d objects", len(objects))
			}
			if diff := cmp.Diff(tc.want, spec(t, objects[0])); diff != "" {
				t.Errorf("route (-want +got):\n%s", diff)
			}
			policy := object.Map{
				"targetRefs": object.List{object.Map{"group": "", "kind": "Service", "name": "keystone"}},
				"validation": object.Map{"hostname": "keystone.cloud.svc", "caCertificateRefs": object.List{object.Map{"group": "", "kind": "Secret", "name": "keystone-tls"}}},
			}
			if diff := cmp.Diff(policy, spec(t, objects[1])); diff != "" {
				t.Errorf("the Gateway trusts (-want +got):\n%s", diff)
			}
			// Annotations are only set on objects that the controller reads.
			if r, p := objects[0].(*unstructured.Unstructured), objects[1].(*unstructured.Unstructured); r.GetAnnotations()["c"] != "d" || len(p.GetAnnotations()) > 0 {
				t.Errorf("annotations %v and %v", r.GetAnnotations(), p.GetAnnotations())
			}
		})
	}
}

// TestIngress tests that TLS is enabled by default, and that a certificate is composed if an issuer is set.
func TestIngress(t *testing.T) {
	for name, tc := range map[string]struct {
		tls   common.TLS
		class common.ObjectName
		want  []networkingv1.IngressTLS
		certs int
	}{
		"issuer":       {common.TLS{IssuerRef: &common.IssuerReference{Name: "letsencrypt"}}, "nginx", []networkingv1.IngressTLS{{Hosts: []string{"a.example.com"}, SecretName: "keystone-public-tls"}}, 1},
		"controller's": {common.TLS{Enabled: new(true)}, "", []networkingv1.IngressTLS{{Hosts: []string{"a.example.com"}}}, 0},
		"off":          {common.TLS{Enabled: new(false), IssuerRef: &common.IssuerReference{Name: "a"}}, "", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := common.ServiceExposure{Hostname: "a.example.com", TLS: tc.tls, Exposure: common.Exposure{Type: Ingress, IngressClassName: tc.class}}
			objects := IngressFor(meta, e, backend)
			i := objects[0].(*networkingv1.Ingress)
			if diff := cmp.Diff(tc.want, i.Spec.TLS); diff != "" {
				t.Errorf("TLS (-want +got):\n%s", diff)
			}
			if got := ptr.Deref(i.Spec.IngressClassName, ""); got != string(tc.class) || (i.Spec.IngressClassName == nil) != (tc.class == "") {
				t.Errorf("class %q", got)
			}
			rule := i.Spec.Rules[0]
			if b := rule.HTTP.Paths[0].Backend.Service; rule.Host != "a.example.com" || b.Name != "keystone" || b.Port.Number != 5000 || rule.HTTP.Paths[0].Path != "/" {
				t.Errorf("rule %v", rule)
			}
			if len(objects) != 1+tc.certs {
				t.Fatalf("%d objects", len(objects))
			}
			if tc.certs == 1 && spec(t, objects[1])["secretName"] != i.Spec.TLS[0].SecretName {
				t.Errorf("certificate %v", spec(t, objects[1]))
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	if got := Namespaces(nil); got != nil {
		t.Errorf("namespaces of none: %v", got)
	}
	e := &common.ServiceExposure{Exposure: common.Exposure{AllowedNamespaces: []common.NamespaceName{"b", "a"}}}
	if diff := cmp.Diff([]string{"a", "b"}, Namespaces(e)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAuthority tests that a ConfigMap takes precedence over a Secret.
func TestAuthority(t *testing.T) {
	b := backend
	b.CAConfigMap = "keystone-ca"
	objects := Route(meta, common.ServiceExposure{Exposure: common.Exposure{Gateway: &common.Gateway{Name: "public", Namespace: "gateways"}}}, b)
	want := object.Map{"hostname": "keystone.cloud.svc", "caCertificateRefs": object.List{
		object.Map{"group": "", "kind": "ConfigMap", "name": "keystone-ca"},
	}}
	if diff := cmp.Diff(want, spec(t, objects[1])["validation"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLimits tests that proxies in front of a stream have only an idle timeout.
func TestLimits(t *testing.T) {
	request := Limits{Request: 2 * time.Minute, Connect: time.Minute, Silence: 2 * time.Minute, BodyBytes: 1 << 20, HeaderBytes: 64 << 10}
	stream := Limits{Connect: time.Minute, Silence: time.Hour, HeaderBytes: 64 << 10, Streams: true}
	for name, tc := range map[string]struct {
		controller string
		limits     Limits
		want       map[string]string
	}{
		"nginx": {"ingress-nginx", request, map[string]string{
			"nginx.ingress.kubernetes.io/proxy-body-size": "1048576", "nginx.ingress.kubernetes.io/proxy-buffer-size": "64k",
			"nginx.ingress.kubernetes.io/proxy-connect-timeout": "60",
			"nginx.ingress.kubernetes.io/proxy-read-timeout":    "120", "nginx.ingress.kubernetes.io/proxy-send-timeout": "120",
		}},
		"nginx, stream": {"ingress-nginx", stream, map[string]string{
			"nginx.ingress.kubernetes.io/proxy-body-size": "0", "nginx.ingress.kubernetes.io/proxy-buffer-size": "64k",
			"nginx.ingress.kubernetes.io/proxy-connect-timeout": "60",
			"nginx.ingress.kubernetes.io/proxy-read-timeout":    "3600", "nginx.ingress.kubernetes.io/proxy-send-timeout": "3600",
			"nginx.ingress.kubernetes.io/proxy-request-buffering": "off", "nginx.ingress.kubernetes.io/proxy-buffering": "off",
		}},
		"HAProxy":         {"haproxy.org", request, map[string]string{"haproxy.org/timeout-server": "120s"}},
		"HAProxy, stream": {"haproxy.org", stream, map[string]string{"haproxy.org/timeout-server": "3600s"}},
		"HAProxy Ingress": {"haproxy-ingress", request, map[string]string{
			"haproxy-ingress.github.io/timeout-connect": "60s", "haproxy-ingress.github.io/timeout-server": "120s",
		}},
		"HAProxy Ingress, stream": {"haproxy-ingress", stream, map[string]string{
			"haproxy-ingress.github.io/timeout-connect": "60s",
			"haproxy-ingress.github.io/timeout-server":  "3600s", "haproxy-ingress.github.io/timeout-tunnel": "3600s",
		}},
	} {
		if diff := cmp.Diff(tc.want, limitAnnotations[tc.controller](tc.limits)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	b := backend
	b.Limits = stream
	route := spec(t, Route(meta, common.ServiceExposure{Exposure: common.Exposure{Gateway: &common.Gateway{Name: "public", Namespace: "gateways"}}}, b)[0])
	rule := route["rules"].(object.List)[0].(object.Map)
	if diff := cmp.Diff(object.Map{"request": "0s"}, rule["timeouts"]); diff != "" {
		t.Errorf("a route to a stream (-want +got):\n%s", diff)
	}
}

// TestIngressHasAnnotationsOfController tests the annotations for known controllers, and that explicit annotations take precedence.
func TestIngressHasAnnotationsOfController(t *testing.T) {
	for name, tc := range map[string]struct {
		controller  string
		annotations map[string]common.AnnotationValue
		want        map[string]string
	}{
		"Other": {"other", map[string]common.AnnotationValue{"a": "b"}, map[string]string{"a": "b"}},
		"Nginx": {"ingress-nginx", map[string]common.AnnotationValue{"nginx.ingress.kubernetes.io/proxy-ssl-verify": "off"}, map[string]string{
			"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS", "nginx.ingress.kubernetes.io/proxy-ssl-secret": "cloud/keystone-tls",
			"nginx.ingress.kubernetes.io/proxy-ssl-verify": "off", "nginx.ingress.kubernetes.io/proxy-ssl-name": "keystone.cloud.svc",
			"nginx.ingress.kubernetes.io/proxy-ssl-server-name": "on",
		}},
		"HAProxy": {"haproxy.org", nil, map[string]string{
			"haproxy.org/server-ssl": "true", "haproxy.org/server-ca": "cloud/keystone-tls", "haproxy.org/server-sni": "keystone.cloud.svc",
		}},
		"HAProxyIngress": {"haproxy-ingress", nil, map[string]string{
			"haproxy-ingress.github.io/backend-protocol": "h1-ssl", "haproxy-ingress.github.io/secure-verify-ca-secret": "cloud/keystone-tls",
			"haproxy-ingress.github.io/secure-verify-hostname": "keystone.cloud.svc", "haproxy-ingress.github.io/secure-sni": "keystone.cloud.svc",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := common.ServiceExposure{Hostname: "keystone.example.com", Exposure: common.Exposure{
				Type: Ingress, IngressController: tc.controller, Annotations: tc.annotations,
			}}
			ingress := IngressFor(meta, e, backend)[0].(*networkingv1.Ingress)
			want := maps.Clone(tc.want)
			if of := limitAnnotations[tc.controller]; of != nil {
				maps.Copy(want, of(backend.Limits))
			}
			if diff := cmp.Diff(want, ingress.Annotations); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
