package credentialrotation

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// TestQueueUser: until the end of the grace period, two users with all permissions exist; then one.
func TestQueueUser(t *testing.T) {
	c, r := start(t, rotationOf(queueUser))
	old, _ := c.nextCredential()
	if s := c.secret(); len(s.Data) != 2 || !strings.HasPrefix(old.id, "glance-") || len(old.id) != len("glance-")+16 || !c.accepts(old) {
		t.Errorf("keys %d, user %s", len(s.Data), old.id)
	}
	c.days(r, 83)
	fresh, _ := c.nextCredential()
	if fresh.id == old.id || fresh.value == old.value || !c.accepts(old) || !c.accepts(fresh) {
		t.Errorf("another one %v, the old one is accepted: %v, the new one: %v", fresh.id != old.id, c.accepts(old), c.accepts(fresh))
	}
	c.days(r, 1.1)
	c.reconcileUntilStable(r)
	if c.accepts(old) || !c.accepts(fresh) {
		t.Errorf("the old one is accepted: %v, the new one: %v", c.accepts(old), c.accepts(fresh))
	}
	c.verifyBroker(t)
	c.checkOutput()
	for _, v := range c.violations {
		t.Error(v)
	}
}

// TestQueueOutageDefersReplacementAndRevocation: a user is replaced only after its successor works everywhere, and counts as revoked only
// after its deletion.
func TestQueueOutageDefersReplacementAndRevocation(t *testing.T) {
	c, r := start(t, rotationOf(queueUser))
	old, _ := c.nextCredential()
	c.clock.SetTime(c.clock.Now().Add(83 * day))
	c.broker.away = true
	for range 20 {
		c.pass(r)
	}
	if now, _ := c.nextCredential(); now != old || !c.accepts(old) {
		t.Error("it is replaced by one that does not work")
	}
	if got := c.condition(conditionReady); !strings.Contains(got.Message, "has not created user glance-") && !strings.Contains(got.Message,
		"connection refused") {
		t.Errorf("%v", got)
	}
	c.broker.away = false
	for range 40 {
		c.pass(r)
	}
	fresh, _ := c.nextCredential()
	if fresh == old {
		t.Fatalf("does not continue: %s", c.conditions())
	}
	c.broker.away = true
	c.clock.SetTime(c.clock.Now().Add(2 * day))
	for range 20 {
		c.pass(r)
	}
	if got := c.condition(conditionRevoked); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message,
		"has not deleted user "+old.id+" yet") {
		t.Errorf("%v", got)
	}
	c.broker.away = false
	c.reconcileUntilStable(r)
	c.verifyBroker(t)
	for _, v := range c.violations {
		t.Error(v)
	}
}

// TestVirtualHosts: additional cells, also with their own queue, and removed ones change the permissions of the user in use,
// but not its name.
func TestVirtualHosts(t *testing.T) {
	c, r := start(t, rotationOf(queueUser))
	before, _ := c.nextCredential()
	c.broker.vhosts = map[string]bool{"glance": true, "second": true}
	for _, tc := range []struct {
		reason string
		vhosts []string
		waits  string
	}{
		{"An additional one on the same queue.", []string{"glance", "second"}, ""},
		{"One on another queue, which is created later.", []string{"glance", "second", "cell"},
			"has not created virtual host cell in RabbitmqCluster cell yet: its Vhost does not exist"},
		{"The first is removed.", []string{"second", "cell"}, ""},
		{"So is the other queue.", []string{"glance"}, ""},
	} {
		c.broker.needs = map[string]bool{}
		c.edit(func(r *c5c3v1.CredentialRotation) {
			r.Spec.Queue.Permissions = nil
			for _, vhost := range tc.vhosts {
				r.Spec.Queue.Permissions = append(r.Spec.Queue.Permissions, permissionIn(vhost))
			}
		})
		for range 20 {
			c.pass(r)
		}
		if got := c.condition(conditionReady); (tc.waits != "") != (got.Status == metav1.ConditionFalse) || !strings.Contains(got.Message,
			tc.waits) {
			t.Errorf("%s: %v", tc.reason, got)
		}
		if tc.waits != "" {
			c.broker.vhosts["cell"] = true
		}
		c.reconcileUntilStable(r)
		if now, _ := c.nextCredential(); now != before {
			t.Errorf("%s: it is another user", tc.reason)
		}
		c.verifyBroker(t)
		if got := c.condition(conditionReady); got.Status != metav1.ConditionTrue {
			t.Errorf("%s: %v", tc.reason, got)
		}
	}
	for _, v := range c.violations {
		t.Error(v)
	}
}

