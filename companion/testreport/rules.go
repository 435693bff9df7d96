package testreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// every is how often it looks by itself: Jobs wake it.
	every = 10 * time.Minute
	// Limits of what the condition names.
	failureLimit, nameLimit, problemLimit = 10, 256, 1024
)

// outcome is what a run leaves as its message.
type outcome struct {
	Passed   int32    `json:"passed"`
	Failed   int32    `json:"failed"`
	Skipped  int32    `json:"skipped"`
	Failures []string `json:"failures"`
	Problem  string   `json:"problem"`
}

// next records a run that is not recorded yet.
func next(w *world) controller.Step {
	if w.job == nil {
		return controller.Step{After: every, Status: w.seen}
	}
	state := w.verdict()
	return controller.Step{After: every, Status: func() { w.record(state) }, Name: state.Reason, Note: state.Message, Warning: !state.True}
}

func (w *world) seen() { w.report.Status.ObservedGeneration = w.report.Generation }

// outcome that the run has left. Not ok: it has left none.
func (w *world) outcome() (out outcome, ok bool) {
	err := json.Unmarshal([]byte(w.result.Message), &out)
	return out, err == nil && out.Passed >= 0 && out.Failed >= 0 && out.Skipped >= 0
}

// verdict is what the run says.
func (w *world) verdict() condition.State {
	out, ok := w.outcome()
	switch {
	case !ok:
		return condition.False("NoResult", fmt.Sprintf("Job %s ended without a result: %s; what it may have left, the next run removes",
			w.job.Name, w.why()))
	case out.Failed > 0:
		return condition.False("TestsFailed", fmt.Sprintf("%d of %d tests failed: %s%s", out.Failed, out.Failed+out.Passed,
			strings.Join(failures(out), ", "), also(out.Problem)))
	case out.Problem != "":
		return condition.False("RunFailed", condition.Cut(out.Problem, problemLimit))
	case out.Passed == 0:
		return condition.False("NoTests", "no test has run: all that were chosen are left out here")
	}
	return condition.True("TestsPassed", fmt.Sprintf("%d tests passed, and %d were left out", out.Passed, out.Skipped))
}

func also(problem string) string {
	if problem == "" {
		return ""
	}
	return "; " + condition.Cut(problem, problemLimit)
}

// why a run has left no result.
func (w *world) why() string {
	if w.result.Code != nil && *w.result.Code != 0 {
		return fmt.Sprintf("its container ended with exit code %d", *w.result.Code)
	}
	return cmp.Or(w.result.Why, "its pod is gone, or has said nothing")
}

// failures are the names of some tests that failed, none too long to be read.
func failures(out outcome) []string {
	var names []string
	for _, f := range out.Failures[:min(len(out.Failures), failureLimit)] {
		names = append(names, condition.Cut(f, nameLimit))
	}
	return names
}

// record writes what the run says.
func (w *world) record(state condition.State) {
	w.seen()
	s := &w.report.Status
	start := *began(w.job)
	s.JobUID, s.Tests = string(w.job.UID), &common.TestStatus{LastRun: &start}
	if end := ended(w.job); end.After(start.Time) {
		s.Tests.LastDurationSeconds = int32(end.Sub(start.Time) / time.Second) //nolint:gosec // A Job has a deadline.
	}
	if out, ok := w.outcome(); ok {
		s.Tests.Passed, s.Tests.Failed, s.Tests.Skipped = out.Passed, out.Failed, out.Skipped
	}
	condition.Set(&s.Conditions, conditionPassed, w.report.Generation, w.now, state)
}
