package respond

import (
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Mirror is a composed resource whose status is the status of the composite resource.
type Mirror struct {
	// Resource is its name among the composed resources.
	Resource string
	// Desired is the resource as the function wants it; Observed is the observed one, nil if it does not exist.
	Desired  encoded.Struct
	Observed *structpb.Struct
	// Reason and Message say why the composite resource is not current although the observed resource may be; empty: it is as current as
	// the observed resource.
	Reason, Message string
	// Outdated means that the status of the observed resource describes an earlier spec. Its conditions may still be True.
	Outdated bool
}

// Wait records why the composite resource is not current, as reason and message of its condition Current.
func (m *Mirror) Wait(reason, message string) { m.Reason, m.Message = reason, message }

// Mirrored returns the response of a composite resource that only creates one other resource, and repeats its status and conditions. It is
// ready if the other one is, with the same spec.
func Mirrored(req *wire.Request, m Mirror) *wire.Response {
	status := maps.Clone(m.Observed.GetFields()["status"].GetStructValue().GetFields())
	if status == nil {
		status = map[string]*structpb.Value{}
	}
	conditions := conditionsOf(status)
	for _, field := range []string{"conditions", "connectionDetails", "claimConditionTypes"} {
		delete(status, field) // Crossplane's fields, some of which the definition does not have.
	}
	generation := m.Observed.GetFields()["metadata"].GetStructValue().GetFields()["generation"].GetNumberValue()
	ready := m.Reason == "" && !m.Outdated && isReady(conditions, generation)
	rsp := newResponse(req)
	rsp.Desired, rsp.TTL = req.Desired, ttl(req, ready, waitingTTL)
	rsp.Composed = map[string]wire.Resource{m.Resource: {Object: m.Desired, Ready: ready}}
	rsp.Composite = &wire.Resource{Object: compositeStatus(req, encoded.Of(&structpb.Struct{Fields: status})), Ready: ready}
	rsp.Conditions = mirroredConditions(conditions, m)
	rsp.Conditions = append(rsp.Conditions, unreported(req, rsp.Conditions)...)
	return rsp
}

// unreported sets the conditions of the composite resource that the observed resource does not have to Unknown. Crossplane keeps a
// condition that is not set in the response.
func unreported(req *wire.Request, reported []*fnv1.Condition) []*fnv1.Condition {
	var out []*fnv1.Condition
	for _, c := range observedConditions(req) {
		typ := c["type"].GetStringValue()
		if ofCrossplane[typ] || slices.ContainsFunc(reported, func(r *fnv1.Condition) bool { return r.GetType() == typ }) {
			continue
		}
		out = append(out, newCondition(typ, fnv1.Status_STATUS_CONDITION_UNKNOWN, "NotReported", "the claim does not report this condition"))
	}
	return out
}

// ofCrossplane are the types of the conditions that Crossplane sets itself.
var ofCrossplane = map[string]bool{"Ready": true, "Synced": true, "Healthy": true, "UpToDate": true, "Responsive": true}

func mirroredConditions(observed []map[string]*structpb.Value, m Mirror) []*fnv1.Condition {
	var out []*fnv1.Condition
	current := m.Reason != ""
	if current {
		out = append(out, condition(Current, false, m.Reason, oneLine(m.Message)))
	}
	for _, c := range observed {
		typ := c["type"].GetStringValue()
		value, ok := statuses[c["status"].GetStringValue()]
		if !ok || ofCrossplane[typ] || typ == Current && current {
			continue
		}
		if typ == Current {
			current = true
			if m.Outdated && value == fnv1.Status_STATUS_CONDITION_TRUE {
				out = append(out, condition(Current, false, "Outdated", "the last change of the claim is not composed yet"))
				continue
			}
		}
		out = append(out, newCondition(typ, value, c["reason"].GetStringValue(), c["message"].GetStringValue()))
	}
	if !current {
		out = append(out, condition(Current, false, "NotReported", "the claim has not reported the condition Current yet"))
	}
	return out
}

// isReady reports whether the condition Ready is True, for the given generation of the spec if the condition has one.
func isReady(conditions []map[string]*structpb.Value, generation float64) bool {
	for _, c := range conditions {
		if c["type"].GetStringValue() == "Ready" {
			of := c["observedGeneration"].GetNumberValue()
			return c["status"].GetStringValue() == "True" && (of == 0 || of >= generation)
		}
	}
	return false
}
