package workload

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Flow is traffic that a network policy allows.
type Flow struct {
	// Namespaces of the peers; none means this namespace. Anywhere means every address, in the cluster and outside.
	Namespaces []string
	Anywhere   bool
	// Pods of the peers, by label, and by Expressions on labels; none means all.
	Pods        map[string]string
	Expressions []metav1.LabelSelectorRequirement
	// Blocks of addresses of peers that are no pods, such as nodes: 10.0.0.0/24. With blocks alone no pod is a peer.
	Blocks []string
	// Public peers are all addresses except private networks.
	Public bool
	// Ports (TCP), Ranges of them, and UDP ports.
	Ports, UDP []int32
	Ranges     []Range
}

// Range is an inclusive range of ports.
type Range struct{ First, Last int32 }

// Names converts namespaces for a Flow.
func Names(namespaces []common.NamespaceName) []string {
	var out []string
	for _, n := range namespaces {
		out = append(out, string(n))
	}
	return out
}

// ManagedPodLabels returns the common labels of the pods of services and of the companion.
func ManagedPodLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "crossplane-cobaltcore"}
}

// From returns flows of several kinds of pods, given by their labels, to ports.
func From(pods []map[string]string, ports []int32) []Flow {
	out := make([]Flow, len(pods))
	for i, labels := range pods {
		out[i] = Flow{Pods: labels, Ports: ports}
	}
	return out
}

// HTTPSPort returns the port of host:port, or 443. The error is a sentence about the address.
func HTTPSPort(endpoint string) (int32, error) { return PortOf("https://" + endpoint) }

// private lists the networks without public addresses (https://www.iana.org/assignments/iana-ipv4-special-registry,
// https://www.iana.org/assignments/iana-ipv6-special-registry), including networks that embed addresses of the other protocol.
var private = map[string][]string{
	"0.0.0.0/0": {
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16",
		"198.18.0.0/15", "224.0.0.0/3",
	},
	"::/0": {"::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fc00::/7", "fe80::/10", "ff00::/8"},
}

// dnsPort is the port of DNS, which every pod may use.
const dnsPort = 53

// NetworkPolicy builds a policy that allows only the given traffic, and DNS.
func (w Workload) NetworkPolicy(in, out []Flow) *networkingv1.NetworkPolicy {
	return NetworkPolicy(w.Meta(), metav1.LabelSelector{MatchLabels: w.Selector()}, in, out)
}

// NetworkPolicy builds a policy that allows only the given traffic of the selected pods, and DNS.
func NetworkPolicy(meta object.Meta, pods metav1.LabelSelector, in, out []Flow) *networkingv1.NetworkPolicy {
	p := DenyAll(meta)
	p.Spec.PodSelector = pods
	p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{
		{Protocol: ptr.To(corev1.ProtocolUDP), Port: new(intstr.FromInt32(dnsPort))},
		{Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(dnsPort))},
	}}}
	for _, f := range in {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: f.peers(), Ports: f.ports()})
	}
	for _, f := range out {
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: f.peers(), Ports: f.ports()})
	}
	return p
}

// DenyAll builds a policy that denies all traffic of all pods in its namespace, except traffic that another policy allows.
func DenyAll(meta object.Meta) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
}

func (f Flow) peers() []networkingv1.NetworkPolicyPeer {
	if f.Anywhere {
		return nil
	}
	if f.Public {
		return public()
	}
	var out []networkingv1.NetworkPolicyPeer
	for _, b := range f.Blocks {
		out = append(out, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: b}})
	}
	if len(f.Blocks) > 0 && len(f.Namespaces)+len(f.Pods)+len(f.Expressions) == 0 {
		return out
	}
	pods := &metav1.LabelSelector{MatchLabels: f.Pods, MatchExpressions: f.Expressions}
	if len(f.Namespaces) == 0 {
		return append(out, networkingv1.NetworkPolicyPeer{PodSelector: pods})
	}
	for _, n := range f.Namespaces {
		out = append(out, networkingv1.NetworkPolicyPeer{
			PodSelector:       pods,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: n}},
		})
	}
	return out
}

func public() []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, all := range slices.Sorted(maps.Keys(private)) {
		out = append(out, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: all, Except: private[all]}})
	}
	return out
}

func (f Flow) ports() []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, p := range f.Ports {
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(p))})
	}
	for _, r := range f.Ranges {
		out = append(out, networkingv1.NetworkPolicyPort{
			Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(r.First)), EndPort: new(r.Last),
		})
	}
	for _, p := range f.UDP {
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolUDP), Port: new(intstr.FromInt32(p))})
	}
	return out
}
