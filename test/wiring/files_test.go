package wiring

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestRuns checks that a script is read by containers that run it, directly or through another script.
func TestRuns(t *testing.T) {
	const keys, start = "#!/bin/sh\ncat /etc/x/keys/0", "#!/bin/sh\nexec sh /etc/x/keys.sh \"$@\""
	mounts := []mounted{
		{path: "/etc/x/keys.sh", value: value{content: keys}},
		{path: "/etc/x/start.sh", value: value{content: start}},
		{path: "/etc/x/x.conf", value: value{content: "script = /etc/x/keys.sh"}},
	}
	for name, tc := range map[string]struct {
		reason  string
		command []string
		want    bool
	}{
		"Named":   {"Its command names it.", []string{"sh", "/etc/x/keys.sh", "x-api"}, true},
		"Another": {"A script that its command names runs it.", []string{"sh", "/etc/x/start.sh"}, true},
		"Not":     {"It is only mounted.", []string{"x-manage", "clean"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runs(corev1.Container{Command: tc.command}, mounts, keys); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
