// Package daemonset finds the nodes of a DaemonSet by its pods, because the companion has no permission to read nodes.
package daemonset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
)

// podsPerPage limits the memory for pods, of which only the names of nodes are kept. A pod takes about 10 kB.
const podsPerPage = 250

// Node is a node with a pod of a DaemonSet.
type Node struct {
	Name string
	// Revision of the DaemonSet that the pod runs, and CreatedAt the time at which the pod was created. If a node has two pods for a moment,
	// they describe one of the two.
	Revision  string
	CreatedAt time.Time
}

// Nodes returns the nodes of a DaemonSet's pods by name, and whether it has a pod for each of its nodes. complete is false if the
// DaemonSet does not exist. Pods that are not scheduled yet count for the node that the DaemonSet has selected for them.
func Nodes(ctx context.Context, reader client.Reader, key client.ObjectKey) (found []Node, complete bool, err error) {
	set, err := apireader.Get(ctx, reader, "DaemonSet", key, &appsv1.DaemonSet{})
	if err != nil || set == nil {
		return nil, false, err
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, false, fmt.Errorf("cannot find the pods of DaemonSet %s: %w", key, err)
	}
	// All pages have the same revision; a continue token that expires is an error.
	for next := ""; ; {
		pods := &corev1.PodList{}
		if err := reader.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector},
			client.Limit(podsPerPage), client.Continue(next)); err != nil {
			return nil, false, fmt.Errorf("cannot list the pods of DaemonSet %s: %w", key, err)
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if node := nodeOf(p); node != "" && p.DeletionTimestamp == nil && metav1.IsControlledBy(p, set) {
				found = append(found, Node{node, p.Labels[appsv1.ControllerRevisionHashLabelKey], p.CreationTimestamp.Time})
			}
		}
		if next = pods.Continue; next == "" {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, func(a, b Node) bool { return a.Name == b.Name })
	// The status has numbers only. Misscheduled pods keep running on nodes that are not selected any more, such as nodes with a new
	// taint, so they do not count for a selected node without a pod.
	s := set.Status
	current := s.ObservedGeneration == set.Generation
	return found, current && len(found)-int(s.NumberMisscheduled) >= int(s.DesiredNumberScheduled), nil
}

// nodeOf returns the node of a pod: the one that it is bound to, or that the DaemonSet controller has selected
// (https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#how-daemon-pods-are-scheduled).
func nodeOf(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return ""
	}
	required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return ""
	}
	for _, term := range required.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}
