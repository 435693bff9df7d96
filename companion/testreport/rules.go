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
	// pollInterval is the interval without events: Jobs trigger a pass.
	pollInterval = 10 * time.Minute
	// Limits of the condition message.
	failureLimit, nameLimit, maxErrorMessage = 10, 256, 1024
)

// outcome is the termination message of a run.
type outcome struct {
	Passed       int32    `json:"passed"`
	Failed       int32    `json:"failed"`
	Skipped      int32    `json:"skipped"`
	Failures     []string `json:"failures"`
	ErrorMessage string   `json:"problem"`
}

// next records a run that is not recorded yet.
func next(w *observation) controller.Decision {
	if w.job == nil {
		return controller.Decision{RequeueAfter: pollInterval, Status: w.setObserved}
	}
	state := w.outcomeState()
	return controller.Decision{RequeueAfter: pollInterval, Status: func() { w.record(state) }, Name: state.Reason, Note: state.Message,
		Warning: !state.True}
}

func (obs *observation) setObserved() { obs.report.Status.ObservedGeneration = obs.report.Generation }

// outcome returns the outcome of the run; ok is false if it has none.
func (obs *observation) outcome() (out outcome, ok bool) {
	err := json.Unmarshal([]byte(obs.result.Message), &out)
	return out, err == nil && out.Passed >= 0 && out.Failed >= 0 && out.Skipped >= 0
}

// outcomeState returns the condition for the run.
func (obs *observation) outcomeState() condition.State {
	out, ok := obs.outcome()
	switch {
	case !ok:
		return condition.False("NoResult", fmt.Sprintf("Job %s ended without a result: %s; the next run cleans up its leftovers",
			obs.job.Name, obs.why()))
	case out.Failed > 0:
		return condition.False("TestsFailed", fmt.Sprintf("%d of %d tests failed: %s%s", out.Failed, out.Failed+out.Passed,
			strings.Join(failures(out), ", "), appendFailures(out.ErrorMessage)))
	case out.ErrorMessage != "":
		return condition.False("RunFailed", condition.Truncate(out.ErrorMessage, maxErrorMessage))
	case out.Passed == 0:
		return condition.False("NoTests", "no test was run: all selected tests are excluded")
	}
	return condition.True("TestsPassed", fmt.Sprintf("%d tests passed, %d skipped", out.Passed, out.Skipped))
}

func appendFailures(reason string) string {
	if reason == "" {
		return ""
	}
	return "; " + condition.Truncate(reason, maxErrorMessage)
}

// why returns the reason for a run without a result.
func (obs *observation) why() string {
	if obs.result.Code != nil && *obs.result.Code != 0 {
		return fmt.Sprintf("its container ended with exit code %d", *obs.result.Code)
	}
	return cmp.Or(obs.result.FailureMessage, "the pod no longer exists or has no output")
}

// failures returns the names of the first failed tests, truncated.
func failures(out outcome) []string {
	var names []string
	for _, f := range out.Failures[:min(len(out.Failures), failureLimit)] {
		names = append(names, condition.Truncate(f, nameLimit))
	}
	return names
}

// record writes the result of the run to the status.
func (obs *observation) record(state condition.State) {
	obs.setObserved()
	s := &obs.report.Status
	start := *startTime(obs.job)
	s.JobUID, s.Tests = string(obs.job.UID), &common.TestStatus{LastRun: &start}
	if end := finishRun(obs.job); end.After(start.Time) {
		s.Tests.LastDurationSeconds = int32(end.Sub(start.Time) / time.Second) //nolint:gosec // A Job has a deadline.
	}
	if out, ok := obs.outcome(); ok {
		s.Tests.Passed, s.Tests.Failed, s.Tests.Skipped = out.Passed, out.Failed, out.Skipped
	}
	condition.Set(&s.Conditions, conditionPassed, obs.report.Generation, obs.now, state)
}
