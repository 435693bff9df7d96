package readiness

import (
	"cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// phaseReady is the phase that functions set on a composite resource with all components ready.
const phaseReady = "Ready"

// composite returns the rule for composite resources of this project. Why one is not ready is propagated to the claim: a spec that its
// function rejects, a condition of Crossplane, or else the state of its components.
//
// Its condition Ready is not sufficient: Crossplane sets observedGeneration at the end of a reconciliation, so one that started before an
// edit reports the edit as ready. The function writes phase and generation together.
func composite() ready.Rule {
	return ready.Rule{
		Check: func(o *observe.Object) ready.Result {
			if v, bad := refused(o); bad {
				return v
			}
			// An open circuit breaker only delays updates: an object whose desired state is ready stays ready.
			is := condition(o, "Ready")
			if c, ok := o.Condition("Responsive"); ok && c.Status == "False" && !is.Ready {
				return ready.Wait(cmp.Or(c.Reason, "NotReady"), "%s",
					"it changes too often for Crossplane's circuit breaker, which lets one change through in 30 seconds")
			}
			observed, reported := o.Int("status", "observedGeneration")
			switch {
			case reported && observed != o.Generation():
				return ready.Wait("Reconciling", "its function has not seen the last change yet")
			case is.Ready && (!reported || o.String("status", "phase") == phaseReady):
				return is
			}
			if v, ok := propagated(o); ok {
				return v
			}
			if is.Ready {
				return ready.Wait("Reconciling", "its function has not seen the last change yet")
			}
			return is
		},
		CEL: conditions("Ready").CEL + " && " + celNoCondition("False", "SpecValid", "Composed", "Synced") +
			" && (!has(object.status.observedGeneration) || object.status.observedGeneration == object.metadata.generation" +
			" && has(object.status.phase) && object.status.phase == '" + phaseReady + "')",
		Rollout:   releaseRollout(),
		Composite: true,
	}
}

// claim returns the rule for claims of this project. Crossplane copies the status of the composite resource, and sets observedGeneration in
// conditions to the claim's own generation. It ignores status.observedGeneration, which refers to the composite resource.
func claim() ready.Rule {
	r := conditions("Ready")
	check := r.Check
	r.Check = func(o *observe.Object) ready.Result {
		if v, bad := refused(o); bad {
			return v
		}
		is := check(o)
		if v, ok := propagated(o); ok && !is.Ready {
			return v
		}
		return is
	}
	r.CEL += " && " + celNoCondition("False", "SpecValid", "Composed", "Synced")
	return r
}

// refused returns why the function or Crossplane does not reconcile a composite resource, and whether that is so.
func refused(o *observe.Object) (v ready.Result, bad bool) {
	for _, typ := range []string{"SpecValid", "Composed", "Synced"} {
		c, ok := o.Condition(typ)
		switch {
		case !ok || c.Status != "False":
		case c.Reason == "ReconcilePaused":
			return ready.Fail(c.Reason, "it is paused by its annotation crossplane.io/paused"), true
		default:
			return fromCondition(ready.Fail, typ, c), true
		}
	}
	return ready.Result{}, false
}

// propagated returns the state of the first component that failed, or else of the first that is not ready. Components are listed after
// their needs, so this one is not blocked by another.
func propagated(o *observe.Object) (ready.Result, bool) {
	var first ready.Result
	for _, c := range o.List("status", "components") {
		part, _ := c.(map[string]any)
		name, phase, message := text(part, "name"), text(part, "phase"), text(part, "message")
		if name == "" || message == "" || phase == common.ComponentReady {
			continue
		}
		v := ready.Result{
			Failed: phase == common.ComponentFailed, Reason: cmp.Or(text(part, "reason"), "NotReady"),
			Message: name + ": " + message, Propagated: true,
		}
		if v.Failed {
			return v, true
		}
		if first.Message == "" {
			first = v
		}
	}
	return first, first.Propagated
}
