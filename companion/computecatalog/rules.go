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

// every is how often Nova is looked at: for what somebody else has changed there, and for hypervisors that have come.
const every = time.Minute

// refused is the reason of the condition while Nova refuses something.
const refused = "NovaRefuses"

// changing is the state between the decision and the deed.
var changing = condition.False("Changing", "Nova is being told what has changed")

// plan is what there is to do and to say.
type plan struct {
	// flavors and aggregates are the records, with what the changes will have made.
	flavors    []openstackv1.FlavorRecord
	aggregates []openstackv1.AggregateRecord
	// leaves come first: a host is in one zone at most. Other removals come last: who may use a host is said by an aggregate that it is in.
	leaves, changes, removals []change
	// problems are what only people can settle, and missing the hosts that have not reported.
	problems, missing []string
}

// change is one request to Nova.
type change struct {
	what string
	do   func(context.Context) error
}

// next decides.
func next(w *world) controller.Step {
	if w.problem != "" {
		return controller.Step{After: controller.Poll, Status: func() { w.set(condition.False("NovaUnavailable", w.problem)) }}
	}
	p := w.plan()
	changes := slices.Concat(p.leaves, p.changes, p.removals)
	if len(changes) == 0 {
		return controller.Step{After: every, Status: func() { w.record(p); w.set(p.state()) }}
	}
	return controller.Step{
		Name: "Changed", Note: words(changes), Record: true, Expected: true,
		Status: func() {
			w.record(p)
			w.catalog.Status.ObservedGeneration = w.catalog.Generation
			// What is refused again and again is no news.
			if c := meta.FindStatusCondition(w.catalog.Status.Conditions, conditionReady); c == nil || c.Reason != refused {
				w.set(changing)
			}
		},
		Do: w.change(changes),
	}
}

// change makes all changes: one that is refused does not keep the others from it.
func (w *world) change(all []change) controller.Action {
	return func(ctx context.Context, _ *controller.Env) error {
		var errs []error
		for _, c := range all {
			if err := c.do(ctx); err != nil {
				errs = append(errs, err)
				continue
			}
			changed.WithLabelValues(w.catalog.Namespace, w.catalog.Name).Inc()
		}
		if len(errs) == 0 {
			return nil
		}
		refusal := &controller.Refusal{Reason: refused, Message: sentences{errors.Join(errs...)}.Error()}
		if w.unmade { // Trying again writes that it is made, and that it is not, both of which wake Crossplane.
			refusal.After = every
		}
		return refusal
	}
}

// sentences are errors in one line.
type sentences struct{ error }

// Error is that line.
func (s sentences) Error() string { return strings.ReplaceAll(s.error.Error(), "\n", "; ") }

// record writes down what was made.
func (w *world) record(p plan) {
	w.catalog.Status.Flavors, w.catalog.Status.Aggregates = p.flavors, p.aggregates
}

// state of a catalog of which nothing is left to do.
func (p *plan) state() condition.State {
	switch {
	case len(p.problems) > 0:
		return condition.False("Conflict", strings.Join(p.problems, "; "))
	case len(p.missing) > 0:
		return condition.True("HostsMissing",
			"Nova has everything as the spec says, but for hosts that have not reported yet: "+strings.Join(p.missing, ", "))
	}
	return condition.True("UpToDate", "Nova has everything as the spec says")
}

func words(changes []change) string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.what
	}
	return strings.Join(out, ", ")
}

// plan compares what is desired with what there is.
func (w *world) plan() plan {
	p := &plan{}
	flavors, aggregates := map[string]bool{}, map[string]bool{}
	for _, f := range w.catalog.Spec.Flavors {
		flavors[f.Name] = true
		p.flavors = append(p.flavors, w.flavor(p, f, w.flavorRecord(f.Name)))
	}
	for _, r := range w.catalog.Status.Flavors {
		if !flavors[r.Name] && w.removeFlavor(p, &r) {
			p.flavors = append(p.flavors, r)
		}
	}
	for _, g := range w.catalog.Spec.Aggregates {
		aggregates[g.Name] = true
		g.Hosts = append(slices.Clone(g.Hosts), w.nodes.of[g.Name]...)
		p.aggregates = append(p.aggregates, w.aggregate(p, g, w.aggregateRecord(g.Name)))
	}
	for _, r := range w.catalog.Status.Aggregates {
		if !aggregates[r.Name] && w.removeAggregate(p, &r) {
			p.aggregates = append(p.aggregates, r)
		}
	}
	return *p
}

func (p *plan) change(do func(context.Context) error, what string, args ...any) {
	p.changes = append(p.changes, change{fmt.Sprintf(what, args...), do})
}

func (p *plan) leave(do func(context.Context) error, what string, args ...any) {
	p.leaves = append(p.leaves, change{fmt.Sprintf(what, args...), do})
}

func (p *plan) remove(do func(context.Context) error, what string, args ...any) {
	p.removals = append(p.removals, change{fmt.Sprintf(what, args...), do})
}

// added is what is to be recorded of a set of which some are desired, some are there, and some were added before: those that are going to
// be added, and those that were and are still there.
func added(desired, there, before map[string]bool) map[string]bool {
	out := map[string]bool{}
	for name := range desired {
		if !there[name] || before[name] {
			out[name] = true
		}
	}
	for name := range before {
		if there[name] {
			out[name] = true
		}
	}
	return out
}
