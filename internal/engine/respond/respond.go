package respond

import (
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const (
	// readyTTL and waitingTTL are the intervals at which Crossplane calls again without an event, when everything is ready and while it is
	// not. Changes of composed resources cause events; the intervals are for changes without events: a changed PlatformConfig (core 2.3
	// does not watch required resources), a circuit breaker that opened after the last call, and events that core 2.3 misses
	// (docs/reference/crossplane-settings.md). Each reconciliation applies every composed resource again, so shorter intervals delay all
	// installations when many run at once (docs/contributing/benchmarks.md).
	readyTTL   = 10 * time.Minute
	waitingTTL = 2 * time.Minute
	// openTTL is the interval while the circuit breaker is open, which drops events.
	openTTL = 10 * time.Second
	// invalidTTL and fatalTTL are the intervals while the spec is invalid, and after an error, which may be fixed without an event, for
	// example in a PlatformConfig.
	invalidTTL = time.Minute
	fatalTTL   = time.Minute
)

// Condition types of this project. Ready, Synced, Healthy, UpToDate and Responsive belong to Crossplane.
const (
	// SpecValid is False while the spec is invalid; the last valid spec is composed until it is fixed.
	SpecValid = "SpecValid"
	// Composed is False while the function cannot compose for a reason other than the spec.
	Composed = "Composed"
	// Current is True when all objects exist and are ready at the current spec. While it is False, its message is one line with the first
	// error, or the first object to wait for. Unlike Crossplane's Ready it also reports errors.
	Current = "Current"
)

// Reasons of an error's conditions.
const (
	invalidSpec   = "InvalidSpec"
	internalError = "InternalError"
)

// RequireResources returns a response with only requirements. Crossplane ignores its other fields, gets the resources, and calls again.
func RequireResources(req *wire.Request, requirements map[string]wire.Selector) *wire.Response {
	rsp := newResponse(req)
	rsp.TTL, rsp.Requirements = waitingTTL, requirements
	return rsp
}

// Success returns the response for a plan and the composite resource's own status.
func Success(req *wire.Request, plan compose.Plan, place Target, status encoded.Struct) *wire.Response {
	done := plan.Ready()
	current := condition(Current, true, Current, "")
	if !done {
		reason, message := plan.Waiting()
		current = condition(Current, false, reason, oneLine(message))
	}
	rsp := composed(req, plan, place, status)
	rsp.TTL = ttl(req, done, waitingTTL)
	rsp.Composite.Ready = done
	// Crossplane keeps a condition that is not set again, so one that turned true has to be set.
	rsp.Conditions = append(rsp.Conditions, condition(SpecValid, true, "Valid", ""), current)
	return rsp
}

// Invalid returns the response for an invalid spec, with the plan of the last valid one, so that running workloads are still reconciled.
// The composite resource is not ready, because the workloads do not match its spec. A condition and a warning event report the error.
func Invalid(req *wire.Request, plan compose.Plan, place Target, status encoded.Struct, err error) *wire.Response {
	rsp := composed(req, plan, place, status)
	rsp.TTL = ttl(req, false, invalidTTL)
	rsp.Conditions = append(rsp.Conditions,
		condition(SpecValid, false, invalidSpec, err.Error()), condition(Current, false, invalidSpec, oneLine(err.Error())))
	rsp.Results = []*fnv1.Result{result(fnv1.Severity_SEVERITY_WARNING, invalidSpec, err)}
	return rsp
}

// composed returns the common part of all responses with a plan.
func composed(req *wire.Request, plan compose.Plan, place Target, status encoded.Struct) *wire.Response {
	rsp := newResponse(req)
	rsp.Desired = req.Desired
	rsp.Composed = map[string]wire.Resource{}
	for _, i := range plan.Items() {
		body := i.Body
		if place.needsObject(i) {
			body = place.wrap(i)
		}
		rsp.Composed[i.Name] = wire.Resource{Object: body, Ready: i.Readiness.Ready}
	}
	rsp.Composite = &wire.Resource{Object: compositeStatus(req, status)}
	rsp.Conditions = []*fnv1.Condition{condition(Composed, true, "Composed", "")}
	for _, part := range plan.Parts {
		rsp.Conditions = append(rsp.Conditions, componentCondition(part))
	}
	rsp.Conditions = append(rsp.Conditions, retired(req, plan.Retired)...)
	return rsp
}

// ttl returns the time until Crossplane calls again: longer when everything is ready.
func ttl(req *wire.Request, done bool, otherwise time.Duration) time.Duration {
	switch {
	case done:
		return readyTTL
	case circuitOpen(req):
		return openTTL
	}
	return otherwise
}

// circuitOpen reports whether Crossplane drops events of the composite resource: core sets its condition Responsive before it calls.
func circuitOpen(req *wire.Request) bool {
	for _, c := range observedConditions(req) {
		if c["type"].GetStringValue() == "Responsive" {
			return c["status"].GetStringValue() == "False"
		}
	}
	return false
}

// Fatal returns the response for an error. Crossplane then changes nothing, and keeps the status and the claim's Ready. A condition and a
// warning event report the error; the warning has to come before the fatal result.
//
// Crossplane sets every condition to Unknown that is missing from a fatal response, so the conditions on components, whose types the caller
// passes, are repeated.
func Fatal(req *wire.Request, err error, components ...string) *wire.Response {
	rsp := newResponse(req)
	rsp.TTL = fatalTTL
	reason, typ, other := internalError, Composed, unknown(SpecValid, "the spec is not evaluated while Composed is False")
	if invalid.Is(err) {
		reason, typ, other = invalidSpec, SpecValid, unknown(Composed, "nothing is composed while SpecValid is False")
	}
	rsp.Conditions = append([]*fnv1.Condition{
		condition(typ, false, reason, err.Error()), other, condition(Current, false, reason, oneLine(err.Error())),
	}, repeated(req, components)...)
	rsp.Results = []*fnv1.Result{
		result(fnv1.Severity_SEVERITY_WARNING, reason, err), result(fnv1.Severity_SEVERITY_FATAL, reason, err),
	}
	return rsp
}

// newResponse returns an empty response to req. Desired objects of earlier pipeline steps are passed on with a plan, but not by Fatal,
// because Crossplane ignores them there.
func newResponse(req *wire.Request) *wire.Response {
	return &wire.Response{Tag: req.Tag, Context: req.Context}
}

func result(severity fnv1.Severity, reason string, err error) *fnv1.Result {
	both := fnv1.Target_TARGET_COMPOSITE_AND_CLAIM
	return &fnv1.Result{Severity: severity, Message: err.Error(), Reason: &reason, Target: &both}
}

// compositeStatus returns the composite resource with only its status.
func compositeStatus(req *wire.Request, status encoded.Struct) encoded.Struct {
	observed := req.Composite.GetFields()
	return encoded.Fields{
		"apiVersion": encoded.Text(observed["apiVersion"].GetStringValue()),
		"kind":       encoded.Text(observed["kind"].GetStringValue()),
		"status":     status.Value(),
	}.Struct()
}
