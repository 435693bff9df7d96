package wiring

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkFlows checks that policies allow exactly the required flows.
func (w *inventory) checkFlows() {
	w.deriveFlows()
	policies := w.policies()
	for _, where := range w.namespaces() {
		denies := 0
		for _, p := range policies {
			if p.namespaceRef == where && len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0 {
				denies++
				w.checkDenial(p, policies)
			}
		}
		if denies != 1 {
			w.foundf("%d policies of namespace %s deny all other traffic, want one.", denies, where.namespace)
		}
	}
	for f, why := range w.needed {
		if missing := w.blocked(f, policies); missing != "" {
			w.foundf("%s lets through %s: %s.", missing, f, why)
		}
	}
	w.checkSuperfluous(policies)
	for _, p := range policies {
		if !slices.ContainsFunc(w.pods, func(q *pod) bool { return p.namespaceRef == q.namespaceRef && selects(&p.Spec.PodSelector, q.labels) }) {
			w.foundf("%s is about no pods.", p.object)
		}
	}
}

// checkDenial checks that the policy that denies everything allows nothing, and interrupts no pod: the policies that
// allow the traffic of pods must exist before it, or be created together with the pods.
func (w *inventory) checkDenial(p policy, all []policy) {
	if len(p.Spec.Ingress)+len(p.Spec.Egress) > 0 {
		w.foundf("%s is about every pod, and lets something through.", p.object)
	}
	for _, q := range all {
		late := func(pod *pod) bool {
			return pod.namespaceRef == q.namespaceRef && pod.of.stage < q.stage && selects(&q.Spec.PodSelector, pod.labels)
		}
		if q.namespaceRef == p.namespaceRef && q.stage > p.stage && slices.ContainsFunc(w.pods, late) {
			w.foundf("%s comes before %s, which allows traffic that it denies.", p.object, q.object)
		}
	}
}

// namespaces returns the namespaces with pods.
func (w *inventory) namespaces() []namespaceRef {
	var out []namespaceRef
	for _, p := range w.pods {
		if !slices.Contains(out, p.namespaceRef) {
			out = append(out, p.namespaceRef)
		}
	}
	return out
}

type policy struct {
	object
	networkingv1.NetworkPolicy
}

func (w *inventory) policies() []policy {
	var out []policy
	for _, o := range w.objects {
		if o.is("NetworkPolicy.networking.k8s.io") {
			p := policy{object: o}
			into(o.manifest, &p.NetworkPolicy)
			if len(p.Spec.PolicyTypes) != 2 {
				w.foundf("%s is about %v only.", o, p.Spec.PolicyTypes)
			}
			out = append(out, p)
		}
	}
	return out
}

func (w *inventory) pod(name string) *pod {
	i := slices.IndexFunc(w.pods, func(p *pod) bool { return p.String() == name && p.cluster == w.workloads() })
	if i < 0 {
		return nil
	}
	return w.pods[i]
}

// of returns the policies that select a pod.
func of(p *pod, all []policy) []policy {
	return slices.DeleteFunc(slices.Clone(all), func(q policy) bool {
		return q.namespaceRef != p.namespaceRef || !selects(&q.Spec.PodSelector, p.labels)
	})
}

// blocked names the side whose policy does not allow a flow; empty if both allow it.
func (w *inventory) blocked(f flow, all []policy) string {
	from, to := w.pod(f.from), w.pod(f.to)
	if from != nil {
		peers := w.outsiders(f.to)
		if to != nil {
			peers = []peer{within(to)}
		}
		if !slices.ContainsFunc(peers, func(p peer) bool { return allows(egress, of(from, all), f.port, p) }) {
			return "No policy of " + f.from
		}
		if !allows(egress, of(from, all), 53, everywhere) {
			return "No policy about names of " + f.from
		}
	}
	if to == nil {
		return ""
	}
	peers := []peer{}
	if from != nil {
		peers = append(peers, within(from))
	} else if role, ok := strings.CutPrefix(f.from, "outside: "); ok {
		for _, n := range w.namespacesOf(role) {
			peers = append(peers, peer{namespace: n})
		}
		if len(peers) == 0 {
			peers = append(peers, everywhere)
		}
	}
	for _, p := range peers {
		if !allows(ingress, of(to, all), f.port, p) {
			return "No policy of " + f.to
		}
	}
	return ""
}

