// Package consumertest simulates the Deployment controller, for tests of controllers that restart workloads or wait for their
// rollout.
package consumertest

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rollout replaces one pod of a Deployment at a time, the new one first. Pods run immediately.
type Rollout struct {
	API client.Client
	// IsUpdated reports whether a pod has the current template.
	IsUpdated func(*appsv1.Deployment, *corev1.Pod) bool
	// CanStart is set if new pods can start.
	CanStart bool
	// Created and Deleted are called with each created and deleted pod; nil: nothing is done.
	Created, Deleted func(*corev1.Pod)
	// PodCount is the number of pods that were created so far. It is increased.
	PodCount *int
}

// HasAnnotation returns a function for IsUpdated that compares an annotation with that of the pod template.
func HasAnnotation(annotation string) func(*appsv1.Deployment, *corev1.Pod) bool {
	return func(d *appsv1.Deployment, p *corev1.Pod) bool {
		return p.Annotations[annotation] == d.Spec.Template.Annotations[annotation]
	}
}

// Step replaces, creates or deletes at most one pod, and updates the status. It does nothing if the Deployment does not exist.
func (r *Rollout) Step(ctx context.Context, key client.ObjectKey) error {
	d := &appsv1.Deployment{}
	if err := r.API.Get(ctx, key, d); err != nil {
		return client.IgnoreNotFound(err)
	}
	pods := &corev1.PodList{}
	if err := r.API.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return err
	}
	var updated, old []corev1.Pod
	for _, p := range pods.Items {
		if r.IsUpdated(d, &p) {
			updated = append(updated, p)
		} else {
			old = append(old, p)
		}
	}
	updated, old, err := r.replace(ctx, d, updated, old)
	if err != nil {
		return err
	}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, UpdatedReplicas: int32(len(updated)), //nolint:gosec // A test has few pods.
	}
	status.Replicas = status.UpdatedReplicas + int32(len(old)) //nolint:gosec // as above
	status.AvailableReplicas = status.Replicas
	if d.Status.ObservedGeneration == status.ObservedGeneration && d.Status.Replicas == status.Replicas &&
		d.Status.UpdatedReplicas == status.UpdatedReplicas {
		return nil
	}
	d.Status = status
	return r.API.Status().Update(ctx, d)
}

// replace creates or deletes at most one pod.
func (r *Rollout) replace(ctx context.Context, d *appsv1.Deployment, updated, old []corev1.Pod) (newUpdated, newOld []corev1.Pod, err error) {
	want := int(*d.Spec.Replicas)
	switch {
	case len(updated)+len(old) > want && len(old) > 0:
		return updated, old[1:], r.delete(ctx, &old[0])
	case len(updated) > want:
		return updated[1:], old, r.delete(ctx, &updated[0])
	case len(updated) < want && r.CanStart:
		*r.PodCount++
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%03d", d.Name, *r.PodCount), Namespace: d.Namespace,
				Labels: d.Spec.Template.Labels, Annotations: maps.Clone(d.Spec.Template.Annotations),
			},
			Spec: d.Spec.Template.Spec, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		if err := r.API.Create(ctx, &pod); err != nil {
			return nil, nil, err
		}
		if r.Created != nil {
			r.Created(&pod)
		}
		return append(updated, pod), old, nil
	}
	return updated, old, nil
}

func (r *Rollout) delete(ctx context.Context, pod *corev1.Pod) error {
	if r.Deleted != nil {
		r.Deleted(pod)
	}
	return r.API.Delete(ctx, pod)
}
