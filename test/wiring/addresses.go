package wiring

import (
	"encoding/json"
	"slices"
	"strings"
)

// notSpoken are the kinds in which an address is no place to go to: rights, rules, and names of certificates.
var notSpoken = []string{
	"Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io", "PrometheusRule.monitoring.coreos.com",
	"NetworkPolicy.networking.k8s.io", "Namespace",
}

// kubernetes is the Service of the API server, which every cluster has.
const kubernetes = "kubernetes.default.svc"

// isKnownExternalHost reports whether the claim, the platform or a composed route names a host.
func (w *inventory) isKnownExternalHost(host string) bool {
	if host == "localhost" || strings.HasPrefix(host, "127.") || host == "[::1]" || strings.Contains(w.userProvidedText(), host) {
		return true
	}
	return slices.ContainsFunc(w.objects, func(o object) bool {
		hosts := texts(o.manifest, "spec", "hostnames")
		for _, r := range list(o.manifest, "spec", "rules") {
			hosts = append(hosts, text(r, "host"))
		}
		return o.is("HTTPRoute.gateway.networking.k8s.io", "Ingress.networking.k8s.io") && slices.Contains(hosts, host)
	})
}

// userProvidedText returns the claim and the platform as JSON.
func (w *inventory) userProvidedText() string {
	b, err := json.Marshal(w.inputs)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// checkAddresses checks that every address leads to an existing Service and port, by a name in the certificate that is
// served there; or to an external host that the claim or the platform names.
func (w *inventory) checkAddresses() {
	outsiders := map[string]bool{}
	for _, o := range w.objects {
		// OVN's certificates name future pods, and clients that are not servers.
		spare := o.is("Certificate.cert-manager.io") && text(o.manifest, "metadata", "labels", "app.kubernetes.io/name") == "ovn"
		if spare || o.is(notSpoken...) || text(o.manifest, "metadata", "labels", "grafana_dashboard") != "" {
			continue
		}
		where := o.namespaceRef
		if at(o.manifest, "spec", "target", "providerConfig") != nil {
			where.cluster = w.workloads()
		}
		each(o.spec(), nil, func(_ []string, m fields) {
			for k, v := range m {
				for _, t := range append(texts(m, k), str(v)) {
					for _, a := range addresses(strings.ReplaceAll(t, "$(POD_NAME)", o.name+"-0")) { // Each pod of a set has a separate port.
						if n, ok := number(m, "port"); ok && a.port == 0 && t == a.host {
							a.port = n
						}
						w.checkAddress(o, where, a, outsiders)
					}
					if e := endpoint.FindStringSubmatch(t); e != nil && k == "endpoint" && !w.isKnownExternalHost(e[1]) {
						w.foundf("%s leads to %s, which is neither a Service here nor named by the claim or the platform.", o, t)
					}
				}
			}
		})
	}
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func (w *inventory) checkAddress(o object, where namespaceRef, a address, outsiders map[string]bool) {
	if a.service == "" {
		if _, met := outsiders[a.host]; !met {
			outsiders[a.host] = w.isKnownExternalHost(a.host)
		}
		if !outsiders[a.host] {
			w.foundf("%s leads to %s, which is neither a Service here nor named by the claim or the platform.", o, a)
		}
		return
	}
	if a.host == kubernetes {
		return
	}
	where.namespace = a.namespace
	s := w.service(where, a.service)
	if s == nil {
		w.foundf("%s leads to %s: there is no Service %s.", o, a, a.service)
		return
	}
	if a.pod != "" && a.pod != "*" && !w.hasPod(s, a.pod) {
		w.foundf("%s leads to %s: %s has no pod named %s.", o, a, s, a.pod)
	}
	if a.port == 0 {
		return
	}
	sp, ok := s.port(a.port)
	if !ok {
		w.foundf("%s leads to %s: %s has no port %d.", o, a, s, a.port)
		return
	}
	for _, p := range w.podsOf(s) {
		cert, tls := p.tls[p.target(sp)]
		switch {
		case tls && a.scheme == "http":
			w.foundf("%s uses http for %s, which requires TLS.", o, a)
		case !tls && a.scheme == "https":
			w.foundf("%s uses https for %s, which has no TLS.", o, a)
		case tls && !slices.ContainsFunc(cert.names, func(n string) bool { return covers(n, a.named) }):
			w.foundf("%s leads to %s, a name that is not in the certificate of %s.", o, a, p)
		}
	}
}

// covers reports whether a name of a certificate matches a host (RFC 6125: an asterisk is one label).
func covers(name, host string) bool {
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		_, domain, found := strings.Cut(host, ".")
		return found && rest == domain
	}
	return name == host
}

// hasPod reports whether a Service gives a pod a DNS name: a headless Service does for the ordinals of its StatefulSet.
func (w *inventory) hasPod(s *service, name string) bool {
	return s.headless && slices.ContainsFunc(w.podsOf(s), func(p *pod) bool {
		return p.replicas != nil && slices.Contains(ordinals(p.of.name, *p.replicas), name)
	})
}

// checkMonitors checks that a ServiceMonitor selects Services that have its port, and that it uses the port's scheme.
func (w *inventory) checkMonitors() {
	for _, o := range w.objects {
		if !o.is("ServiceMonitor.monitoring.coreos.com") {
			continue
		}
		found := w.monitored(o)
		if len(found) == 0 {
			w.foundf("%s selects no Service.", o)
		}
		for _, e := range list(o.manifest, "spec", "endpoints") {
			here := false
			for _, s := range found {
				for _, sp := range s.ports {
					if sp.name != text(e, "port") {
						continue
					}
					here = true
					for _, p := range w.podsOf(s) {
						w.checkScrape(o, e, s, p, sp)
					}
				}
			}
			if !here {
				w.foundf("%s scrapes port %q, which no selected Service has.", o, text(e, "port"))
			}
		}
	}
}

func (w *inventory) checkScrape(o object, e any, s *service, p *pod, sp servicePort) {
	cert, tls := p.tls[p.target(sp)]
	if tls != (text(e, "scheme") == "https") {
		w.foundf("%s and %s use different schemes: one of the two uses TLS.", o, s)
	}
	if !tls {
		return
	}
	if name := text(e, "tlsConfig", "serverName"); !slices.ContainsFunc(cert.names, func(n string) bool { return covers(n, name) }) {
		w.foundf("%s expects the name %q of %s, which is not in its certificate.", o, name, s)
	}
	ca := at(e, "tlsConfig", "ca", "secret")
	if v, wrong := w.value(secretName{o.namespaceRef, text(ca, "name")}, text(ca, "key")); wrong == "" && v.of != cert.issuer {
		w.foundf("%s trusts authority %s, and %s's certificate is of %s.", o, v.of, s, cert.issuer)
	}
}

// monitored returns the Services that a ServiceMonitor selects.
func (w *inventory) monitored(o object) []*service {
	var out []*service
	for _, s := range w.services {
		if s.namespaceRef == o.namespaceRef && selectsMap(at(o.manifest, "spec", "selector"), s.labels) {
			out = append(out, s)
		}
	}
	return out
}

// A backend is the target of a route.
type backend struct {
	name string
	port int
}

func backends(o object) []backend {
	var out []backend
	each(o.spec(), nil, func(_ []string, m fields) {
		for _, b := range list(m, "backendRefs") {
			n, _ := number(b, "port")
			out = append(out, backend{text(b, "name"), n})
		}
		if b := at(m, "backend", "service"); b != nil {
			n, _ := number(b, "port", "number")
			out = append(out, backend{text(b, "name"), n})
		}
	})
	return out
}

// checkRoutes checks that each route leads to a Service at an existing port, and that a gateway uses TLS for a backend
// with TLS.
func (w *inventory) checkRoutes() {
	for _, o := range w.objects {
		if !o.is("HTTPRoute.gateway.networking.k8s.io", "Ingress.networking.k8s.io") {
			continue
		}
		if len(backends(o)) == 0 {
			w.foundf("%s leads nowhere.", o)
		}
		w.checkHosts(o)
		for _, b := range backends(o) {
			s := w.service(o.namespaceRef, b.name)
			if s == nil {
				w.foundf("%s leads to Service %s, which does not exist.", o, b.name)
				continue
			}
			sp, ok := s.port(b.port)
			if !ok {
				w.foundf("%s leads to port %d of %s, which has none.", o, b.port, s)
				continue
			}
			for _, p := range w.podsOf(s) {
				if cert, tls := p.tls[p.target(sp)]; tls && o.kind == "HTTPRoute" {
					w.checkBackendTLS(o, s, cert)
				}
			}
		}
	}
}

// checkHosts checks that the certificate of an Ingress is for its hosts.
func (w *inventory) checkHosts(o object) {
	for _, tls := range list(o.manifest, "spec", "tls") {
		if text(tls, "secretName") == "" {
			continue // The controller's default certificate.
		}
		for _, host := range texts(tls, "hosts") {
			if !slices.ContainsFunc(w.objects, func(c object) bool {
				return c.is("Certificate.cert-manager.io") && c.namespaceRef == o.namespaceRef && text(c.manifest, "spec",
					"secretName") == text(tls, "secretName") &&
					slices.ContainsFunc(texts(c.manifest, "spec", "dnsNames"), func(n string) bool { return covers(n, host) })
			}) {
				w.foundf("%s serves %s with Secret %s, whose certificate is not for that name.", o, host, text(tls, "secretName"))
			}
		}
	}
}

func (w *inventory) checkBackendTLS(route object, s *service, cert servedCertificate) {
	for _, o := range w.objects {
		if !o.is("BackendTLSPolicy.gateway.networking.k8s.io") || o.namespaceRef != route.namespaceRef {
			continue
		}
		for _, t := range list(o.manifest, "spec", "targetRefs") {
			if text(t, "name") != s.name {
				continue
			}
			host := text(o.manifest, "spec", "validation", "hostname")
			if !slices.ContainsFunc(cert.names, func(n string) bool { return covers(n, host) }) {
				w.foundf("%s expects the name %q of %s, which is not in its certificate.", o, host, s)
			}
			return
		}
	}
	w.foundf("%s leads to %s, which requires TLS, and no BackendTLSPolicy enables it.", route, s)
}
