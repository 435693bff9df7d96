package hypervisor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// agentLabel is on every pod of a pool on nodes, with the name of its component. Anti-affinity on it prevents a second pod of the same kind
// on a node. Two such pods, of two pools, or briefly of a pool and one of its slices, would fail without an error message and lose a
// server.
const agentLabel = "crossplane.c5c3.io/node-agent"

// labels are node labels to match or to exclude.
type labels = map[string]common.LabelValue

// group is the set of nodes of a slice, or of the pool's nodes outside of all slices.
type group struct {
	// slice is the name of the slice, and index its position. Empty: the nodes outside of all slices.
	slice string
	index int
	// zone is their availability zone. Empty: none is set.
	zone hypervisorv1.Zone
	// with are labels that the nodes have; no node has all labels of an entry of excludedLabels.
	with           labels
	excludedLabels []labels
	// contradicting are labels of gateways with another value in with: no node has both.
	contradicting labels
	node          hypervisorv1.Node
	network       hypervisorv1.Networks
	// own and ownNetwork are the settings of the pool or slice itself, without settings that a slice inherits from its pool.
	own        hypervisorv1.Node
	ownNetwork hypervisorv1.Networks
}

// name returns the name of a component on the nodes of the group. It is the name of its composed resource, its DaemonSet and its component
// label.
func (g *group) name(component string) string {
	if g.slice == "" {
		return component
	}
	return component + "-slice-" + g.slice
}

// assignNodeGroups derives groups from the pool and its slices. It rejects slices that could have a node in common.
func (m *model) assignNodeGroups() ([]group, error) {
	networks := ptr.Deref(m.spec.Networks, hypervisorv1.Networks{})
	rest := group{with: m.spec.NodeSelector, zone: m.spec.AvailabilityZone, node: m.spec.Node, network: networks}
	rest.own, rest.ownNetwork = rest.node, rest.network
	out := []group{rest}
	for i, s := range m.spec.Slices {
		field := fmt.Sprintf("spec.slices[%d].nodeSelector", i)
		if key, other := conflict(s.NodeSelector, m.spec.NodeSelector); other {
			return nil, invalid.Field(field, "no node of the pool has %s=%s, since all have %[1]s=%[3]s; remove that label, or give the "+
				"pool another one", key, s.NodeSelector[key], m.spec.NodeSelector[key])
		}
		for _, before := range m.spec.Slices[:i] {
			if _, disjoint := conflict(s.NodeSelector, before.NodeSelector); !disjoint {
				return nil, invalid.Field(field, "a node could belong to slice %s and to slice %s; give both the same label with different values",
					before.Name, s.Name)
			}
		}
		out[0].excludedLabels = append(out[0].excludedLabels, s.NodeSelector)
		own := ptr.Deref(s.Networks, hypervisorv1.Networks{})
		out = append(out, group{
			slice: s.Name, index: i, with: merge.Overlay(s.NodeSelector, m.spec.NodeSelector),
			zone: cmp.Or(s.AvailabilityZone, m.spec.AvailabilityZone), node: merge.Overlay(s.Node, m.spec.Node),
			network: merge.Overlay(own, networks), own: s.Node, ownNetwork: own,
		})
	}
	const most = 64
	for _, g := range out {
		if gateway := g.gateway(); negatedTermCount(append(slices.Clone(g.excludedLabels), gateway)) > most {
			return nil, invalid.Field("spec.slices", "the nodes outside of all slices require more than %d combinations of labels; "+
				"give each slice one label", most)
		}
	}
	return out, checkAggregates(out)
}

// conflict returns the first label, by name, that both sets have with different values.
func conflict(a, b labels) (key string, found bool) {
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if v, ok := b[k]; ok && v != a[k] {
			return k, true
		}
	}
	return "", false
}

// negatedTermCount returns the number of node selector terms that express the exclusion of some sets of labels.
func negatedTermCount(without []labels) int {
	out := 1
	for _, w := range without {
		out = min(out*max(len(w), 1), 1<<16) //nolint:mnd // large enough to exceed any limit
	}
	return out
}

// gateway returns the labels of those nodes of the group that connect routers to external networks. Nil: none does.
func (g *group) gateway() labels {
	if g.network.Gateway == nil {
		return nil
	}
	return g.network.Gateway.NodeSelector
}

