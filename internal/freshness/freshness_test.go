package freshness

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestReportsOutdatedObservations checks every bound with fixed times.
func TestReportsOutdatedObservations(t *testing.T) {
	subject := Subject{Kind: "ServiceCheck", Namespace: "cloud", Name: "pool"}
	for name, tc := range map[string]struct {
		reason   string
		clock    Clock
		observed time.Time
		limit    time.Duration
		// stale and unverified are parts of the reasons; "" means that there is none.
		stale, unverified string
	}{
		"recent":    {"A minute is below each limit.", At(noon), noon.Add(-time.Minute), GuardLimit, "", ""},
		"limit":     {"The limit itself is accepted.", At(noon), noon.Add(-GuardLimit), GuardLimit, "", ""},
		"old":       {"One second more is not.", At(noon), noon.Add(-GuardLimit - time.Second), GuardLimit, "more than 10 minutes ago", "more than 10 minutes ago"},
		"component": {"A component has a longer limit.", At(noon), noon.Add(-ComponentLimit), ComponentLimit, "", ""},
		"hours":     {"The age has one unit.", At(noon), noon.Add(-3*time.Hour - 59*time.Minute), GuardLimit, "more than 3 hours ago", "more than 3 hours ago"},
		"year":      {"A companion that is dead for a year.", At(noon), noon.AddDate(-1, 0, 0), GuardLimit, "more than 365 days ago", "more than 365 days ago"},
		"ahead":     {"The clock advances every ten minutes.", At(noon), noon.Add(tolerance), GuardLimit, "", ""},
		"future":    {"A wrong clock, or a clock that has stopped.", At(noon), noon.Add(tolerance + time.Second), GuardLimit, "in the future", "in the future"},
		"no time":   {"A guard is closed until the companion writes a time.", At(noon), time.Time{}, GuardLimit, "", "has no time"},
		"no clock":  {"A preview has no clock; a guard is closed.", Clock{}, noon, GuardLimit, "", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			for what, got := range map[string][2]string{
				"stale":      {tc.clock.StaleReason(subject, tc.observed, tc.limit), tc.stale},
				"unverified": {tc.clock.UnverifiedReason(subject, tc.observed, tc.limit), tc.unverified},
			} {
				if !strings.Contains(got[0], got[1]) || (got[0] == "") != (got[1] == "") {
					t.Errorf("%s %s: %q, want %q", tc.reason, what, got[0], got[1])
				}
				if got[0] != "" && !strings.Contains(got[0], subject.String()) {
					t.Errorf("%s: %q does not name the object", what, got[0])
				}
				if strings.Contains(got[0], "\n") {
					t.Errorf("%s: %q has several lines, which admission does not accept", what, got[0])
				}
			}
		})
	}
}

// TestReadClock: the later of creation and last schedule is the time, and anything else is none.
func TestReadClock(t *testing.T) {
	object := func(fields map[string]any) *structpb.Struct {
		s, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	created := map[string]any{"creationTimestamp": "2026-01-02T11:00:00Z"}
	for name, tc := range map[string]struct {
		required []*structpb.Struct
		want     Clock
	}{
		"missing":       {nil, Clock{}},
		"not scheduled": {[]*structpb.Struct{object(map[string]any{"metadata": created})}, At(noon.Add(-time.Hour))},
		"scheduled": {[]*structpb.Struct{object(map[string]any{
			"metadata": created, "status": map[string]any{"lastScheduleTime": "2026-01-02T12:00:00Z"},
		})}, At(noon)},
		"malformed": {[]*structpb.Struct{object(map[string]any{"status": map[string]any{"lastScheduleTime": "noon"}})}, Clock{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReadClock(map[string][]*structpb.Struct{Requirement: tc.required}); !got.now.Equal(tc.want.now) {
				t.Errorf("got %s, want %s", got.now, tc.want.now)
			}
		})
	}
}

// TestLimitsExceedNormalAge: the limits exceed the age of the status of a companion that works. A write, a pass every ten minutes, and the
// rounding add up.
func TestLimitsExceedNormalAge(t *testing.T) {
	const resync, minute = 10 * time.Minute, time.Minute
	if oldest := WriteInterval + resync + Precision; ComponentLimit < oldest+resync {
		t.Errorf("a component's limit is %s, and a status can be %s old", ComponentLimit, oldest)
	}
	if oldest := GuardWriteInterval + minute; GuardLimit < 2*oldest {
		t.Errorf("a guard's limit is %s, and a status can be %s old", GuardLimit, oldest)
	}
}
