package controllertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// recordedTest records the failure of a test.
type recordedTest struct{ failure string }

func (*recordedTest) Helper() {}

func (r *recordedTest) Fatalf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }

func TestReconcileUntil(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		reachedAt  int
		wantPasses int
		want       string
	}{
		"first":    {"No pass follows the goal.", 1, 1, ""},
		"last":     {"The limit is the number of passes.", 3, 3, ""},
		"too late": {"The test fails and shows the state.", 4, 3, "does not reach the goal in 3 repetitions: 3 done"},
	} {
		t.Run(name, func(t *testing.T) {
			passes, got := 0, &recordedTest{}
			ReconcileUntil(got, 3, "the goal", func() bool { passes++; return passes == tc.reachedAt },
				func() string { return fmt.Sprintf("%d done", passes) })
			if passes != tc.wantPasses || got.failure != tc.want {
				t.Errorf("%s\n%d passes and failure %q, want %d and %q", tc.reason, passes, got.failure, tc.wantPasses, tc.want)
			}
		})
	}
}

func TestReconcileUntilIdle(t *testing.T) {
	failed, later := errors.New("failed"), []time.Duration{time.Minute}
	type response struct {
		after time.Duration
		err   error
	}
	for name, tc := range map[string]struct {
		reason    string
		idle      []time.Duration
		responses []response // the last one repeats
		want      int
		wantErr   string
	}{
		"idle":    {"The next pass is due later.", later, []response{{controller.MinRequeueInterval, nil}, {time.Minute, nil}}, 2, ""},
		"deleted": {"Only a new object triggers a pass.", append(later, 0), []response{{controller.MinRequeueInterval, nil}, {0, nil}}, 2, ""},
		"forgotten": {"An object that exists needs a next pass.", later, []response{{0, nil}}, 30,
			"does not reach an idle controller in 30 repetitions: the last pass requests the next one after 0s and returns the error <nil>"},
		"waits":    {"Another system does not answer.", later, []response{{controller.Poll, nil}}, 3, ""},
		"failures": {"The manager repeats a pass that failed.", later, []response{{0, failed}, {0, failed}, {time.Minute, nil}}, 3, ""},
		"active": {"Each pass has an action.", later, []response{{controller.MinRequeueInterval, nil}}, 30,
			"does not reach an idle controller in 30 repetitions: the last pass requests the next one after 100ms and returns the error <nil>"},
		"failure": {"Each pass fails.", later, []response{{0, failed}}, 30,
			"does not reach an idle controller in 30 repetitions: the last pass requests the next one after 0s and returns the error failed"},
	} {
		t.Run(name, func(t *testing.T) {
			passes, got := 0, &recordedTest{}
			ReconcileUntilIdle(got, func() (reconcile.Result, error) {
				r := tc.responses[min(passes, len(tc.responses)-1)]
				passes++
				return reconcile.Result{RequeueAfter: r.after}, r.err
			}, tc.idle...)
			if passes != tc.want || got.failure != tc.wantErr {
				t.Errorf("%s\n%d passes and failure %q, want %d and %q", tc.reason, passes, got.failure, tc.want, tc.wantErr)
			}
		})
	}
}
