package respond

import (
	"maps"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

const (
	// readyTTL and waitingTTL are how soon Crossplane calls again without an event, when all is ready and while anything is
	// awaited. Events say when what is composed changes; this is for what has none: a changed PlatformConfig (core 2.3 does not
	// watch required resources), a circuit breaker that opened after the last call, and events that core 2.3 misses
	// (docs/operations.md). Each pass applies every composed resource again, so shorter ones keep everybody waiting where many
	// install at once (docs/performance.md).
	readyTTL   = 10 * time.Minute
	waitingTTL = 2 * time.Minute
	// openTTL is the same while the circuit breaker is open, which drops events: nothing else might call.
	openTTL = 10 * time.Second
	// badTTL is the same after an error, which somebody may be mending right now.
	badTTL = time.Minute
)

// Condition types of ours. Ready and Synced are Crossplane's.
const (
	// SpecValid is False while the spec has a mistake; nothing changes until it is mended.
	SpecValid = "SpecValid"
	// Composed is False while the function cannot compose for a reason that is not the tenant's.
	Composed = "Composed"
)

// Good answers with a plan and the composite resource's own status. What it composes is sealed, as package encoded says: Open
// makes it readable.
func Good(req *fnv1.RunFunctionRequest, plan compose.Plan, place Place, status encoded.Struct) *fnv1.RunFunctionResponse {
	done := plan.Ready()
	rsp := answer(req, patience(req, done))
	rsp.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	maps.Copy(rsp.GetDesired().GetResources(), req.GetDesired().GetResources())
	for _, i := range plan.Items() {
		body := i.Body
		if place.wrapped(i) {
			body = place.wrap(i)
		}
		rsp.Desired.Resources[i.Name] = &fnv1.Resource{Resource: encoded.Seal(body), Ready: readiness3(i.Verdict.Ready)}
	}
	rsp.Desired.Composite = &fnv1.Resource{Resource: compositeStatus(req, status), Ready: readiness3(done)}
	// Crossplane keeps a condition that nobody sets anew, so a mended one has to be said.
	rsp.Conditions = append(rsp.Conditions, condition(SpecValid, true, "Valid", ""), condition(Composed, true, "Composed", ""))
	for _, part := range plan.Parts {
		rsp.Conditions = append(rsp.Conditions, partCondition(part))
	}
	return rsp
}

// patience is how soon to be called again.
func patience(req *fnv1.RunFunctionRequest, done bool) time.Duration {
	switch {
	case done:
		return readyTTL
	case circuitOpen(req):
		return openTTL
	}
	return waitingTTL
}

// circuitOpen reports whether Crossplane drops events of the composite resource: core says so in its condition Responsive before it
// calls.
func circuitOpen(req *fnv1.RunFunctionRequest) bool {
	status := req.GetObserved().GetComposite().GetResource().GetFields()["status"].GetStructValue()
	for _, v := range status.GetFields()["conditions"].GetListValue().GetValues() {
		c := v.GetStructValue().GetFields()
		if c["type"].GetStringValue() == "Responsive" {
			return c["status"].GetStringValue() == "False"
		}
	}
	return false
}

// Open makes everything that is sealed in a response readable.
func Open(rsp *fnv1.RunFunctionResponse) *fnv1.RunFunctionResponse {
	if c := rsp.GetDesired().GetComposite(); c != nil {
		c.Resource = encoded.Open(c.GetResource())
	}
	for _, r := range rsp.GetDesired().GetResources() {
		r.Resource = encoded.Open(r.GetResource())
	}
	return rsp
}

// Bad answers with an error. Crossplane then changes nothing, and leaves the status and the claim's Ready as they were: the
// tenant hears of it by a condition and by the event of a warning, which has to come before the fatal result.
func Bad(req *fnv1.RunFunctionRequest, err error) *fnv1.RunFunctionResponse {
	rsp := answer(req, badTTL)
	reason, typ := "InternalError", Composed
	if invalid.Is(err) {
		reason, typ = "InvalidSpec", SpecValid
	}
	rsp.Conditions = []*fnv1.Condition{condition(typ, false, reason, err.Error())}
	both := fnv1.Target_TARGET_COMPOSITE_AND_CLAIM
	rsp.Results = []*fnv1.Result{
		{Severity: fnv1.Severity_SEVERITY_WARNING, Message: err.Error(), Reason: &reason, Target: &both},
		{Severity: fnv1.Severity_SEVERITY_FATAL, Message: err.Error(), Reason: &reason, Target: &both},
	}
	return rsp
}

// answer starts a response. The objects that earlier steps of the pipeline desired are passed on by Good, and dropped by
// Bad, where Crossplane ignores them.
func answer(req *fnv1.RunFunctionRequest, ttl time.Duration) *fnv1.RunFunctionResponse {
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(ttl)},
		Context: req.GetContext(),
	}
}

// compositeStatus is the composite resource with nothing but its status.
func compositeStatus(req *fnv1.RunFunctionRequest, status encoded.Struct) *structpb.Struct {
	observed := req.GetObserved().GetComposite().GetResource().GetFields()
	return &structpb.Struct{Fields: fields{
		"apiVersion": observed["apiVersion"],
		"kind":       observed["kind"],
		"status":     structpb.NewStructValue(encoded.Seal(status)),
	}}
}

func readiness3(ok bool) fnv1.Ready {
	if ok {
		return fnv1.Ready_READY_TRUE
	}
	return fnv1.Ready_READY_FALSE
}

// partCondition tells how far a component is: <Name>Ready, with what it waits for.
func partCondition(p compose.Part) *fnv1.Condition {
	if p.IsReady() {
		return condition(ConditionType(p.Name), true, "Ready", "")
	}
	reason, message := p.Waiting()
	return condition(ConditionType(p.Name), false, reason, message)
}

// ConditionType is the condition type of a component: trust-flush has TrustFlushReady.
func ConditionType(component string) string {
	out := make([]byte, 0, len(component)+len("Ready"))
	upper := true
	for i := range len(component) {
		c := component[i]
		if c == '-' {
			upper = true
			continue
		}
		if upper && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		out, upper = append(out, c), false
	}
	return string(out) + "Ready"
}

func condition(typ string, ok bool, reason, message string) *fnv1.Condition {
	status := fnv1.Status_STATUS_CONDITION_FALSE
	if ok {
		status = fnv1.Status_STATUS_CONDITION_TRUE
	}
	both := fnv1.Target_TARGET_COMPOSITE_AND_CLAIM
	c := &fnv1.Condition{Type: typ, Status: status, Reason: reason, Target: &both}
	if message != "" {
		c.Message = &message
	}
	return c
}
