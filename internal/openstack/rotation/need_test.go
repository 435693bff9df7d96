package rotation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNeed checks that a key is kept exactly as long as it is needed, to the second.
func TestNeed(t *testing.T) {
	daily, err := ParseSchedule("0 0 * * *")
	if err != nil {
		t.Fatal(err)
	}
	for lifetime, want := range map[time.Duration]int{
		23*time.Hour + 59*time.Minute + 59*time.Second: 3, 24 * time.Hour: 3, 24*time.Hour + 1: 4, 24*time.Hour + time.Second: 4, 48 * time.Hour: 4,
	} {
		if got := NeededKeys(lifetime-time.Hour, time.Hour, daily); got.Keys != want || got.Lifetime != lifetime {
			t.Errorf("%s: %d keys for %s, want %d", lifetime, got.Keys, got.Lifetime, want)
		}
	}
	if diff := cmp.Diff(KeyRequirement{Keys: 3, Reason: "Keystone keeps 3 credential keys"}, NeededCredentialKeys()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestScheduleValidation checks errors for schedules without five fields, and without times.
func TestScheduleValidation(t *testing.T) {
	for _, text := range []string{"@daily", "CRON_TZ=UTC 0 0 * * *", "TZ=UTC 0 0 * * *", "0 0 * *", "0 0 * * * *", "0 0 30 2 *", "0 0,1 30 2 *", "", "0 24 * * *",
		", * * * *", "0 ,, * * *", "0 0 , * *", "0 0 * , *", "0 0 * * ,"} {
		if err := CheckSchedule(text); err == nil {
			t.Errorf("CheckSchedule(%q) takes it", text)
		}
		if s, err := ParseSchedule(text); err == nil {
			t.Errorf("ParseSchedule(%q) = %v", text, s)
		}
	}
	for _, text := range []string{"0 0 29 2 *", "0 0 29 2 1", "59 23 31 12 *"} {
		if err := CheckSchedule(text); err != nil {
			t.Errorf("CheckSchedule(%q): %v", text, err)
		}
	}
}

// TestShortestByHand checks intervals within a day, over midnight, over months and over years.
func TestShortestByHand(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0 0 * * *": day, "0 0,1 * * *": time.Hour, "59 23 * * *": day, "0 0,23 * * *": time.Hour, "0 0 * * 0": 7 * day, "0 0 1 * *": 28 * day,
		"0 0 31 * *": 31 * day, "0 0 29 2 *": 1461 * day, "0 0 1,2 * *": day, "0 0 1 * 0": day, "30 12 1 1 *": 365 * day, "0,59 23,0 * * *": time.Minute,
		"0 0 1 1 0": day, "0 0 */2 * *": day, "0 0 2-30/2 * *": 2 * day,
	} {
		s, err := ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Shortest(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestNext checks that a schedule is in UTC, independent of the time zone of its argument.
func TestNext(t *testing.T) {
	s, err := ParseSchedule("30 2 * * *")
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
