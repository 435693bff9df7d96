package servicecheck

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

// observation is the state that was read in one pass.
type observation struct {
	check *openstackv1.ServiceCheck
	now   time.Time
	// limited is the remaining rate limit; errorMessage is the reason why the service cannot be queried.
	limited      time.Duration
	errorMessage string
	nova         *compute.API
	// services are all records; sets are the StatefulSets by name, read after the records.
	services []compute.Service
	sets     map[string]set
	// nodes are the nodes with hypervisors, records the nodes in the status, and leftovers the records of removed nodes.
	nodes     nodes
	records   []openstackv1.NodeRecord
	leftovers []leftovers
	// evictions are the cordoned nodes; open are services to be enabled because their nodes are no longer cordoned.
	evictions []eviction
	open      []compute.Service
	// capacity of the nodes; nil if the check has no nodes. The previous one while counted is false.
	capacity *openstackv1.ComputeCapacity
	counted  condition.State
	// backends is the current state of the volume backends.
	backends []openstackv1.CheckedBackendState
}

// set is the observed state of a StatefulSet that exists.
type set struct {
	// first is the first ordinal of its pods; replicas is their number.
	first, replicas int32
	// pods are the names of the existing pods.
	pods map[string]bool
}

// observe reads the records before the pods, so that no record is newer than the pods.
func observe(ctx context.Context, env *controller.Env, c *openstackv1.ServiceCheck) (*observation, error) {
	w := &observation{check: c, now: env.Clock.Now(), sets: map[string]set{}}
	if w.limited = env.Limit(client.ObjectKeyFromObject(c), shortRequeueInterval); w.limited > 0 {
		return w, nil
	}
	query := w.fetchNova
	if c.Spec.Service == blockStorage {
		query = w.fetchCinder
	}
	if err := query(ctx, env); err != nil || w.errorMessage != "" {
		return w, err
	}
	for _, p := range c.Spec.Processes {
		if err := w.read(ctx, env.Reader, string(p.StatefulSetName)); err != nil {
			return nil, err
		}
	}
	w.records = c.Status.Nodes
	if len(c.Spec.Nodes) > 0 {
		return w, w.fetchNodes(ctx, env)
	}
	return w, nil
}

// fetchNova reads the records of processes.
func (obs *observation) fetchNova(ctx context.Context, env *controller.Env) (err error) {
	obs.nova, obs.errorMessage, err = compute.Find(ctx, env.Reader, env.Transport, obs.check.Namespace, obs.check.Spec.CloudCredentialsRef)
	if err != nil || obs.errorMessage != "" {
		return err
	}
	if obs.services, err = obs.nova.Services(ctx, ""); err != nil {
		return obs.failed(err)
	}
	return nil
}

// read reads a StatefulSet and then its pods.
func (obs *observation) read(ctx context.Context, reader client.Reader, name string) error {
	key := client.ObjectKey{Namespace: obs.check.Namespace, Name: name}
	s, err := live.Get(ctx, reader, "StatefulSet", key, &appsv1.StatefulSet{})
	if err != nil || s == nil {
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.Selector)
	if err != nil {
		return fmt.Errorf("cannot read the selector of StatefulSet %s: %w", name, err)
	}
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return fmt.Errorf("cannot list the pods of StatefulSet %s: %w", name, err)
	}
	out := set{replicas: ptr.Deref(s.Spec.Replicas, 1), pods: map[string]bool{}}
	if s.Spec.Ordinals != nil {
		out.first = s.Spec.Ordinals.Start
	}
	for i := range list.Items {
		out.pods[list.Items[i].Name] = true
	}
	obs.sets[name] = out
	return nil
}
