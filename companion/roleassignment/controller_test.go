package roleassignment

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

func TestReconcile(t *testing.T) {
	resource := func(r openstackv1.RoleAssignmentResource) *openstackv1.RoleAssignment {
		return assignment(func(a *openstackv1.RoleAssignment) { a.Spec.Resource = r })
	}
	role, user, group := known("Role", "service", "r"), known("User", "glance", "u"), known("Group", "operators", "g")
	project, domain := known("Project", "service", "p"), known("Domain", "default", "d")
	for name, tc := range map[string]struct {
		reason   string
		objects  []client.Object
		prepare  func(*identitytest.Keystone)
		assigned []string
		status   metav1.Condition
	}{
		"UserInProject": {
			reason:   "As for service users.",
			objects:  []client.Object{assignment(nil), clouds(), role, user, project},
			assigned: []string{"projects/p/users/u/roles/r"},
			status:   metav1.Condition{Status: "True", Reason: "Assigned", Message: "the role is assigned"},
		},
		"GroupInDomain": {
			reason: "As for domain administrators.",
			objects: []client.Object{
				resource(openstackv1.RoleAssignmentResource{RoleRef: "service", GroupRef: "operators", DomainRef: "default"}), clouds(), role, group,
				domain,
			},
			assigned: []string{"domains/d/groups/g/roles/r"},
			status:   metav1.Condition{Status: "True", Reason: "Assigned", Message: "the role is assigned"},
		},
		"UserOnSystem": {
			reason: "As for the bootstrap administrator.",
			objects: []client.Object{resource(openstackv1.RoleAssignmentResource{RoleRef: "service", UserRef: "glance", System: "all"}), clouds(),
				role, user},
			assigned: []string{"system/users/u/roles/r"},
			status:   metav1.Condition{Status: "True", Reason: "Assigned", Message: "the role is assigned"},
		},
		"GivenAlready": {
			reason:   "An existing assignment is adopted.",
			objects:  []client.Object{assignment(nil), clouds(), role, user, project},
			prepare:  func(k *identitytest.Keystone) { k.AssignRole("projects/p/users/u/roles/r") },
			assigned: []string{"projects/p/users/u/roles/r"},
			status:   metav1.Condition{Status: "True", Reason: "Assigned", Message: "the role is assigned"},
		},
		"NoUser": {
			reason:  "K-ORC's objects come with it, in any order.",
			objects: []client.Object{assignment(nil), clouds(), role, project},
			status:  metav1.Condition{Status: "False", Reason: "Waiting", Message: "K-ORC's User glance does not exist"},
		},
		"NotFoundYet": {
			reason:  "K-ORC has not looked yet.",
			objects: []client.Object{assignment(nil), clouds(), known("Role", "service", ""), user, project},
			status:  metav1.Condition{Status: "False", Reason: "Waiting", Message: "K-ORC has not found or created Role service in Keystone yet"},
		},
		"NoCredentials": {
			reason:  "The credentials are created with Keystone.",
			objects: []client.Object{assignment(nil), role, user, project},
			status: metav1.Condition{Status: "False", Reason: "KeystoneUnavailable",
				Message: "spec.cloudCredentialsRef: Secret clouds does not exist"},
		},
		"WrongPassword": {
			reason:  "The password was changed.",
			objects: []client.Object{assignment(nil), identitytest.Clouds(namespace, "clouds", "another"), role, user, project},
			status: metav1.Condition{
				Status: "False", Reason: "KeystoneUnavailable", Message: "cannot log in as user admin: the password is not accepted by Keystone, " +
					"or the user is locked out, or has no role in project admin",
			},
		},
		"Refused": {
			reason:  "The message of Keystone.",
			objects: []client.Object{assignment(nil), clouds(), role, user, project},
			prepare: func(k *identitytest.Keystone) { k.Refuse("PUT", "You are not authorized.") },
			status: metav1.Condition{
				Status: "False", Reason: "RejectedByKeystone", Message: "cannot assign the role: Keystone returned HTTP 403: You are not authorized.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			if tc.prepare != nil {
				tc.prepare(c.keystone)
			}
			c.run(c.sound())
			if diff := cmp.Diff(tc.assigned, c.keystone.AssignedRoles()); diff != "" {
				t.Errorf("%s: given (-want +got):\n%s", tc.reason, diff)
			}
			tc.status.Type, tc.status.ObservedGeneration = conditionAvailable, 1
			if diff := cmp.Diff(tc.status, c.available(), cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.status.Status == "True" && c.assignment().Status.ID != tc.assigned[0] {
				t.Errorf("%s: status.id is %s", tc.reason, c.assignment().Status.ID)
			}
			if strings.Contains(c.logs.String(), password) {
				t.Error("the password is in the log")
			}
		})
	}
}

