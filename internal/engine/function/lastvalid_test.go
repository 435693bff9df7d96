package function_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// TestBlockedBy: while a spec has a mistake, what the last valid one says is composed.
func TestBlockedBy(t *testing.T) {
	type m = map[string]any
	type told struct {
		// Replicas of what is desired; nothing is desired of a fatal response.
		Replicas any
		Fatal    bool
		// What the conditions and the status say.
		SpecValid, Composed, Current string
		LastValid                    any
	}
	const mistake = "spec.fail: it is invalid"
	cases := map[string]struct {
		reason       string
		spec, status m
		want         told
	}{
		"Held": {
			reason: "What ran goes on, and can go on after the next call as well.",
			spec:   m{"fail": "invalid", "replicas": 9}, status: m{"lastValidSpec": m{"replicas": 3}},
			want: told{
				Replicas: 3.0, SpecValid: "False: " + mistake, Composed: "True: ", Current: "False: " + mistake, LastValid: m{"replicas": 3.0},
			},
		},
		"NothingBefore": {
			reason: "There is nothing to go on with.",
			spec:   m{"fail": "invalid"}, status: m{},
			want: told{
				Fatal: true, SpecValid: "False: " + mistake, Composed: "Unknown: nothing is composed while SpecValid is False", Current: "False: " + mistake,
			},
		},
		"NotValidAnyMore": {
			reason: "A limit may have become stricter; the tenant hears what is wrong with the current spec.",
			spec:   m{"fail": "invalid"}, status: m{"lastValidSpec": m{"fail": "build"}},
			want: told{
				Fatal: true, SpecValid: "False: " + mistake, Composed: "Unknown: nothing is composed while SpecValid is False", Current: "False: " + mistake,
			},
		},
		"NotReadableAnyMore": {
			reason: "Another version wrote it.",
			spec:   m{"fail": "invalid"}, status: m{"lastValidSpec": m{"replicas": []any{"three"}}},
			want: told{
				Fatal: true, SpecValid: "False: " + mistake, Composed: "Unknown: nothing is composed while SpecValid is False", Current: "False: " + mistake,
			},
		},
		"NotTheTenants": {
			reason: "What the tenant cannot fix says nothing of what was valid before.",
			spec:   m{"fail": "derive"}, status: m{"lastValidSpec": m{"replicas": 3}},
			want: told{
				Fatal: true, SpecValid: "Unknown: nothing can be said of the spec while Composed is False", Composed: "False: cannot derive",
				Current: "False: cannot derive",
			},
		},
		"Fixed": {
			reason: "The next valid spec takes its place.",
			spec:   m{"replicas": 5}, status: m{"lastValidSpec": m{"replicas": 3}},
			want: told{Replicas: 5.0, SpecValid: "True: ", Composed: "True: ", Current: "False: config: ConfigMap config: it is not created yet", LastValid: m{"replicas": 5.0}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runner := kind(&function.Input[thing]{})
			rsp := runner.Run(wire.RequestOf(request(t, tc.spec, tc.status))).Message()
			conditions := said(rsp)
			got := told{SpecValid: conditions["SpecValid"], Composed: conditions["Composed"], Current: conditions["Current"]}
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

// TestLongSpec: what is too long to be repeated is composed all the same.
func TestLongSpec(t *testing.T) {
	for length, want := range map[int]bool{1000: true, 300_000: false} {
		rsp := kind(&function.Input[thing]{}).Run(wire.RequestOf(request(t, map[string]any{"text": strings.Repeat("x", length)}, nil))).Message()
		status, _ := rsp.GetDesired().GetComposite().GetResource().AsMap()["status"].(map[string]any)
		if _, got := status["lastValidSpec"]; got != want || len(rsp.GetDesired().GetResources()) != 1 {
			t.Errorf("a spec of %d characters is repeated: %t, want %t", length, got, want)
		}
	}
}
