package function_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// TestInvalidSpecComposesLastValidSpec tests that the last valid spec is composed while the spec is invalid.
func TestInvalidSpecComposesLastValidSpec(t *testing.T) {
	type m = map[string]any
	type outcome struct {
		// Replicas of the desired object; a fatal response has none.
		Replicas any
		Fatal    bool
		// Values of the conditions and of the status.
		SpecValid, Composed, Current string
		LastValid                    any
	}
	const specError = "spec.fail: it is invalid"
	cases := map[string]struct {
		reason       string
		spec, status m
		want         outcome
	}{
		"Held": {
			reason: "The last valid spec is composed, and stays in the status for the next call.",
			spec:   m{"fail": "invalid", "replicas": 9}, status: m{"lastValidSpec": m{"replicas": 3}},
			want: outcome{
				Replicas: 3.0, SpecValid: "False: " + specError, Composed: "True: ", Current: "False: " + specError, LastValid: m{"replicas": 3.0},
			},
		},
		"NothingBefore": {
			reason: "There is no last valid spec.",
			spec:   m{"fail": "invalid"}, status: m{},
			want: outcome{
				Fatal: true, SpecValid: "False: " + specError, Composed: "Unknown: nothing is composed while SpecValid is False", Current: "False: " + specError,
			},
		},
		"NotValidAnyMore": {
			reason: "A limit may have become stricter; the error of the current spec is reported.",
			spec:   m{"fail": "invalid"}, status: m{"lastValidSpec": m{"fail": "build"}},
			want: outcome{
				Fatal: true, SpecValid: "False: " + specError, Composed: "Unknown: nothing is composed while SpecValid is False", Current: "False: " + specError,
			},
		},
		"NotReadableAnyMore": {
			reason: "Another version wrote it.",
			spec:   m{"fail": "invalid"}, status: m{"lastValidSpec": m{"replicas": []any{"three"}}},
			want: outcome{
				Fatal: true, SpecValid: "False: " + specError, Composed: "Unknown: nothing is composed while SpecValid is False", Current: "False: " + specError,
			},
		},
		"NotTheTenants": {
			reason: "With another error, the last valid spec is not composed.",
			spec:   m{"fail": "derive"}, status: m{"lastValidSpec": m{"replicas": 3}},
			want: outcome{
				Fatal: true, SpecValid: "Unknown: the spec is not evaluated while Composed is False", Composed: "False: cannot derive",
				Current: "False: cannot derive",
			},
		},
		"Fixed": {
			reason: "The next valid spec takes its place.",
			spec:   m{"replicas": 5}, status: m{"lastValidSpec": m{"replicas": 3}},
			want: outcome{Replicas: 5.0, SpecValid: "True: ", Composed: "True: ", Current: "False: config: ConfigMap config: it is not created yet", LastValid: m{"replicas": 5.0}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runner := kind(&function.Input[testXR]{})
			rsp := runner.Run(wire.RequestOf(request(t, tc.spec, tc.status))).Message()
			conditions := conditionsOf(rsp)
			got := outcome{SpecValid: conditions["SpecValid"], Composed: conditions["Composed"], Current: conditions["Current"]}
			for _, r := range rsp.GetResults() {
				got.Fatal = got.Fatal || r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL
			}
			if d := rsp.GetDesired(); d != nil {
				got.Replicas = d.GetResources()["config"].GetResource().AsMap()["replicas"]
				status, _ := d.GetComposite().GetResource().AsMap()["status"].(m)
				got.LastValid = status["lastValidSpec"]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nRun(...): -want, +got:\n%s", tc.reason, diff)
			}
			explained, _, err := runner.Explain(wire.RequestOf(request(t, tc.spec, tc.status)))
			if (err == nil) != (name == "Fixed") || (explained == nil) != tc.want.Fatal {
				t.Errorf("%s\nExplain(...) = %v, %v", tc.reason, explained, err)
			}
		})
	}
}

// TestLastValidDefaults tests that the last valid spec, which may have been stored before a default was added, gets the defaults, and that
// its stored value does not change.
func TestLastValidDefaults(t *testing.T) {
	var schedules []common.Cron
	runner := function.Kind[tempestv1.Tempest, tempestv1.Tempest]{
		Rules: readiness.Rules,
		Graph: compose.Graph[tempestv1.Tempest]{{
			Name: "none", Build: func(tempestv1.Tempest) ([]compose.Stage, error) { return nil, nil },
		}},
		Derive: func(in function.Input[tempestv1.Tempest]) (tempestv1.Tempest, error) {
			schedules = append(schedules, in.XR.Spec.Schedule)
			if in.XR.Spec.OpenStackRelease == "" {
				return in.XR, invalid.Field("spec.openStackRelease", "is required; set it")
			}
			return in.XR, nil
		},
		Target: func(tempestv1.Tempest) respond.Target { return respond.Target{} },
		Status: func(tempestv1.Tempest, compose.Plan) any { return map[string]any{} },
	}
	stored := map[string]any{"openStackRelease": "2025.2"}
	rsp := runner.Run(wire.RequestOf(request(t, map[string]any{"schedule": "0 4 * * *"}, map[string]any{"lastValidSpec": stored}))).Message()
	if diff := cmp.Diff([]common.Cron{"0 4 * * *", "0 2 * * *"}, schedules); diff != "" {
		t.Errorf("schedules: -want, +got:\n%s", diff)
	}
	status, _ := rsp.GetDesired().GetComposite().GetResource().AsMap()["status"].(map[string]any)
	if diff := cmp.Diff(any(stored), status["lastValidSpec"]); diff != "" {
		t.Errorf("lastValidSpec: -want, +got:\n%s", diff)
	}
}

// TestComposesSpecTooLongForStatus tests that a spec that is too long for the status is composed.
func TestComposesSpecTooLongForStatus(t *testing.T) {
	for length, want := range map[int]bool{1000: true, 300_000: false} {
		rsp := kind(&function.Input[testXR]{}).Run(wire.RequestOf(request(t, map[string]any{"text": strings.Repeat("x", length)}, nil))).Message()
		status, _ := rsp.GetDesired().GetComposite().GetResource().AsMap()["status"].(map[string]any)
		if _, got := status["lastValidSpec"]; got != want || len(rsp.GetDesired().GetResources()) != 1 {
			t.Errorf("a spec of %d characters is repeated: %t, want %t", length, got, want)
		}
	}
}
