package wiring

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A flow is TCP traffic to a port: between pods, or between pods and a role outside.
type flow struct {
	from, to string
	port     int
}

func (f flow) String() string { return fmt.Sprintf("%s to port %d of %s", f.from, f.port, f.to) }

// outsider returns the name of a role outside: a neighbor's, or anywhere.
func outsider(role string) string { return "outside: " + role }

// proxied pairs a proxy with the server to which it forwards.
type proxied struct{ proxy, server string }

// need records a required flow with its reason.
func (w *inventory) need(from, to string, port int, why string) { w.needed[flow{from, to, port}] = why }

// needAPIServer records the flow of a pod to the API server.
func (w *inventory) needAPIServer(p *pod, why string) {
	for _, n := range w.apiPorts() {
		w.need(p.String(), outsider(anywhere), n, why)
	}
}

// advertisedAddressOptions are the options with addresses that a program publishes and does not connect to.
var advertisedAddressOptions = []*regexp.Regexp{
	regexp.MustCompile(`^--bootstrap-[a-z]+-url$`),                   // keystone-manage writes it into the catalog
	regexp.MustCompile(`(?i)^OIDCRedirectURI$`),                      // for browsers
	regexp.MustCompile(`^trusted_dashboard$`),                        // the same
	regexp.MustCompile(`^host_href$`),                                // the same
	regexp.MustCompile(`^public_endpoint$`),                          // part of responses
	regexp.MustCompile(`^compute_link_prefix$`),                      // the same
	regexp.MustCompile(`^WEBSSO_KEYSTONE_URL$`),                      // for browsers
	regexp.MustCompile(`^www_authenticate_uri$`),                     // who has no token is sent there
	regexp.MustCompile(`^heat_(metadata|waitcondition)_server_url$`), // virtual machines are sent there
	regexp.MustCompile(`^ServerName$`),
}

// spoken returns the addresses that a container connects to. A container that runs to completion mounts the files of
// its service, but connects only to the addresses in its arguments and environment, and to Keystone if it has a login:
// a schema migration uses no directories, caches or messages.
func (w *inventory) spoken(p *pod, c corev1.Container) []address {
	var out []address
	args := slices.Concat(c.Command, c.Args)
	for i, a := range args {
		if i == 0 || !isAdvertisedAddress(args[i-1]) {
			out = append(out, addresses(a)...)
		}
	}
	for _, e := range c.Env {
		for _, a := range addresses(e.Value) {
			if p.replicas != nil || a.scheme != messaging {
				out = append(out, a)
			}
		}
	}
	for _, m := range w.mounts(p, c) {
		for line := range strings.SplitSeq(m.value.content, "\n") {
			namePurposes := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '=' })
			if len(namePurposes) == 0 || isAdvertisedAddress(namePurposes[0]) {
				continue
			}
			logsIn := namePurposes[0] == authURL && len(logins(c)) > 0
			if namePurposes[0] == authURL && isConsoleProxy(c) {
				continue // Tokens of consoles are in the database of the cell (nova.objects.console_auth_token).
			}
			if p.replicas == nil && !logsIn && !strings.HasPrefix(namePurposes[0], ovnOption) {
				continue
			}
			out = append(out, addresses(line)...)
		}
	}
	return out
}

// messaging is the scheme of a message queue. Programs that run to completion do not connect to it: they need the
// address to read records that refer to it, and oslo.messaging connects with the first call (nova/cmd/manage.py,
// oslo_messaging/_drivers/impl_rabbit.py).
const messaging = "rabbit"

// ovnOption is the prefix of the options with the addresses of OVN's databases: Neutron's upgrade check connects to
// them (neutron/cmd/upgrade_checks/checks.py).
const ovnOption = "ovn_"

// authURL is the option of keystoneauth with the address of Keystone.
const authURL = "auth_url"

func isAdvertisedAddress(option string) bool {
	return slices.ContainsFunc(advertisedAddressOptions, func(r *regexp.Regexp) bool { return r.MatchString(option) })
}

// needAddress records the flow to an address.
func (w *inventory) needAddress(p *pod, a address, why string) {
	if a.host == kubernetes || strings.HasPrefix(a.host, "127.") || a.port == 0 {
		return
	}
	if a.service == "" {
		w.need(p.String(), outsider(anywhere), a.port, why)
		return
	}
	for _, q := range w.resolvePods(namespaceRef{p.cluster, a.namespace}, a) {
		w.need(p.String(), q.to, q.port, why)
	}
}

