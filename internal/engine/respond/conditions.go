package respond

import (
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// maxLine is the longest message that is meant for a line of a table.
const maxLine = 256

// oneLine is a text for a line of a table.
func oneLine(s string) string { return shorten(strings.ReplaceAll(s, "\n", "; "), maxLine) }

// repeated are the conditions of the components that the status lists, as they were found last.
func repeated(req *wire.Request) []*fnv1.Condition {
	status := observedStatus(req)
	ours := map[string]bool{}
	for _, v := range status["components"].GetListValue().GetValues() {
		if name := v.GetStructValue().GetFields()["name"].GetStringValue(); name != "" {
			ours[ConditionType(name)] = true
		}
	}
	var out []*fnv1.Condition
	for _, v := range status["conditions"].GetListValue().GetValues() {
		c := v.GetStructValue().GetFields()
		typ := c["type"].GetStringValue()
		value, ok := statuses[c["status"].GetStringValue()]
		if !ok || !ours[typ] {
			continue
		}
		delete(ours, typ) // once
		out = append(out, newCondition(typ, value, c["reason"].GetStringValue(), c["message"].GetStringValue()))
	}
	return out
}

var statuses = map[string]fnv1.Status{
	"True": fnv1.Status_STATUS_CONDITION_TRUE, "False": fnv1.Status_STATUS_CONDITION_FALSE, "Unknown": fnv1.Status_STATUS_CONDITION_UNKNOWN,
}

// observedStatus are the fields of the composite resource's status, of whatever shape.
func observedStatus(req *wire.Request) map[string]*structpb.Value {
	return req.Composite.GetFields()["status"].GetStructValue().GetFields()
}

// partCondition reports how far a component is: <Name>Ready, with what it waits for.
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
	if ok {
		return newCondition(typ, fnv1.Status_STATUS_CONDITION_TRUE, reason, message)
	}
	return newCondition(typ, fnv1.Status_STATUS_CONDITION_FALSE, reason, message)
}

func unknown(typ, message string) *fnv1.Condition {
	return newCondition(typ, fnv1.Status_STATUS_CONDITION_UNKNOWN, "NotLookedAt", message)
}

// newCondition is a condition of the composite resource and the claim.
func newCondition(typ string, status fnv1.Status, reason, message string) *fnv1.Condition {
	both := fnv1.Target_TARGET_COMPOSITE_AND_CLAIM
	c := &fnv1.Condition{Type: typ, Status: status, Reason: reason, Target: &both}
	if message != "" {
		c.Message = &message
	}
	return c
}
