package roleassignment

import (
	"context"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc"
)

// finalizer prevents the deletion of an object until its assignment is removed.
const finalizer = "openstack.c5c3.io/roleassignment"

// observation is the state that was read in one pass, from which all decisions are made.
type observation struct {
	assignment *openstackv1.RoleAssignment
	now        time.Time
	// desired are the IDs of the referenced objects; waits is the reason if one does not exist yet.
	desired openstackv1.RoleAssignmentIDs
	waits   string
	// keystone is the session; errorMessage is the reason if the login failed.
	keystone     *identity.User
	errorMessage string
	// assigned is set if the role is assigned, and mustExempt if the user is not exempt yet and has to be. userProblem is the reason why the
	// user cannot be exempt; its Reason is empty if the user can be exempt.
	assigned, mustExempt bool
	userProblem          condition.State
}

// observe reads the state. A failing Keystone is not an error: the controller waits for it.
func observe(ctx context.Context, env *controller.Env, a *openstackv1.RoleAssignment) (*observation, error) {
	w := &observation{assignment: a, now: env.Clock.Now()}
	if !w.deleted() {
		if err := w.resolve(ctx, env.Reader); err != nil || w.waits != "" || w.finalized() == w.isRetained() {
			return w, err
		}
	} else if !w.finalized() || w.isRetained() || a.Status.Resource == nil {
		return w, nil
	}
	cloud, problem, err := identity.FindCloud(ctx, env.Reader, a.Namespace, a.Spec.CloudCredentialsRef)
	if err != nil || problem != "" {
		w.errorMessage = problem
		return w, err
	}
	w.checkAssignment(ctx, env.Transport, cloud)
	return w, nil
}

// checkAssignment logs in and checks whether the role is assigned, and whether the user is exempt.
func (obs *observation) checkAssignment(ctx context.Context, way identity.Transport, cloud identity.Cloud) {
	keystone, err := way.Login(ctx, cloud)
	if err == nil && !obs.deleted() {
		obs.assigned, err = keystone.HasRole(ctx, obs.desired)
	}
	if err != nil {
		obs.errorMessage = err.Error()
		return
	}
	obs.keystone = keystone
	if obs.assigned && obs.assignment.Spec.ExemptUser {
		obs.checkUser(ctx)
	}
}

// checkUser checks whether the user is exempt from the rules for people.
func (obs *observation) checkUser(ctx context.Context) {
	exempt, enabled, err := obs.keystone.Exemption(ctx, obs.desired.UserID)
	switch {
	case err != nil:
		obs.userProblem = condition.False("RejectedByKeystone", err.Error())
	case !exempt && !enabled:
		obs.userProblem = condition.False("UserDisabled", "user "+obs.desired.UserID+" is disabled, by an administrator or for inactivity, and "+
			"has to be exempt from lockout and inactivity; enable it: openstack user set --enable "+obs.desired.UserID)
	}
	obs.mustExempt = !exempt
}

// resolve returns the IDs of the referenced objects.
func (obs *observation) resolve(ctx context.Context, reader client.Reader) error {
	r := obs.assignment.Spec.Resource
	obs.desired.System = r.System
	for _, ref := range []struct {
		kind, name string
		id         *string
	}{
		{"Role", string(r.RoleRef), &obs.desired.RoleID},
		{"User", string(r.UserRef), &obs.desired.UserID},
		{"Group", string(r.GroupRef), &obs.desired.GroupID},
		{"Project", string(r.ProjectRef), &obs.desired.ProjectID},
		{"Domain", string(r.DomainRef), &obs.desired.DomainID},
	} {
		if ref.name == "" {
			continue
		}
		var err error
		if *ref.id, obs.waits, err = korc.ID(ctx, reader, ref.kind, obs.assignment.Namespace, ref.name); err != nil || obs.waits != "" {
			return err
		}
	}
	return nil
}

func (obs *observation) set(s condition.State) {
	condition.Set(&obs.assignment.Status.Conditions, conditionAvailable, obs.assignment.Generation, obs.now, s)
}

func (obs *observation) deleted() bool { return obs.assignment.DeletionTimestamp != nil }

func (obs *observation) finalized() bool {
	return controllerutil.ContainsFinalizer(obs.assignment, finalizer)
}

// isRetained reports whether the role is retained when the object is deleted.
func (obs *observation) isRetained() bool {
	return obs.assignment.Spec.ManagedOptions.OnDelete == openstackv1.OnDeleteDetach
}

// path returns the path of an assignment in Keystone's API.
func path(r openstackv1.RoleAssignmentIDs) string {
	var parts []string
	for _, p := range []struct{ name, id string }{
		{"projects", r.ProjectID}, {"domains", r.DomainID}, {"users", r.UserID}, {"groups", r.GroupID}, {"roles", r.RoleID},
	} {
		if p.id != "" {
			parts = append(parts, p.name, p.id)
		}
	}
	if r.System != "" {
		parts = append([]string{"system"}, parts...)
	}
	return strings.Join(parts, "/")
}
