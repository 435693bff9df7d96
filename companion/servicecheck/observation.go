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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// observation is the state that was read in one pass.
type observation struct {
	// collection contains the records of services, which other checks share.
	*collection

	check *openstackv1.ServiceCheck
	now   time.Time
	// limited is the remaining rate limit; errorMessage is the reason why the service cannot be queried.
	limited      time.Duration
	errorMessage string
	parallel     int
	// sets are the StatefulSets by name, read after the records.
	sets map[string]set
	// nodes are the nodes with hypervisors, records the nodes in the status, and leftovers the records of removed nodes.
	nodes     nodes
	records   []openstackv1.NodeRecord
	leftovers []leftovers
	// unrecorded are registered nodes beyond the limit of the status. Their servers would not be counted without a pod.
	unrecorded []string
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

// observe uses records that another check has read in the first half of the interval. It reads them again if they require an action, or
// open a guard.
func (c *collector) observe(ctx context.Context, env *controller.Env, check *openstackv1.ServiceCheck) (*observation, error) {
	if limited := env.Limit(client.ObjectKeyFromObject(check), shortRequeueInterval); limited > 0 {
		return &observation{collection: &collection{}, check: check, now: env.Clock.Now(), limited: limited}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	obs, err := c.read(ctx, env, check, interval(check)/2) //nolint:mnd // The first half.
	if err == nil && obs.startedAt.Before(obs.now) && obs.needsCurrentRecords() {
		return c.read(ctx, env, check, 0)
	}
	return obs, err
}

// interval returns the interval between two passes of a check.
func interval(check *openstackv1.ServiceCheck) time.Duration {
	return time.Duration(check.Spec.IntervalSeconds) * time.Second
}

// read reads the records before the pods, so that no record is newer than the pods.
func (c *collector) read(
	ctx context.Context, env *controller.Env, check *openstackv1.ServiceCheck, maxAge time.Duration,
) (*observation, error) {
	obs := &observation{check: check, now: env.Clock.Now(), sets: map[string]set{}, parallel: c.parallel}
	var err error
	if obs.collection, err = c.collect(ctx, env, check, maxAge); err != nil {
		return nil, err
	}
	if obs.errorMessage = obs.problem; obs.errorMessage != "" {
		return obs, nil
	}
	for _, p := range check.Spec.Processes {
		if err := obs.readSet(ctx, env.Reader, string(p.StatefulSetName)); err != nil {
			return nil, err
		}
	}
	obs.readBackends()
	obs.records = check.Status.Nodes
	if len(check.Spec.Nodes) > 0 {
		return obs, obs.fetchNodes(ctx, env)
	}
	return obs, nil
}

// needsCurrentRecords reports whether records have to be changed, or the number of servers permits the deletion of the nodes.
func (obs *observation) needsCurrentRecords() bool {
	if obs.errorMessage != "" {
		return false
	}
	return len(obs.stale())+len(obs.leftovers)+len(obs.evictions)+len(obs.open) > 0 ||
		obs.capacity != nil && obs.capacity.VirtualMachines == 0
}

// readSet reads a StatefulSet and then its pods.
func (obs *observation) readSet(ctx context.Context, reader client.Reader, name string) error {
	key := client.ObjectKey{Namespace: obs.check.Namespace, Name: name}
	s, err := apireader.Get(ctx, reader, "StatefulSet", key, &appsv1.StatefulSet{})
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
