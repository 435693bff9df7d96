package databasesync

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestInvariantsHoldInAnyHistory: for any sequence of requests, failures, lost objects and interruptions, only one step writes at a time,
// and pods run only on a schema that serves them. Finally, without failures, all steps run for the newest release that was started.
func TestInvariantsHoldInAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := keystone("2025.1")
		if rapid.Bool().Draw(t, "identified") {
			first = identified(first)
		}
		if rapid.Bool().Draw(t, "quiesced") {
			first = quiesced(first)
		}
		c := newCluster(t, first, secret())
		codes := map[phase]int32{}
		c.exits = func(r record) int32 { return codes[phaseOf(&r)] }
		api := faultinjection.New(c.API, faultinjection.NoFault)
		r := c.reconciler(api.Client())
		releases := rapid.SampledFrom(release.Releases())
		passes := func(r *Reconciler, most int) {
			for range rapid.IntRange(1, most).Draw(t, "passes") {
				c.pass(r)
			}
		}
		for range rapid.IntRange(1, 14).Draw(t, "events") {
			switch rapid.SampledFrom([]string{"wish", "wish", "retry", "code", "pull", "vanish", "clock", "fault"}).Draw(t, "event") {
			case "wish":
				to, vendor := string(releases.Draw(t, "release")), rapid.SampledFrom([]string{"", "-b"}).Draw(t, "image")
				c.edit(func(s *openstackv1.DatabaseSync) {
					s.Spec.Release, s.Spec.Template.Spec.Containers[0].Image = to, image1(to)+vendor
				})
			case "retry":
				c.edit(func(s *openstackv1.DatabaseSync) {
					metav1.SetMetaDataAnnotation(&s.ObjectMeta, RetryAnnotation, c.Clock.Now().String())
				})
			case "code":
				codes[rapid.SampledFrom([]phase{syncing, checking, expanding, contracting, migrating}).Draw(t, "phase")] =
					int32(rapid.IntRange(0, 2).Draw(t, "code"))
			case "pull":
				c.Unpullable = image1(string(releases.Draw(t, "unpullable")))
			case "vanish":
				if jobs := c.Jobs(); len(jobs) > 0 {
					job := jobs[rapid.IntRange(0, len(jobs)-1).Draw(t, "Job")]
					c.Must(c.API.Delete(context.Background(), &job))
				}
			case "clock":
				c.Clock.SetTime(c.Clock.Now().Add(time.Duration(rapid.IntRange(-2, 26).Draw(t, "hours")) * time.Hour))
			case "fault":
				p := faultinjection.Point{
					Call: rapid.IntRange(0, 40).Draw(t, "call"),
					Fault: rapid.SampledFrom([]faultinjection.Fault{faultinjection.FailBeforeWrite, faultinjection.FailAfterWrite, faultinjection.Conflict, faultinjection.ConcurrentWriter}).Draw(t,
						"fault"),
					Stale: rapid.Bool().Draw(t, "stale"),
				}
				api = faultinjection.New(c.API, p)
				c.onPass = api.ReconcileDone
				api.OnConcurrentWrite = func() { passes(c.reconciler(c.API), 20) }
				r = c.reconciler(api.Client())
			}
			passes(r, 12)
		}
		clear(codes)
		c.Unpullable = ""
		started, _ := reached(c.sync().Status.History) // A Job that disappeared may have run.
		if newest := max(c.newest(), started); newest != "" {
			c.order(newest)
		}
		c.reconcileUntil(r, "the end", finished)
		c.Verify()
		if s := c.sync(); !slices.Equal(c.serves, []string{s.Spec.Release}) || len(s.Status.History) > maxRecords {
			t.Errorf("the schema serves %v", c.serves)
		}
		if t.Failed() {
			t.Log(c.logText(), c.starts)
		}
	})
}
