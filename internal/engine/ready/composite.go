package ready

import (
	"cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// phaseReady is the phase of a composite resource of ours whose function found everything ready.
const phaseReady = "Ready"

// composite: a composite resource of ours. What keeps it from being ready is propagated to the claim: a spec that its function refuses,
// what Crossplane says, and otherwise what its components wait for.
//
// Its condition alone does not do: Crossplane dates what a pass found to the generation at the pass's end, so a pass that began
// before an edit calls the edit ready. Phase and generation that the function writes are written together, of what it saw.
func composite() Rule {
	return Rule{
		Check: func(o *observe.Object) Result {
			if v, bad := refused(o); bad {
				return v
			}
			// An open circuit makes it slow, not untrue: what is ready as it is desired now is ready.
			is := condition(o, "Ready")
			if c, ok := o.Condition("Responsive"); ok && c.Status == "False" && !is.Ready {
				return Wait(cmp.Or(c.Reason, "NotReady"), "%s",
					"it changes too often for Crossplane's circuit breaker, which lets one change through in 30 seconds")
			}
			observed, told := o.Int("status", "observedGeneration")
			switch {
			case told && observed != o.Generation():
				return Wait("Reconciling", "its function has not seen the last change yet")
			case is.Ready && (!told || o.String("status", "phase") == phaseReady):
				return is
			}
			if v, ok := propagated(o); ok {
				return v
			}
			if is.Ready {
				return Wait("Reconciling", "its function has not seen the last change yet")
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

// claim: a claim of ours. Crossplane copies what stands in the status of its composite resource, and dates its conditions to the claim's
// own generation; status.observedGeneration is the composite resource's, and says nothing here.
func claim() Rule {
	r := conditions("Ready")
	check := r.Check
	r.Check = func(o *observe.Object) Result {
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

// refused is why its function or Crossplane does not go on with a composite resource, if that is so.
func refused(o *observe.Object) (v Result, bad bool) {
	for _, typ := range []string{"SpecValid", "Composed", "Synced"} {
		c, ok := o.Condition(typ)
		switch {
		case !ok || c.Status != "False":
		case c.Reason == "ReconcilePaused":
			return Fail(c.Reason, "it is paused by its annotation crossplane.io/paused"), true
		default:
			return fromCondition(Fail, typ, c), true
		}
	}
	return Result{}, false
}

// propagated is what a composite resource's components wait for: the first that failed, or else the first that is not ready. Those that
// it needs come before it, so that this one waits for nothing but itself.
func propagated(o *observe.Object) (Result, bool) {
	var first Result
	for _, c := range o.List("status", "components") {
		part, _ := c.(map[string]any)
		name, phase, message := text(part, "name"), text(part, "phase"), text(part, "message")
		if name == "" || message == "" || phase == common.ComponentReady {
			continue
		}
		v := Result{
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
