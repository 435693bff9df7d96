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

// pollInterval is the interval for reading Nova, to detect changes by other users and new hypervisors.
const pollInterval = time.Minute

// reasonRejected is the reason of the condition while Nova rejects a request.
const reasonRejected = "RejectedByNova"

// applyingCondition is the state between the decision and the changes.
var applyingCondition = condition.False("Applying", "applying changes to Nova")

// changePlan contains the changes and the messages of a pass.
type changePlan struct {
	// flavors and aggregates are the records after the changes.
	flavors    []openstackv1.FlavorRecord
	aggregates []openstackv1.AggregateRecord
	// hostRemovals are executed first, because a host can be in one zone only. removals are executed last, because aggregates
	// restrict the use of hosts.
	hostRemovals, changes, removals []change
	// errorMessages are conflicts that require manual changes, and missing are hosts that have not registered.
	errorMessages, missing []string
}

// change is one request to Nova.
type change struct {
	description string
	do          func(context.Context) error
}

// next selects the next step.
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
			// A repeated rejection does not change the condition.
			if c := meta.FindStatusCondition(w.catalog.Status.Conditions, conditionReady); c == nil || c.Reason != reasonRejected {
				w.set(applyingCondition)
			}
		},
		Action: w.change(changes),
	}
}

// change executes all changes, even if some are rejected.
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
		terminalError := &controller.TerminalError{Reason: reasonRejected, Message: errorMessages{errors.Join(errs...)}.Error()}
		if obs.createFailed { // A retry writes the status twice, and each write triggers Crossplane.
			terminalError.RequeueAfter = pollInterval
		}
		return terminalError
	}
}

// errorMessages formats errors in one line.
type errorMessages struct{ error }

// Error returns that line.
func (s errorMessages) Error() string { return strings.ReplaceAll(s.error.Error(), "\n", "; ") }

// record records the created objects in the status.
func (obs *observation) record(p changePlan) {
	obs.catalog.Status.Flavors, obs.catalog.Status.Aggregates = p.flavors, p.aggregates
}

// state returns the condition without pending changes.
func (p *changePlan) state() condition.State {
	switch {
	case len(p.errorMessages) > 0:
		return condition.False("Conflict", strings.Join(p.errorMessages, "; "))
	case len(p.missing) > 0:
		return condition.True("HostsMissing",
			"flavors and aggregates match the spec, except for hosts that have not registered yet: "+strings.Join(p.missing, ", "))
	}
	return condition.True("UpToDate", "flavors and aggregates match the spec")
}

func describeChanges(changes []change) string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.description
	}
	return strings.Join(out, ", ")
}

// plan compares the spec with the state of Nova.
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

func (p *changePlan) change(do func(context.Context) error, description string, args ...any) {
	p.changes = append(p.changes, change{fmt.Sprintf(description, args...), do})
}

func (p *changePlan) removeHost(do func(context.Context) error, description string, args ...any) {
	p.hostRemovals = append(p.hostRemovals, change{fmt.Sprintf(description, args...), do})
}

func (p *changePlan) remove(do func(context.Context) error, description string, args ...any) {
	p.removals = append(p.removals, change{fmt.Sprintf(description, args...), do})
}

// added returns the names to be recorded: the desired ones that will be added, and the previously added ones that still
// exist.
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
