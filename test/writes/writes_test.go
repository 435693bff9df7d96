package writes

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestReadyClaimRequiresLimitedWrites checks the number of writes until a claim is ready: with immediate owners, like the fakes of
// test/platform, where many events are coalesced into a running pass; and with the delays of `make test-e2e`, where
// each event causes separate passes. If a number falls, record it here; if it rises, it needs a reason: with one
// generator for all passwords the smallest claim has an object fewer, and where hardly any events are coalesced,
// shorter passes coalesce three fewer; the other five fell. It is the number of all writes, which fewer objects reduce,
// and not the number of writes per object. With Glance's CronJob, all services together have an object more, which
// takes four writes. The age of each status is written to the composite resources, and Keystone's cache has objects of its own, which
// admit only its pods.
func TestReadyClaimRequiresLimitedWrites(t *testing.T) {
	full, err := examples.Files.ReadFile("controlplane/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		claim    []byte
		duration pace
		most     int
	}{
		"smallest at once": {claim: examples.Claim, duration: atOnce, most: 1850},
		"smallest":         {claim: examples.Claim, duration: measured, most: 4780},
		"full at once":     {claim: full, duration: atOnce, most: 2630},
		"full":             {claim: full, duration: measured, most: 6630},
		"services at once": {claim: everyService(t), duration: atOnce, most: 4130},
		"services":         {claim: everyService(t), duration: measured, most: 10490},
	} {
		t.Run(name, func(t *testing.T) {
			m := converge(t, tc.claim, tc.duration)
			t.Logf("%d writes for %d objects, %.1f for each; %.1f s, passes %v", m.writes, m.objects, float64(m.writes)/float64(m.objects), m.now.Seconds(), m.passes)
			if !m.root.ready {
				t.Error("it never becomes ready")
			}
			if m.writes > tc.most {
				t.Errorf("%d writes, %d at most", m.writes, tc.most)
			}
		})
	}
}

// TestCompleteCloudRequiresLimitedWrites checks the same for the claims of a whole cloud, each next to the claims that it refers to, and
// all of them together.
func TestCompleteCloudRequiresLimitedWrites(t *testing.T) {
	for name, tc := range map[string]struct {
		duration pace
		most     int
	}{
		"at once": {atOnce, 12550}, "as on a node": {measured, 31000},
	} {
		t.Run(name, func(t *testing.T) {
			var existing []*structpb.Struct
			writes, objects := 0, 0
			for _, file := range []string{"storage", "control-plane", "hypervisors"} {
				claim, err := examples.Files.ReadFile("complete/" + file + ".yaml")
				if err != nil {
					t.Fatal(err)
				}
				w, err := preview.NewCluster(claim, examples.Platform, kinds.Runners())
				if err != nil {
					t.Fatal(err)
				}
				w.RequiredResources = existing
				if err := w.Run(func(simulate.Step) {}); err != nil { // The result includes the objects that owners create, as Rook does.
					t.Fatal(err)
				}
				m := converge(t, claim, tc.duration, w.RequiredResources...)
				if !m.root.ready {
					t.Errorf("%s never becomes ready", file)
				}
				t.Logf("%s: %d writes for %d objects, %.1f s, passes %v", file, m.writes, m.objects, m.now.Seconds(), m.passes)
				writes, objects = writes+m.writes, objects+m.objects
				bound, err := preview.Bound(claim, w.XR)
				if err != nil {
					t.Fatal(err)
				}
				existing = append(existing, bound...)
			}
			t.Logf("%d writes for %d objects, %.1f for each", writes, objects, float64(writes)/float64(objects))
			if writes > tc.most {
				t.Errorf("%d writes, %d at most", writes, tc.most)
			}
		})
	}
}

// atOnce varies slightly by kind, so that not all events happen at the same time.
func atOnce(kind string) []time.Duration {
	return []time.Duration{spread(kind, 30, 50)}
}

// measured returns the time that owners took on a real node (docs/performance.md), with their intermediate reports.
func measured(kind string) []time.Duration {
	seconds := map[string][]float64{
		"MariaDB.k8s.mariadb.com":        {0.2, 1, 2, 9},
		"RabbitmqCluster.rabbitmq.com":   {0.3, 2, 5, 25},
		"Valkey.cache.cs.sap.com":        {0.2, 1, 10},
		"Deployment.apps":                {0.05, 0.1, 0.3, 4.1},
		"StatefulSet.apps":               {0.05, 0.2, 3.2},
		"Job.batch":                      {0.05, 0.3, 6.1},
		"DatabaseSync.openstack.c5c3.io": {0.1, 0.4, 8.3},
		"Certificate.cert-manager.io":    {0.1, 0.3, 0.8},
	}
	var out []time.Duration
	for _, s := range seconds[kind] {
		out = append(out, time.Duration(s*float64(time.Second)))
	}
	if out == nil {
		out = []time.Duration{spread(kind, 300, 500)}
	}
	return out
}

// spread returns a time between two numbers of milliseconds: always the same for a kind.
func spread(kind string, least, more int) time.Duration {
	sum := 0
	for _, b := range []byte(kind) {
		sum += int(b)
	}
	return time.Duration(least+sum%more) * time.Millisecond
}
