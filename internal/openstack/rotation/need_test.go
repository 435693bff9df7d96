package rotation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
)

// TestKeysAreRetainedUntilUnneeded checks that a key is kept exactly as long as it is needed, to the second.
func TestKeysAreRetainedUntilUnneeded(t *testing.T) {
	daily, err := schedule.Parse("0 0 * * *")
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
