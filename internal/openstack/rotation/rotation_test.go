package rotation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
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
			s, err := schedule.Parse(tc.schedule)
			if err != nil {
				t.Fatal(err)
			}
			if n := NeededKeys(tc.expiration, tc.window, s); n.Keys != tc.want {
				t.Errorf("%d keys: %s. %s", n.Keys, n.Reason, tc.reason)
			}
		})
	}
	s, _ := schedule.Parse("0 0 * * *")
	want := `a token is accepted for 49h0m0s (expiration 1h0m0s + allowed expired window 48h0m0s), and schedule "0 0 * * *" rotates every ` +
		"24h0m0s at the shortest: ceil(49h0m0s / 24h0m0s) = 3, and 2 for the primary and the staged key, makes 5 keys"
	if diff := cmp.Diff(want, NeededKeys(time.Hour, 48*time.Hour, s).Reason); diff != "" {
		t.Error(diff)
	}
}
