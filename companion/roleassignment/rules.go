package roleassignment

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

// A step is what a pass comes to: something to do, or a state to report.
type step struct {
	// do is nil if there is nothing to do.
	do func(context.Context, *Reconciler, *world) error
	// state is what is reported if there is nothing to do, and else the reason and message of an event; none: "".
	state condition.State
}

// next decides.
func next(w *world) step {
	recorded := w.assignment.Status.Resource
	switch {
	case w.deleted() && !w.finalized():
		return step{}
	case w.deleted() && (w.detached() || recorded == nil):
		return step{do: finalize}
	case w.deleted() && w.keystone == nil:
		return wait("KeystoneUnavailable", "cannot take the role away: %s", w.problem)
	case w.deleted():
		return step{do: takeAway, state: note("RoleTaken", "took the role away: %s", path(*recorded))}
	case w.finalized() == w.detached():
		return step{do: finalize}
	case w.waits != "":
		return wait("Waiting", "%s", w.waits)
	case w.keystone == nil:
		return wait("KeystoneUnavailable", "%s", w.problem)
	case recorded != nil && *recorded != w.wanted:
		return step{do: leave, state: note("RoleLeft", "what it refers to is another one in Keystone now; before: %s", path(*recorded))}
	case recorded == nil:
		return step{do: give, state: note("RoleGiven", "gave the role: %s", path(w.wanted))}
	case !w.given:
		return step{do: give, state: note("RoleGiven", "gave the role, which was not given any more: %s", path(w.wanted))}
	}
	return step{state: condition.State{True: true, Reason: "Given", Message: "the role is given"}}
}

func note(reason, format string, args ...any) condition.State {
	return condition.State{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func wait(reason, format string, args ...any) step { return step{state: note(reason, format, args...)} }

// refusedError is what Keystone says no to.
type refusedError struct{ error }

func refused(err error) error {
	if err == nil {
		return nil
	}
	return refusedError{err}
}

// giving is the state between the decision and the deed.
var giving = condition.State{Reason: "Giving", Message: "the role is being given"}

// give writes down what is given, over the version that was read, and gives it then: who has seen the past does not get beyond the write,
// which is made even if nothing changes.
func give(ctx context.Context, r *Reconciler, w *world) error {
	status := &w.assignment.Status
	status.Resource, status.ID = &w.wanted, path(w.wanted)
	w.set(r.Clock.Now(), giving)
	measure(w.assignment)
	if err := r.write(ctx, w); err != nil {
		return err
	}
	given.WithLabelValues(w.assignment.Namespace, w.assignment.Name).Inc()
	return refused(w.keystone.Assign(ctx, idsOf(w.wanted)))
}

// leave takes away what was given before K-ORC found or made others under the names that are referred to.
func leave(ctx context.Context, r *Reconciler, w *world) error {
	status := &w.assignment.Status
	if !w.detached() {
		if err := w.keystone.Unassign(ctx, idsOf(*status.Resource)); err != nil {
			return refused(err)
		}
	}
	status.Resource, status.ID = nil, ""
	w.set(r.Clock.Now(), giving)
	return r.write(ctx, w)
}

// takeAway takes the role away and lets the object go.
func takeAway(ctx context.Context, r *Reconciler, w *world) error {
	if err := w.keystone.Unassign(ctx, idsOf(*w.assignment.Status.Resource)); err != nil {
		return refused(err)
	}
	return finalize(ctx, r, w)
}

// finalize adds the finalizer where something will have to be taken away, and removes it else.
func finalize(ctx context.Context, r *Reconciler, w *world) error {
	changed := w.assignment.DeepCopy()
	if w.deleted() || w.detached() {
		controllerutil.RemoveFinalizer(changed, finalizer)
	} else {
		controllerutil.AddFinalizer(changed, finalizer)
	}
	if err := r.Client.Update(ctx, changed); err != nil {
		return fmt.Errorf("cannot write the finalizer: %w", err)
	}
	return nil
}
