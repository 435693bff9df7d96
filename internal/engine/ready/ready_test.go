package ready_test

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// TestResultsHaveReasons tests that each result has a reason, because conditions require one.
func TestResultsHaveReasons(t *testing.T) {
	for want, got := range map[ready.Result]ready.Result{
		{Ready: true, Reason: "Ready"}:                            ready.Yes,
		{Reason: "Later", Message: "it has 1 of 2"}:               ready.Wait("Later", "it has %d of %d", 1, 2),
		{Failed: true, Reason: "Never", Message: "it has 1 of 2"}: ready.Fail("Never", "it has %d of %d", 1, 2),
	} {
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