// gatewaySelector returns the nodes of the group that are gateways, nonGatewaySelector the others. It never selects a node outside of the
// group: a slice without gateways inherits labels of gateways from its pool that contradict its own.
func (g *group) gatewaySelector() group {
	out := *g
	out.with = merge.Overlay(g.with, g.gateway())
	for k, v := range g.gateway() {
		if out.with[k] != v {
			out.contradicting = merge.Overlay(labels{k: v}, out.contradicting)
		}
	}
	return out
}

func (g *group) nonGatewaySelector() group {
	out := *g
	if labels := g.gateway(); len(labels) > 0 {
		out.excludedLabels = append(slices.Clone(g.excludedLabels), labels)
	}
	return out
}

// affinity selects the nodes of a group. A term matches if all of its expressions match, and one matching term is sufficient: excluding a
// combination of labels requires a term for each label.
func (m *model) affinity(g *group) *corev1.NodeAffinity {
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	var all []corev1.NodeSelectorRequirement
	for _, k := range slices.Sorted(maps.Keys(g.with)) {
		all = append(all, in(k, string(g.with[k])))
	}
	for _, k := range slices.Sorted(maps.Keys(g.contradicting)) {
		all = append(all, in(k, string(g.contradicting[k])))
	}
	if m.spec.Region != "" {
		all = append(all, in(corev1.LabelTopologyRegion, string(m.spec.Region)))
	}
	alternatives := []corev1.NodeSelectorTerm{{MatchExpressions: all}}
	for _, without := range g.excludedLabels {
		var next []corev1.NodeSelectorTerm
		for _, t := range alternatives {
			for _, k := range slices.Sorted(maps.Keys(without)) {
				not := corev1.NodeSelectorRequirement{Key: k, Operator: corev1.NodeSelectorOpNotIn, Values: []string{string(without[k])}}
				next = append(next, corev1.NodeSelectorTerm{MatchExpressions: append(slices.Clone(t.MatchExpressions), not)})
			}
		}
		alternatives = next
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: alternatives}}
}

// A daemon is a workload on every node of a group.
type daemon struct {
	// app and component are labels of its pods. agent identifies the kind of which a node has at most one pod. Empty: the component.
	app, component, agent string
	pod                   workload.Pod
	privileges            []workload.Privilege
	// update is the update strategy: rolling, or after manual deletion of pods.
	update appsv1.DaemonSetUpdateStrategyType
	// ofPlatform reports whether its image is always the platform's, because the pod has rights of the platform.
	ofPlatform bool
}

// on builds the daemon's DaemonSet on the nodes of a group.
func (m *model) on(g *group, d daemon) (*appsv1.DaemonSet, error) {
	w := m.workload(d.app, g.name(d.component))
	w.Placement.Tolerations = m.spec.Tolerations
	if d.ofPlatform {
		w.PullSecrets = m.platformPulls
	}
	set := w.DaemonSet(d.pod, d.update)
	set.Annotations = map[string]string{readiness.MaxUnavailableAnnotation: strings.TrimSuffix(m.spec.MaxUnavailable, "%")}
	if d.update == appsv1.RollingUpdateDaemonSetStrategyType {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromString(m.spec.MaxUnavailable))}
	}
	pod := &set.Spec.Template
	agent := cmp.Or(d.agent, d.component)
	if err := m.setResources(g, agent, pod.Spec.Containers); err != nil {
		return nil, err
	}
	workload.RequestStorage(&pod.Spec)
	if err := workload.Allow(pod, d.privileges...); err != nil {
		return nil, err
	}
	pod.Labels[agentLabel] = agent
	// Under memory or disk pressure of the node, the pods that carry servers are evicted last.
	pod.Spec.PriorityClassName = "system-node-critical"
	pod.Spec.Affinity = &corev1.Affinity{
		NodeAffinity: m.affinity(g),
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{agentLabel: agent}},
			NamespaceSelector: &metav1.LabelSelector{}, // pools of all claims
			TopologyKey:       corev1.LabelHostname,
		}}},
	}
	return set, nil
}

// Environment variables with the node's name and address: Nova, Neutron and OVN use its name in Kubernetes.
const (
	nodeEnv    = "NODE_NAME"
	addressEnv = "NODE_IP"
)

// nodeEnvVars returns the environment variables that identify the container's node.
func nodeEnvVars() []corev1.EnvVar {
	return []corev1.EnvVar{workload.FieldEnv(nodeEnv, "spec.nodeName"), workload.FieldEnv(addressEnv, "status.hostIP")}
}