// resolvePods returns the pods, with their port, of an internal address.
func (w *inventory) resolvePods(where namespaceRef, a address) []flow {
	var out []flow
	s := w.service(where, a.service)
	if s == nil {
		return nil
	}
	if sp, ok := s.port(a.port); ok {
		for _, q := range w.podsOf(s) {
			out = append(out, flow{to: q.String(), port: q.target(sp)})
		}
	}
	return out
}

// controller is the name of the pods that reconcile this project's kinds (cmd: companion/main.go).
const controller = "companion"

// deriveFlows records the flows required by configurations, monitors and routes.
func (w *inventory) deriveFlows() {
	for _, p := range w.pods {
		for _, e := range p.copiedEnv {
			for _, a := range addresses(e.Value) {
				if a.scheme != messaging { // It runs to completion.
					w.needAddress(p, a, "it runs for "+p.of.String())
				}
			}
		}
		if p.spec == nil {
			continue
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			for _, a := range w.spoken(p, c) {
				w.needAddress(p, a, "its configuration has "+a.String())
			}
			w.needFromCatalog(p, c)
			w.needImages(p, c)
			w.needShown(p, c)
			w.needTested(p, c)
			w.needCells(p, c)
			w.needHypervisors(p, c)
			w.needMembers(p, c)
			w.needLocks(p, c)
			w.needCeph(p, c)
		}
		if p.spec.AutomountServiceAccountToken == nil || *p.spec.AutomountServiceAccountToken {
			w.needAPIServer(p, "it has a token of the API server")
		}
	}
	for _, o := range w.objects {
		w.deriveFrom(o)
		if o.is("RaftCluster.c5c3.io") {
			w.needMembersOf(o)
		}
	}
	w.needExposed()
}

// needMembersOf records the flows of the companion to the members of a cluster of databases (companion/raftcluster).
func (w *inventory) needMembersOf(o object) {
	n, _ := number(o.manifest, "spec", "port")
	for _, p := range w.controllers(o) {
		for _, q := range w.pods {
			if q.namespaceRef == o.namespaceRef && q.of.kind == "StatefulSet" && q.of.name == text(o.manifest, "spec", "statefulSetName") {
				w.need(p.String(), q.String(), n, o.String()+" makes it connect")
			}
		}
	}
}

func (w *inventory) deriveFrom(o object) {
	if secret := text(o.manifest, "spec", "cloudCredentialsRef", "secretName"); secret != "" {
		login, _ := w.value(secretName{o.namespaceRef, secret}, "clouds.yaml")
		if strings.HasSuffix(o.group, "c5c3.io") {
			for _, p := range w.controllers(o) {
				for _, typ := range calledServices(o) { // It finds them wherever it logs in.
					w.needType(p, typ, o.String()+" makes it connect")
				}
			}
		}
		for _, a := range addresses(login.content) {
			for _, q := range w.resolvePods(namespaceRef{o.cluster, a.namespace}, a) {
				if strings.HasSuffix(o.group, "c5c3.io") {
					for _, p := range w.controllers(o) {
						w.need(p.String(), q.to, q.port, o.String()+" makes it log in")
					}
				}
				if !w.routed(q.to) {
					w.need(outsider(anywhere), q.to, q.port, "the networks of its users are unknown")
				}
			}
		}
	}
	if spec, ok := at(o.manifest, "spec").(fields); ok && strings.HasSuffix(o.group, "c5c3.io") && spec["target"] == nil {
		for _, v := range spec {
			if strings.Contains(str(v), filledIn) {
				continue
			}
			for _, p := range w.controllers(o) {
				for _, a := range addresses(str(v)) {
					w.needAddress(p, a, o.String()+" makes it look there")
				}
			}
		}
	}
	switch {
	case o.is("CredentialRotation.c5c3.io"):
		// Rotated credentials without a consuming pod are for the creator of catalogs: K-ORC.
		for _, c := range list(o.manifest, "spec", "consumers") {
			login, _ := w.value(secretName{o.namespaceRef, text(c, "name")}, "clouds.yaml")
			for _, a := range addresses(login.content) {
				for _, q := range w.resolvePods(namespaceRef{o.cluster, a.namespace}, a) {
					w.need(outsider(ofKORC), q.to, q.port, o.String()+" makes a login for K-ORC")
				}
			}
		}
	case o.is("Endpoint.openstack.k-orc.cloud"):
		for _, a := range addresses(text(o.manifest, "spec", "resource", "url")) {
			for _, q := range w.resolvePods(namespaceRef{o.cluster, a.namespace}, a) {
				if !w.routed(q.to) {
					w.need(outsider(anywhere), q.to, q.port, o.String()+" is in the catalog, and the networks of its users are unknown")
				}
			}
		}
	case o.is("ServiceMonitor.monitoring.coreos.com"):
		for _, s := range w.monitored(o) {
			for _, e := range list(o.manifest, "spec", "endpoints") {
				for _, sp := range s.ports {
					for _, p := range w.podsOf(s) {
						if sp.name != text(e, "port") {
							continue
						}
						w.need(outsider(ofPrometheus), p.String(), p.target(sp), o.String()+" selects it")
						for _, t := range texts(e, "params", "target") {
							for _, a := range addresses("x://" + t) {
								w.needAddress(p, a, o.String()+" makes it connect")
							}
						}
					}
				}
			}
		}
	case o.is("HTTPRoute.gateway.networking.k8s.io", "Ingress.networking.k8s.io"):
		for _, b := range backends(o) {
			if s := w.service(o.namespaceRef, b.name); s != nil {
				sp, _ := s.port(b.port)
				for _, p := range w.podsOf(s) {
					w.need(outsider(ofExposure), p.String(), p.target(sp), o.String()+" leads there")
				}
			}
		}
	}
}