// TestExemptUser verifies that the service's user is exempt from rules for people, that removed options are set again, and that an error
// is reported.
func TestExemptUser(t *testing.T) {
	c := newCluster(t, assignment(func(a *openstackv1.RoleAssignment) { a.Spec.ExemptUser = true }), clouds(),
		known("Role", "service", "r"), known("User", "glance", "id-glance"), known("Project", "service", "p"))
	c.keystone.SetPassword("glance", "another")
	c.keystone.Refuse("PATCH", "You are not authorized.")
	c.run(c.sound())
	if got := c.available(); got.Reason != "RejectedByKeystone" || !strings.Contains(got.Message, "cannot exempt user id-glance") {
		t.Errorf("an error of Keystone: %v", got)
	}
	c.keystone.Refuse("PATCH", "")
	want := map[string]any{
		"ignore_lockout_failure_attempts": true, "ignore_password_expiry": true, "ignore_change_password_upon_first_use": true,
		"ignore_user_inactivity": true,
	}
	for range 2 {
		c.run(c.sound())
		if diff := cmp.Diff(want, c.keystone.Options("glance")); diff != "" || c.available().Status != "True" {
			t.Errorf("%v, options (-want +got):\n%s", c.available(), diff)
		}
		c.keystone.SetOption("glance", "ignore_user_inactivity", nil)
	}
}

// TestExemptUser_Disabled verifies that a disabled user is not changed, because Keystone would then disable it permanently, and that it is
// exempt after it was enabled.
func TestExemptUser_Disabled(t *testing.T) {
	c := newCluster(t, exempting(nil), clouds(), known("Role", "service", "r"), known("User", "glance", "id-glance"), known("Project", "service",
		"p"))
	c.keystone.SetPassword("glance", "another")
	c.keystone.Disable("glance", true)
	c.run(c.sound())
	if got := c.available(); got.Reason != "UserDisabled" || !strings.Contains(got.Message, "openstack user set --enable id-glance") {
		t.Errorf("%v", got)
	}
	if got := c.keystone.Options("glance"); got != nil {
		t.Errorf("a disabled user was changed: %v", got)
	}
	c.keystone.Disable("glance", false)
	c.run(c.sound())
	if got := c.keystone.Options("glance"); len(got) != 4 || c.available().Status != "True" {
		t.Errorf("%v, options: %v", c.available(), got)
	}
}

// TestExemptUser_Missing verifies that a user that was deleted in Keystone is reported as such.
func TestExemptUser_Missing(t *testing.T) {
	c := newCluster(t, exempting(nil), clouds(), known("Role", "service", "r"), known("User", "glance", "id-glance"), known("Project", "service",
		"p"))
	c.run(c.sound())
	if got := c.available(); got.Reason != "RejectedByKeystone" || !strings.Contains(got.Message, "cannot get user id-glance") {
		t.Errorf("%v", got)
	}
}

// TestAssignmentWithoutExemptionPreservesUserOptions verifies that users of other assignments keep their options.
func TestAssignmentWithoutExemptionPreservesUserOptions(t *testing.T) {
	c := newCluster(t, assignment(nil), clouds(), known("Role", "service", "r"), known("User", "glance", "id-glance"), known("Project", "service",
		"p"))
	c.keystone.SetPassword("glance", "another")
	c.run(c.sound())
	if got := c.keystone.Options("glance"); got != nil || c.available().Status != "True" {
		t.Errorf("%v, options: %v", c.available(), got)
	}
}

// TestRemovesRoleWithItsObject: the assignment is removed once Keystone responds, even if the referenced objects no longer exist.
func TestRemovesRoleWithItsObject(t *testing.T) {
	c := newCluster(t, assignment(nil), clouds(), known("Role", "service", "r"), known("User", "glance", "u"), known("Project", "service",
		"p"))
	c.run(c.sound())
	for _, o := range []client.Object{c.assignment(), known("Role", "service", ""), known("User", "glance", ""), known("Project", "service",
		"")} {
		c.must(c.api.Delete(context.Background(), o))
	}
	c.keystone.SetDown(true)
	c.run(c.sound())
	const want = "cannot remove the role: cannot log in as user admin: Keystone returned HTTP 503: Service Unavailable"
	if got := c.available().Message; got != want {
		t.Errorf("while Keystone is down, the message is %q, want %q", got, want)
	}
	c.keystone.SetDown(false)
	c.run(c.sound())
	if c.assignment() != nil || len(c.keystone.AssignedRoles()) > 0 {
		t.Errorf("the object exists: %v, assigned roles: %v", c.assignment() != nil, c.keystone.AssignedRoles())
	}
}

// TestDetachRetainsRole: an object that retains the role is deleted without Keystone.
func TestDetachRetainsRole(t *testing.T) {
	c := newCluster(t, assignment(nil), clouds(), known("Role", "service", "r"), known("User", "glance", "u"), known("Project", "service",
		"p"))
	c.run(c.sound())
	a := c.assignment()
	a.Spec.ManagedOptions.OnDelete = openstackv1.OnDeleteDetach
	c.must(c.api.Update(context.Background(), a))
	c.run(c.sound())
	c.keystone.SetDown(true)
	c.must(c.api.Delete(context.Background(), c.assignment()))
	if c.assignment() != nil || len(c.keystone.AssignedRoles()) != 1 {
		t.Errorf("the object exists: %v, assigned roles: %v", c.assignment() != nil, c.keystone.AssignedRoles())
	}
}
