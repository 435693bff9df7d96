package keyrepository

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// users request a token, or store a credential, with every pod. Expired tokens are removed.
func (c *cluster) users() {
	now := c.Clock.Now()
	c.sealed = slices.DeleteFunc(c.sealed, func(s sealed) bool { return !s.expires.IsZero() && !s.expires.After(now) })
	for _, pod := range slices.Sorted(maps.Keys(c.mounted)) {
		set := c.mounted[pod]
		s := sealed{key: set[set.Primary()]}
		if c.repo().Spec.Type == openstackv1.KeyTypeFernet {
			s.expires = now.Add(c.lifetime)
		}
		if !slices.ContainsFunc(c.sealed, func(o sealed) bool { return o.key == s.key && !o.expires.Before(s.expires) }) {
			c.sealed = slices.DeleteFunc(c.sealed, func(o sealed) bool { return o.key == s.key })
			c.sealed = append(c.sealed, s)
		}
	}
}

// kubelets update a changed Secret in every other pod.
func (c *cluster) kubelets() {
	set := c.set()
	if set == nil {
		return
	}
	for i, pod := range slices.Sorted(maps.Keys(c.mounted)) {
		if i%2 == 0 {
			c.mounted[pod] = set
		}
	}
}

// deployments replace one pod at a time, the new one first.
func (c *cluster) deployments() {
	ctx := context.Background()
	d := &appsv1.Deployment{}
	if c.noRollout || c.API.Get(ctx, key("keystone"), d) != nil {
		return
	}
	pods := &corev1.PodList{}
	c.Must(c.API.List(ctx, pods, client.MatchingLabels(d.Spec.Selector.MatchLabels)))
	annotation := podAnnotation(secretName)
	var updated, old []corev1.Pod
	for _, p := range pods.Items {
		if p.Annotations[annotation] == d.Spec.Template.Annotations[annotation] {
			updated = append(updated, p)
		} else {
			old = append(old, p)
		}
	}
	want := int(*d.Spec.Replicas)
	set := c.set()
	switch {
	case len(pods.Items) > want:
		c.Must(c.API.Delete(ctx, &old[0]))
		delete(c.mounted, old[0].Name)
		old = old[1:]
	case len(updated) < want && set != nil:
		c.podCount++
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("keystone-%03d", c.podCount), Namespace: namespace,
				Labels: d.Spec.Template.Labels, Annotations: maps.Clone(d.Spec.Template.Annotations),
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		c.Must(c.API.Create(ctx, &pod))
		c.mounted[pod.Name] = set
		updated = append(updated, pod)
	}
	if n := int32(len(updated) + len(old)); d.Status.Replicas != n || d.Status.UpdatedReplicas != int32(len(updated)) {
		d.Status.Replicas, d.Status.UpdatedReplicas = n, int32(len(updated))
		c.Must(c.API.Status().Update(ctx, d))
	}
}

// migrate encrypts all stored credentials with the primary key.
func (c *cluster) migrate(p *corev1.Pod) (code int32, message string) {
	if c.jobFails {
		return 1, ""
	}
	c.jobRuns[metav1.GetControllerOf(p).Name]++
	set := c.set()
	for i := range c.sealed {
		c.sealed[i].key = set[set.Primary()]
	}
	return 0, ""
}
