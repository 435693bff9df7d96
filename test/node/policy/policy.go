// Package policy determines which connections network policies would deny, for a cluster whose network enforces none:
// the observed connections are compared with the allowed ones.
//
// It implements policies as documented in the API
// (https://kubernetes.io/docs/concepts/services-networking/network-policies/): a pod that no policy of a direction
// selects is open in that direction; a selected pod accepts everything that any rule of its policies allows.
package policy

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// End is one side of a connection.
type End struct {
	Address netip.Addr
	// Pod that has the address; nil if it is no pod, and for a pod on the host network.
	Pod *corev1.Pod
	// Node: it is the node on which the pods run.
	Node bool
}

// String returns the name of an end: namespace/pod, the node, or an address.
func (e End) String() string {
	switch {
	case e.Pod != nil:
		return e.Pod.Namespace + "/" + e.Pod.Name
	case e.Node:
		return "the node"
	}
	return e.Address.String()
}

// Flow is a connection from one end to a port of the other, as it arrives: at a pod, and not at its Service.
type Flow struct {
	From, To End
	Protocol corev1.Protocol
	Port     int32
}

// String returns a readable form: a/b → c/d TCP 5000.
func (f Flow) String() string {
	return fmt.Sprintf("%s → %s %s %d", f.From, f.To, f.Protocol, f.Port)
}

// Cluster contains the policies, and the labels of namespaces.
type Cluster struct {
	Policies   []networkingv1.NetworkPolicy
	Namespaces map[string]labels.Set
}

// Denied returns why a flow would be denied; empty if it would not. Traffic from the node itself is always allowed: the
// kubelet's probes are.
func (c Cluster) Denied(f Flow) string {
	if !c.allowed(networkingv1.PolicyTypeEgress, f.From, f.To, f) {
		return fmt.Sprintf("the policies of %s allow no egress by %s %d to %s", f.From, f.Protocol, f.Port, f.To)
	}
	if !f.From.Node && !c.allowed(networkingv1.PolicyTypeIngress, f.To, f.From, f) {
		return fmt.Sprintf("the policies of %s let no %s %d in from %s", f.To, f.Protocol, f.Port, f.From)
	}
	return ""
}

// allowed reports whether the policies of one direction that select a pod allow a flow from or to a peer.
func (c Cluster) allowed(direction networkingv1.PolicyType, pod, peer End, f Flow) bool {
	if pod.Pod == nil {
		return true
	}
	open := true
	for i := range c.Policies {
		p := &c.Policies[i]
		if !slices.Contains(p.Spec.PolicyTypes, direction) || p.Namespace != pod.Pod.Namespace || !matches(&p.Spec.PodSelector, pod.Pod.Labels) {
			continue
		}
		open = false
		for _, r := range rules(p, direction) {
			if r.port(f) && c.peer(p.Namespace, r.peers, peer) {
				return true
			}
		}
	}
	return open
}

// rule is a rule of either direction.
type rule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

func rules(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) []rule {
	var out []rule
	if direction == networkingv1.PolicyTypeIngress {
		for _, r := range p.Spec.Ingress {
			out = append(out, rule{r.From, r.Ports})
		}
		return out
	}
	for _, r := range p.Spec.Egress {
		out = append(out, rule{r.To, r.Ports})
	}
	return out
}

// port reports whether a rule applies to the port of a flow. No ports means all.
func (r rule) port(f Flow) bool {
	return len(r.ports) == 0 || slices.ContainsFunc(r.ports, func(p networkingv1.NetworkPolicyPort) bool {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		switch {
		case protocol != f.Protocol:
			return false
		case p.Port == nil:
			return true
		case p.EndPort != nil:
			return f.Port >= p.Port.IntVal && f.Port <= *p.EndPort
		case p.Port.Type == intstr.String:
			return f.Port == named(f.To.Pod, p.Port.StrVal)
		}
		return f.Port == p.Port.IntVal
	})
}

// named returns the number of a pod's named port, or 0.
func named(pod *corev1.Pod, name string) int32 {
	if pod == nil {
		return 0
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// peer reports whether an end is one of a rule's peers. No peers means everything.
func (c Cluster) peer(namespace string, peers []networkingv1.NetworkPolicyPeer, e End) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return inside(p.IPBlock.CIDR, e.Address) &&
				!slices.ContainsFunc(p.IPBlock.Except, func(cidr string) bool { return inside(cidr, e.Address) })
		case e.Pod == nil:
			return false
		case p.NamespaceSelector == nil && e.Pod.Namespace != namespace:
			return false
		case p.NamespaceSelector != nil && !matches(p.NamespaceSelector, c.Namespaces[e.Pod.Namespace]):
			return false
		}
		return p.PodSelector == nil || matches(p.PodSelector, e.Pod.Labels)
	})
}

func inside(cidr string, a netip.Addr) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Contains(a)
}

// matches reports whether a selector matches labels. An invalid selector matches nothing.
func matches(s *metav1.LabelSelector, l map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(l))
}

// Needed reports for every port of every rule whether it is needed: whether any allowed flow would be denied without
// it. A rule without ports counts as one.
func (c Cluster) Needed(flows []Flow) map[string]bool {
	out := map[string]bool{}
	for i := range c.Policies {
		for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
			for n, r := range rules(&c.Policies[i], direction) {
				for port := range max(len(r.ports), 1) {
					without := Cluster{slices.Clone(c.Policies), c.Namespaces}
					without.Policies[i] = drop(c.Policies[i], direction, n, port)
					out[title(&c.Policies[i], direction, n, r, port)] = slices.ContainsFunc(flows, func(f Flow) bool {
						return c.Denied(f) == "" && without.Denied(f) != ""
					})
				}
			}
		}
	}
	return out
}

// title returns the name of a rule's port: keystone egress 1 TCP 3306. Rules count from 0.
func title(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType, n int, r rule, port int) string {
	ports := "every port"
	if len(r.ports) > 0 {
		ports = string(corev1.ProtocolTCP)
		if protocol := r.ports[port].Protocol; protocol != nil {
			ports = string(*protocol)
		}
		if number := r.ports[port].Port; number != nil {
			ports += " " + number.String()
		}
	}
	return fmt.Sprintf("%s %s %d %s", p.Name, direction, n, ports)
}

// drop returns a policy without one port of one rule.
func drop(p networkingv1.NetworkPolicy, direction networkingv1.PolicyType, n, port int) networkingv1.NetworkPolicy {
	out := *p.DeepCopy()
	if direction == networkingv1.PolicyTypeIngress {
		if r := &out.Spec.Ingress[n]; len(r.Ports) > 1 {
			r.Ports = slices.Delete(r.Ports, port, port+1)
			return out
		}
		out.Spec.Ingress = slices.Delete(out.Spec.Ingress, n, n+1)
		return out
	}
	if r := &out.Spec.Egress[n]; len(r.Ports) > 1 {
		r.Ports = slices.Delete(r.Ports, port, port+1)
		return out
	}
	out.Spec.Egress = slices.Delete(out.Spec.Egress, n, n+1)
	return out
}
