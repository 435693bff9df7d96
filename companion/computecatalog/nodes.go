package computecatalog

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

// nodes are those that DaemonSets of a spec are for.
type nodes struct {
	// of are the nodes of an aggregate, and all are those of any.
	of  map[string][]string
	all map[string]bool
	// open are the aggregates of DaemonSets that have no pod for some of their nodes: which these are, nobody knows.
	open map[string]bool
}

// mayReturn says of a node of an aggregate that has no pod whether it is to stay there: it is in no other one, and may have a pod again.
func (n nodes) mayReturn(aggregate, node string) bool { return n.open[aggregate] && !n.all[node] }

// look finds the nodes by the pods that are there.
func look(ctx context.Context, reader client.Reader, spec []openstackv1.ComputeNodes) (nodes, error) {
	out := nodes{of: map[string][]string{}, all: map[string]bool{}, open: map[string]bool{}}
	for _, s := range spec {
		found, complete, err := of(ctx, reader, client.ObjectKey{Namespace: string(s.Namespace), Name: string(s.DaemonSet)})
		if err != nil {
			return out, err
		}
		for _, node := range found {
			out.all[node] = true
		}
		for _, a := range s.Aggregates {
			out.of[a] = append(out.of[a], found...)
			out.open[a] = out.open[a] || !complete
		}
	}
	return out, nil
}

// of are the nodes of the pods of a DaemonSet, and whether it has one for each of its nodes.
func of(ctx context.Context, reader client.Reader, key client.ObjectKey) (found []string, complete bool, err error) {
	set, err := live.Get(ctx, reader, "DaemonSet", key, &appsv1.DaemonSet{})
	if err != nil || set == nil {
		return nil, false, err
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, false, fmt.Errorf("cannot find the pods of DaemonSet %s: %w", key, err)
	}
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, false, fmt.Errorf("cannot list the pods of DaemonSet %s: %w", key, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp == nil && p.Spec.NodeName != "" && metav1.IsControlledBy(p, set) && !slices.Contains(found, p.Spec.NodeName) {
			found = append(found, p.Spec.NodeName)
		}
	}
	slices.Sort(found)
	current := set.Status.ObservedGeneration == set.Generation
	return found, current && len(found) >= int(set.Status.DesiredNumberScheduled), nil
}
