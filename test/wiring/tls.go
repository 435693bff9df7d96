package wiring

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// plaintextContainers are the containers that serve without TLS, and why.
var plaintextContainers = map[string]string{
	"memcached": "clients encrypt each entry and its name; their TLS requires a library that loads pickles, and 2025.1 has none for tokens",
	"companion": "metrics and health, which hold no secret",
}

// clientOnly matches the names of certificates that servers must not have.
var clientOnly = regexp.MustCompile(`-vnc-client$`)

// healthPorts returns the ports at which uWSGI and Apache serve probes in plain HTTP. uWSGI's port counts only if a
// script of this project serves it, because uWSGI's statistics contain the headers of requests, which have tokens.
// Apache's port is a virtual host with only one page.
func healthPorts(p *pod) []int {
	var ports []int
	add := func(address string) {
		if n, err := strconv.Atoi(address[strings.LastIndex(address, ":")+1:]); err == nil {
			ports = append(ports, n)
		}
	}
	for _, content := range p.files {
		lines := strings.Split(content, "\n")
		answered := slices.ContainsFunc(lines, func(line string) bool {
			script, ok := strings.CutPrefix(line, "mule = ")
			return ok && p.files[script] != ""
		})
		for _, line := range lines {
			if address, ok := strings.CutPrefix(line, "health-address = "); ok && answered {
				add(address)
			}
		}
		for _, host := range strings.Split(content, "<VirtualHost *")[1:] {
			address, directives, _ := strings.Cut(host, ">")
			directives, _, _ = strings.Cut(directives, "</VirtualHost>")
			if !strings.Contains(directives, "SSLEngine on") && !strings.Contains(directives, "ProxyPass") {
				add(address)
			}
		}
	}
	return ports
}

// serve records the ports of a pod that use TLS: the ports of containers that mount the private key of a Certificate, or
// that have the certificate of their node, without health ports.
func (w *inventory) serve(p *pod) {
	if p.spec == nil {
		return
	}
	p.tls = map[int]servedCertificate{}
	health := healthPorts(p)
	if cert, ok := w.nodeCertificate(p); ok {
		for _, cp := range p.spec.Containers[0].Ports {
			if n := int(cp.ContainerPort); !slices.Contains(health, n) {
				p.tls[n] = cert
			}
		}
	}
	for _, c := range p.spec.Containers {
		for _, m := range w.mounts(p, c) {
			if m.value.is != privateKey {
				continue
			}
			cert, ok := w.find(p.namespaceRef, "Certificate.cert-manager.io", m.value.of)
			if !ok {
				continue
			}
			for _, cp := range c.Ports {
				if n := int(cp.ContainerPort); !slices.Contains(health, n) {
					p.tls[n] = servedCertificate{texts(cert.manifest, "spec", "dnsNames"), text(cert.manifest, "spec", "issuerRef", "name")}
				}
			}
		}
	}
}

// nodeCertificate returns the certificate of the node that a container of a pod requests, if nodes are servers with it.
func (w *inventory) nodeCertificate(p *pod) (servedCertificate, bool) {
	if !slices.ContainsFunc(p.spec.Containers, requestsCertificate) {
		return servedCertificate{}, false
	}
	for _, o := range w.objects {
		is := func(field, value string) bool { return text(o.manifest, "spec", field) == value }
		domain := text(o.manifest, "spec", "server", "domain")
		if o.is("NodeIssuer.c5c3.io") && domain != "" && is("namespace", p.namespace) && is("serviceAccountName", p.spec.ServiceAccountName) {
			return servedCertificate{[]string{"*." + domain}, text(o.manifest, "spec", "authoritySecretName")}, true
		}
	}
	return servedCertificate{}, false
}

