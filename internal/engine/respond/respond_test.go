package respond_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

func structOf(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request is the request of a pipeline's second step.
func request(t *testing.T) *fnv1.RunFunctionRequest {
	t.Helper()
	return &fnv1.RunFunctionRequest{
		Meta:    &fnv1.RequestMeta{Tag: "tag"},
		Context: structOf(t, map[string]any{"of": "an earlier step"}),
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: structOf(t, map[string]any{
			"apiVersion": "example.org/v1", "kind": "XThing", "metadata": map[string]any{"name": "thing"}, "spec": map[string]any{},
		})}},
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{
			"earlier": {Resource: structOf(t, map[string]any{"kind": "Earlier"})},
			"a":       {Resource: structOf(t, map[string]any{"kind": "Earlier"})},
		}},
	}
}

// newCondition returns a condition for the composite resource and the claim.
func newCondition(typ string, status fnv1.Status, reason, message string) *fnv1.Condition {
	c := &fnv1.Condition{Type: typ, Status: status, Reason: reason, Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum()}
	if message != "" {
		c.Message = &message
	}
	return c
}

const (
	yes = fnv1.Status_STATUS_CONDITION_TRUE
	no  = fnv1.Status_STATUS_CONDITION_FALSE

	maybe = fnv1.Status_STATUS_CONDITION_UNKNOWN
)

func TestSuccess(t *testing.T) {
	part := func(v ready.Result) compose.ComponentStatus {
		p := compose.ComponentStatus{Name: "part", Total: 1, Items: []compose.Item{{
			Name: "a", Body: encoded.Of(structOf(t, map[string]any{"kind": "A", "metadata": map[string]any{"name": "my-a"}})), Readiness: v,
		}}}
		p.Items[0].Kind.Kind = "A"
		if v.Ready {
			p.Ready = 1
		}
		return p
	}
	done := compose.ComponentStatus{Name: "done-already"}
	cases := map[string]struct {
		reason string
		plan   compose.Plan
		open   bool
		ttl    time.Duration
		ready  fnv1.Ready
		last   *fnv1.Condition
		// current is the condition that sums up.
		current *fnv1.Condition
	}{
		"Ready": {
			reason: "When everything is ready, only a changed PlatformConfig needs another call.",
			plan:   compose.Plan{Parts: []compose.ComponentStatus{done, part(ready.Yes)}},
			ttl:    10 * time.Minute,
			ready:  fnv1.Ready_READY_TRUE,
			last:   newCondition("PartReady", yes, "Ready", ""),

			current: newCondition("Current", yes, "Current", ""),
		},
		"Waiting": {
			reason: "While something is not ready, the composite resource is not ready.",
			plan:   compose.Plan{Parts: []compose.ComponentStatus{done, part(ready.Wait("Later", "it takes its time"))}},
			ttl:    2 * time.Minute,
			ready:  fnv1.Ready_READY_FALSE,
			last:   newCondition("PartReady", no, "Later", "A my-a: it takes its time"),

			current: newCondition("Current", no, "Later", "part: A my-a: it takes its time"),
		},
		"Deaf": {
			reason: "Where Crossplane drops events, the next call is soon.",
			plan:   compose.Plan{Parts: []compose.ComponentStatus{done, part(ready.Wait("Later", "it takes its time"))}},
			open:   true,
			ttl:    10 * time.Second,
			ready:  fnv1.Ready_READY_FALSE,
			last:   newCondition("PartReady", no, "Later", "A my-a: it takes its time"),

			current: newCondition("Current", no, "Later", "part: A my-a: it takes its time"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t)
			if tc.open {
				req.Observed.Composite.Resource.Fields["status"] = structpb.NewStructValue(structOf(t, map[string]any{
					"conditions": []any{map[string]any{"type": "Synced", "status": "True"}, map[string]any{"type": "Responsive", "status": "False"}},
				}))
			}
			before := proto.Clone(req)
			got := respond.Success(wire.RequestOf(req), tc.plan, respond.Target{}, encoded.Of(structOf(t, map[string]any{"phase": "X"}))).Message()
			want := &fnv1.RunFunctionResponse{
				Meta:    &fnv1.ResponseMeta{Tag: "tag", Ttl: durationpb.New(tc.ttl)},
				Context: req.GetContext(),
				Desired: &fnv1.State{
					Composite: &fnv1.Resource{Ready: tc.ready, Resource: structOf(t, map[string]any{
						"apiVersion": "example.org/v1", "kind": "XThing", "status": map[string]any{"phase": "X"},
					})},
					Resources: map[string]*fnv1.Resource{
						"earlier": req.GetDesired().GetResources()["earlier"],
						"a":       {Resource: tc.plan.Items()[0].Body.Tree(), Ready: tc.ready},
					},
				},
				Conditions: []*fnv1.Condition{
					newCondition("Composed", yes, "Composed", ""), newCondition("DoneAlreadyReady", yes, "Ready", ""), tc.last,
					newCondition("SpecValid", yes, "Valid", ""), tc.current,
				},
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s\nGood(...): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, req, protocmp.Transform()); diff != "" {
				t.Errorf("the request was changed: %s", diff)
			}
		})
	}
}

