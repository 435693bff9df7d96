package wiring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// A service leads to pods: selected by an emitted Service's selector, or by an operator's as in the operator's table.
type service struct {
	namespaceRef

	name string
	// of is the object that it is, or that an operator makes it of.
	of       object
	labels   labels.Set
	selector labels.Set
	headless bool
	ports    []servicePort
	// to are the pods behind it.
	to []*pod
}

type servicePort struct {
	name   string
	port   int
	target string
}

func (s *service) String() string { return "Service " + s.name }

func (w *inventory) addService(o object) {
	if !o.is("Service") {
		return
	}
	s := &service{
		namespaceRef: o.namespaceRef, name: o.name, of: o, labels: stringMap(o.manifest, "metadata", "labels"),
		selector: stringMap(o.manifest, "spec", "selector"),
		headless: text(o.manifest, "spec", "clusterIP") == "None",
	}
	for _, p := range list(o.manifest, "spec", "ports") {
		n, _ := number(p, "port")
		target := text(p, "targetPort")
		if t, ok := number(p, "targetPort"); ok {
			target = strconv.Itoa(t)
		}
		s.ports = append(s.ports, servicePort{text(p, "name"), n, first(target, strconv.Itoa(n))})
	}
	w.services = append(w.services, s)
}

// podsOf returns the pods of a Service.
func (w *inventory) podsOf(s *service) []*pod {
	if s.to != nil || len(s.selector) == 0 {
		return s.to
	}
	for _, p := range w.pods {
		if p.namespaceRef == s.namespaceRef && p.selected(s.selector) {
			s.to = append(s.to, p)
		}
	}
	return s.to
}

// selected reports whether a Service selects one of these pods. Kubernetes labels each pod of a StatefulSet with its
// name (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-name-label).
func (p *pod) selected(selector labels.Set) bool {
	if name, ok := selector[appsv1.StatefulSetPodNameLabel]; ok && p.of.kind == "StatefulSet" {
		n, err := strconv.Atoi(strings.TrimPrefix(name, p.of.name+"-"))
		if err != nil || n < 0 || n >= ptr.Deref(p.replicas, 1) {
			return false
		}
		selector = maps.Clone(selector)
		delete(selector, appsv1.StatefulSetPodNameLabel)
	}
	return selector.AsSelector().Matches(p.labels)
}

// target returns the port of a pod that a Service's port leads to; 0 if there is none.
func (p *pod) target(sp servicePort) int {
	for _, q := range p.ports {
		if q.name == sp.target || strconv.Itoa(q.number) == sp.target {
			return q.number
		}
	}
	return 0
}

// checkServices checks that each Service leads to long-running pods of one kind, at a port that they have.
func (w *inventory) checkServices() {
	for _, s := range w.services {
		to := w.podsOf(s)
		if len(to) != 1 {
			w.foundf("%s leads to %d kinds of pods: %v.", s, len(to), to)
		}
		for _, p := range to {
			if p.replicas == nil {
				w.foundf("%s leads to the pods of %s, which run to completion.", s, p)
			}
			for _, sp := range s.ports {
				if p.target(sp) == 0 {
					w.foundf("%s leads port %d to port %s of %s, which has none.", s, sp.port, sp.target, p)
				}
			}
		}
	}
}

func (w *inventory) service(p namespaceRef, name string) *service {
	i := slices.IndexFunc(w.services, func(s *service) bool { return s.namespaceRef == p && s.name == name })
	if i < 0 {
		return nil
	}
	return w.services[i]
}

func (s *service) port(n int) (servicePort, bool) {
	i := slices.IndexFunc(s.ports, func(p servicePort) bool { return p.port == n })
	if i < 0 {
		return servicePort{}, false
	}
	return s.ports[i], true
}

func selects(s *metav1.LabelSelector, l labels.Set) bool {
	if s != nil && len(s.MatchExpressions) == 0 { // Nearly all of them. A labels.Selector checks every name again.
		for key, value := range s.MatchLabels {
			if got, ok := l[key]; !ok || got != value {
				return false
			}
		}
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(l)
}

func selectsMap(v any, l labels.Set) bool {
	s := metav1.LabelSelector{}
	into(v, &s)
	return selects(&s, l)
}

// An address in a text: of a Service, or external.
type address struct {
	scheme, host string
	// named is the host as written, which a certificate must contain.
	named string
	port  int
	// service and pod, if the host is in the cluster.
	pod, service, namespace string
}

func (a address) String() string {
	if a.port == 0 {
		return a.host
	}
	return fmt.Sprintf("%s:%d", a.host, a.port)
}

var (
	// inside ends in a cluster's domain or in none.
	inside  = regexp.MustCompile(`(?:([a-z][a-z0-9+]*)://(?:[^/@\s"]*@)?)?((?:[A-Za-z0-9*_-]+\.){2,3}svc)((?:\.[a-z0-9-]+)*)\b(?::(\d+))?`)
	outside = regexp.MustCompile(`([a-z][a-z0-9+]*)://(?:[^/@\s"]*@)?(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+)(?::(\d+))?`)
	// endpoint matches a text that consists of host and port.
	endpoint = regexp.MustCompile(`^([a-z0-9-]+(?:\.[a-z0-9-]+)+)(?::(\d+))?$`)

	// comments are ignored.
	comments = regexp.MustCompile(`(?m)^\s*#.*$`)

	// schemePorts are the default ports of schemes (https://www.iana.org/assignments/service-names-port-numbers).
	schemePorts = map[string]int{"http": 80, "https": 443, "ldap": 389, "ldaps": 636}
)

// addresses returns the addresses in a text, in order.
func addresses(t string) []address {
	if !strings.Contains(t, "://") && !strings.Contains(t, ".svc") { // Most texts have none, and the expressions are slow.
		return nil
	}
	var out []address
	add := func(scheme, host, domain, port string) {
		n, err := strconv.Atoi(port)
		if err != nil {
			n = schemePorts[scheme]
		}
		a := address{scheme: scheme, host: host, named: host + domain, port: n}
		if labels := strings.Split(host, "."); labels[len(labels)-1] == "svc" {
			labels = labels[:len(labels)-1]
			a.namespace, a.service = labels[len(labels)-1], labels[len(labels)-2]
			if len(labels) == 3 {
				a.pod = labels[0]
			}
		}
		out = append(out, a)
	}
	t = comments.ReplaceAllString(t, "")
	for _, m := range inside.FindAllStringSubmatch(t, -1) {
		add(m[1], m[2], m[3], m[4])
	}
	for _, m := range outside.FindAllStringSubmatch(t, -1) {
		if !inside.MatchString(m[2]) {
			add(m[1], m[2], "", m[3])
		}
	}
	return out
}
