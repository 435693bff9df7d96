package credentialrotation

import (
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them. The most
// important ones are writes to Keystone, and to objects of a queue, whose response is lost.
var stride = flag.Int("crash.every", effort.Of(1597, 97), "make every n-th run of TestRecoversFromFaultAtAnyCall")

// life creates a first credential, starts pods and rotates twice, the second time with other roles. A rotation by another
// leader counts, too.
func life(t testing.TB, target string, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	rotation, around := rotationOf(target), []client.Object{}
	if target == applicationCredential {
		rotation, around = copied(rotation), append(around, aggregate())
		rotation.Spec.Roles = []string{"service"}
	}
	c := newCluster(t, rotation, around...)
	c.keystone.SetRoles(userName, "service", "admin", "reader")
	c.keystone.Add(userName, "not of a rotation")
	c.keystone.Add("nova", "of another user")
	a := faultinjection.New(c.api, at)
	a.Written, c.onPass = c.check, a.ReconcileDone
	a.OnConcurrentWrite = func() {
		other := c.sound()
		for range 8 {
			c.pass(other)
		}
		if len(c.loaded) > 0 {
			c.untilRotation(other)
		}
	}
	r := c.reconciler(a.Client(), a.HTTP(c.keystone))
	for range 8 { // Without pods, the distribution is not proven.
		c.pass(r)
	}
	c.place(r)
	c.untilRotation(r)
	switch target {
	case applicationCredential:
		c.edit(func(r *c5c3v1.CredentialRotation) { r.Spec.Roles = []string{"service", "admin"} })
	case queueUser:
		c.edit(func(r *c5c3v1.CredentialRotation) {
			r.Spec.Queue.Permissions = []c5c3v1.QueuePermission{permissionIn("cell"), r.Spec.Queue.Permissions[0]}
		})
	}
	c.untilRotation(r)
	// A late write is detected in the next pass.
	c.days(r, 1.5)
	c.run(r)
	if target == queueUser { // Kubernetes garbage-collects objects that a delayed leader created for a deleted User.
		c.reconcileUntilStable(r)
	}
	return c, a
}

// verify checks the invariants at the end of a life.
func verify(t testing.TB, c *cluster, target string) {
	t.Helper()
	for _, v := range c.violations {
		t.Error(v)
	}
	candidate, ok := c.nextCredential()
	if !ok || !c.accepts(candidate) || len(c.inUse) < 3 {
		t.Errorf("%d credentials were in use, and Keystone accepts the last one: %v", len(c.inUse), ok && c.accepts(candidate))
	}
	if len(c.loaded) != 2 {
		t.Errorf("%d pods", len(c.loaded))
	}
	for pod, l := range c.loaded {
		if l != candidate {
			t.Errorf("pod %s has another credential than the Secret", pod)
		}
	}
	if s, l := c.copyOf(); target == applicationCredential && (s == nil || l != candidate) {
		t.Error("the SecretAggregate's Secret has another credential than the Secret")
	}
	for _, condition := range c.rotation().Status.Conditions {
		if condition.Status != "True" {
			t.Errorf("condition %s: %s", condition.Type, condition.Message)
		}
	}
	// Nothing is leaked, and objects of others are retained.
	want := 2
	if target == applicationCredential {
		want = 3
	}
	if got := c.keystone.Credentials(); len(got) != want {
		t.Errorf("Keystone has %d application credentials, not %d: %v", len(got), want, got)
	}
	if diff := cmp.Diff([]string{"admin", "service"}, c.rolesInUse()); target == applicationCredential && diff != "" {
		t.Errorf("roles, -want +got:\n%s", diff)
	}
	if target == queueUser {
		c.verifyBroker(t)
	}
	s := c.secret()
	if text(s, stagedPrefix+secretKey)+text(s, stagedPrefix+passwordKey) != "" {
		t.Error("a staged secret is left behind")
	}
	c.checkOutput()
}

// TestRecoversFromFaultAtAnyCall repeats the life of a credential for each call to Kubernetes and Keystone, each fault, and stale reads
// after it.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	for _, target := range []string{applicationCredential, password, queueUser} {
		t.Run(target, func(t *testing.T) {
			c, full := life(t, target, faultinjection.NoFault)
			verify(t, c, target)
			all := full.Points()
			points := faultinjection.Sample(all, *stride, func(p faultinjection.Point) bool {
				written := full.Writes[p.Call]
				ofQueue := target == queueUser && strings.HasPrefix(written, "*unstructured") && p.Fault == faultinjection.FailAfterWrite && !p.Stale
				return strings.Contains(written, " /") || ofQueue || strings.HasSuffix(written, "/"+secretName) &&
					p.Fault != faultinjection.FailBeforeWrite
			})
			faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
				c, _ := life(t, target, p)
				verify(t, c, target)
			})
			t.Logf("%d calls, %d of them writes; %d of %d runs", full.Calls, len(full.Writes), len(points), len(all))
		})
	}
}