// TestInvalid tests the response to an invalid spec: the plan of the last valid spec, and the error for the tenant.
func TestInvalid(t *testing.T) {
	err := errors.Join(invalid.Field("spec.size", "choose another"), invalid.Field("spec.release", "it is unknown"))
	sentence := "spec.size: choose another\nspec.release: it is unknown"
	reason := "InvalidSpec"
	done := compose.ComponentStatus{Name: "done-already"}
	for name, tc := range map[string]struct {
		reason string
		open   bool
		ttl    time.Duration
	}{
		"Held": {"It is checked again soon.", false, time.Minute},
		"Deaf": {"Where Crossplane drops events, even sooner.", true, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(t)
			if tc.open {
				req.Observed.Composite.Resource.Fields["status"] = structpb.NewStructValue(structOf(t, map[string]any{
					"conditions": []any{map[string]any{"type": "Responsive", "status": "False"}},
				}))
			}
			got := respond.Invalid(wire.RequestOf(req), compose.Plan{Parts: []compose.ComponentStatus{done}}, respond.Target{},
				encoded.Of(structOf(t, map[string]any{"phase": "X"})), err).Message()
			want := &fnv1.RunFunctionResponse{
				Meta:    &fnv1.ResponseMeta{Tag: "tag", Ttl: durationpb.New(tc.ttl)},
				Context: req.GetContext(),
				Desired: &fnv1.State{
					Composite: &fnv1.Resource{Ready: fnv1.Ready_READY_FALSE, Resource: structOf(t, map[string]any{
						"apiVersion": "example.org/v1", "kind": "XThing", "status": map[string]any{"phase": "X"},
					})},
					Resources: req.GetDesired().GetResources(),
				},
				Conditions: []*fnv1.Condition{
					newCondition("Composed", yes, "Composed", ""), newCondition("DoneAlreadyReady", yes, "Ready", ""),
					newCondition("SpecValid", no, reason, sentence), newCondition("Current", no, reason, "spec.size: choose another; spec.release: it is unknown"),
				},
				Results: []*fnv1.Result{{
					Severity: fnv1.Severity_SEVERITY_WARNING, Message: sentence, Reason: &reason, Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
				}},
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s\nHeld(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFatal(t *testing.T) {
	specError := invalid.Field("spec.size", "choose another")
	cases := map[string]struct {
		reason          string
		err             error
		typ, reasonText string
		sentence        string
		other           *fnv1.Condition
	}{
		"Spec": {
			reason: "The tenant has to fix an invalid spec.",
			err:    specError,
			typ:    "SpecValid", reasonText: "InvalidSpec",
			sentence: "spec.size: choose another",
			other:    newCondition("Composed", maybe, "NotEvaluated", "nothing is composed while SpecValid is False"),
		},
		"SpecWrapped": {
			reason: "A wrapped error is still an invalid spec.",
			err:    fmt.Errorf("cannot compose: %w", specError),
			typ:    "SpecValid", reasonText: "InvalidSpec",
			sentence: "cannot compose: spec.size: choose another",
			other:    newCondition("Composed", maybe, "NotEvaluated", "nothing is composed while SpecValid is False"),
		},
		"SpecJoined": {
			reason: "All errors are reported.",
			err:    errors.Join(specError, invalid.Field("spec.release", "it is unknown")),
			typ:    "SpecValid", reasonText: "InvalidSpec",
			sentence: "spec.size: choose another\nspec.release: it is unknown",
			other:    newCondition("Composed", maybe, "NotEvaluated", "nothing is composed while SpecValid is False"),
		},
		"Ours": {
			reason: "Another error leaves the validity of the spec unknown.",
			err:    errors.New("there is no PlatformConfig"),
			typ:    "Composed", reasonText: "InternalError",
			sentence: "there is no PlatformConfig",
			other:    newCondition("SpecValid", maybe, "NotEvaluated", "the spec is not evaluated while Composed is False"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := request(t)
			result := func(s fnv1.Severity) *fnv1.Result {
				return &fnv1.Result{
					Severity: s, Message: tc.sentence, Reason: &tc.reasonText, Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
				}
			}
			want := &fnv1.RunFunctionResponse{
				Meta:    &fnv1.ResponseMeta{Tag: "tag", Ttl: durationpb.New(time.Minute)},
				Context: req.GetContext(),
				Conditions: []*fnv1.Condition{
					newCondition(tc.typ, no, tc.reasonText, tc.sentence), tc.other, newCondition("Current", no, tc.reasonText, strings.ReplaceAll(tc.sentence, "\n", "; ")),
				},
				// A claim shows no fatal result, so the warning comes first.
				Results: []*fnv1.Result{result(fnv1.Severity_SEVERITY_WARNING), result(fnv1.Severity_SEVERITY_FATAL)},
			}
			if diff := cmp.Diff(want, respond.Fatal(wire.RequestOf(req), tc.err).Message(), protocmp.Transform()); diff != "" {
				t.Errorf("%s\nBad(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFatalRepeatsConditions tests that conditions on components are repeated, because Crossplane would set missing ones to Unknown.
func TestFatalRepeatsConditions(t *testing.T) {
	req := request(t)
	status := func(conditions any) *structpb.Value {
		return structpb.NewStructValue(structOf(t, map[string]any{"conditions": conditions}))
	}
	c := func(typ, status, message string) map[string]any {
		return map[string]any{"type": typ, "status": status, "reason": "Why", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	for name, tc := range map[string]struct {
		reason string
		status *structpb.Value
		want   []*fnv1.Condition
	}{
		"Components": {
			reason: "Other conditions are not repeated.",
			status: status([]any{
				c("Ready", "True", ""), c("DatabaseReady", "True", ""), c("TrustFlushReady", "False", "It waits."), c("CacheReady", "Unknown", "Lost."),
				c("SpecValid", "True", ""), c("OtherReady", "True", ""),
			}),
			want: []*fnv1.Condition{
				newCondition("DatabaseReady", yes, "Why", ""), newCondition("TrustFlushReady", no, "Why", "It waits."), newCondition("CacheReady", maybe, "Why", "Lost."),
			},
		},
		"Nonsense": {
			reason: "A status may hold anything.",
			status: status([]any{nil, "text", map[string]any{"type": 1.0}, c("DatabaseReady", "Maybe", ""), c("DatabaseReady", "True", ""), c("DatabaseReady", "False", "")}),
			want:   []*fnv1.Condition{newCondition("DatabaseReady", yes, "Why", "")},
		},
		"NoLists": {reason: "Or nothing of that kind.", status: status("text")},
		"None":    {reason: "Or be none.", status: structpb.NewStringValue("text")},
	} {
		t.Run(name, func(t *testing.T) {
			req.Observed.Composite.Resource.Fields["status"] = tc.status
			got := respond.Fatal(wire.RequestOf(req), errors.New("broken"), "DatabaseReady", "TrustFlushReady", "CacheReady", "APIReady").Conditions
			if diff := cmp.Diff(tc.want, got[3:], protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nBad(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRetired tests that existing conditions without a component are set to Unknown, because Crossplane would keep them.
func TestRetired(t *testing.T) {
	req := request(t)
	req.Observed.Composite.Resource.Fields["status"] = structpb.NewStructValue(structOf(t, map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "ApiReady", "status": "True"},
		map[string]any{"type": "OtherReady", "status": "True"}, nil,
	}}))
	plan := compose.Plan{Parts: []compose.ComponentStatus{{Name: "api"}}, Retired: []string{"CacheReady", "ApiReady"}}
	got := map[string]fnv1.Status{}
	for _, c := range respond.Success(wire.RequestOf(req), plan, respond.Target{}, nil).Conditions {
		got[c.GetType()] = c.GetStatus()
		if c.GetStatus() != yes && c.GetMessage() == "" {
			t.Errorf("%v has no message", c)
		}
	}
	want := map[string]fnv1.Status{"Composed": yes, "SpecValid": yes, "Current": yes, "APIReady": yes, "ApiReady": maybe}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestDeletionPolicy tests that the policy in a status is never weaker than the possible effect.
func TestDeletionPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		policy compose.DataPolicy
		place  respond.Target
		want   string
	}{
		"Kept":     {"All observed data is retained, and stays so.", compose.DataKept, respond.Target{}, "Retain"},
		"Deleted":  {"Something observed is not kept yet.", compose.Deleted, respond.Target{}, "Delete"},
		"Composed": {"Objects are applied before the status.", compose.DataKept, respond.Target{DeleteData: true}, "Delete"},
		"Unknown":  {"An unknown policy is not reported.", compose.Unknown, respond.Target{}, ""},
		"Both":     {"But where anything is to be deleted, that is.", compose.Unknown, respond.Target{DeleteData: true}, "Delete"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := compose.Plan{RetainedRevisions: []compose.Item{{DataPolicy: compose.DataKept}, {DataPolicy: tc.policy}}}
			if got := respond.DeletionPolicy(plan, tc.place); got != tc.want {
				t.Errorf("%s\nDeletionPolicy(...) = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
