package hypervisor

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// networkComponent allows ingress from the pool's nodes to the control plane.
const networkComponent = "network"

// networks returns the CIDRs of the cell's hypervisors, from the control plane. Without CIDRs, no ingress is allowed.
func (m *model) networks() []string {
	if !m.known() {
		return nil
	}
	return service.Strings(m.plane.cell.HypervisorNetworks)
}

// network allows ingress from the nodes to the services in the control plane's namespace that they use: the queue of their cell, OVN's
// southbound database, the queue of Neutron agents, and the APIs that nova-compute calls. Pods of the pool have their node's address, so
// that policies select CIDRs, which the control plane sets. The policies are deleted with the pool.
func network(m *model) ([]compose.Stage, error) {
	apis := append([]string{keystonev1.ServiceName}, compute.APIEndpoints()...)
	ports := append([]int32{keystonev1.Port}, compute.EndpointFlow(compute.APIEndpoints()).Ports...)
	slices.Sort(apis)
	slices.Sort(ports)
	in := func(key string, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}
	}
	const name, component = "app.kubernetes.io/name", "app.kubernetes.io/component"
	var stage compose.Stage
	queue := func(suffix string, q *common.Queue) {
		if q.SharedAs == "" { // An external queue has no pods to select.
			stage = append(stage, m.ingressForPool(suffix, metav1.LabelSelector{MatchLabels: rabbitmq.Pods(q.Name())}, common.QueuePort))
		}
	}
	queue("queue", &m.plane.cell.Queue)
	if m.usesOVN() {
		stage = append(stage, m.ingressForPool("southbound", metav1.LabelSelector{
			MatchLabels:      map[string]string{name: ovnv1.Name},
			MatchExpressions: []metav1.LabelSelectorRequirement{in(component, "southbound", "relay")},
		}, m.southboundPorts()...))
	}
	if m.usesQueue() {
		if of := &m.plane.access.Networks.Agents.Queue; of.Name() != m.plane.cell.Queue.Name() {
			queue("agents-queue", of)
		}
	}
	if m.isSeparateCluster() { // Traffic from other clusters arrives through a Gateway or an Ingress, which has its own policy.
		return []compose.Stage{stage}, nil
	}
	return []compose.Stage{append(stage,
		m.ingressForPool("apis", metav1.LabelSelector{
			MatchLabels: workload.ManagedPodLabels(), MatchExpressions: []metav1.LabelSelectorRequirement{in(name, apis...), in(component, "api")},
		}, ports...),
	)}, nil
}

// ingressForPool allows ingress from the pool's networks to some pods of the control plane. Other policies define the egress of these pods.
func (m *model) ingressForPool(suffix string, pods metav1.LabelSelector, ports ...int32) compose.Resource {
	meta := object.Meta{Name: m.instance + "-" + suffix, Namespace: m.plane.Instance, Labels: m.meta(networkComponent).Labels}
	p := workload.NetworkPolicy(meta, pods, []workload.Flow{{Blocks: m.networks(), Ports: ports}}, nil)
	p.Spec.PolicyTypes, p.Spec.Egress = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, nil
	return m.inPlaneCluster(compose.Resource{Name: suffix + "-network-policy", Object: p})
}
