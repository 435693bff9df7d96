package batchjobtest

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A scheduledPass is the next pass of an object.
type scheduledPass struct {
	at time.Time
	// trigger is the watched state at the last pass. A change triggers the next one.
	trigger string
}

// Enqueue makes a pass due for each object, as the start of a controller does.
func (c *Cluster) Enqueue() { clear(c.passes) }

// ReconcileWhenTriggered runs a pass for an object, as the work queue of its controller does: if the watched state, which is the trigger,
// has changed since the last pass, or after the interval that this pass has requested. done is called after the pass. The controller
// violates an invariant if a pass succeeds and requests no other pass.
func (c *Cluster) ReconcileWhenTriggered(r reconcile.Reconciler, o client.Object, trigger string, done func()) {
	key := client.ObjectKeyFromObject(o)
	if next, exists := c.passes[key]; exists && c.Clock.Now().Before(next.at) && next.trigger == trigger {
		return
	}
	c.passes[key] = scheduledPass{trigger: trigger}
	result, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: key})
	done()
	next := c.passes[key] // Another leader may have run a pass in the meantime.
	next.at = c.Clock.Now().Add(result.RequeueAfter)
	c.passes[key] = next
	if err == nil && result.RequeueAfter == 0 {
		c.Violatedf("a pass for %s requests no other pass", key)
	}
}
