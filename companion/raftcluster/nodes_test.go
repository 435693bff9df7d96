package raftcluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	ovnchassisv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
)

// southbound returns a cluster with one pod that counts nodes.
func southbound(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := newCluster(t, 1, ownCluster, objects...)
	o := &c5c3v1.RaftCluster{}
	if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	o.Spec.Database, o.Spec.CountChassis = "OVN_Southbound", true
	if err := c.api.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	c.members.setReply(name+"-0", serving(ownCluster, "a", true, true, 3))
	return c
}

// have sets the nodes in the database, and runs a pass.
func (c *cluster) have(desired int, nodes ...node) {
	c.t.Helper()
	c.members.nodes = nodesAt(c.clock.Now().Add(time.Minute), desired, nodes...)
	if _, err := c.pass(c.api); err != nil {
		c.t.Fatal(err)
	}
}

// shown returns the OVNChassis, one per line.
func (c *cluster) shown() []string {
	c.t.Helper()
	list := &ovnchassisv1.OVNChassisList{}
	if err := c.api.List(context.Background(), list); err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, o := range list.Items {
		line := fmt.Sprintf("%s %s %v %v %t", o.Name, o.Spec.Hostname, o.Spec.Encapsulations, o.Spec.BridgeMappings, o.Spec.Gateway)
		if r := meta.FindStatusCondition(o.Status.Conditions, conditionReady); r != nil {
			line += fmt.Sprintf(" %s %s", r.Status, r.Reason)
		}
		if at := o.Status.LastHeartbeat; at != nil {
			line += fmt.Sprintf(" %d", at.Unix()-1e9)
		}
		out = append(out, line)
	}
	return out
}

func (c *cluster) expectShown(reason string, want ...string) {
	c.t.Helper()
	if diff := gocmp.Diff(want, c.shown()); diff != "" {
		c.t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// TestNodes: the object of each node has its registered data and the state of its controller, and is deleted with the
// registration.
func TestNodes(t *testing.T) {
	const gateway = `["ovn-bridge-mappings","storage:br-s,external:br-ex"],["ovn-cms-options","enable-chassis-as-gw,availability-zones=a"]`
	c := southbound(t)
	c.have(7, node{name: "b", done: 7, config: gateway}, node{name: "a", done: -1})
	const a, b = "a a.example [{geneve 10.0.0.1}] [] false", "b b.example [{geneve 10.0.0.1}] [{external br-ex} {storage br-s}] true"
	c.expectShown("One is active, and the other has only registered.", a+" False NoConfigurationApplied", b+" True Active 60")
	c.have(7, node{name: "b", done: 7, config: gateway}, node{name: "a", done: 7})
	c.expectShown("The first heartbeat is written; one that is a minute newer is not.", a+" True Active 120", b+" True Active 60")
	for range 4 {
		c.have(7, node{name: "b", done: 7, config: gateway}, node{name: "a", done: 7, ago: time.Hour})
	}
	c.expectShown("One that is five minutes newer is written.", a+" True Active 120", b+" True Active 360")
	c.have(9, node{name: "b", done: 5, ago: 150 * time.Second, config: gateway}, node{name: "a", done: 9})
	c.expectShown("A node is powered off.", a+" True Active 420", b+" False ChassisOutOfDate 270")
	c.have(9, node{name: "b", done: 9}, node{name: "a", done: 9})
	c.have(9, node{name: "b", done: 9}, node{name: "a", done: 9})
	c.expectShown("It returns with other settings.", a+" True Active 420", "b b.example [{geneve 10.0.0.1}] [] false True Active 540")
	c.have(9, node{name: "a", done: 9})
	c.expectShown("Its registration is deleted.", a+" True Active 420")
	c.members.nodes = `[{"rows":[]},{"error":"no table"},{"rows":[]},{"rows":[]}]`
	if _, err := c.pass(c.api); err != nil {
		t.Fatal(err)
	}
	c.expectShown("Without a response, the nodes are retained.", a+" True Active 420")
	if got := meta.FindStatusCondition(c.status().Conditions, conditionChassisCounted); got == nil || got.Status != metav1.ConditionFalse {
		t.Errorf("a failed count must not look current: ChassisCounted is %+v, want False", got)
	}
	c.have(9, node{name: "a", done: 9})
	if !meta.IsStatusConditionTrue(c.status().Conditions, conditionChassisCounted) {
		t.Errorf("a successful count must be current again: %+v", c.status().Conditions)
	}
}

// TestFailedChassisCountRetainsPreviousCount verifies that a count does not look current while the members cannot be queried, and that the
// last one stays.
func TestFailedChassisCountRetainsPreviousCount(t *testing.T) {
	for title, tc := range map[string]struct {
		reason  string
		change  func(*testing.T, *cluster)
		message string
	}{
		"no pods": {
			"The StatefulSet was scaled to zero.", func(t *testing.T, c *cluster) {
				t.Helper()
				set := &appsv1.StatefulSet{}
				if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, set); err != nil {
					t.Fatal(err)
				}
				set.Spec.Replicas = new(int32)
				if err := c.api.Update(t.Context(), set); err != nil {
					t.Fatal(err)
				}
			}, "cannot count the chassis: no pod exists; the status shows the last count",
		},
		"no StatefulSet": {
			"It is being re-created.", func(t *testing.T, c *cluster) {
				t.Helper()
				if err := c.api.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
					t.Fatal(err)
				}
			}, "cannot count the chassis: no pod exists; the status shows the last count",
		},
		"no credentials": {
			"cert-manager issues the certificate again.", func(t *testing.T, c *cluster) {
				t.Helper()
				if err := c.api.Delete(t.Context(), c.members.secret()); err != nil {
					t.Fatal(err)
				}
			}, "cannot count the chassis: Secret client does not exist; the status shows the last count",
		},
	} {
		t.Run(title, func(t *testing.T) {
			c := southbound(t)
			c.have(7, node{name: "a", done: 7}, node{name: "b", done: 7})
			before := c.status()
			if !meta.IsStatusConditionTrue(before.Conditions, conditionChassisCounted) || before.Chassis == nil || before.Chassis.Registered != 2 {
				t.Fatalf("before: %+v", before)
			}
			tc.change(t, c)
			c.have(7, node{name: "a", done: 7})
			s := c.status()
			got := meta.FindStatusCondition(s.Conditions, conditionChassisCounted)
			if got == nil || got.Status != metav1.ConditionFalse || got.Reason != "CountFailed" || got.Message != tc.message {
				t.Errorf("%s ChassisCounted is %+v, want False, CountFailed: %s", tc.reason, got, tc.message)
			}
			if diff := gocmp.Diff(before.Chassis, s.Chassis); diff != "" {
				t.Errorf("%s the last count (-want +got):\n%s", tc.reason, diff)
			}
			if !s.LastObservationTime.Equal(before.LastObservationTime) {
				t.Errorf("%s the status has the time %v, want that of the last count, %v", tc.reason, s.LastObservationTime, before.LastObservationTime)
			}
		})
	}
	t.Run("not requested", func(t *testing.T) {
		c := newCluster(t, 0, ownCluster)
		if _, err := c.pass(c.api); err != nil {
			t.Fatal(err)
		}
		if got := meta.FindStatusCondition(c.status().Conditions, conditionChassisCounted); got != nil {
			t.Errorf("a cluster that counts no chassis has the condition %+v", got)
		}
	})
}

