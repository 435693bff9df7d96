package rotation

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNeededKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		reason             string
		expiration, window time.Duration
		schedule           string
		want               int
	}{
		"Defaults": {"Weekly keeps the three that Keystone's default is.", time.Hour, 48 * time.Hour, "0 0 * * 0", 3},
		"Daily":    {"49 hours are three days.", time.Hour, 48 * time.Hour, "0 0 * * *", 5},
		"Exact":    {"48 hours are exactly two days.", 24 * time.Hour, 24 * time.Hour, "0 0 * * *", 4},
		"Uneven":   {"The shortest interval counts: Saturday to Sunday.", time.Hour, 48 * time.Hour, "0 0 * * 6,0", 5},
		"Hourly":   {"", time.Hour, 0, "0 * * * *", 3},
		"Minutely": {"", time.Hour, 48 * time.Hour, "* * * * *", 2942},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSchedule(tc.schedule)
			if err != nil {
				t.Fatal(err)
			}
			if n := NeededKeys(tc.expiration, tc.window, s); n.Keys != tc.want {
				t.Errorf("%d keys: %s. %s", n.Keys, n.Reason, tc.reason)
			}
		})
	}
	s, _ := ParseSchedule("0 0 * * *")
	want := `a token is accepted for 49h0m0s (expiration 1h0m0s + allowed expired window 48h0m0s), and schedule "0 0 * * *" rotates every ` +
		"24h0m0s at the shortest: ceil(49h0m0s / 24h0m0s) = 3, and 2 for the primary and the staged key, makes 5 keys"
	if diff := cmp.Diff(want, NeededKeys(time.Hour, 48*time.Hour, s).Reason); diff != "" {
		t.Error(diff)
	}
}

func TestParseSchedule(t *testing.T) {
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
			s, err := ParseSchedule(tc.text)
			if (err != nil) != (tc.shortest == 0) {
				t.Fatal(err)
			}
			if err == nil && s.Shortest() != tc.shortest {
				t.Errorf("%s", s.Shortest())
			}
		})
	}
}

// TestShortest compares the shortest interval with the times of the schedule in the following years.
func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := func(low, high int, label string) string {
			one := rapid.Map(rapid.IntRange(low, high), strconv.Itoa)
			return rapid.OneOf(rapid.Just("*"), one, rapid.Map(rapid.SliceOfN(one, 2, 3), func(l []string) string { return strings.Join(l, ",") })).Draw(t, label)
		}
		one := strconv.Itoa(rapid.IntRange(0, 59).Draw(t, "minute"))
		text := strings.Join([]string{one, field(0, 23, "hour"), field(1, 28, "day"), field(1, 12, "month"), field(0, 6, "weekday")}, " ")
		s, err := ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		at := s.Next(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
		for range 300 {
			next := s.Next(at)
			if next.Sub(at) < s.Shortest() {
				t.Fatalf("%s: %s after %s, but %s at the shortest", text, next, at, s.Shortest())
			}
			at = next
		}
	})
}

func BenchmarkParseSchedule(b *testing.B) {
	for b.Loop() {
		if _, err := ParseSchedule("0 0 29 2 *"); err != nil {
			b.Fatal(err)
		}
	}
}
