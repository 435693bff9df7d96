// Package daemonset finds the nodes of a DaemonSet by its pods, because the companion has no permission to read nodes.
package daemonset

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

// Nodes returns the nodes of a DaemonSet's pods, and whether it has a pod for each of its nodes. complete is false if the
// DaemonSet does not exist.
func Nodes(ctx context.Context, reader client.Reader, key client.ObjectKey) (found []string, complete bool, err error) {
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