// A peer is the other side of a rule: pods of the same namespace, pods of another namespace, or everything.
type peer struct {
	pod       *pod
	namespace string
}

var everywhere = peer{}

func within(p *pod) peer { return peer{pod: p} }

// A side is the ingress or the egress part of a policy.
type side func(policy) []policySide

type policySide struct {
	ports []networkingv1.NetworkPolicyPort
	peers []networkingv1.NetworkPolicyPeer
}

func egress(p policy) []policySide {
	var out []policySide
	for _, r := range p.Spec.Egress {
		out = append(out, policySide{r.Ports, r.To})
	}
	return out
}

func ingress(p policy) []policySide {
	var out []policySide
	for _, r := range p.Spec.Ingress {
		out = append(out, policySide{r.Ports, r.From})
	}
	return out
}

func allows(s side, policies []policy, port int, other peer) bool {
	return slices.ContainsFunc(policies, func(p policy) bool {
		return slices.ContainsFunc(s(p), func(h policySide) bool { return h.meets(port) && h.isAbout(other) })
	})
}

func (h policySide) meets(port int) bool {
	return len(h.ports) == 0 || slices.ContainsFunc(h.ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
			return false
		}
		return p.Port == nil || p.Port.IntValue() == port || p.EndPort != nil && p.Port.IntValue() <= port && port <= int(*p.EndPort)
	})
}

func (h policySide) isAbout(other peer) bool {
	if len(h.peers) == 0 {
		return true
	}
	return slices.ContainsFunc(h.peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return other == everywhere
		case p.NamespaceSelector != nil:
			return other.namespace != "" && selects(p.NamespaceSelector, map[string]string{corev1.LabelMetadataName: other.namespace})
		}
		return other.pod != nil && (p.PodSelector == nil || selects(p.PodSelector, other.pod.labels))
	})
}

// meetOutside reports whether one pod connects to any address outside at a port, and the policies of the other pod
// happen to admit everything there. Whether they have to is checked separately.
func meetOutside(needs func(flow) bool, from string, mine []policy, port int) bool {
	return needs(flow{from, outsider(anywhere), port}) && allows(ingress, mine, port, everywhere)
}

// checkSuperfluous finds traffic that policies allow and that is not required.
func (w *inventory) checkSuperfluous(all []policy) {
	names, about, needs := map[*pod]string{}, map[*pod][]policy{}, w.needs()
	for _, p := range w.pods {
		names[p], about[p] = p.String(), of(p, all)
	}
	for _, to := range w.pods {
		mine := about[to]
		for _, q := range to.ports {
			for _, from := range w.pods {
				f := flow{names[from], names[to], q.number}
				if from.namespaceRef != to.namespaceRef || needs(f) || meetOutside(needs, names[from], mine, q.number) {
					continue
				}
				if allows(ingress, mine, q.number, within(from)) && allows(egress, about[from], q.number, within(to)) {
					w.foundf("Policies let through %s, which nothing needs.", f)
				}
			}
		}
		for _, p := range mine {
			for i, h := range ingress(p) {
				w.checkHalf(fmt.Sprintf("Ingress rule %d of %s", i, p.object), to, h)
			}
		}
	}
	for _, from := range w.pods {
		for _, p := range about[from] {
			for i, h := range egress(p) {
				if len(h.ports) == 0 {
					w.foundf("Egress rule %d of %s is about all ports.", i, p.object)
				}
				w.checkNetworks(p, h)
				for _, n := range h.ports {
					if len(h.peers) == 0 && n.Port.IntValue() != 53 && !w.leaves(from, n.Port.IntValue(), p) {
						w.foundf("%s lets %s out to port %d of everything, which nothing needs.", p.object, from, n.Port.IntValue())
					}
				}
			}
		}
	}
}