// TestFirstQueueUser: creating a virtual host, or a separate queue, may require the Secret, which exists before the rotation
// is ready.
func TestFirstQueueUser(t *testing.T) {
	for name, vhosts := range map[string]map[string]bool{
		"No virtual host":       {},
		"No queue":              {"glance": true},
		"No virtual host there": {"glance": true},
	} {
		t.Run(name, func(t *testing.T) {
			rotation := rotationOf(queueUser)
			rotation.Spec.Queue.Permissions = append(rotation.Spec.Queue.Permissions, permissionIn("cell"))
			c := newCluster(t, rotation)
			r := c.sound()
			c.broker.vhosts, c.broker.unmade = vhosts, map[string]bool{"cell": name == "No queue"}
			for range 30 {
				c.pass(r)
			}
			if _, ok := c.nextCredential(); !ok {
				t.Error("there is no Secret")
			}
			if got := c.condition(conditionReady); got.Status != metav1.ConditionFalse || got.Reason != "WaitingForQueue" {
				t.Errorf("%v", got)
			}
			c.broker.vhosts, c.broker.unmade = map[string]bool{"glance": true, "cell": true}, nil
			c.place(r)
			if got := c.condition(conditionReady); got.Status != metav1.ConditionTrue {
				t.Errorf("%v", got)
			}
			c.verifyBroker(t)
		})
	}
}

// TestQueueUserDeleted: a user whose User was deleted is replaced by one with another name, because leftovers of it revoke
// the permissions of the user with that name.
func TestQueueUserDeleted(t *testing.T) {
	c, r := start(t, rotationOf(queueUser))
	old, _ := c.nextCredential()
	c.must(c.api.Delete(context.Background(), c.brokerObjects("User")[0]))
	for range 40 {
		c.pass(r)
	}
	c.violations = nil
	c.days(r, 1.1)
	c.reconcileUntilStable(r)
	if now, _ := c.nextCredential(); now.id == old.id || !c.accepts(now) {
		t.Errorf("another one %v, accepted %v", now.id != old.id, c.accepts(now))
	}
	c.verifyBroker(t)
	if requested := c.output(); !strings.Contains(requested, "Warning CredentialStaged the User of queue user "+old.id+" was deleted") {
		t.Error(requested)
	}
}

// TestQueueUserDeletedOnOne: if the user still exists on other queues, it is re-created with its name, and gets its
// permissions again when the objects of the earlier User are deleted, in any order.
func TestQueueUserDeletedOnOne(t *testing.T) {
	for _, last := range []string{"Secret", "Permission"} {
		t.Run(last, func(t *testing.T) {
			rotation := rotationOf(queueUser)
			rotation.Spec.Queue.Permissions = append(rotation.Spec.Queue.Permissions, permissionIn("cell"))
			c, r := start(t, rotation)
			before, _ := c.nextCredential()
			users := c.brokerObjects("User")
			if len(users) != 2 || !strings.HasSuffix(users[0].GetName(), "-cell") {
				t.Fatalf("%d Users", len(users))
			}
			c.broker.spared = []string{"Permission", "Secret"}
			c.must(c.api.Delete(context.Background(), users[0]))
			for range 10 {
				c.pass(r)
			}
			if recreated := c.brokerObjects("User"); len(recreated) != 2 || recreated[0].GetName() != users[0].GetName() ||
				recreated[0].GetUID() == users[0].GetUID() {
				t.Fatalf("it is not made again: %v", recreated)
			}
			// The new Permission has the name of the earlier one.
			if got := c.condition(conditionReady); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message,
				"is being deleted with an earlier User") {
				t.Errorf("with leftovers of the earlier one: %v", got)
			}
			for _, spared := range [][]string{{last}, nil} {
				c.broker.spared = spared
				c.operator()
				for range 20 {
					c.pass(r)
				}
			}
			c.reconcileUntilStable(r)
			at := [2]string{"cell", before.id}
			if now, _ := c.nextCredential(); now != before || c.broker.users[at] != before.value || !c.broker.granted[at]["cell"] {
				t.Errorf("the same user: %v, may use the virtual host: %v", now == before, c.broker.granted[at])
			}
			if got := c.condition(conditionReady); got.Status != metav1.ConditionTrue {
				t.Errorf("%v", got)
			}
			c.verifyBroker(t)
		})
	}
}

