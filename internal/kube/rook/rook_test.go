package rook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMonitors tests that both ports of a monitor are listed if Rook lists the first, or only the second one.
func TestMonitors(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, data string
		want         []string
	}{
		"Both":   {"Monitors listen at both.", "b=10.0.0.2:6789,a=10.0.0.1:6789", []string{"[v2:10.0.0.1:3300,v1:10.0.0.1:6789]", "[v2:10.0.0.2:3300,v1:10.0.0.2:6789]"}},
		"Second": {"Only the second protocol is enabled.", "a=10.0.0.1:3300", []string{"[v2:10.0.0.1:3300]"}},
		"IPv6":   {"Addresses with colons.", "a=[fd00::1]:6789", []string{"[v2:[fd00::1]:3300,v1:[fd00::1]:6789]"}},
		"Other":  {"A custom port is kept.", "a=10.0.0.1:7000", []string{"10.0.0.1:7000"}},
		"None":   {"No monitors yet.", "", nil},
		"Broken": {"Invalid entries are ignored.", "a=,b,c=10.0.0.3:6789", []string{"[v2:10.0.0.3:3300,v1:10.0.0.3:6789]"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Monitors(tc.data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