// checkTLS checks that TLS is enabled in every kind that supports it and at every port that a Service leads to, and
// that each certificate has an issuer.
func (w *inventory) checkTLS() {
	for _, o := range w.objects {
		if w.hasTLS != nil && w.hasTLS(o.group, o.kind) && at(o.manifest, "spec", "tls") == nil {
			w.foundf("%s supports TLS, which is not enabled: it has no spec.tls.", o)
		}
		if o.group == "" || strings.HasSuffix(o.group, ".k8s.io") || at(o.manifest, "spec", "target", "providerConfig") != nil {
			continue
		}
		each(o.spec(), nil, func(path []string, m fields) {
			tls, ok := m["tls"].(fields)
			if !ok {
				return
			}
			if enabled, message := tls["enabled"].(bool); message && !enabled || !message && len(tls) == 0 {
				w.foundf("%s has TLS switched off in %s.", o, strings.Join(append(slices.Clone(path), "tls"), "."))
			}
		})
	}
	for _, s := range w.services {
		if s.of.kind != "Service" {
			continue // An operator's Service: its requirements are in the operator's table.
		}
		for _, p := range w.podsOf(s) {
			for _, sp := range s.ports {
				n := p.target(sp)
				if _, tls := p.tls[n]; !tls && p.spec != nil && plaintextContainers[containerOf(p, n)] == "" {
					w.foundf("%s leads to port %d of %s, which does not use TLS, without a reason.", s, n, p)
				}
			}
		}
	}
	for _, o := range w.objects {
		if !o.is("Certificate.cert-manager.io", "Issuer.cert-manager.io") {
			continue
		}
		if ref := text(o.manifest, "spec", "issuerRef", "name"); ref != "" && text(o.manifest, "spec", "issuerRef", "kind") == "Issuer" {
			if _, ok := w.find(o.namespaceRef, "Issuer.cert-manager.io", ref); !ok && !w.userProvidedIssuer(ref) {
				w.foundf("%s is to be issued by Issuer %s, which does not exist.", o, ref)
			}
		}
		usages := texts(o.manifest, "spec", "usages")
		purpose := "server"
		if clientOnly.MatchString(o.name) {
			purpose = "client"
		}
		if o.kind == "Certificate" && !truth(o.manifest, "spec", "isCA") && !slices.Contains(usages, purpose+" auth") {
			w.foundf("%s is not for %ss: its usages are %v.", o, purpose, usages)
		}
	}
	w.checkTrust()
}

// checkTrust checks that a clouds.yaml has the CA of the certificate at its address.
func (w *inventory) checkTrust() {
	for _, o := range w.objects {
		if !o.is("SecretAggregate.c5c3.io") {
			continue
		}
		name := secretName{o.namespaceRef, text(o.manifest, "spec", "targetSecretName")}
		login, wrong := w.value(name, "clouds.yaml")
		if wrong != "" {
			continue
		}
		trusted, wrong := w.value(name, "cacert")
		for _, a := range addresses(login.content) {
			cert, ok := w.servedAt(o.namespaceRef, a)
			if ok && (wrong != "" || trusted.is != authority || trusted.of != cert.issuer) {
				w.foundf("%s logs in at %s, whose certificate is of authority %s, and does not trust that.", o, a, cert.issuer)
			}
		}
	}
}

// servedAt returns the certificate at an internal address.
func (w *inventory) servedAt(where namespaceRef, a address) (servedCertificate, bool) {
	where.namespace = a.namespace
	s := w.service(where, a.service)
	if s == nil {
		return servedCertificate{}, false
	}
	sp, ok := s.port(a.port)
	for _, p := range w.podsOf(s) {
		if cert, tls := p.tls[p.target(sp)]; ok && tls {
			return cert, true
		}
	}
	return servedCertificate{}, false
}

func containerOf(p *pod, n int) string {
	for _, c := range p.spec.Containers {
		for _, cp := range c.Ports {
			if int(cp.ContainerPort) == n {
				return c.Name
			}
		}
	}
	return ""
}

// userProvidedIssuer reports whether the claim or the platform names an issuer, which users create.
func (w *inventory) userProvidedIssuer(name string) bool {
	return slices.ContainsFunc(w.inputs, func(doc map[string]any) bool {
		return text(doc, "spec", "tls", "issuerRef", "name") == name || text(doc, "spec", "global", "tls", "issuerRef", "name") == name
	})
}
