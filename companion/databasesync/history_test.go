package databasesync

import (
	"fmt"
	"testing"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestTrimmed: records of a step that always fails do not displace successful ones.
func TestTrimmed(t *testing.T) {
	var history []record
	for i := range 16 {
		history = append(history, record{Step: "expand/x", Hash: fmt.Sprint(i), Attempt: 1, Result: openstackv1.StepSucceeded})
	}
	for i := range 500 {
		history = appendAttempt(history, record{Step: "contract/y", Hash: "y", Attempt: int32(i + 1)})
		history = completeAttempt(history, openstackv1.StepFailed, new(int32(1)), "log", start)
	}
	if len(history) != maxRecords || history[15].Result != openstackv1.StepSucceeded || history[maxRecords-1].Attempt != 500 {
		t.Errorf("%d records: %+v", len(history), history[:16])
	}
	logs := 0
	for _, r := range history {
		if r.Log != "" {
			logs++
		}
	}
	if logs != 1 {
		t.Errorf("%d logs of one step", logs)
	}
}

// TestRepeatedStepHasOneRecord: a step with thousands of repetitions has one record.
func TestRepeatedStepHasOneRecord(t *testing.T) {
	var history []record
	for i := range 5000 {
		history = appendAttempt(history, record{Step: "migrate/online", Hash: "x", Attempt: int32(i + 1)})
		history = completeAttempt(history, openstackv1.StepRepeat, new(int32(1)), "", start)
	}
	if len(history) != 1 || history[0].Attempt != 5000 {
		t.Errorf("%d records, the last of attempt %d", len(history), history[0].Attempt)
	}
}

func TestDetectsCompletedSteps(t *testing.T) {
	s := step{phase: expanding, release: "2025.1", hash: "x"}
	ok := record{Step: "expand/x", Release: "2025.1", Hash: "x", Result: openstackv1.StepSucceeded}
	other := record{Step: "expand/x", Release: "2025.2", Hash: "y", Result: openstackv1.StepFailed}
	contract := record{Step: "contract/x", Release: "2025.2", Hash: "z", Result: openstackv1.StepFailed}
	for name, tc := range map[string]struct {
		history []record
		want    bool
	}{
		"Never":                    {nil, false},
		"Once":                     {[]record{ok}, true},
		"BeforeAnotherRelease":     {[]record{ok, other}, false},
		"AfterAnotherRelease":      {[]record{other, ok}, true},
		"BeforeWhatExpandsNothing": {[]record{ok, contract}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := done(tc.history, s); got != tc.want {
				t.Error(got)
			}
		})
	}
}
