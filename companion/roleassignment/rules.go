package roleassignment

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// next selects the next step.
func next(w *observation) controller.Decision {
	recorded := w.assignment.Status.Resource
	switch {
	case w.deleted() && !w.finalized():
		return controller.Decision{} // It is about to be deleted.
	case w.deleted() && (w.isRetained() || recorded == nil):
		return controller.Decision{Name: "Finalized", Action: w.finalize}
	case w.deleted() && w.keystone == nil:
		return w.wait("KeystoneUnavailable", "cannot remove the role: "+w.errorMessage)
	case w.deleted():
		return controller.Decision{Name: "RoleUnassigned", Action: w.removeAssignment, Note: "removed the role: " + path(*recorded)}
	case w.finalized() == w.isRetained():
		return controller.Decision{Name: "Finalized", Action: w.finalize}
	case w.waits != "":
		return w.wait("Waiting", w.waits)
	case w.keystone == nil:
		return w.wait("KeystoneUnavailable", w.errorMessage)
	case recorded != nil && *recorded != w.desired:
		return controller.Decision{
			Name: "RoleRetained", Action: w.leave,
			Note: "a referenced object was re-created in Keystone; previous assignment: " + path(*recorded),
		}
	case recorded == nil:
		return w.recordAssignment("assigned the role: ")
	case !w.assigned:
		return w.recordAssignment("assigned the role again, which had been removed: ")
	case w.userProblem.Reason != "":
		return w.wait(w.userProblem.Reason, w.userProblem.Message)
	case w.mustExempt:
		return controller.Decision{
			Name: "UserExempted", Action: w.exemptUser,
			Note: "exempted user " + w.desired.UserID + " from lockout, inactivity, password expiry and the password change at the first login",
		}
	}
	return controller.Decision{
		Status:       func() { w.set(condition.True("Assigned", "the role is assigned")) },
		RequeueAfter: controller.ResyncInterval,
	}
}

func (obs *observation) wait(reason, message string) controller.Decision {
	return controller.Decision{
		Status:       func() { obs.set(condition.False(reason, message)) },
		RequeueAfter: controller.Poll,
	}
}

// assigningCondition is the state between the decision and the assignment.
var assigningCondition = condition.False("Assigning", "the role is being assigned")

// recordAssignment records the assignment, over the version that was read, and then executes it. The status is written even
// without changes, so that a pass with an outdated object fails at the write.
func (obs *observation) recordAssignment(note string) controller.Decision {
	return controller.Decision{
		Name: "RoleAssigned", Note: note + path(obs.desired), Record: true, Expected: true,
		Status: func() {
			obs.assignment.Status.Resource, obs.assignment.Status.ID = &obs.desired, path(obs.desired)
			obs.set(assigningCondition)
		},
		Action: func(ctx context.Context, _ *controller.Env) error {
			assigned.WithLabelValues(obs.assignment.Namespace, obs.assignment.Name).Inc()
			return controller.Rejected("RejectedByKeystone", obs.keystone.Assign(ctx, obs.desired))
		},
	}
}

// exemptUser exempts the user. Two leaders set the same options.
func (obs *observation) exemptUser(ctx context.Context, _ *controller.Env) error {
	_, err := obs.keystone.Exempt(ctx, obs.desired.UserID)
	return controller.Rejected("RejectedByKeystone", err)
}

// leave removes the assignment for the objects to which the references previously resolved.
func (obs *observation) leave(ctx context.Context, env *controller.Env) error {
	status := &obs.assignment.Status
	if !obs.isRetained() {
		if err := obs.keystone.RemoveRole(ctx, *status.Resource); err != nil {
			return controller.Rejected("RejectedByKeystone", err)
		}
	}
	status.Resource, status.ID = nil, ""
	obs.set(assigningCondition)
	if err := env.Client.Status().Update(ctx, obs.assignment); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	return nil
}

// removeAssignment removes the role and the finalizer.
func (obs *observation) removeAssignment(ctx context.Context, env *controller.Env) error {
	if err := obs.keystone.RemoveRole(ctx, *obs.assignment.Status.Resource); err != nil {
		return controller.Rejected("RejectedByKeystone", err)
	}
	return obs.finalize(ctx, env)
}

// finalize adds the finalizer if the assignment must be removed later, and otherwise removes it.
func (obs *observation) finalize(ctx context.Context, env *controller.Env) error {
	changed := obs.assignment.DeepCopy()
	if obs.deleted() || obs.isRetained() {
		controllerutil.RemoveFinalizer(changed, finalizer)
	} else {
		controllerutil.AddFinalizer(changed, finalizer)
	}
	// Another leader may have removed the finalizer.
	if err := client.IgnoreNotFound(env.Client.Update(ctx, changed)); err != nil {
		return fmt.Errorf("cannot write the finalizer: %w", err)
	}
	return nil
}
