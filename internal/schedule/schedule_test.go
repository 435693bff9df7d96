package schedule

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestInvalidSchedulesAreRejected checks errors for schedules without five fields, and without times.
func TestInvalidSchedulesAreRejected(t *testing.T) {
	for _, text := range []string{"@daily", "CRON_TZ=UTC 0 0 * * *", "TZ=UTC 0 0 * * *", "0 0 * *", "0 0 * * * *", "0 0 30 2 *", "0 0,1 30 2 *", "", "0 24 * * *",
		", * * * *", "0 ,, * * *", "0 0 , * *", "0 0 * , *", "0 0 * * ,"} {
		if err := Check(text); err == nil {
			t.Errorf("Check(%q) takes it", text)
		}
		if s, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v", text, s)
		}
	}
	for _, text := range []string{"0 0 29 2 *", "0 0 29 2 1", "59 23 31 12 *"} {
		if err := Check(text); err != nil {
			t.Errorf("Check(%q): %v", text, err)
		}
	}
}

// TestIntervalsByHand checks intervals within a day, over midnight, over weeks, over months and over years.
func TestIntervalsByHand(t *testing.T) {
	type intervals struct{ Shortest, Longest time.Duration }
	for text, want := range map[string]intervals{
		"0 0 * * *": {day, day}, "0 0,1 * * *": {time.Hour, 23 * time.Hour}, "59 23 * * *": {day, day}, "0 0,23 * * *": {time.Hour, 23 * time.Hour},
		"0 0 * * 0": {7 * day, 7 * day}, "0 0 * * 1,2": {day, 6 * day}, "0 0 1 * *": {28 * day, 31 * day}, "0 0 31 * *": {31 * day, 61 * day},
		"0 0 29 2 *": {1461 * day, 1461 * day}, "0 0 1,2 * *": {day, 30 * day}, "0 0 1 * 0": {day, 7 * day}, "30 12 1 1 *": {365 * day, 366 * day},
		"0,59 23,0 * * *": {time.Minute, 22*time.Hour + time.Minute}, "0 0 1 1 0": {day, 342 * day}, "0 0 */2 * *": {day, 2 * day},
		"0 0 2-30/2 * *": {2 * day, 3 * day}, "* * * * 1": {time.Minute, 6*day + time.Minute},
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, intervals{s.Shortest(), s.Longest()}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestNext checks that a schedule is in UTC, independent of the time zone of its argument.
func TestNext(t *testing.T) {
	s, err := Parse("30 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	want := time.Date(2026, time.May, 2, 2, 30, 0, 0, time.UTC)
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("east", 5*3600), time.FixedZone("west", -5*3600)} {
		if got := s.Next(time.Date(2026, time.May, 1, 2, 30, 0, 0, time.UTC).In(zone)); got != want {
			t.Errorf("after the first of May by a clock in %s: %s, want %s", zone, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		text     string
		shortest time.Duration // 0: rejected
	}{
		"Daily":        {"30 2 * * *", day},
		"Weekly":       {"0 0 * * 0", 7 * day},
		"Monthly":      {"0 0 1 * *", 28 * day},
		"EndOfMonth":   {"0 0 31 * *", 31 * day},
		"LeapDay":      {"0 0 29 2 *", 1461 * day},
		"TwiceADay":    {"0 1,23 * * *", 2 * time.Hour},
		"MidnightPair": {"0,59 0,23 * * *", time.Minute},
		"Either":       {"0 0 1 * 0", day},
		"Friday13th":   {"0 0 13 * 5", day},
		"Never":        {"0 0 30 2 *", 0},
		"TimeZone":     {"TZ=Asia/Tokyo 0 0 * * *", 0},
		"Descriptor":   {"@daily", 0},
		"Seconds":      {"0 0 0 * * *", 0},
		"Range":        {"0 25 * * *", 0},
		"Nothing":      {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(tc.text)
			if (err != nil) != (tc.shortest == 0) {
				t.Fatal(err)
			}
			if err == nil && s.Shortest() != tc.shortest {
				t.Errorf("%s", s.Shortest())
			}
		})
	}
}

// TestIntervals compares the intervals with the times of the schedule in the following years.
func TestIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := func(low, high int, label string) string {
			one := rapid.Map(rapid.IntRange(low, high), strconv.Itoa)
			return rapid.OneOf(rapid.Just("*"), one, rapid.Map(rapid.SliceOfN(one, 2, 3), func(l []string) string { return strings.Join(l, ",") })).Draw(t, label)
		}
		one := strconv.Itoa(rapid.IntRange(0, 59).Draw(t, "minute"))
		text := strings.Join([]string{one, field(0, 23, "hour"), field(1, 28, "day"), field(1, 12, "month"), field(0, 6, "weekday")}, " ")
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		at := s.Next(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
		for range 300 {
			next := s.Next(at)
			if gap := next.Sub(at); gap < s.Shortest() || gap > s.Longest() {
				t.Fatalf("%s: %s after %s, but from %s to %s", text, next, at, s.Shortest(), s.Longest())
			}
			at = next
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("0 0 29 2 *"); err != nil {
			b.Fatal(err)
		}
	}
}
