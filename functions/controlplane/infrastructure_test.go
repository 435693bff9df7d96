package controlplane

import (
	"testing"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// TestDiskLimit: the operator's own number would hold a queue on a small volume back from its first message on, and a share of the memory
// does not count beside it.
func TestDiskLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		res    *common.Resources
		want   string
	}{
		"Memory":  {"What is in memory has to find room on the disk.", resources("1", "1Gi", "2Gi"), "disk_free_limit.absolute = 2147483648\n"},
		"NoLimit": {"Nobody knows how much that is: the operator's own holds.", &common.Resources{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := diskLimit(tc.res); got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
