package credentialrotation

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// rotationWithCell has a user on two queues.
func rotationWithCell() *c5c3v1.CredentialRotation {
	r := rotationOf(queueUser)
	r.Spec.Queue.Permissions = append(r.Spec.Queue.Permissions, permissionIn("cell"))
	return r
}

// createdObjects returns the objects that the rotation creates and reads, which a user may delete. Secrets of Users are not read.
func (c *cluster) createdObjects() []client.Object {
	var out []client.Object
	for _, kind := range []string{"User", "Permission"} {
		for _, o := range c.brokerObjects(kind) {
			out = append(out, o)
		}
	}
	out = append(out, c.secret())
	return out
}

// TestDeletedByHand: for each set of manually deleted objects of a queue user, and with delayed garbage collection, a working
// user exists in the end, and nothing is left of another one.
func TestDeletedByHand(t *testing.T) {
	probe, _ := start(t, rotationWithCell())
	names := probe.createdObjects()
	if len(names) < 4 {
		t.Fatalf("%d objects", len(names))
	}
	var sets []int
	for set := 1; set < 1<<len(names); set++ {
		sets = append(sets, set)
	}
	// Late removal: of nothing, of the objects that a User owned, or of one kind of them.
	late := [][]string{nil, {"Permission", "Secret"}, {"Permission"}, {"Secret"}}
	tried := 0
	for i, set := range effort.Sample(sets, 5) {
		spared := late[i%len(late)]
		c, r := start(t, rotationWithCell())
		var deleted []string
		c.broker.spared = spared
		for j, o := range c.createdObjects() {
			if set&(1<<j) != 0 {
				deleted = append(deleted, fmt.Sprintf("%T %s", o, o.GetName()))
				c.must(client.IgnoreNotFound(c.api.Delete(context.Background(), o)))
			}
		}
		for range 15 {
			c.pass(r)
		}
		c.broker.spared = nil
		c.operator()
		for range 30 {
			c.pass(r)
		}
		c.violations = nil // While nothing works, consumers have an invalid login.
		c.days(r, 1.1)
		c.reconcileUntilStable(r)
		if now, ok := c.nextCredential(); !ok || !c.accepts(now) {
			t.Errorf("after %v were deleted, and %v late, no user works: %s", deleted, spared, c.conditions())
		}
		if got := c.condition(conditionReady); got.Status != "True" {
			t.Errorf("after %v were deleted, and %v late: %v", deleted, spared, got)
		}
		c.verifyBroker(t)
		w, err := observe(context.Background(), (*controller.Env)(r), c.rotation())
		c.must(err)
		if s := next(w); s.Action != nil {
			t.Errorf("after %v were deleted, it never becomes idle: %s", deleted, s.Name)
		}
		tried++
	}
	if tried < 5 {
		t.Errorf("%d combinations were tried", tried)
	}
}
