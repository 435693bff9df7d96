package function_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// requiring returns a function that requires a book, and then a second one that the first refers to.
func requiring(derived *int) function.Runner {
	return function.Kind[testXR, testXR]{
		Rules: readiness.Rules,
		Graph: compose.Graph[testXR]{{Name: "config", Build: build}},
		Requires: func(in function.Input[testXR]) map[string]wire.Selector {
			out := map[string]wire.Selector{"book": {APIVersion: "v1", Kind: "Book", Namespace: "shelf", Name: "first"}}
			if found := in.Required["book"]; len(found) > 0 {
				out["next"] = wire.Selector{APIVersion: "v1", Kind: "Book", Name: found[0].GetFields()["next"].GetStringValue()}
			}
			return out
		},
		Derive: func(in function.Input[testXR]) (testXR, error) {
			*derived++
			if in.XR.Spec.Fail == "invalid" {
				return testXR{}, invalid.Field("spec.fail", "it is invalid")
			}
			return in.XR, nil
		},
		Target: func(testXR) respond.Target { return respond.Target{} },
		Status: func(testXR, compose.Plan) any { return map[string]any{} },
	}
}

// TestWaitsForAllRequiredResources tests that nothing is composed, and nothing rejected, before Crossplane has looked for all required
// resources. Each response repeats the requirements, also that to an invalid spec: Crossplane calls again until they are stable.
func TestWaitsForAllRequiredResources(t *testing.T) {
	first := wire.Selector{APIVersion: "v1", Kind: "Book", Namespace: "shelf", Name: "first"}
	second := wire.Selector{APIVersion: "v1", Kind: "Book", Name: "second"}
	book := structOf(t, map[string]any{"next": "second"})
	fixed := map[string]any{"lastValidSpec": map[string]any{"replicas": 2}}
	for name, tc := range map[string]struct {
		reason   string
		spec     map[string]any
		required map[string][]*structpb.Struct
		want     map[string]wire.Selector
		composed bool
	}{
		"Nothing": {
			reason: "The first response has only requirements.", spec: map[string]any{"fail": "invalid"},
			want: map[string]wire.Selector{"book": first},
		},
		"First": {
			reason: "One names the next.", required: map[string][]*structpb.Struct{"book": {book}},
			want: map[string]wire.Selector{"book": first, "next": second},
		},
		"Absent": {
			reason: "A resource that does not exist satisfies the requirement.", required: map[string][]*structpb.Struct{"book": {}},
			want: map[string]wire.Selector{"book": first}, composed: true,
		},
		"All": {
			reason: "Then it composes.", required: map[string][]*structpb.Struct{"book": {book}, "next": {}},
			want: map[string]wire.Selector{"book": first, "next": second}, composed: true,
		},
		"Invalid": {
			reason: "So it does of the last valid spec.", spec: map[string]any{"fail": "invalid"},
			required: map[string][]*structpb.Struct{"book": {book}, "next": {}},
			want:     map[string]wire.Selector{"book": first, "next": second}, composed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			derived := 0
			req := wire.RequestOf(request(t, tc.spec, fixed))
			req.Required = tc.required
			rsp := requiring(&derived).Run(req)
			if diff := gocmp.Diff(tc.want, rsp.Requirements); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if composed := rsp.Composite != nil; composed != tc.composed || !composed && derived > 0 {
				t.Errorf("%s\ncomposed: %t, derived %d times", tc.reason, composed, derived)
			}
			m := rsp.Message()
			if got := m.GetRequirements().GetResources()["book"]; got.GetMatchName() != "first" || got.GetNamespace() != "shelf" {
				t.Errorf("%s\nthe message requires %v", tc.reason, got)
			}
			if next := m.GetRequirements().GetResources()["next"]; next != nil && next.Namespace != nil {
				t.Errorf("%s\na resource without namespace is required in %q", tc.reason, next.GetNamespace())
			}
		})
	}
}

// TestRequiresOfTwoSpecs tests an invalid edit that refers to another resource than the last valid spec, which is composed meanwhile. Both
// are required until both are found: Crossplane passes only the requirements of the last response.
func TestRequiresOfTwoSpecs(t *testing.T) {
	kind := function.Kind[testXR, testXR]{
		Rules: readiness.Rules,
		Graph: compose.Graph[testXR]{{Name: "config", Build: build}},
		Requires: func(in function.Input[testXR]) map[string]wire.Selector {
			name := "of-" + cmp.Or(in.XR.Spec.Fail, "valid")
			return map[string]wire.Selector{name: {APIVersion: "v1", Kind: "Book", Name: name}}
		},
		Derive: func(in function.Input[testXR]) (testXR, error) {
			if in.XR.Spec.Fail == "invalid" {
				return testXR{}, invalid.Field("spec.fail", "it is invalid")
			}
			return in.XR, nil
		},
		Target: func(testXR) respond.Target { return respond.Target{} },
		Status: func(testXR, compose.Plan) any { return map[string]any{} },
	}
	req := wire.RequestOf(request(t, map[string]any{"fail": "invalid"}, map[string]any{"lastValidSpec": map[string]any{"replicas": 2}}))
	var queried [][]string
	for range 4 { // As often as Crossplane calls in a row, and once less.
		rsp := kind.Run(req)
		names := slices.Sorted(maps.Keys(rsp.Requirements))
		if queried = append(queried, names); len(queried) > 1 && slices.Equal(names, queried[len(queried)-2]) {
			break
		}
		req.Required = map[string][]*structpb.Struct{}
		for _, name := range names {
			req.Required[name] = []*structpb.Struct{}
		}
	}
	if diff := gocmp.Diff([][]string{{"of-invalid"}, {"of-invalid", "of-valid"}, {"of-invalid", "of-valid"}}, queried); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
