package roleassignment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// TestNext: the decision for each observation, and its status.
func TestNext(t *testing.T) {
	now := time.Unix(1e9, 0)
	ids := openstackv1.RoleAssignmentIDs{RoleID: "r", UserID: "u", ProjectID: "p"}
	other := openstackv1.RoleAssignmentIDs{RoleID: "r", UserID: "before", ProjectID: "p"}
	type decision struct {
		Name, Note       string
		Action, Record   bool
		Expected         bool
		After            time.Duration
		Reason, Message  string
		Resource         *openstackv1.RoleAssignmentIDs
		LastTransitionAt time.Time
	}
	of := func(change func(*observation)) *observation {
		w := &observation{assignment: assignment(nil), now: now, desired: ids, keystone: &identity.User{}, assigned: true}
		w.assignment.Finalizers = []string{finalizer}
		w.assignment.Status.Resource, w.assignment.Status.ID = &ids, path(ids)
		change(w)
		return w
	}
	deleted := func(w *observation) { w.assignment.DeletionTimestamp = &metav1.Time{Time: now} }
	for name, tc := range map[string]struct {
		reason string
		state  *observation
		want   decision
	}{
		"Given": {
			"The next pass follows later.", of(func(*observation) {}),
			decision{After: 10 * time.Minute, Reason: "Assigned", Message: "the role is assigned", Resource: &ids, LastTransitionAt: now},
		},
		"Waits": {
			"Its creation by K-ORC triggers no event.", of(func(w *observation) { w.waits = "no user" }),
			decision{After: 10 * time.Second, Reason: "Waiting", Message: "no user", Resource: &ids, LastTransitionAt: now},
		},
		"NoKeystone": {
			"Its recovery triggers no event.", of(func(w *observation) { w.keystone, w.errorMessage = nil, "it is down" }),
			decision{After: 10 * time.Second, Reason: "KeystoneUnavailable", Message: "it is down", Resource: &ids, LastTransitionAt: now},
		},
		"New": {
			"It is recorded before it is assigned, even if the status is unchanged.", of(func(w *observation) {
				w.assignment.Status.Resource, w.assigned = nil,
					false
			}),
			decision{
				Name: "RoleAssigned", Note: "assigned the role: projects/p/users/u/roles/r", Action: true, Record: true, Expected: true,
				Reason: "Assigning", Message: "the role is being assigned", Resource: &ids, LastTransitionAt: now,
			},
		},
		"Taken": {
			"It was removed.", of(func(w *observation) { w.assigned = false }),
			decision{
				Name: "RoleAssigned", Note: "assigned the role again, which had been removed: projects/p/users/u/roles/r", Action: true, Record: true,
				Expected: true,
				Reason:   "Assigning", Message: "the role is being assigned", Resource: &ids, LastTransitionAt: now,
			},
		},
		"NotExempt": {
			"The credential of a service is created when the user is exempt.", of(func(w *observation) { w.mustExempt = true }),
			decision{
				Name: "UserExempted", Action: true, Resource: &ids,
				Note: "exempted user u from lockout, inactivity, password expiry and the password change at the first login",
			},
		},
		"NoRoleNotExempt": {
			"The role is assigned first.", of(func(w *observation) { w.assigned, w.mustExempt = false, true }),
			decision{
				Name: "RoleAssigned", Note: "assigned the role again, which had been removed: projects/p/users/u/roles/r", Action: true, Record: true,
				Expected: true,
				Reason:   "Assigning", Message: "the role is being assigned", Resource: &ids, LastTransitionAt: now,
			},
		},
		"DeletedNotExempt": {
			"A deletion does not wait for it.", of(func(w *observation) { deleted(w); w.mustExempt = true }),
			decision{Name: "RoleUnassigned", Note: "removed the role: projects/p/users/u/roles/r", Action: true, Resource: &ids},
		},
		"Another": {
			"The user was re-created.", of(func(w *observation) { w.assignment.Status.Resource = &other }),
			decision{
				Name: "RoleRetained", Note: "a referenced object was re-created in Keystone; previous assignment: projects/p/users/before/roles/r",
				Action: true, Resource: &other,
			},
		},
		"NoFinalizer": {"It is added before the assignment.", of(func(w *observation) { w.assignment.Finalizers = nil }),
			decision{Name: "Finalized", Action: true, Resource: &ids}},
		"Deleted": {"The role is removed.", of(deleted), decision{Name: "RoleUnassigned", Note: "removed the role: projects/p/users/u/roles/r",
			Action: true, Resource: &ids}},
		"DeletedUnset": {"Nothing was assigned.", of(func(w *observation) { deleted(w); w.assignment.Status.Resource = nil }),
			decision{Name: "Finalized", Action: true}},
		"DeletedAwaited": {
			"It is deleted when Keystone responds.", of(func(w *observation) { deleted(w); w.keystone, w.errorMessage = nil, "it is down" }),
			decision{
				After: 10 * time.Second, Reason: "KeystoneUnavailable", Message: "cannot remove the role: it is down", Resource: &ids,
				LastTransitionAt: now,
			},
		},
		"Gone": {"It is about to be deleted.", of(func(w *observation) { deleted(w); w.assignment.Finalizers = nil }), decision{Resource: &ids}},
	} {
		t.Run(name, func(t *testing.T) {
			s := next(tc.state)
			got := decision{Name: s.Name, Note: s.Note, Action: s.Action != nil, Record: s.Record, Expected: s.Expected, After: s.RequeueAfter}
			if s.Status != nil {
				s.Status()
				c := tc.state.assignment.Status.Conditions[0]
				got.Reason, got.Message, got.LastTransitionAt = c.Reason, c.Message, c.LastTransitionTime.Time
			}
			got.Resource = tc.state.assignment.Status.Resource
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLeave: leaving a role assigns none, and is reported.
func TestLeave(t *testing.T) {
	c := newCluster(t, assignment(nil), clouds(), known("Role", "service", "r"), known("User", "glance", "u1"), known("Project", "service",
		"p"))
	r := c.sound()
	c.run(r)
	c.must(c.api.Delete(t.Context(), known("User", "glance", "u1")))
	c.must(c.api.Create(t.Context(), known("User", "glance", "u2")))
	if result, err := c.pass(r); err != nil || result.RequeueAfter != controller.MinRequeueInterval {
		t.Fatalf("%v, %v", result, err)
	}
	if a := c.assignment(); a.Status.Resource != nil || a.Status.ID != "" || c.available().Reason != "Assigning" ||
		len(c.keystone.AssignedRoles()) != 0 {
		t.Errorf("%+v, given are %v", a.Status, c.keystone.AssignedRoles())
	}
}

// TestRemoveRoleError: an error of Keystone is reported, and the object is kept.
func TestRemoveRoleError(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"Deleted": func(c *cluster) { c.must(c.api.Delete(t.Context(), c.assignment())) },
		"Another": func(c *cluster) {
			c.must(c.api.Delete(t.Context(), known("User", "glance", "u")))
			c.must(c.api.Create(t.Context(), known("User", "glance", "u2")))
		},
	} {
		c := newCluster(t, assignment(nil), clouds(), known("Role", "service", "r"), known("User", "glance", "u"), known("Project", "service",
			"p"))
		c.run(c.sound())
		c.keystone.Refuse("DELETE", "You are not authorized.")
		change(c)
		c.run(c.sound())
		if got := c.available(); got.Reason != "RejectedByKeystone" || c.assignment().Status.ID == "" {
			t.Errorf("%s: %v", name, got)
		}
	}
}
