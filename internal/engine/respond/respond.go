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
	// readyTTL and waitingTTL are the times after which Crossplane calls again without an event, when all is ready and while waiting for
	// anything. Events say when what is composed changes; this is for what has none: a changed PlatformConfig (core 2.3 does not watch
	// required resources), a circuit breaker that opened after the last call, and events that core 2.3 misses (docs/operations.md). Each
	// pass applies every composed resource again, so shorter ones keep everybody waiting where many install at once (docs/performance.md).
	readyTTL   = 10 * time.Minute
	waitingTTL = 2 * time.Minute
	// openTTL is the same while the circuit breaker is open, which drops events: nothing else might call.
	openTTL = 10 * time.Second
	// invalidTTL and fatalTTL are the same while the spec is invalid, and after an error, which someone may be fixing right now, in a
	// PlatformConfig perhaps.
	invalidTTL = time.Minute
	fatalTTL   = time.Minute
)

// Condition types of ours. Ready, Synced, Healthy, UpToDate and Responsive are Crossplane's.
const (
	// SpecValid is False while the spec has a mistake; what the last valid one says is composed until it is fixed.
	SpecValid = "SpecValid"
	// Composed is False while the function cannot compose for a reason that is not the tenant's.
	Composed = "Composed"
	// Current is True when all is there and ready as the spec says. While it is False, its message says in one line what is wrong or waited
	// for first. Unlike Crossplane's Ready it reports errors, too.
	Current = "Current"
)

// Reasons of an error's conditions.
const (
	invalidSpec   = "InvalidSpec"
	internalError = "InternalError"
)

// RequireResources responds with nothing but what is asked for. Crossplane takes no other notice of it: it looks for that, and calls again.
func RequireResources(req *wire.Request, requirements map[string]wire.Selector) *wire.Response {
	rsp := newResponse(req)
	rsp.TTL, rsp.Requirements = waitingTTL, requirements
	return rsp
}

// Success responds with a plan and the composite resource's own status.
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

// Invalid responds to an invalid spec with the plan of the last valid one: what runs goes on being looked after. The composite resource
// is not ready, since what runs is not what is asked for, and the tenant learns why from a condition and from the event of a warning.
func Invalid(req *wire.Request, plan compose.Plan, place Target, status encoded.Struct, err error) *wire.Response {
	rsp := composed(req, plan, place, status)
	rsp.TTL = ttl(req, false, invalidTTL)
	rsp.Conditions = append(rsp.Conditions,
		condition(SpecValid, false, invalidSpec, err.Error()), condition(Current, false, invalidSpec, oneLine(err.Error())))
	rsp.Results = []*fnv1.Result{result(fnv1.Severity_SEVERITY_WARNING, invalidSpec, err)}
	return rsp
}

// composed is what all responses with a plan have in common.
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

// ttl is the time until Crossplane calls again: longer when everything is ready.
func ttl(req *wire.Request, done bool, otherwise time.Duration) time.Duration {
	switch {
	case done:
		return readyTTL
	case circuitOpen(req):
		return openTTL
	}
	return otherwise
}

// circuitOpen reports whether Crossplane drops events of the composite resource: core says so in its condition Responsive before it
// calls.
func circuitOpen(req *wire.Request) bool {
	for _, c := range observedConditions(req) {
		if c["type"].GetStringValue() == "Responsive" {
			return c["status"].GetStringValue() == "False"
		}
	}
	return false
}

// Fatal responds with an error. Crossplane then changes nothing, and leaves the status and the claim's Ready as they were: the tenant is
// notified by a condition and by the event of a warning, which has to come before the fatal result.
//
// Crossplane makes every condition Unknown that a fatal response does not have, so those of components, by their types, are said again, as
// they were.
func Fatal(req *wire.Request, err error, components ...string) *wire.Response {
	rsp := newResponse(req)
	rsp.TTL = fatalTTL
	reason, typ, other := internalError, Composed, unknown(SpecValid, "nothing can be said of the spec while Composed is False")
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

// newResponse starts a response. The objects that earlier steps of the pipeline desired are passed on with a plan, and dropped by Fatal,
// where Crossplane ignores them.
func newResponse(req *wire.Request) *wire.Response {
	return &wire.Response{Tag: req.Tag, Context: req.Context}
}

func result(severity fnv1.Severity, reason string, err error) *fnv1.Result {
	both := fnv1.Target_TARGET_COMPOSITE_AND_CLAIM
	return &fnv1.Result{Severity: severity, Message: err.Error(), Reason: &reason, Target: &both}
}

// compositeStatus is the composite resource with nothing but its status.
func compositeStatus(req *wire.Request, status encoded.Struct) encoded.Struct {
	observed := req.Composite.GetFields()
	return encoded.Fields{
		"apiVersion": encoded.Text(observed["apiVersion"].GetStringValue()),
		"kind":       encoded.Text(observed["kind"].GetStringValue()),
		"status":     status.Value(),
	}.Struct()
}
