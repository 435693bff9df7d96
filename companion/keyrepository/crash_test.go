package keyrepository

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them. The most
// important ones are lost or late writes to the Secret.
var stride = flag.Int("crash.every", effort.Of(797, 199), "make every n-th run of TestRecoversFromFaultAtAnyCall")

// newAPI injects a fault at a point. Another leader continues until and including the next rotation.
func newAPI(c *cluster, at faultinjection.Point) *faultinjection.API {
	a := faultinjection.New(c.API, at)
	a.Written, c.onPass = c.watch, a.ReconcileDone
	a.OnConcurrentWrite = func() {
		other := c.reconciler(c.API, c.API)
		for range 8 {
			c.pass(other)
		}
		if len(c.mounted) > 0 {
			c.untilRotation(other)
		}
	}
	return a
}

// untilRotation advances the clock, with users, until the keys rotate once.
func (c *cluster) untilRotation(r *Reconciler) {
	c.T.Helper()
	from := c.primary
	controllertest.ReconcileUntil(c.T, 8, "a rotation", func() bool {
		at := c.repo().Status.NextRotation
		if at == nil {
			c.T.Fatalf("no next rotation: %s", c.conditions())
			return true
		}
		// In between, tokens expire and daily backups are made.
		c.Clock.SetTime(c.Clock.Now().Add(min(at.Sub(c.Clock.Now()), 60*time.Hour)))
		c.tick()
		c.run(r)
		return c.primary > from
	}, c.conditions)
}

// life creates keys, starts pods and rotates three times. A rotation by another leader counts, too.
func life(t testing.TB, repo *openstackv1.KeyRepository, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	c := newCluster(t, repo)
	a := newAPI(c, at)
	remote := a.Client()
	r := c.reconciler(remote, remote)
	for range 8 { // Without pods, the distribution is not proven.
		c.pass(r)
	}
	c.Must(c.API.Create(context.Background(), deployment()))
	c.run(r)
	for range 3 {
		c.untilRotation(r)
	}
	return c, a
}

// verify checks the invariants at the end of a life.
func verify(t testing.TB, c *cluster) {
	t.Helper()
	c.Verify()
	set := c.set()
	if set == nil {
		t.Fatal("the Secret is missing or in disorder")
	}
	repo := c.repo()
	if set.Primary() < 4 || len(set) != 3 {
		t.Errorf("keys %v after three rotations that keep 3", set.Indexes())
	}
	for _, condition := range repo.Status.Conditions {
		if condition.Status != "True" {
			t.Errorf("condition %s: %s", condition.Type, condition.Message)
		}
	}
	if c.store["prod/keys"] == nil || string(c.store["prod/keys"]["0"]) != string(set[0]) {
		t.Error("the backup does not hold the keys")
	}
	for job, runs := range c.jobRuns {
		if runs > 1 {
			t.Errorf("Job %s ran %d times", job, runs)
		}
	}
}

// TestRecoversFromFaultAtAnyCall repeats the life of a repository for each API call, each fault, and stale reads after it.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	for kind, repo := range map[string]func() *openstackv1.KeyRepository{
		"fernet":     func() *openstackv1.KeyRepository { return withBackup(fernet()) },
		"credential": func() *openstackv1.KeyRepository { return withBackup(credential()) },
	} {
		t.Run(kind, func(t *testing.T) {
			c, full := life(t, repo(), faultinjection.NoFault)
			verify(t, c)
			if kind == "credential" && len(c.jobRuns) != 3 {
				t.Errorf("3 rotations, but migrations %v", c.jobRuns)
			}
			all := full.Points()
			points := faultinjection.Sample(all, *stride, func(p faultinjection.Point) bool {
				onSecret := strings.HasPrefix(full.Writes[p.Call], "*v1.Secret ")
				return onSecret && !p.Stale && (p.Fault == faultinjection.FailAfterWrite || p.Fault == faultinjection.ConcurrentWriter)
			})
			faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
				c, _ := life(t, repo(), p)
				verify(t, c)
			})
			t.Logf("%d API calls, %d of them writes; %d of %d runs", full.Calls, len(full.Writes), len(points), len(all))
		})
	}
}
