package computecatalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// pollInterval is how often Nova is looked at: for what somebody else has changed there, and for hypervisors that have come.
const pollInterval = time.Minute

// refused is the reason of the condition while Nova refuses something.
const refused = "NovaRefuses"

// applyingCondition is the state between the decision and the deed.
var applyingCondition = condition.False("Changing", "Nova is being told what has changed")

// changePlan is what there is to do and to say.
type changePlan struct {
	// flavors and aggregates are the records, with what the changes will have made.
	flavors    []openstackv1.FlavorRecord
	aggregates []openstackv1.AggregateRecord
	// hostRemovals come first: a host is in one zone at most. Other removals come last: who may use a host is said by an aggregate that it is in.
	hostRemovals, changes, removals []change
	// errorMessages are what only people can settle, and missing the hosts that have not reported.
	errorMessages, missing []string
}

// change is one request to Nova.
type change struct {
	what string
	do   func(context.Context) error
}

// next decides.
func next(w *observation) controller.Decision {
	if w.errorMessage != "" {
		return controller.Decision{RequeueAfter: controller.Poll, Status: func() { w.set(condition.False("NovaUnavailable", w.errorMessage)) }}
	}
	p := w.plan()
	changes := slices.Concat(p.hostRemovals, p.changes, p.removals)
	if len(changes) == 0 {
		return controller.Decision{RequeueAfter: pollInterval, Status: func() { w.record(p); w.set(p.state()) }}
	}
	return controller.Decision{
		Name: "Changed", Note: describeChanges(changes), Record: true, Expected: true,
		Status: func() {
			w.record(p)
			w.catalog.Status.ObservedGeneration = w.catalog.Generation
			// What is refused again and again is no news.
			if c := meta.FindStatusCondition(w.catalog.Status.Conditions, conditionReady); c == nil || c.Reason != refused {
				w.set(applyingCondition)
			}
		},
		Action: w.change(changes),
	}
}

// change makes all changes: one that is refused does not keep the others from it.
func (obs *observation) change(all []change) controller.Action {
	return func(ctx context.Context, _ *controller.Env) error {
		var errs []error
		for _, c := range all {
			if err := c.do(ctx); err != nil {
				errs = append(errs, err)
				continue
			}
			changed.WithLabelValues(obs.catalog.Namespace, obs.catalog.Name).Inc()
		}
		if len(errs) == 0 {
			return nil
		}
		refusal := &controller.TerminalError{Reason: refused, Message: errorMessages{errors.Join(errs...)}.Error()}
		if obs.createFailed { // Trying again writes that it is made, and that it is not, both of which wake Crossplane.
			refusal.RequeueAfter = pollInterval
		}
		return refusal
	}
}

// errorMessages are errors in one line.
type errorMessages struct{ error }

// Error is that line.
func (s errorMessages) Error() string { return strings.ReplaceAll(s.error.Error(), "\n", "; ") }

// record writes down what was made.
func (obs *observation) record(p changePlan) {
	obs.catalog.Status.Flavors, obs.catalog.Status.Aggregates = p.flavors, p.aggregates
}

// state of a catalog of which nothing is left to do.
func (p *changePlan) state() condition.State {
	switch {
	case len(p.errorMessages) > 0:
		return condition.False("Conflict", strings.Join(p.errorMessages, "; "))
	case len(p.missing) > 0:
		return condition.True("HostsMissing",
			"Nova has everything as the spec says, but for hosts that have not reported yet: "+strings.Join(p.missing, ", "))
	}
	return condition.True("UpToDate", "Nova has everything as the spec says")
}

func describeChanges(changes []change) string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.what
	}
	return strings.Join(out, ", ")
}

// plan compares what is desired with what there is.
func (obs *observation) plan() changePlan {
	p := &changePlan{}
	flavors, aggregates := map[string]bool{}, map[string]bool{}
	for _, f := range obs.catalog.Spec.Flavors {
		flavors[f.Name] = true
		p.flavors = append(p.flavors, obs.flavor(p, f, obs.flavorRecord(f.Name)))
	}
	for _, r := range obs.catalog.Status.Flavors {
		if !flavors[r.Name] && obs.removeFlavor(p, &r) {
			p.flavors = append(p.flavors, r)
		}
	}
	for _, g := range obs.catalog.Spec.Aggregates {
		aggregates[g.Name] = true
		g.Hosts = append(slices.Clone(g.Hosts), obs.nodes.of[g.Name]...)
		p.aggregates = append(p.aggregates, obs.aggregate(p, g, obs.aggregateRecord(g.Name)))
	}
	for _, r := range obs.catalog.Status.Aggregates {
		if !aggregates[r.Name] && obs.removeAggregate(p, &r) {
			p.aggregates = append(p.aggregates, r)
		}
	}
	return *p
}

func (p *changePlan) change(do func(context.Context) error, what string, args ...any) {
	p.changes = append(p.changes, change{fmt.Sprintf(what, args...), do})
}

func (p *changePlan) removeHost(do func(context.Context) error, what string, args ...any) {
	p.hostRemovals = append(p.hostRemovals, change{fmt.Sprintf(what, args...), do})
}

func (p *changePlan) remove(do func(context.Context) error, what string, args ...any) {
	p.removals = append(p.removals, change{fmt.Sprintf(what, args...), do})
}

// added is what is to be recorded of a set of which some are desired, some are there, and some were added before: those that are going to
// be added, and those that were and are still there.
func added(desired, existing, before map[string]bool) map[string]bool {
	out := map[string]bool{}
	for name := range desired {
		if !existing[name] || before[name] {
			out[name] = true
		}
	}
	for name := range before {
		if existing[name] {
			out[name] = true
		}
	}
	return out
}
