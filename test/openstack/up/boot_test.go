//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programsOfBoot replace the programs of the script: a client of an empty cloud, and a server that responds, and writes
// to its volume on request. The calls of the client are in a file.
var programsOfBoot = map[string]string{
	"openstack": `#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
*" show guest "* | *" show outside "* | *" show inside "*) exit 1 ;;
"stack output show "*" address "*) echo 203.0.113.10 ;;
"stack output show "*" server "*) echo the-server ;;
"stack output show "*" volume "*) echo 01234567-89ab-cdef-0123-456789abcdef ;;
"floating ip create "*) echo 203.0.113.11 ;;
"stack create "*"refused.yaml"*) echo "it is refused" >&2 && exit 1 ;;
"security group list "*) echo "the-group default" ;;
*) echo made ;;
esac
`,
	"curl": `#!/bin/sh
for url; do :; done
case $url in
*/disks\?*) echo "${url#*\?}" | tr = ' ' ;;
*/seconds) echo 7 ;;
*) exit 1 ;;
esac
`,
}

// TestBoot checks that the script creates missing objects, and then a stack, or a server without one, and prints its
// address.
func TestBoot(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, stack string
		// calls and outputs are the expected calls of the client and outputs of the script, and never is an unexpected
		// call.
		calls, outputs []string
		never          string
		fails          bool
	}{
		"Stack": {
			reason: "Heat makes everything but the image and the network outside.", stack: "/examples/stack.yaml",
			calls: []string{
				"image create guest", "network create outside", "stack create guest-", "--template /examples/stack.yaml --parameter image=made --wait",
			},
			outputs: []string{
				"answers at 203.0.113.10", "console url show the-server", "what it has written on its volume", "openstack stack delete --wait guest-",
			},
			never: "server create",
		},
		"Alone": {
			reason:  "Without a stack there is no volume.",
			calls:   []string{"flavor create guest", "router create router", "security group rule create the-group", "server create guest-"},
			outputs: []string{"answers at 203.0.113.11", "openstack server delete guest-"}, never: "stack ",
		},
		"Refused": {
			reason: "The reason comes from Heat.", stack: "refused.yaml",
			calls: []string{"stack failures list guest-"}, outputs: []string{"it is refused"}, never: "stack output", fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for program, text := range programsOfBoot {
				if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			calls := filepath.Join(dir, "calls")
			script := exec.Command("sh", "-c", bootScript)
			script.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls, "STACK="+tc.stack, "KERNEL=k", "INITRD=i",
				"OUTSIDE=203.0.113", "PHYSICAL=external")
			requested, err := script.CombinedOutput()
			if (err != nil) != tc.fails {
				t.Errorf("%s\n%v: %s", tc.reason, err, requested)
			}
			queried, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.calls {
				if !strings.Contains(string(queried), want) {
					t.Errorf("%s\nthe client is not called with %q:\n%s", tc.reason, want, queried)
				}
			}
			for _, want := range tc.outputs {
				if !strings.Contains(string(requested), want) {
					t.Errorf("%s\nthe output lacks %q:\n%s", tc.reason, want, requested)
				}
			}
			if strings.Contains(string(queried), tc.never) {
				t.Errorf("%s\nthe client is called with %q:\n%s", tc.reason, tc.never, queried)
			}
		})
	}
}
