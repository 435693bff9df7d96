package compute

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestManagerSeconds checks that running calls complete before their thread pools are closed, within the time that a daemon
// has to stop.
func TestManagerSeconds(t *testing.T) {
	if got := managerSeconds("2026.1"); got != 0 {
		t.Errorf("2026.1 sleeps for %d s in which nothing is done, want 0", got)
	}
	const pools = 20
	for _, r := range release.Releases() {
		if got := managerSeconds(r); r > "2026.1" && (got <= pools || got >= int(TerminationGracePeriod.Seconds())) {
			t.Errorf("%s: %d s, want more than %d and less than %s", r, got, pools, TerminationGracePeriod)
		}
	}
}
