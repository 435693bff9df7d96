package roleassignment

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// next decides.
func next(w *observation) controller.Decision {
	recorded := w.assignment.Status.Resource
	switch {
	case w.deleted() && !w.finalized():
		return controller.Decision{} // It is about to be gone.
	case w.deleted() && (w.isRetained() || recorded == nil):
		return controller.Decision{Name: "Finalized", Action: w.finalize}
	case w.deleted() && w.keystone == nil:
		return w.wait("KeystoneUnavailable", "cannot take the role away: "+w.errorMessage)
	case w.deleted():
		return controller.Decision{Name: "RoleTaken", Action: w.removeAssignment, Note: "took the role away: " + path(*recorded)}
	case w.finalized() == w.isRetained():
		return controller.Decision{Name: "Finalized", Action: w.finalize}
	case w.waits != "":
		return w.wait("Waiting", w.waits)
	case w.keystone == nil:
		return w.wait("KeystoneUnavailable", w.errorMessage)
	case recorded != nil && *recorded != w.wanted:
		return controller.Decision{
			Name: "RoleLeft", Action: w.leave,
			Note: "what it refers to is another one in Keystone now; before: " + path(*recorded),
		}
	case recorded == nil:
		return w.recordAssignment("gave the role: ")
	case !w.given:
		return w.recordAssignment("gave the role, which was not given any more: ")
	}
	return controller.Decision{
		Status:       func() { w.set(condition.True("Given", "the role is given")) },
		RequeueAfter: controller.ResyncInterval,
	}
}

func (obs *observation) wait(reason, message string) controller.Decision {
	return controller.Decision{
		Status:       func() { obs.set(condition.False(reason, message)) },
		RequeueAfter: controller.Poll,
	}
}

// assigningCondition is the state between the decision and the deed.
var assigningCondition = condition.False("Giving", "the role is being given")

// recordAssignment records what is given, over the version that was read, and gives it then: who has seen the past does not get beyond the write,
// which is made even if nothing changes.
func (obs *observation) recordAssignment(note string) controller.Decision {
	return controller.Decision{
		Name: "RoleGiven", Note: note + path(obs.wanted), Record: true, Expected: true,
		Status: func() {
			obs.assignment.Status.Resource, obs.assignment.Status.ID = &obs.wanted, path(obs.wanted)
			obs.set(assigningCondition)
		},
		Action: func(ctx context.Context, _ *controller.Env) error {
			given.WithLabelValues(obs.assignment.Namespace, obs.assignment.Name).Inc()
			return controller.Refused("KeystoneRefuses", obs.keystone.Assign(ctx, obs.wanted))
		},
	}
}

// leave removes what was given before K-ORC found or made others under the names that are referred to.
func (obs *observation) leave(ctx context.Context, env *controller.Env) error {
	status := &obs.assignment.Status
	if !obs.isRetained() {
		if err := obs.keystone.RemoveRole(ctx, *status.Resource); err != nil {
			return controller.Refused("KeystoneRefuses", err)
		}
	}
	status.Resource, status.ID = nil, ""
	obs.set(assigningCondition)
	if err := env.Client.Status().Update(ctx, obs.assignment); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	return nil
}

// removeAssignment takes the role away and lets the object go.
func (obs *observation) removeAssignment(ctx context.Context, env *controller.Env) error {
	if err := obs.keystone.RemoveRole(ctx, *obs.assignment.Status.Resource); err != nil {
		return controller.Refused("KeystoneRefuses", err)
	}
	return obs.finalize(ctx, env)
}

// finalize adds the finalizer where something will have to be removed, and removes it else.
func (obs *observation) finalize(ctx context.Context, env *controller.Env) error {
	changed := obs.assignment.DeepCopy()
	if obs.deleted() || obs.isRetained() {
		controllerutil.RemoveFinalizer(changed, finalizer)
	} else {
		controllerutil.AddFinalizer(changed, finalizer)
	}
	// Another leader may have let it go.
	if err := client.IgnoreNotFound(env.Client.Update(ctx, changed)); err != nil {
		return fmt.Errorf("cannot write the finalizer: %w", err)
	}
	return nil
}
