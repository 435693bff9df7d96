//go:build linux

package operators

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gatewayPort is the https port of the Gateway.
const gatewayPort = 443

// route handles requests for one host.
type route struct {
	owner               string // the HTTPRoute, by namespace and name
	prefix, replacement string
	proxy               *httputil.ReverseProxy
}

// httpRoute runs a Gateway that serves the host names of a route with publicly trusted certificates, and forwards
// requests by https, as configured in the BackendTLSPolicy of the Service.
// https://gateway-api.sigs.k8s.io/reference/spec/
func (o *Operators) httpRoute(ctx context.Context, u *unstructured.Unstructured) error {
	rules, _, _ := unstructured.NestedSlice(u.Object, "spec", "rules")
	if len(rules) != 1 {
		return errors.New("several rules are not supported by this fake")
	}
	rule := &unstructured.Unstructured{Object: rules[0].(map[string]any)} //nolint:forcetypeassert // its schema was checked
	r := &route{owner: routeOwner(u), prefix: "/", replacement: "/"}
	if m := first(rule, "matches"); m != nil && text(m, "path", "type") == "PathPrefix" {
		r.prefix, r.replacement = text(m, "path", "value"), text(m, "path", "value")
	}
	if f := first(rule, "filters"); f != nil {
		if text(f, "urlRewrite", "path", "type") != "ReplacePrefixMatch" {
			return errors.New("its filter is not supported by this fake")
		}
		r.replacement = text(f, "urlRewrite", "path", "replacePrefixMatch")
	}
	backend := first(rule, "backendRefs")
	port, _, _ := unstructured.NestedFieldNoCopy(backend.Object, "port")
	target := fmt.Sprintf("%s.%s.svc:%v", text(backend, "name"), u.GetNamespace(), port)
	transport, err := o.backendTLS(ctx, u.GetNamespace(), text(backend, "name"))
	if err != nil {
		return err
	}
	r.proxy = &httputil.ReverseProxy{
		Transport: transport,
		ErrorLog:  log.New(o.Cluster.Progress, "gateway: ", 0),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetXForwarded()
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "https", target, p.In.Host
			p.Out.URL.Path = r.replacement + strings.TrimPrefix(strings.TrimPrefix(p.In.URL.Path, r.prefix), "/")
			if r.replacement != "/" {
				p.Out.URL.Path = strings.TrimSuffix(r.replacement, "/") + strings.TrimPrefix(p.In.URL.Path, strings.TrimSuffix(r.prefix, "/"))
			}
		},
	}
	hosts := texts(u, "spec", "hostnames")
	for _, host := range hosts {
		if err := o.serve(host, r); err != nil {
			return err
		}
	}
	o.withdraw(r.owner, hosts)
	return nil
}

// routeOwner identifies an HTTPRoute.
func routeOwner(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }

func first(u *unstructured.Unstructured, field string) *unstructured.Unstructured {
	list, _, _ := unstructured.NestedSlice(u.Object, field)
	if len(list) == 0 {
		return nil
	}
	m, _ := list[0].(map[string]any)
	return &unstructured.Unstructured{Object: m}
}

// backendTLS returns the transport of the Gateway to a Service.
func (o *Operators) backendTLS(ctx context.Context, namespace, service string) (*http.Transport, error) {
	for _, p := range o.All("BackendTLSPolicy.gateway.networking.k8s.io") {
		ref := first(&unstructured.Unstructured{Object: spec(p)}, "targetRefs")
		if p.GetNamespace() != namespace || text(ref, "name") != service {
			continue
		}
		validation, _, _ := unstructured.NestedMap(p.Object, "spec", "validation")
		v := &unstructured.Unstructured{Object: validation}
		authority, err := o.authority(ctx, namespace, first(v, "caCertificateRefs"))
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(authority) {
			return nil, errors.New("its BackendTLSPolicy names no authority")
		}
		return &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool, ServerName: text(v, "hostname"), MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, DialContext: o.Cluster.Dial,
		}, nil
	}
	return nil, fmt.Errorf("no BackendTLSPolicy targets Service %s", service)
}

// authority returns the CA that a BackendTLSPolicy refers to: a ConfigMap, or a Secret as long as there is none.
func (o *Operators) authority(ctx context.Context, namespace string, ref *unstructured.Unstructured) ([]byte, error) {
	if text(ref, "kind") == "Secret" {
		data, err := o.Secret(ctx, namespace, text(ref, "name"))
		return data["ca.crt"], err
	}
	m := &corev1.ConfigMap{}
	err := o.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: text(ref, "name")}, m)
	return []byte(m.Data["ca.crt"]), err
}

func spec(u *unstructured.Unstructured) map[string]any {
	m, _, _ := unstructured.NestedMap(u.Object, "spec")
	return m
}

// serve adds a route for a host name.
func (o *Operators) serve(host string, r *route) error {
	o.mu.Lock()
	_, served := o.routes[host]
	o.routes[host] = r
	o.mu.Unlock()
	if served {
		return nil
	}
	return o.HTTPS(host, func(w http.ResponseWriter, request *http.Request) {
		o.mu.Lock()
		r := o.routes[host]
		o.mu.Unlock()
		if r == nil || !strings.HasPrefix(request.URL.Path, r.prefix) {
			http.NotFound(w, request)
			return
		}
		r.proxy.ServeHTTP(w, request)
	})
}

// withdraw removes the other host names of an HTTPRoute. The Gateway still listens, and has no route for them.
func (o *Operators) withdraw(owner string, hosts []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for host, r := range o.routes {
		if r != nil && r.owner == owner && !slices.Contains(hosts, host) {
			o.routes[host] = nil
		}
	}
}

// HTTPS serves a host name outside of the cluster, with a publicly trusted certificate.
func (o *Operators) HTTPS(host string, handler http.HandlerFunc) error {
	pair, err := o.Public.Server(host)
	if err != nil {
		return err
	}
	l, err := o.Cluster.Listen(gatewayPort, host)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(o.Cluster.Progress, host+": ", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = server.ServeTLS(l, "", "") }() // ends with its listener
	return nil
}