// needs returns a function that reports whether a flow is needed, or would be if a proxy were removed or added.
func (w *inventory) needs() func(flow) bool {
	type client struct {
		name string
		port int
	}
	servers := map[client][]string{} // pods by who needs them
	for _, p := range w.pods {
		name := p.String()
		for f := range w.needed {
			if f.to == name {
				servers[client{f.from, f.port}] = append(servers[client{f.from, f.port}], name)
			}
		}
	}
	return func(f flow) bool {
		if _, ok := w.needed[f]; ok {
			return true
		}
		for _, x := range w.proxied {
			if _, ok := w.needed[flow{f.from, x.proxy, f.port}]; ok && f.to == x.server {
				return true // Pods with the server's address use it until they are restarted.
			}
		}
		return slices.ContainsFunc(servers[client{f.to, f.port}], func(server string) bool {
			_, queries := w.needed[flow{f.from, server, f.port}]
			return queries // A relay returns data of its server.
		})
	}
}

// clusterPorts are the ports of storage clusters, by the field that names them; the addresses are in a Secret or a
// catalog.
var clusterPorts = map[string][]int{"rbd": cephPorts, "ceph": cephPorts, "swift": {443, 8080}}

// leaves reports whether any pod selected by a policy needs a port outside: a policy may select several kinds.
func (w *inventory) leaves(from *pod, port int, p policy) bool {
	for _, other := range w.pods {
		if other.namespaceRef == from.namespaceRef && selects(&p.Spec.PodSelector, other.labels) {
			if _, ok := w.needed[flow{other.String(), outsider(anywhere), port}]; ok {
				return true
			}
		}
	}
	for _, doc := range w.inputs {
		found := false
		each(doc, nil, func(_ []string, m fields) {
			for k, v := range m {
				// Where a provider's metadata lead is at its issuer's port.
				found = found || slices.Contains(clusterPorts[k], port)
				for _, a := range addresses(str(v)) {
					found = found || a.port == port && strings.HasSuffix(strings.ToLower(k), "url") || a.port == port && k == "issuer"
				}
			}
		})
		if found && from.spec != nil && from.replicas != nil {
			return true
		}
	}
	return false
}

// checkHalf finds ingress from outside that is not required, and rules about all ports, or about ports that no pod has.
func (w *inventory) checkHalf(rule string, to *pod, h policySide) {
	if len(h.ports) == 0 {
		w.foundf("%s is about all ports.", rule)
	}
	for _, n := range h.ports {
		if to.ports != nil && !to.hasPort(n.Port.IntValue()) {
			w.foundf("%s is about port %d, which %s does not have.", rule, n.Port.IntValue(), to)
			continue
		}
		w.checkFromOutside(rule, to, h, n.Port.IntValue())
	}
}

func (w *inventory) checkFromOutside(rule string, to *pod, h policySide, port int) {
	allowed := map[string]bool{}
	unknown := false
	for f := range w.needed {
		if role, ok := strings.CutPrefix(f.from, "outside: "); ok && f.to == to.String() && f.port == port && role != ofHypervisors {
			names := w.namespacesOf(role)
			unknown = unknown || len(names) == 0
			for _, n := range names {
				allowed[n] = true
			}
		}
	}
	if len(h.peers) == 0 && !unknown {
		w.foundf("%s opens port %d of %s to everything; only %v needs it.", rule, port, to, slices.Sorted(maps.Keys(allowed)))
	}
	for _, peer := range h.peers {
		_, byHypervisors := w.needed[flow{outsider(ofHypervisors), to.String(), port}]
		if b := peer.IPBlock; b != nil && (!byHypervisors || !slices.Contains(slices.Concat(w.hypervisors(), w.exposedTo()), b.CIDR)) {
			w.foundf("%s lets network %s to port %d of %s, which nothing in it needs.", rule, b.CIDR, port, to)
		}
		if s := peer.NamespaceSelector; s != nil && !allowed[nameOnly(s)] {
			w.foundf("%s lets namespace %q to port %d of %s, which nothing in it needs.", rule, nameOnly(s), port, to)
		}
	}
}

// nameOnly returns the namespace that a selector selects by name, if it does.
func nameOnly(s *metav1.LabelSelector) string {
	if len(s.MatchLabels) != 1 || len(s.MatchExpressions) > 0 {
		return ""
	}
	return s.MatchLabels[corev1.LabelMetadataName]
}