// routed reports whether a route or Ingress leads to the pods.
func (w *inventory) routed(to string) bool {
	return slices.ContainsFunc(w.objects, func(o object) bool {
		return o.is("HTTPRoute.gateway.networking.k8s.io", "Ingress.networking.k8s.io") && slices.ContainsFunc(backends(o), func(b backend) bool {
			s := w.service(o.namespaceRef, b.name)
			return s != nil && slices.ContainsFunc(w.podsOf(s), func(p *pod) bool { return p.String() == to })
		})
	})
}

// needMembers records the flows between members of a cluster of databases, and to object stores with backups
// (functions/ovn/member.sh, bucket.sh).
func (w *inventory) needMembers(p *pod, c corev1.Container) {
	for _, e := range c.Env {
		if e.Name == "ENDPOINT" {
			w.need(p.String(), outsider(anywhere), portOf(e.Value), "it stores objects in the bucket")
		}
		if n, err := strconv.Atoi(e.Value); err == nil && e.Name == "RAFT_PORT" {
			w.need(p.String(), p.String(), n, "its members agree")
		}
	}
}

// needLocks records the flows of a program that keeps locks in a Valkey: to its members, and to its sentinels if it
// looks up the primary there. The Secret of the operator has their addresses (functions/cinder/coordination.go).
func (w *inventory) needLocks(p *pod, c corev1.Container) {
	for _, e := range c.Env {
		port := map[string]int{"COORDINATION_PASSWORD": 6379, "COORDINATION_PRIMARY": 26379}[e.Name]
		if port == 0 || e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
			continue
		}
		for _, q := range w.pods {
			if q.namespaceRef == p.namespaceRef && q.of.kind == "Valkey" && text(q.of.manifest, "spec", "binding",
				"secretName") == e.ValueFrom.SecretKeyRef.Name {
				w.need(p.String(), q.String(), port, "it keeps its locks there")
			}
		}
	}
}

// needExposed records the ingress of a Service with an external address: from the networks that the claim names, or
// from anywhere.
func (w *inventory) needExposed() {
	role := anywhere
	if len(w.exposedTo()) > 0 {
		role = ofHypervisors
	}
	for _, s := range w.services {
		if t := text(s.of.manifest, "spec", "type"); t != string(corev1.ServiceTypeLoadBalancer) && t != string(corev1.ServiceTypeNodePort) {
			continue
		}
		for _, sp := range s.ports {
			for _, q := range w.podsOf(s) {
				w.need(outsider(role), q.String(), q.target(sp), s.String()+" has an address outside")
			}
		}
	}
}

// exposedTo returns the networks from which members are reached, as named by users.
func (w *inventory) exposedTo() []string {
	var out []string
	for _, doc := range w.inputs {
		each(doc, nil, func(path []string, m fields) {
			if !slices.Contains(path, "limits") {
				out = append(out, texts(m, "exposure", "networks")...)
			}
		})
	}
	return out
}

func (w *inventory) controllers(o object) []*pod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(p *pod) bool {
		return p.namespaceRef != o.namespaceRef || p.spec == nil || p.labels["app.kubernetes.io/name"] != controller
	})
}
