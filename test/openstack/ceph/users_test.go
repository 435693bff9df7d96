//go:build openstack && linux

package ceph

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// attempts are the operations that a user tries in every pool, each with a word that it prints, and then the operations
// of administrators. Denied operations are distinguished from operations that fail for another reason.
const attempts = `export CEPH_CONF=/data/ceph.conf CEPH_ARGS="--id $1 --keyring /data/client.$1.keyring"
try() { # PLACE WORD COMMAND...
  local place=$1 word=$2 out
  shift 2
  if out=$(timeout 20 "$@" 2>&1); then echo "$place $word"
  elif ! grep -qE 'Operation not permitted|Permission denied|EPERM|EACCES' <<<"$out"; then echo "$place $word: $out" | tr '\n' ' '; echo
  fi
}
for pool in $POOLS; do
  try "$pool" list rbd ls "$pool"
  try "$pool" read bash -c 'rbd export --no-progress "$1/seed" - >/dev/null' read "$pool"
  try "$pool" create rbd create --size 4M "$pool/of-$1"
  try "$pool" write rbd bench --io-type write --io-size 4K --io-threads 1 --io-total 4K "$pool/seed"
  try "$pool" snapshot rbd snap create --no-progress "$pool/seed@of-$1"
  try "$pool" delete rbd rm --no-progress "$pool/spare-$1"
  for to in $POOLS; do
    [ "$to" = "$pool" ] || try "$pool" "clone->$to" rbd clone "$pool/seed@kept" "$to/clone-$pool-$1"
  done # every other pool
done
try ceph users ceph auth ls
try ceph keys ceph auth get "client.$OTHER"
try ceph rights ceph auth caps "client.$1" mon 'allow *' osd 'allow *'
try ceph pools ceph osd pool create "of-$1"
try ceph options ceph config set global debug_ms 1
try ceph delete ceph osd pool delete "${POOLS%% *}" "${POOLS%% *}" --yes-i-really-really-mean-it
`

// TestCephUsers checks that on a real Ceph each user of a StorageCluster with two control planes can do everything for
// its purpose, and nothing else: in other pools, with data of other control planes, or with Ceph itself.
func TestCephUsers(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=ceph")
	}
	result, err := preview.Run(harness.Read(t, "storage-shared.yaml"), harness.Read(t, "platform.yaml"), kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	pools, users, err := clouds.RequestedPools(result)
	if err != nil {
		t.Fatal(err)
	}
	ceph := harness.StartCephWith(t, pools, users)
	everywhere := strings.Join(pools, " ")
	var seed strings.Builder
	fmt.Fprintf(&seed, `set -e
for pool in %s; do
  rbd create --size 4M $pool/seed; rbd snap create --no-progress $pool/seed@kept; rbd snap protect $pool/seed@kept
`, everywhere)
	for user := range users {
		fmt.Fprintf(&seed, "rbd create --size 4M $pool/spare-%s\n", user)
	}
	if _, err := ceph.Run(t.Context(), seed.String()+"done"); err != nil {
		t.Fatal(err)
	}
	for user := range users {
		cloud, service, _ := strings.Cut(user, "-")
		other := map[string]string{"cloud": "neighbour", "neighbour": "cloud"}[cloud] + "-" + service
		if users[other] == nil {
			t.Fatalf("there are users %v, and none called %s", users, other)
		}
		script := fmt.Sprintf("set -- %s; POOLS=%q OTHER=%s\n%s", user, everywhere, other, attempts)
		out, err := ceph.Run(context.Background(), script)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(allowed(cloud, service), lines(out)); diff != "" {
			t.Errorf("%s can (-want +got):\n%s", user, diff)
		}
	}
	t.Logf("%d users, %d pools", len(users), len(pools))
}

// allowed returns the operations of a cloud's user: everything in the pools of its service, and reading and cloning in
// the pools of the sources.
func allowed(cloud, service string) map[string]bool {
	writes := map[string][]string{
		"glance": {"images"}, "cinder": {"volumes", "vms"}, "nova": {"volumes", "vms"}, "cinder-backup": {"backups"},
	}[service]
	reads := map[string][]string{"cinder": {"images"}, "nova": {"images"}}[service]
	out := map[string]bool{}
	add := func(names []string, operations ...string) {
		for _, name := range names {
			for _, word := range operations {
				out[cloud+"-"+name+" "+word] = true
			}
			for _, to := range writes {
				if to != name {
					out[fmt.Sprintf("%[1]s-%[2]s clone->%[1]s-%[3]s", cloud, name, to)] = true
				}
			}
		}
	}
	add(writes, "list", "read", "create", "write", "snapshot", "delete")
	add(reads, "list", "read")
	return out
}

// lines returns the lines of an output.
func lines(out string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" {
			all[line] = true
		}
	}
	return all
}
