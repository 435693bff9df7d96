package roleassignment

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them. Writes are the
// most important ones.
var stride = flag.Int("crash.every", effort.Of(37, 11), "make every n-th run of TestRecoversFromFaultAtAnyCall")

const (
	foreign = "projects/p/users/somebody/roles/r"
	first   = "projects/p/users/id-u1/roles/r"
	second  = "projects/p/users/id-u2/roles/r"
)

// exempting requests that the user is exempt from rules for people, too.
func exempting(change func(*openstackv1.RoleAssignment)) *openstackv1.RoleAssignment {
	a := assignment(change)
	a.Spec.ExemptUser = true
	return a
}

// life assigns a role to a user that is created late, again after it was removed, and to a re-created user with the same
// name; removes it with its object; and retains it with an object that requests that.
func life(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	ctx := context.Background()
	c := newCluster(t, exempting(nil), clouds(), known("Role", "service", "r"), known("Project", "service", "p"))
	c.keystone.AssignRole(foreign)
	for _, user := range []string{"u1", "u2"} {
		c.keystone.SetPassword(user, "another")
	}
	a := faultinjection.New(c.api, at)
	// Every assignment is recorded, so that it will be removed, except for a retained one.
	remaining := []string{foreign}
	a.Written = func() {
		for _, path := range c.keystone.AssignedRoles() {
			o := c.assignment()
			if !slices.Contains(remaining, path) && (o == nil || o.Status.ID != path || len(o.Finalizers) == 0) {
				t.Errorf("%s is assigned without a record", path)
			}
		}
	}
	a.OnConcurrentWrite = func() { c.run(c.sound()) }
	c.onPassEnd = a.ReconcileDone
	r := c.reconciler(a.Client(), a.HTTP(c.keystone))
	for _, step := range []struct {
		do       func()
		assigned []string // in the end
	}{
		{func() {}, []string{foreign}},
		{func() { c.must(c.api.Create(ctx, known("User", "glance", ""))) }, []string{foreign}},
		{func() {
			c.must(c.api.Delete(ctx, known("User", "glance", "")))
			c.must(c.api.Create(ctx, known("User", "glance", "id-u1")))
		}, []string{foreign, first}},
		{func() { c.keystone.UnassignRole(first) }, []string{foreign, first}},
		{func() {
			c.must(c.api.Delete(ctx, known("User", "glance", "id-u1")))
			c.must(c.api.Create(ctx, known("User", "glance", "id-u2")))
		}, []string{foreign, second}},
		{func() { c.must(c.api.Delete(ctx, assignment(nil))) }, []string{foreign}},
		{func() {
			remaining = append(remaining, second)
			c.must(c.api.Create(ctx, exempting(func(a *openstackv1.RoleAssignment) {
				a.Spec.ManagedOptions.OnDelete = openstackv1.OnDeleteDetach
			})))
		}, []string{foreign, second}},
	} {
		step.do()
		c.run(r)
		c.run(c.sound()) // Changes missed by a pass with stale reads are detected in the next one.
		provided := c.keystone.AssignedRoles()
		slices.Sort(step.assigned)
		if diff := cmp.Diff(step.assigned, provided); diff != "" {
			t.Errorf("given (-want +got):\n%s", diff)
		}
	}
	return c, a
}

// TestRecoversFromFaultAtAnyCall repeats the life for each call to Kubernetes and Keystone and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	_, full := life(t, faultinjection.NoFault)
	all := full.Points()
	points := faultinjection.Sample(all, *stride, func(p faultinjection.Point) bool { return full.Writes[p.Call] != "" })
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
		c, _ := life(t, p)
		if diff := cmp.Diff([]string{second, foreign}, c.keystone.AssignedRoles()); diff != "" {
			t.Errorf("given (-want +got):\n%s", diff)
		}
		for _, user := range []string{"u1", "u2"} {
			if c.keystone.Options(user)["ignore_user_inactivity"] != true {
				t.Errorf("%s is not exempt: %v", user, c.keystone.Options(user))
			}
		}
		if s := c.available(); s.Status != metav1.ConditionTrue {
			t.Errorf("%v", s)
		}
		c.must(c.api.Delete(context.Background(), c.assignment()))
		c.run(c.sound())
		if c.assignment() != nil {
			t.Error("the object stays, though nothing is to be taken away")
		}
		if diff := cmp.Diff([]string{second, foreign}, c.keystone.AssignedRoles()); diff != "" {
			t.Errorf("given in the end (-want +got):\n%s", diff)
		}
		if strings.Contains(c.logs.String(), password) {
			t.Error("the password is in the log")
		}
	})
	t.Logf("%d calls, %d of them writes; %d of %d runs", full.Calls, len(full.Writes), len(points), len(all))
}
