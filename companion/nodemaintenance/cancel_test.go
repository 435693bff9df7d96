package nodemaintenance

import (
	"context"
	"strings"
	"testing"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// remove deletes the order.
func (c *cluster) remove() {
	c.t.Helper()
	c.must(c.api.Delete(context.Background(), order(name, "node-1")))
}

// TestCancel: the deletion of an order puts the node back into service.
func TestCancel(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		servers []server
		// before are the passes before the deletion.
		before int
		then   func(*cluster)
		after  int
		exists bool
		// actions are those after the draining, and disabled is the reason in Nova afterwards.
		actions, disabled string
	}{
		"plan":     {reason: "A plan has no finalizer.", before: 0, after: 1},
		"started":  {reason: "nova-compute is not disabled yet.", before: 2, after: 3},
		"draining": {reason: "Servers that have moved stay where they are.", servers: []server{runs("a"), runs("b")}, before: 4, after: 4, actions: "os-migrateLive a"},
		"drained": {
			reason: "Stopped servers run again.", servers: []server{runs("a").wants("stop"), runs("b").wants("stop").in("SHUTOFF")}, before: 10, after: 6,
			actions: "os-stop a os-start a",
		},
		"cold migration": {
			reason: "A server that has moved is confirmed.", servers: []server{runs("a").wants("cold")}, before: 4, after: 6,
			actions: "migrate a confirmResize a",
		},
		"disabled by a user": {
			reason: "The user's decision stays.", before: 6, after: 3, disabled: "broken fan",
			then: func(c *cluster) {
				c.change("node-1", func(s *compute.Service) { s.Disabled, s.Reason = true, "broken fan" })
			},
		},
		"cannot start": {
			reason: "A server that Nova does not start must not keep the object.", servers: []server{runs("a").wants("stop")}, before: 10, after: 6,
			then:    func(c *cluster) { c.nova.RejectActions("a", true) },
			actions: "os-stop a",
		},
		"Nova": {
			reason: "The node is enabled when Nova responds again.", before: 6, after: 6, exists: true, disabled: compute.MaintenanceReason + "replace-fan",
			then: func(c *cluster) { c.nova.SetDown(true) },
		},
		"pool": {
			reason: "The pool was deleted, and its services with it.", before: 6, after: 3, disabled: compute.MaintenanceReason + "replace-fan",
			then: func(c *cluster) {
				check := &openstackv1.ServiceCheck{}
				check.Name, check.Namespace = pool, namespace
				c.must(c.api.Delete(context.Background(), check))
			},
		},
		"twice": {
			reason: "The order of a former object with the name does not matter.", before: 6, after: 10, exists: true,
			disabled: compute.MaintenanceReason + "replace-fan",
			then: func(c *cluster) {
				c.remove()
				c.run(c.sound(), "node-2", 4)
				o := order("replace-fan", "node-1")
				o.Spec.Mode, o.Spec.MaxNodes = openstackv1.MaintenanceDrain, 1
				c.must(c.api.Create(context.Background(), o))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := draining(t, tc.servers...)
			r := c.sound()
			c.run(r, "node-2", tc.before)
			if tc.then != nil {
				tc.then(c)
			}
			if name != "twice" {
				c.remove()
			}
			c.run(r, "node-2", tc.after)
			if got := c.order("replace-fan") != nil; got != tc.exists {
				t.Errorf("%s exists: %v", tc.reason, got)
			}
			if got := strings.Join(c.nova.Actions(), " "); got != tc.actions {
				t.Errorf("%s actions %q, want %q", tc.reason, got, tc.actions)
			}
			if s := c.service("node-1"); s.Disabled != (tc.disabled != "") || s.Disabled && s.Reason != tc.disabled {
				t.Errorf("%s %+v, want %q", tc.reason, s, tc.disabled)
			}
		})
	}
}
