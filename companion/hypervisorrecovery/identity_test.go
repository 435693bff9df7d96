package hypervisorrecovery

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestIdentityWithoutNode: a controller is not identified by the spec alone, which can have the address and the UUID of another node.
func TestIdentityWithoutNode(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, recorded, want string
	}{
		"Recorded": {"The Node was read before.", uuidOf("node-1"), "redfish.systemUUID is " + uuidOf("node-2") + ", and the Node has " + uuidOf("node-1")},
		"Unknown":  {"The Node was never read.", "", "its UUID is unknown, because its Node was never read"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 4, runs("a"))
			w.edit(func(s *openstackv1.HypervisorRecoverySpec) {
				s.Nodes[0].Redfish, s.Nodes[0].Redfish.SystemUUID = s.Nodes[1].Redfish, uuidOf("node-2")
				s.Nodes = slices.Delete(s.Nodes, 1, 2)
			})
			o := w.recovery()
			o.Status.VerifiedNodes[0].SystemUUID = tc.recorded
			w.must(w.api.Status().Update(context.Background(), o))
			w.must(w.api.Delete(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
			first := w.machine("node-1")
			first.deleted, first.management = true, false // It runs.
			w.cordon("node-2", true)
			w.switchOff(w.machine("node-2"))
			r := w.sound()
			w.play(r, 40)
			if w.state("node-1") != "" || len(w.nova.Actions()) > 0 {
				t.Errorf("%s %s, actions %v", tc.reason, w.state("node-1"), w.nova.Actions())
			}
			obs, err := r.memory.observe(context.Background(), &r.Env, w.recovery())
			if err != nil {
				t.Fatal(err)
			}
			if obs.limited > 0 {
				t.Fatal("limited")
			}
			i := slices.IndexFunc(obs.nodes, func(n *node) bool { return n.name == "node-1" })
			if got := obs.nodes[i].deviceProblem; !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s %q", tc.reason, got)
			}
		})
	}
}

// TestUnreadableNodes: nothing is changed while the companion may not read Nodes.
func TestUnreadableNodes(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.play(w.sound(), 4)
	forbidden := interceptor.NewClient(w.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, is := o.(*corev1.Node); is {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, k.Name, nil)
			}
			return c.Get(ctx, k, o, options...)
		},
	})
	r := w.reconciler(forbidden, w)
	w.switchOff(w.machine("node-1"))
	w.play(r, 30)
	if got := w.condition(conditionUnblocked); w.state("node-1") != openstackv1.RecoverySuspected || len(w.nova.Actions()) > 0 ||
		!strings.HasPrefix(got, "False NodesUnreadable: the companion may not read Nodes: ") {
		t.Errorf("%s, actions %v: %s", w.state("node-1"), w.nova.Actions(), got)
	}
	w.play(w.sound(), 20)
	if got := w.record("node-1"); got == nil || got.State != openstackv1.RecoveryEvacuated || got.BootID != "boot-0" {
		t.Errorf("%+v: %s", got, w.condition(conditionUnblocked))
	}
}
