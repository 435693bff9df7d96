package respond

import (
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// maxColumnMessage is the longest message for one line of a table.
const maxColumnMessage = 256

// oneLine returns s as one line of a table.
func oneLine(s string) string { return shorten(strings.ReplaceAll(s, "\n", "; "), maxColumnMessage) }

// repeated returns the observed conditions of the given types.
func repeated(req *wire.Request, types []string) []*fnv1.Condition {
	managed := map[string]bool{}
	for _, t := range types {
		managed[t] = true
	}
	var out []*fnv1.Condition
	for _, c := range observedConditions(req) {
		typ := c["type"].GetStringValue()
		value, ok := statuses[c["status"].GetStringValue()]
		if !ok || !managed[typ] {
			continue
		}
		delete(managed, typ) // once
		out = append(out, newCondition(typ, value, c["reason"].GetStringValue(), c["message"].GetStringValue()))
	}
	return out
}

// retired sets the conditions of components that the composite resource no longer has to Unknown. Crossplane keeps a condition that is not
// set in the response, and a function cannot remove one.
func retired(req *wire.Request, types []string) []*fnv1.Condition {
	const reason, message = "NotApplicable", "the component is disabled, or the condition was renamed"
	var out []*fnv1.Condition
	for _, c := range observedConditions(req) {
		if typ := c["type"].GetStringValue(); slices.Contains(types, typ) {
			out = append(out, newCondition(typ, fnv1.Status_STATUS_CONDITION_UNKNOWN, reason, message))
		}
	}
	return out
}

var statuses = map[string]fnv1.Status{
	"True": fnv1.Status_STATUS_CONDITION_TRUE, "False": fnv1.Status_STATUS_CONDITION_FALSE, "Unknown": fnv1.Status_STATUS_CONDITION_UNKNOWN,
}

// observedStatus returns the fields of the composite resource's status.
func observedStatus(req *wire.Request) map[string]*structpb.Value {
	return req.Composite.GetFields()["status"].GetStructValue().GetFields()
}

// observedConditions returns the fields of the composite resource's conditions.
func observedConditions(req *wire.Request) []map[string]*structpb.Value {
	return conditionsOf(observedStatus(req))
}

// conditionsOf returns the fields of the conditions in a status.
func conditionsOf(status map[string]*structpb.Value) []map[string]*structpb.Value {
	var out []map[string]*structpb.Value
	for _, v := range status["conditions"].GetListValue().GetValues() {
		out = append(out, v.GetStructValue().GetFields())
	}
	return out
}

// AdvisoryCondition is a condition outside of the plan, which blocks no component.
type AdvisoryCondition struct {
	// Type of the condition.
	Type string
	// Verdict is the state of the condition.
	Verdict ready.Result
}

// WithAdvisoryConditions adds advisory conditions to a response. One without a reason is retired.
func WithAdvisoryConditions(req *wire.Request, rsp *wire.Response, advisory ...AdvisoryCondition) *wire.Response {
	for _, r := range advisory {
		if r.Verdict.Reason == "" {
			rsp.Conditions = append(rsp.Conditions, retired(req, []string{r.Type})...)
			continue
		}
		rsp.Conditions = append(rsp.Conditions, condition(r.Type, r.Verdict.Ready, r.Verdict.Reason, r.Verdict.Message))
	}
	return rsp
}

// componentCondition returns the condition on a component, with its reason to wait.
func componentCondition(p compose.ComponentStatus) *fnv1.Condition {
	if p.IsReady() {
		return condition(p.ConditionType(), true, "Ready", "")
	}
	reason, message := p.Waiting()
	return condition(p.ConditionType(), false, reason, message)
}

func condition(typ string, ok bool, reason, message string) *fnv1.Condition {
	if ok {
		return newCondition(typ, fnv1.Status_STATUS_CONDITION_TRUE, reason, message)
	}
	return newCondition(typ, fnv1.Status_STATUS_CONDITION_FALSE, reason, message)
}

func unknown(typ, message string) *fnv1.Condition {
	return newCondition(typ, fnv1.Status_STATUS_CONDITION_UNKNOWN, "NotEvaluated", message)
}

// newCondition returns a condition of the composite resource and the claim.
func newCondition(typ string, status fnv1.Status, reason, message string) *fnv1.Condition {
	both := fnv1.Target_TARGET_COMPOSITE_AND_CLAIM
	c := &fnv1.Condition{Type: typ, Status: status, Reason: reason, Target: &both}
	if message != "" {
		c.Message = &message
	}
	return c
}
