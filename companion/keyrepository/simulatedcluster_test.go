package keyrepository

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer/consumertest"
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
	if c.noRollout {
		return
	}
	set := c.set()
	c.Must((&consumertest.Rollout{
		API: c.API, IsUpdated: consumertest.HasAnnotation(podAnnotation(secretName)), CanStart: set != nil, PodCount: &c.podCount,
		Created: func(p *corev1.Pod) { c.mounted[p.Name] = set }, Deleted: func(p *corev1.Pod) { delete(c.mounted, p.Name) },
	}).Step(context.Background(), key("keystone")))
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