// TestIgnoresPermissionsOfEarlierUser: only a Permission that the existing User owns counts.
func TestIgnoresPermissionsOfEarlierUser(t *testing.T) {
	for owner, want := range map[types.UID]string{"present": "", "earlier": "is being deleted with an earlier User"} {
		q, w := &queue{}, &observation{rotation: rotationOf(queueUser)}
		o := q.queueUserSpecs(w, "x")[0]
		for _, u := range []*unstructured.Unstructured{o.user, o.permissions[0]} {
			err := unstructured.SetNestedSlice(u.Object, []any{map[string]any{"type": "Ready", "status": "True"}}, "status", "conditions")
			if err != nil {
				t.Fatal(err)
			}
		}
		o.user.SetUID("present")
		o.permissions[0].SetOwnerReferences([]metav1.OwnerReference{{Kind: "User", Name: o.user.GetName(), UID: owner}})
		q.users = map[string]*unstructured.Unstructured{o.user.GetName(): o.user}
		q.permissions = map[string]*unstructured.Unstructured{o.permissions[0].GetName(): o.permissions[0]}
		if got := q.operatorPendingMessage(w, "x"); !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", owner, got, want)
		}
	}
}

// TestQueuePermissionsMissing: a waiting rotation does not hide that the user in use lacks a permission.
func TestQueuePermissionsMissing(t *testing.T) {
	c, r := start(t, rotationOf(queueUser))
	c.edit(func(r *c5c3v1.CredentialRotation) {
		r.Spec.Queue.Permissions = append(r.Spec.Queue.Permissions, permissionIn("missing"))
		r.Annotations = map[string]string{rotateAnnotation: r.Status.CurrentID}
	})
	for range 20 {
		c.pass(r)
	}
	if got := c.condition(conditionReady); got.Status != metav1.ConditionFalse || got.Reason != "WaitingForQueue" {
		t.Errorf("%v", got)
	}
}

// TestQueueRetryInterval: the interval is short while RabbitMQ's operator is expected to work, and no longer.
func TestQueueRetryInterval(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		age    time.Duration
		want   time.Duration
	}{
		"New":     {"It was created a minute ago.", time.Minute, retryInterval},
		"Old":     {"The operator may be stopped for days.", 2 * time.Minute, poll},
		"Ahead":   {"Clocks differ by seconds.", -5 * time.Second, retryInterval},
		"Too far": {"A wrong clock does not shorten the interval permanently.", -time.Hour, poll},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := start(t, rotationOf(queueUser))
			c.broker.away = true
			c.operator()
			for _, kind := range []string{"User", "Permission", "Vhost"} {
				for _, o := range c.brokerObjects(kind) {
					o.SetCreationTimestamp(metav1.Time{Time: c.clock.Now().Add(-tc.age)})
					c.must(c.api.Update(context.Background(), o))
				}
			}
			w, err := observe(context.Background(), (*controller.Env)(r), c.rotation())
			c.must(err)
			if s := next(w); s.RequeueAfter != tc.want {
				t.Errorf("%s %s: looks again after %s, want %s", tc.reason, s.Name, s.RequeueAfter, tc.want)
			}
		})
	}
	removed := &unstructured.Unstructured{}
	w := &observation{now: time.Unix(1e9, 0)}
	removed.SetDeletionTimestamp(&metav1.Time{Time: w.now.Add(-time.Second)})
	if q := (&queue{users: map[string]*unstructured.Unstructured{"x": removed}}); !q.recentlyModified(w) {
		t.Error("one that is old and was deleted a second ago is about to go")
	}
}

// TestQueueUserOwned: the users are deleted with the rotation if the deletion policy is Delete, and retained otherwise.
func TestQueueUserOwned(t *testing.T) {
	for policy, remaining := range map[string]int{"Retain": 1, "Delete": 0} {
		t.Run(policy, func(t *testing.T) {
			c, r := start(t, rotationOf(queueUser))
			for _, now := range []string{"Delete", "Retain", policy} {
				c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Queue.DeletionPolicy = now })
				c.run(r)
			}
			c.must(c.api.Delete(context.Background(), c.rotation()))
			for range 3 {
				c.operator()
			}
			if got := len(c.brokerObjects("User")); got != remaining {
				t.Errorf("%d Users are left, want %d", got, remaining)
			}
			if got := len(c.broker.users); got != remaining+1 {
				t.Errorf("RabbitMQ has %d users, want %d: %v", got, remaining+1, c.broker.users)
			}
		})
	}
}