// TestRecordsNodesWithAnyName: nodes with any name are shown, and objects of others are not changed.
func TestRecordsNodesWithAnyName(t *testing.T) {
	foreign := &ovnchassisv1.OVNChassis{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}, Spec: ovnchassisv1.OVNChassisSpec{SystemID: "mine"},
	}
	c := southbound(t, foreign)
	c.have(1, node{name: "Node_1", done: 1}, node{name: "mine", done: 1})
	c.expectShown("One has a generated name; the name of the other is in use.",
		objectName("Node_1")+" Node_1.example [{geneve 10.0.0.1}] [] false True Active 60", "mine  [] [] false")
	if objectName("Node_1") == objectName("node_1") || objectName("node-1.example") != "node-1.example" {
		t.Error("names are not distinguished, or changed without need")
	}
}

// TestLimitsWritesPerPass: the number of writes per pass is limited, because others wait for the members; removed and new nodes have
// precedence over heartbeats.
func TestLimitsWritesPerPass(t *testing.T) {
	c := southbound(t)
	var all []node
	for i := range writesLimit + 1 {
		all = append(all, node{name: fmt.Sprintf("n%02d", i), done: 1})
	}
	c.have(1, all...)
	if got := len(c.shown()); got != writesLimit {
		t.Errorf("%d are shown at first", got)
	}
	c.have(1, all...)
	if got := len(c.shown()); got != writesLimit+1 {
		t.Errorf("%d are shown then", got)
	}
	c.clock.SetTime(c.clock.Now().Add(time.Hour))
	c.have(1, all[1:]...)
	if got := c.shown(); len(got) != writesLimit {
		t.Errorf("%d are shown when one has gone", len(got))
	}
}

// TestRecordsClusterWithoutAccessToChassis: the cluster is recorded even with CRDs or permissions of an earlier version, or with failing
// writes.
func TestRecordsClusterWithoutAccessToChassis(t *testing.T) {
	resource := schema.GroupResource{Group: "ovn.c5c3.io", Resource: "ovnchassis"}
	for title, broken := range map[string]interceptor.Funcs{
		"NoKind": {List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if _, ok := list.(*ovnchassisv1.OVNChassisList); ok {
				return &meta.NoKindMatchError{}
			}
			return c.List(ctx, list, o...)
		}},
		"NoRight": {List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if _, ok := list.(*ovnchassisv1.OVNChassisList); ok {
				return apierrors.NewForbidden(resource, "", errors.New("no"))
			}
			return c.List(ctx, list, o...)
		}},
		"NoWrites": {Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("it is full")
		}},
	} {
		t.Run(title, func(t *testing.T) {
			c := southbound(t)
			c.members.nodes = nodesAt(c.clock.Now(), 1, node{name: "a", done: 1})
			result, err := c.pass(interceptor.NewClient(c.api, broken))
			if s := c.status(); err != nil || result.RequeueAfter != 10*time.Second || s.Chassis == nil || s.Chassis.Registered != 1 {
				t.Errorf("%v, again after %s: %+v", err, result.RequeueAfter, s)
			}
			c.expectShown("There are no objects.")
		})
	}
}
