package databasesync

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// consumer is a workload that uses the database, as it is now.
type consumer struct {
	name     string
	template *corev1.PodSpec
	// observed is set when the workload's controller has seen its last change.
	observed bool
	// replicas that are wanted, and how many there are at all, of the current template, and available.
	replicas, total, updated, available int32
	pods                                []corev1.Pod
}

// waitsFor says why it is not proven that all of a consumer's pods run an image: no words if they do. A pod that is being
// stopped still asks the database.
func (c consumer) waitsFor(image string) string {
	switch {
	case !runs(c.template, image):
		return fmt.Sprintf("%s is still of another image", c.name)
	case !c.observed:
		return fmt.Sprintf("%s has changed and its controller has not seen it yet", c.name)
	case c.updated != c.replicas:
		return fmt.Sprintf("%d of %d pods of %s are of its current template", c.updated, c.replicas, c.name)
	case c.total != c.replicas:
		return fmt.Sprintf("%d old pods of %s are still to be removed", c.total-c.replicas, c.name)
	case c.available != c.replicas:
		return fmt.Sprintf("%d of %d pods of %s are available", c.available, c.replicas, c.name)
	}
	for i := range c.pods {
		if p := &c.pods[i]; running(p) && !runs(&p.Spec, image) {
			return fmt.Sprintf("Pod %s of %s still runs another image", p.Name, c.name)
		}
	}
	return ""
}

// runs reports whether a pod has a container of an image.
func runs(pod *corev1.PodSpec, image string) bool {
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Image == image })
}

// rollout says what keeps the consumers from running an image all: no words if nothing does.
func rollout(ctx context.Context, reader client.Reader, sync *openstackv1.DatabaseSync) (string, error) {
	for _, ref := range sync.Spec.Consumers {
		c, err := observeConsumer(ctx, reader, sync.Namespace, ref)
		if err != nil {
			return "", err
		}
		if c == nil {
			return fmt.Sprintf("%s %s does not exist", ref.Kind, ref.Name), nil
		}
		if why := c.waitsFor(image(&sync.Spec)); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// observeConsumer reads a workload and its pods: nil if there is no such workload.
func observeConsumer(ctx context.Context, reader client.Reader, namespace string, ref openstackv1.Consumer) (*consumer, error) {
	c := &consumer{name: ref.Kind + " " + string(ref.Name)}
	key := client.ObjectKey{Namespace: namespace, Name: string(ref.Name)}
	var selector *metav1.LabelSelector
	var err error
	switch ref.Kind {
	case "Deployment":
		d := &appsv1.Deployment{}
		err = reader.Get(ctx, key, d)
		c.template, selector = &d.Spec.Template.Spec, d.Spec.Selector
		c.observed = d.Status.ObservedGeneration >= d.Generation
		c.replicas, c.total = ptr.Deref(d.Spec.Replicas, 1), d.Status.Replicas
		c.updated, c.available = d.Status.UpdatedReplicas, d.Status.AvailableReplicas
	case "StatefulSet":
		s := &appsv1.StatefulSet{}
		err = reader.Get(ctx, key, s)
		c.template, selector = &s.Spec.Template.Spec, s.Spec.Selector
		c.observed = s.Status.ObservedGeneration >= s.Generation
		c.replicas, c.total = ptr.Deref(s.Spec.Replicas, 1), s.Status.Replicas
		c.updated, c.available = s.Status.UpdatedReplicas, s.Status.AvailableReplicas
	default:
		return nil, fmt.Errorf("cannot read %s: consumers are Deployments and StatefulSets", c.name)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", c.name, err)
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("cannot read the selector of %s: %w", c.name, err)
	}
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matches}); err != nil {
		return nil, fmt.Errorf("cannot list the pods of %s: %w", c.name, err)
	}
	c.pods = list.Items
	return c, nil
}
