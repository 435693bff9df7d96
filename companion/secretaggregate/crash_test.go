package secretaggregate

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

// life creates a Secret, whose sources appear one after the other, changes both of them, deletes it while K-ORC still uses
// it, and modifies it.
func life(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	c := newCluster(t, aggregate())
	a := faultinjection.New(c.api, at)
	// The content is consistent: it was rendered from sources of the same time.
	created := map[string]bool{}
	note := func(password, ca string) { created["password: \""+password+"\"\n"+ca] = true }
	a.Written = func() {
		if s := c.target(); s != nil && !created[string(s.Data["clouds.yaml"])+string(s.Data["cacert"])] {
			t.Errorf("the Secret holds %q", s.Data)
		}
	}
	a.OnConcurrentWrite = func() { c.run(c.reconciler(c.api)) }
	r := c.reconciler(a.Client())
	steps := []func(){
		func() {},
		func() { c.must(c.api.Create(context.Background(), sources()[0])) },
		func() { note(secret, "authority"); c.must(c.api.Create(context.Background(), sources()[1])) },
		func() {
			note("new", "authority")
			c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte("new") })
		},
		func() {
			note("new", "other")
			c.update("keystone-tls", func(s *corev1.Secret) { s.Data["ca.crt"] = []byte("other") })
		},
		func() { c.must(c.api.Delete(context.Background(), c.target())) },
		func() {
			note("newest", "other")
			c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte("newest") })
		},
		func() {
			if s := c.target(); len(s.Finalizers) != len(finalizers) || string(s.Data["clouds.yaml"]) != "password: \"newest\"\n" {
				t.Errorf("the Secret that K-ORC still uses has finalizers %v and is outdated", s.Finalizers)
			}
			c.korc(false)
		},
		func() {
			created["x"] = true // a modification, until it is reverted.
			c.update(target, func(s *corev1.Secret) { s.Data = map[string][]byte{"cacert": []byte("x")} })
		},
	}
	for _, step := range steps {
		step()
		controllertest.ReconcileUntilIdle(t, func() (reconcile.Result, error) {
			result, err := c.pass(r, target)
			a.ReconcileDone()
			c.korc(true)
			return result, err
		}, controller.ResyncInterval)
		c.run(r) // A pass with stale reads may have ended; a watch triggers the next one.
		a.ReconcileDone()
		c.run(r)
	}
	return c, a
}

// TestRecoversFromFaultAtAnyCall repeats the life for each API call and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	_, full := life(t, faultinjection.NoFault)
	points := full.Points()
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
		c, _ := life(t, p)
		want := map[string][]byte{"clouds.yaml": []byte("password: \"newest\"\n"), "cacert": []byte("other")}
		if diff := cmp.Diff(want, c.target().Data); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
		if r := c.ready(); r.Status != metav1.ConditionTrue {
			t.Errorf("%v", r)
		}
		if hash := contentHash(c.target()); hash != c.aggregate().Status.ContentHash {
			t.Error("the status has another hash")
		}
	})
	t.Logf("%d API calls, %d of them writes; %d runs", full.Calls, len(full.Writes), len(points))
}
