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
func next(w *world) controller.Step {
	recorded := w.assignment.Status.Resource
	switch {
	case w.deleted() && !w.finalized():
		return controller.Step{} // It is about to be gone.
	case w.deleted() && (w.detached() || recorded == nil):
		return controller.Step{Name: "Finalized", Do: w.finalize}
	case w.deleted() && w.keystone == nil:
		return w.wait("KeystoneUnavailable", "cannot take the role away: "+w.problem)
	case w.deleted():
		return controller.Step{Name: "RoleTaken", Do: w.takeAway, Note: "took the role away: " + path(*recorded)}
	case w.finalized() == w.detached():
		return controller.Step{Name: "Finalized", Do: w.finalize}
	case w.waits != "":
		return w.wait("Waiting", w.waits)
	case w.keystone == nil:
		return w.wait("KeystoneUnavailable", w.problem)
	case recorded != nil && *recorded != w.wanted:
		return controller.Step{
			Name: "RoleLeft", Do: w.leave,
			Note: "what it refers to is another one in Keystone now; before: " + path(*recorded),
		}
	case recorded == nil:
		return w.give("gave the role: ")
	case !w.given:
		return w.give("gave the role, which was not given any more: ")
	}
	return controller.Step{
		Status: func() { w.set(condition.True("Given", "the role is given")) },
		After:  controller.Longest,
	}
}

func (w *world) wait(reason, message string) controller.Step {
	return controller.Step{
		Status: func() { w.set(condition.False(reason, message)) },
		After:  controller.Poll,
	}
}

// giving is the state between the decision and the deed.
var giving = condition.False("Giving", "the role is being given")

// give records what is given, over the version that was read, and gives it then: who has seen the past does not get beyond the write,
// which is made even if nothing changes.
func (w *world) give(note string) controller.Step {
	return controller.Step{
		Name: "RoleGiven", Note: note + path(w.wanted), Record: true, Expected: true,
		Status: func() {
			w.assignment.Status.Resource, w.assignment.Status.ID = &w.wanted, path(w.wanted)
			w.set(giving)
		},
		Do: func(ctx context.Context, _ *controller.Env) error {
			given.WithLabelValues(w.assignment.Namespace, w.assignment.Name).Inc()
			return controller.Refused("KeystoneRefuses", w.keystone.Assign(ctx, w.wanted))
		},
	}
}

// leave removes what was given before K-ORC found or made others under the names that are referred to.
func (w *world) leave(ctx context.Context, env *controller.Env) error {
	status := &w.assignment.Status
	if !w.detached() {
		if err := w.keystone.Unassign(ctx, *status.Resource); err != nil {
			return controller.Refused("KeystoneRefuses", err)
		}
	}
	status.Resource, status.ID = nil, ""
	w.set(giving)
	if err := env.Client.Status().Update(ctx, w.assignment); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	return nil
}

// takeAway takes the role away and lets the object go.
func (w *world) takeAway(ctx context.Context, env *controller.Env) error {
	if err := w.keystone.Unassign(ctx, *w.assignment.Status.Resource); err != nil {
		return controller.Refused("KeystoneRefuses", err)
	}
	return w.finalize(ctx, env)
}

// finalize adds the finalizer where something will have to be removed, and removes it else.
func (w *world) finalize(ctx context.Context, env *controller.Env) error {
	changed := w.assignment.DeepCopy()
	if w.deleted() || w.detached() {
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
