//go:build openstack && linux

package cinder

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestCinderFailover suspends the Valkey with the locks of Cinder's managers while volumes are created and deleted, and
// checks that sentinels elect another primary, which clients find, and that the first one follows it when it is
// resumed.
func TestCinderFailover(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=cinder")
	}
	r := release.Releases()[1]
	c := startOf(t, strings.Replace(string(harness.Claim(t, "volumes.yaml", r, "-failover")), "  services:\n",
		"  infrastructure:\n    valkey: {replicas: 3, sentinel: {enabled: true}}\n  services:\n", 1), "-failover", harness.StartCeph(t))
	ctx := context.Background()
	first := c.primary(t)
	if first == "" {
		t.Fatal("sentinels name no primary")
	}
	retained := c.CreateVolume(t, volumes.CreateOpts{Name: "kept", Size: 1})

	began := time.Now()
	c.valkey(t, first, "kill -STOP $(cat /tmp/server)")
	var queried, failed []string
	next := first
	for next == first {
		if stopwatch.Since(began) > time.Minute {
			t.Fatalf("%s is the primary still", first)
		}
		v, err := volumes.Create(ctx, c.ServiceClient, volumes.CreateOpts{Name: fmt.Sprintf("meanwhile-%d", len(queried)), Size: 1}, nil).Extract()
		if err != nil {
			t.Errorf("a volume cannot be ordered: %v", err)
		} else {
			queried = append(queried, v.ID)
		}
		time.Sleep(time.Second)
		if now := c.primary(t); now != "" {
			next = now
		}
	}
	t.Logf("%s takes over from %s after %.1f s", next, first, time.Since(began).Seconds())
	for _, id := range queried {
		if err := c.WaitForStatus(ctx, id, "available"); err != nil {
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		t.Errorf("of %d volumes that were ordered meanwhile %d are not made: %v", len(queried), len(failed), failed)
	}
	t.Logf("%d volumes were created meanwhile; the last is available after %.1f s", len(queried), time.Since(began).Seconds())

	c.valkey(t, first, "kill -CONT $(cat /tmp/server)")
	for time.Sleep(time.Second); !strings.Contains(c.valkey(t, first, info), "role:slave"); time.Sleep(time.Second) {
		if stopwatch.Since(began) > 3*time.Minute {
			t.Fatalf("%s does not follow %s:\n%s", first, next, c.valkey(t, first, info))
		}
	}
	if now := c.primary(t); now != next {
		t.Errorf("the primary is %s, want %s", now, next)
	}
	for _, id := range append(queried, retained) {
		if err := volumes.Delete(ctx, c.ServiceClient, id, nil).ExtractErr(); err != nil {
			t.Error(err)
		} else if err := c.WaitForStatus(ctx, id, ""); err != nil {
			t.Error(err)
		}
	}
}

// asking is the command that connects to a server, and info the one that returns its state.
const (
	asking = `timeout 3 valkey-cli --tls --cacert /opt/valkey/certs/ca.crt -a "$PASSWORD" --no-auth-warning`
	info   = asking + " info replication"
)

// valkey runs shell commands in the pod of one of the servers.
func (c Cinder) valkey(t *testing.T, pod, commands string) string {
	t.Helper()
	commands = "PASSWORD=$(sed -n 's/^requirepass //p' /etc/valkey/valkey.conf)\n" + commands
	out, err := c.Cloud.Cluster.Exec(context.Background(), c.Cloud.Namespace, pod, "sh", "-c", commands)
	if err != nil {
		t.Fatalf("%s: %v: %s", pod, err, out)
	}
	return out
}

// primary returns the pod that the majority of sentinels reports, if there is one.
func (c Cinder) primary(t *testing.T) string {
	t.Helper()
	votes := map[string]int{}
	for i := range 3 {
		out := c.valkey(t, fmt.Sprintf("valkey-valkey-node-%d", i),
			asking+" -p 26379 --raw sentinel get-primary-addr-by-name myprimary | head -1")
		pod, _, _ := strings.Cut(strings.TrimSpace(out), ".")
		if votes[pod]++; votes[pod] == 2 {
			return pod
		}
	}
	return ""
}
