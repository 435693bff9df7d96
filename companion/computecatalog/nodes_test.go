package computecatalog

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// pool is the namespace of the DaemonSets.
const pool = "team-a-pool-12345"

// daemons creates a DaemonSet with a desired number of nodes, and pods on the given ones.
func (c *cluster) daemons(set string, desired int32, on ...string) {
	c.t.Helper()
	ctx, labels := context.Background(), map[string]string{"set": set}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: set, Namespace: pool}}
	_ = c.api.Delete(ctx, d.DeepCopy())
	d.UID, d.Generation = types.UID(set), 1
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Status.ObservedGeneration, d.Status.DesiredNumberScheduled = 1, desired
	objects := []client.Object{d}
	if err := c.api.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(pool), client.MatchingLabels(labels)); err != nil {
		c.t.Fatal(err)
	}
	for _, node := range on {
		owner := metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
		if node == "theirs" {
			owner.UID = "another"
		}
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: set + "-" + node, Namespace: pool, Labels: labels, OwnerReferences: []metav1.OwnerReference{*owner}},
			Spec:       corev1.PodSpec{NodeName: node},
		})
	}
	for _, o := range objects {
		if err := c.api.Create(ctx, o); err != nil {
			c.t.Fatal(err)
		}
	}
}

// misscheduled sets the number of pods on nodes that the DaemonSet does not select.
func (c *cluster) misscheduled(set string, n int32) {
	c.t.Helper()
	d := &appsv1.DaemonSet{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: pool, Name: set}, d); err != nil {
		c.t.Fatal(err)
	}
	d.Status.NumberMisscheduled = n
	if err := c.api.Status().Update(context.Background(), d); err != nil {
		c.t.Fatal(err)
	}
}

// TestNodes: hypervisors are added to aggregates with their nodes, and removed with them, but not while only a pod is
// missing.
func TestNodes(t *testing.T) {
	group := func(set string, aggregates ...string) openstackv1.ComputeNodes {
		return openstackv1.ComputeNodes{Namespace: pool, DaemonSet: common.ObjectName(set), Aggregates: aggregates}
	}
	both := []openstackv1.ComputeNodes{group("rest", "east"), group("slice", "west")}
	type state = map[string]string
	for name, tc := range map[string]struct {
		reason      string
		then        func(*cluster)
		want        state
		wantMessage string
	}{
		"Came": {reason: "Nodes are found by their pods.", then: func(*cluster) {}, want: state{"east": "east-1 east-2", "west": "west-1"}},
		"Renewed": {"A pod is being replaced.", func(c *cluster) { c.daemons("rest", 2, "east-2") }, state{"east": "east-1 east-2",
			"west": "west-1"}, ""},
		"Misscheduled": {
			"A pod is being replaced, while the pod of a node with a new taint runs on.", func(c *cluster) {
				c.daemons("rest", 2, "east-2", "east-3")
				c.misscheduled("rest", 1)
			}, state{"east": "east-1 east-2", "west": "west-1"}, "True HostsMissing: flavors and aggregates match the spec, except for hosts " +
				"that have not registered yet: east-3",
		},
		"Left": {"The DaemonSet has one node fewer.", func(c *cluster) { c.daemons("rest", 1, "east-2") }, state{"east": "east-2",
			"west": "west-1"}, ""},
		"Moved": {
			"It has a pod of the slice, and the other DaemonSet is incomplete.", func(c *cluster) {
				c.daemons("rest", 2, "east-2")
				c.daemons("slice",
					2, "west-1", "east-1")
			},
			state{"east": "east-2", "west": "east-1 west-1"}, "",
		},
		"Lost": {
			"The DaemonSet does not exist.", func(c *cluster) {
				_ = c.api.Delete(context.Background(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "rest", Namespace: pool}})
			}, state{"east": "east-1 east-2", "west": "west-1"}, "",
		},
		"Foreign": {"A pod of another owner.", func(c *cluster) { c.daemons("rest", 2, "east-1", "theirs", "east-2") },
			state{"east": "east-1 east-2", "west": "west-1"}, ""},
		"New": {
			"It is not registered in Nova yet.", func(c *cluster) { c.daemons("rest", 3, "east-1", "east-2", "east-3") },
			state{"east": "east-1 east-2", "west": "west-1"}, "True HostsMissing: flavors and aggregates match the spec, except for hosts that " +
				"have not registered yet: east-3",
		},
		"Merged": {
			"The slice was removed.", func(c *cluster) {
				c.daemons("rest", 3, "east-1", "east-2", "west-1")
				c.edit(func(s *openstackv1.ComputeCatalogSpec) { s.Aggregates, s.Nodes = s.Aggregates[:1], both[:1] })
			}, state{"east": "east-1 east-2 west-1"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, nil, []common.HostAggregate{zone("east", "az-east"), zone("west", "az-west")})
			c.edit(func(s *openstackv1.ComputeCatalogSpec) { s.Nodes = both })
			c.daemons("rest", 2, "east-1", "east-2")
			c.daemons("slice", 1, "west-1")
			c.run(c.sound())
			tc.then(c)
			c.run(c.sound())
			got := state{}
			for name, g := range c.aggregates() {
				got[name] = strings.Join(g.Hosts, " ")
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if want := map[bool]string{true: upToDate, false: tc.wantMessage}[tc.wantMessage == ""]; c.state() != want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, c.state(), want)
			}
		})
	}
}

// TestReportsHostPinnedToAggregate: a host with servers cannot leave the zone in which they were created.
func TestReportsHostPinnedToAggregate(t *testing.T) {
	c := newCluster(t, nil, []common.HostAggregate{zone("east", "az-east")})
	c.edit(func(s *openstackv1.ComputeCatalogSpec) {
		s.Nodes = []openstackv1.ComputeNodes{{Namespace: pool, DaemonSet: "rest", Aggregates: []string{"east"}}}
	})
	c.daemons("rest", 2, "east-1", "east-2")
	c.run(c.sound())
	c.nova.Pin("east-1")
	c.daemons("rest", 1, "east-2")
	c.run(c.sound())
	if got, want := c.state(), "False RejectedByNova: cannot remove host east-1 from aggregate east: "; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s…", got, want)
	}
}