// TestQueueUserNames: names are valid as object names and label values.
func TestQueueUserNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &observation{rotation: rotationOf(queueUser), target: &queue{}}
		w.rotation.Name = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]{1,40})?`).Draw(t, "name")
		id := w.target.staged(w, "0123456789abcdef")
		if len(id) > 63 || strings.Contains(id, ".") || strings.Contains(id, "--0123456789abcdef") || !strings.HasSuffix(id,
			"-0123456789abcdef") {
			t.Errorf("%s: %s", w.rotation.Name, id)
		}
		if l := rotationLabelValue(w); len(l) > 63 {
			t.Errorf("%s: label %s", w.rotation.Name, l)
		}
	})
}

// TestQueueUserHistories: after any sequence of user actions and queue failures, no pod has a user that RabbitMQ rejects, and
// in the end there is one user.
func TestQueueUserHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, r := start(t, rotationOf(queueUser))
		c.violations = nil
		for range rapid.IntRange(1, 12).Draw(rt, "moves") {
			switch move := rapid.SampledFrom([]string{"days", "rotate", "away", "back", "passes", "hold", "free", "cell", "no cell",
				"leader"}).Draw(rt, "move"); move {
			case "days":
				c.clock.SetTime(c.clock.Now().Add(day * 40))
			case "rotate":
				c.edit(func(r *c5c3v1.CredentialRotation) {
					r.Annotations = map[string]string{rotateAnnotation: r.Status.CurrentID}
				})
			case "away", "back":
				c.broker.away = move == "away"
			case "hold", "free":
				c.noRollout = move == "hold"
			case "cell", "no cell":
				c.edit(func(r *c5c3v1.CredentialRotation) {
					r.Spec.Queue.Permissions = []c5c3v1.QueuePermission{permissionIn("glance"), permissionIn("cell")}
					if move == "no cell" {
						r.Spec.Queue.Permissions = r.Spec.Queue.Permissions[:1]
					}
				})
			case "leader":
				r = c.sound()
			}
			for range rapid.IntRange(0, 15).Draw(rt, "passes") {
				c.pass(r)
			}
		}
		c.broker.away, c.noRollout = false, false
		for range 4 {
			for range 40 {
				c.pass(r)
			}
			c.clock.SetTime(c.clock.Now().Add(2 * day))
		}
		c.reconcileUntilStable(r)
		if len(c.violations) > 0 {
			rt.Errorf("%s", strings.Join(slices.Compact(c.violations), "\n"))
		}
		candidate, _ := c.nextCredential()
		for pod, l := range c.loaded {
			if diff := cmp.Diff(candidate.id, l.id); diff != "" {
				rt.Errorf("pod %s (-Secret +pod):\n%s", pod, diff)
			}
		}
		c.verifyBroker(t)
	})
}

// TestExternalQueueUserUsesAdministratorSecret: a user of an external queue is created with the Secret of its administrator. Deletion of
// the rotation waits for the user, if it is to be deleted with it.
func TestExternalQueueUserUsesAdministratorSecret(t *testing.T) {
	w := &observation{rotation: rotationOf(queueUser), target: &queue{}}
	w.rotation.Spec.Queue.DeletionPolicy = "Delete"
	own, foreignObject := permissionIn("glance"), c5c3v1.QueuePermission{Vhost: "nova-cloud"}
	foreignObject.ConnectionSecretRef.Name = "rabbitmq" // The same name as a RabbitmqCluster.
	w.rotation.Spec.Queue.Permissions = []c5c3v1.QueuePermission{own, foreignObject}
	orders := (&queue{}).queueUserSpecs(w, "glance-0")
	if len(orders) != 2 {
		t.Fatalf("%d orders of two brokers", len(orders))
	}
	reference := func(u *unstructured.Unstructured) any {
		out, _, _ := unstructured.NestedMap(u.Object, "spec", "rabbitmqClusterReference")
		return out
	}
	want := map[string]any{"connectionSecret": map[string]any{"name": "rabbitmq"}}
	if diff := cmp.Diff(any(want), reference(orders[1].user)); diff != "" {
		t.Errorf("the User (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(want), reference(orders[1].permissions[0])); diff != "" {
		t.Errorf("the Permission (-want +got):\n%s", diff)
	}
	for i, blocks := range []bool{false, true} {
		if by := orders[i].user.GetOwnerReferences(); len(by) != 1 || (by[0].BlockOwnerDeletion != nil) != blocks {
			t.Errorf("order %d is owned by %+v", i, by)
		}
	}
	q := &queue{vhosts: map[virtualHost]*unstructured.Unstructured{{own.Broker, "glance"}: nil}}
	if why := q.operatorPendingMessage(w, "glance-0"); !strings.Contains(why, "RabbitmqCluster rabbitmq yet: User") {
		t.Errorf("it waits for %q", why)
	}
}
