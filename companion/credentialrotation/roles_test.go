package credentialrotation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// withRoles returns a rotation with roles for the application credential.
func withRoles(roles ...string) *c5c3v1.CredentialRotation {
	r := rotationOf(applicationCredential)
	r.Spec.Roles = roles
	return r
}

// rolesInUse returns the roles of the application credential in the Secret.
func (c *cluster) rolesInUse() []string {
	return c.keystone.Credentials()[text(c.secret(), idKey)].Roles
}

// TestCredentialHasRolesOfSpecOrUser: the credential has the roles in the spec, or all roles of the user if none exist.
func TestCredentialHasRolesOfSpecOrUser(t *testing.T) {
	for name, tc := range map[string]struct{ roles, want []string }{
		"Some": {roles: []string{"service", "admin"}, want: []string{"admin", "service"}},
		"All":  {want: []string{"service", "admin", "reader"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, withRoles(tc.roles...))
			c.keystone.SetRoles(userName, "service", "admin", "reader")
			r := c.sound()
			c.place(r)
			if diff := cmp.Diff(tc.want, c.rolesInUse()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			c.edit(func(r *c5c3v1.CredentialRotation) { slices.Reverse(r.Spec.Roles) })
			before, _ := c.nextCredential()
			c.days(r, 1)
			if after, _ := c.nextCredential(); after != before {
				t.Error("it is replaced though its roles are the same in another order")
			}
		})
	}
}

// TestCreatesNoCredentialWithMissingRoles: no credential is created with fewer roles than the spec sets, for example between two
// RoleAssignments, and a credential that lost a role with its user is reported.
func TestCreatesNoCredentialWithMissingRoles(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		has         []string
		wantMessage string
	}{
		"One": {"A RoleAssignment is missing.", []string{"service", "reader"},
			"spec.roles: user glance does not have the role admin in its project; "},
		"Both": {"Both are.", []string{"reader"}, "spec.roles: user glance does not have the role admin or service in its project; "},
		"None": {"A login to a project requires a role in it.", []string{}, "or has no role in project service"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, withRoles("service", "admin"))
			c.keystone.SetRoles(userName, tc.has...)
			for range 10 {
				c.pass(c.sound())
			}
			if got := c.condition(conditionReady); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, tc.wantMessage) {
				t.Errorf("%s: %v", tc.reason, got)
			}
			if got := c.keystone.Credentials(); len(got) > 0 {
				t.Errorf("%s: made %v", tc.reason, got)
			}
			c.keystone.SetRoles(userName, "service", "admin")
			c.place(c.sound())
			if diff := cmp.Diff([]string{"admin", "service"}, c.rolesInUse()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			before, _ := c.nextCredential()
			c.keystone.SetRoles(userName, tc.has...)
			c.pass(c.sound())
			// Keystone does not distinguish a wrong password from missing roles.
			if got := c.condition(conditionReady); !strings.Contains(got.Message, tc.wantMessage) || got.Status != metav1.ConditionFalse &&
				name != "None" {
				t.Errorf("%s: lost again: %v", tc.reason, got)
			}
			c.keystone.SetRoles(userName, "service", "admin")
			c.run(c.sound())
			if after, _ := c.nextCredential(); after != before || c.condition(conditionReady).Status != metav1.ConditionTrue {
				t.Errorf("%s: given again: %s", tc.reason, c.conditions())
			}
		})
	}
}

// TestChangedRolesReplaceCredential: a credential with different roles than the spec is replaced, and stays valid until all consumers have
// the new one.
func TestChangedRolesReplaceCredential(t *testing.T) {
	c := newCluster(t, rotationOf(applicationCredential))
	r := c.sound()
	c.place(r)
	for _, tc := range []struct {
		reason string
		roles  []string
	}{
		{"Created without roles in the spec.", []string{"service"}},
		{"A role was added.", []string{"admin", "service"}},
		{"A role was removed.", []string{"admin"}},
		{"The roles were removed.", nil},
	} {
		old, _ := c.nextCredential()
		c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Roles = tc.roles })
		for range 10 {
			c.pass(r)
		}
		if lacking := slices.Contains(tc.roles, "admin") && len(tc.roles) == 2; lacking {
			if got := c.condition(conditionReady); got.Reason != "RotationBlocked" || !strings.Contains(got.Message, "does not have the role admin") {
				t.Errorf("%s: %v", tc.reason, got)
			}
			if now, _ := c.nextCredential(); now != old {
				t.Errorf("%s: it is replaced by one with less roles", tc.reason)
			}
			c.keystone.SetRoles(userName, "service", "admin")
		}
		c.run(r)
		fresh, _ := c.nextCredential()
		if fresh == old || !c.accepts(old) {
			t.Errorf("%s: replaced: %v, and the old one still works: %v", tc.reason, fresh != old, c.accepts(old))
		}
		want := tc.roles
		if want == nil {
			want = []string{"service", "admin"}
		}
		if diff := cmp.Diff(want, c.rolesInUse()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
		}
		c.days(r, 1.1)
		if now, _ := c.nextCredential(); now != fresh || c.accepts(old) {
			t.Errorf("%s: the next day, the same: %v; the old one works: %v", tc.reason, now == fresh, c.accepts(old))
		}
	}
	for _, v := range c.violations {
		t.Error(v)
	}
}

// TestRolesChangedWhileStaged: roles that the user never gets do not block the rotation once the spec sets others.
func TestRolesChangedWhileStaged(t *testing.T) {
	c := newCluster(t, withRoles("service", "owner"))
	r := c.sound()
	for range 10 {
		c.pass(r)
	}
	c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Roles = []string{"service"} })
	c.place(r)
	if diff := cmp.Diff([]string{"service"}, c.rolesInUse()); diff != "" || len(c.inUse) != 1 {
		t.Errorf("%d were in use; -want +got:\n%s", len(c.inUse), diff)
	}
}
