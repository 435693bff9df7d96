package stopwatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSlowdownIsLoadPerProcessor(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, loadavg string
		want            float64
	}{
		"Idle":    {"It is never faster than an idle machine.", "0.10 0.20 0.30 1/257 5504", 1},
		"Busy":    {"Processes wait for a processor or a disk.", "16.00 13.01 6.80 2/257 5504", 8},
		"Sudden":  {"The average does not contain a load of the last seconds.", "1.00 1.00 1.00 6/257 5504", 3},
		"Missing": {"Another system has no such file.", "", 1},
		"Broken":  {"A number cannot be read.", "x y z a/b 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, slowdown(tc.loadavg, 2)); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoadIsSubtracted(t *testing.T) {
	began := time.Unix(1000, 0)
	after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	h := &history{}
	for _, m := range []struct {
		at   int
		slow float64
	}{{0, 1}, {10, 8}, {90, 1}} {
		h.add(after(m.at), m.slow)
	}
	for name, tc := range map[string]struct {
		reason   string
		from, to int
		want     time.Duration
	}{
		"Idle":    {"Without load it is the time of a clock.", 2, 9, 7 * time.Second},
		"Busy":    {"Everything takes eight times as long.", 10, 90, 10 * time.Second},
		"Part":    {"A wait begins and ends between measurements.", 50, 66, 2 * time.Second},
		"All":     {"The parts are added.", 0, 93, 23 * time.Second},
		"Earlier": {"A wait that began before the first measurement has no known load until then.", -5, 18, 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, h.between(after(tc.from), after(tc.to))); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestContextEndsWithTheLimit(t *testing.T) {
	ctx, cancel := WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the cause is %v", err)
	}
}

func TestContextIsCanceledWithItsParent(t *testing.T) {
	parent, stop := context.WithCancel(t.Context())
	ctx, cancel := WithTimeout(parent, time.Hour)
	defer cancel()
	stop()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the cause is %v", err)
	}
}
