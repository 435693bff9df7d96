//go:build openstack && linux

package ceph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// copies puts the scripts of examples/copies into the pod of a monitor, to be run as a user.
func copies(t *testing.T, user string) (prefix string) {
	t.Helper()
	prefix = fmt.Sprintf("set -eu; export CEPH_ARGS='--id %[1]s --keyring /data/client.%[1]s.keyring'\n", user)
	for _, name := range []string{"copy.sh", "restore.sh"} {
		script, err := examples.Copies.ReadFile("copies/" + name)
		if err != nil {
			t.Fatal(err)
		}
		prefix += fmt.Sprintf("cat >/tmp/%[1]s <<'THE END'\n%[2]sTHE END\nchmod +x /tmp/%[1]s\n", name, script)
	}
	return prefix
}

// TestCephCopies checks that the scripts of examples/copies restore the copies of a real Ceph unchanged, with
// snapshots, as a user with access to only that pool. An interrupted run can be repeated, and existing images are never
// overwritten.
func TestCephCopies(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=ceph")
	}
	ceph := harness.StartCeph(t)
	run := func(commands string) (string, error) { return ceph.Run(t.Context(), copies(t, "cinder")+commands) }
	must := func(commands string) string {
		t.Helper()
		out, err := run(commands)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	rejected := func(want, commands string) {
		t.Helper()
		if out, err := run(commands); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q (%v), want %q", commands, out, err, want)
		}
	}
	// sums are the contents of an image and its snapshots, and which of these are protected.
	const sums = `for image in volumes/a@first volumes/a@second volumes/a volumes/b volumes/c; do
rbd export --no-progress $image - | sha256sum; done; rbd snap ls volumes/a | awk '{print $2, $3, $4, $5 == "yes"}'; rbd ls volumes | sort`

	before := must(`fill() { head -c $((512 * $2)) /dev/urandom | rbd import --no-progress - $1; }
fill volumes/a 4096; rbd snap create --no-progress volumes/a@first; rbd snap protect volumes/a@first
rbd bench --io-type write --io-size 4K --io-total 256K --io-pattern rand volumes/a >/dev/null
rbd snap create --no-progress volumes/a@second; rbd resize --no-progress --size 8M volumes/a
rbd bench --io-type write --io-size 4K --io-total 256K --io-pattern rand volumes/a >/dev/null
rbd clone volumes/a@first volumes/b
rbd bench --io-type write --io-size 4K --io-total 64K --io-pattern rand volumes/b >/dev/null
rbd create --size 16M volumes/c
` + sums)
	// One is killed in the middle, and leaves its snapshot.
	must(`mkdir -p /tmp/copies/volumes/a.part; rbd snap create --no-progress volumes/a@copy; /tmp/copy.sh volumes /tmp/copies`)
	if after := must(sums); after != before {
		t.Errorf("to copy them has changed images (-before +after):\n%s", cmp.Diff(before, after))
	}
	rejected("is there", `/tmp/restore.sh /tmp/copies volumes a`)
	rejected("there is no copy", `/tmp/restore.sh /tmp/copies volumes d`)

	// All is lost. A first attempt to make it again is killed, too.
	must(`rbd rm --no-progress volumes/b; rbd snap unprotect volumes/a@first
for image in a c; do rbd snap purge --no-progress volumes/$image; rbd rm --no-progress volumes/$image; done
rbd create --size 1M volumes/a.restoring
rbd snap create --no-progress volumes/a.restoring@first; rbd snap protect volumes/a.restoring@first
for image in a b c; do /tmp/restore.sh /tmp/copies volumes $image; done`)
	if after := must(sums); after != before {
		t.Errorf("restored images differ (-before +after):\n%s", cmp.Diff(before, after))
	}

	// The next copy replaces the first one, and the copy of a deleted image stays.
	before = must(`rbd rm --no-progress volumes/c
rbd bench --io-type write --io-size 4K --io-total 64K volumes/b >/dev/null
/tmp/copy.sh volumes /tmp/copies
rbd export --no-progress volumes/b - | sha256sum`)
	after := must(`rbd rm --no-progress volumes/b; /tmp/restore.sh /tmp/copies volumes b; /tmp/restore.sh /tmp/copies volumes c
rbd export --no-progress volumes/b - | sha256sum`)
	if last := func(s string) string { all := strings.Fields(s); return all[len(all)-2] }; last(before) != last(after) {
		t.Errorf("the next copy is not the newest:\n%s\n%s", before, after)
	}
	// A user cannot copy images without access to them.
	rejected("", `CEPH_ARGS='--id glance --keyring /data/client.glance.keyring' /tmp/copy.sh volumes /tmp/stolen`)
}
