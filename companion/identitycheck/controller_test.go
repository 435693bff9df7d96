package identitycheck

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/crash"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const (
	namespace = "team-a-prod-12345"
	name      = "keystone"
	password  = "correct-horse-battery" // What must never be told.
)

var (
	start  = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	scheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, openstackv1.AddToScheme} {
			if err := add(s); err != nil {
				panic(err)
			}
		}
		return s
	}()
)

// cluster is what is around the controller, and everything that it says.
type cluster struct {
	t        testing.TB
	api      client.WithWatch
	keystone *identitytest.Keystone
	clock    *clocktesting.FakePassiveClock
	events   *events.FakeRecorder
	logs     *bytes.Buffer
	logins   int
}

func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	check := &openstackv1.IdentityCheck{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1}}
	check.Spec.CloudCredentialsRef.SecretName, check.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	return &cluster{
		t: t, keystone: identitytest.New(map[string]string{"admin": password}), clock: clocktesting.NewFakePassiveClock(start),
		api:    crash.NewServer(scheme, []client.Object{check}, append(objects, check)...),
		events: events.NewFakeRecorder(10000), logs: &bytes.Buffer{},
	}
}

func clouds() client.Object { return identitytest.Clouds(namespace, "clouds", password) }

func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: c.clock,
		Transport: func([]byte) (http.RoundTripper, error) { c.logins++; return way, nil },
	}
}

// pass reconciles once, and lets the time go by after which the controller wants to look again.
func (c *cluster) pass(r *Reconciler) {
	ctx := log.IntoContext(context.Background(), zap.New(zap.WriteTo(c.logs), zap.UseDevMode(true)))
	result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
	if err != nil {
		log.FromContext(ctx).Error(err, "Reconciler error")
	}
	c.clock.SetTime(c.clock.Now().Add(max(result.RequeueAfter, time.Millisecond)))
}

func (c *cluster) check() *openstackv1.IdentityCheck {
	check := &openstackv1.IdentityCheck{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, check); err != nil {
		c.t.Fatal(err)
	}
	return check
}

func (c *cluster) reachable() metav1.Condition {
	if condition := meta.FindStatusCondition(c.check().Status.Conditions, conditionReachable); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

// drained are the events so far.
func (c *cluster) drained() []string {
	var out []string
	for len(c.events.Events) > 0 {
		out = append(out, <-c.events.Events)
	}
	return out
}

// TestOutage: one failed login, and a second one, are no outage; a third one is, and the first that succeeds ends it.
func TestOutage(t *testing.T) {
	c := newCluster(t, clouds())
	r := c.reconciler(c.api, c.keystone)
	c.pass(r)
	s := c.check().Status
	if got := c.reachable(); got.Status != metav1.ConditionTrue || s.APIVersion != "v3.14" || !s.LastToken.Time.Equal(start) {
		t.Fatalf("%+v", s)
	}
	c.keystone.SetDown(true)
	for failed := range patience + 2 {
		if got := c.reachable().Status; got != metav1.ConditionTrue && failed < patience {
			t.Errorf("it is %s after %d failures", got, failed)
		}
		c.pass(r)
	}
	want := metav1.Condition{
		Type: conditionReachable, Status: metav1.ConditionFalse, Reason: "KeystoneUnavailable", ObservedGeneration: 1,
		Message: "cannot log in as user admin: Keystone answers 503: Service Unavailable",
	}
	got := c.reachable()
	got.LastTransitionTime = metav1.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outage (-want +got):\n%s", diff)
	}
	if s := c.check().Status; !s.LastToken.Time.Equal(start) || s.Failures != patience {
		t.Errorf("%+v", s)
	}
	c.keystone.SetDown(false)
	at := c.clock.Now()
	c.pass(r)
	if s := c.check().Status; c.reachable().Status != metav1.ConditionTrue || s.Failures != 0 || !s.LastToken.Time.Equal(at) {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{
		"Warning KeystoneUnavailable cannot log in as user admin: Keystone answers 503: Service Unavailable",
		"Normal TokenIssued Keystone gives tokens",
	}, c.drained()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if strings.Contains(c.logs.String(), password) {
		t.Error("the password is in the log")
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		want    string
	}{
		"WrongPassword": {
			"Keystone answers, but nobody could log in.", []client.Object{identitytest.Clouds(namespace, "clouds", "another")},
			"LoginRefused: cannot log in as user admin: the password is not accepted by Keystone",
		},
		"NoCredentials": {"They are made beside Keystone.", nil, "NoCredentials: spec.cloudCredentialsRef: Secret clouds does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			c.pass(c.reconciler(c.api, c.keystone))
			if got := c.reachable(); got.Status != metav1.ConditionFalse || got.Reason+": "+got.Message != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got.Reason+": "+got.Message, tc.want)
			}
		})
	}
}

// TestQuiet: in an hour without news, Keystone is asked sixty times, and the status is written six times. Whatever wakes the controller in
// between, it does not log in.
func TestQuiet(t *testing.T) {
	c := newCluster(t, clouds())
	a := crash.New(c.api, crash.Nowhere)
	r := c.reconciler(a.Client(), c.keystone)
	for c.clock.Now().Before(start.Add(time.Hour)) {
		c.pass(r)
		now := c.clock.Now()
		c.clock.SetTime(now.Add(-every + time.Second))
		c.pass(r)
		c.clock.SetTime(now)
	}
	if c.logins != 60 || len(a.Writes) != 6 {
		t.Errorf("%d logins and %d writes in an hour", c.logins, len(a.Writes))
	}
}

// TestCrash goes through an outage once for every call to Kubernetes and Keystone and every way in which it can go wrong. What the status
// says of the last token was so.
func TestCrash(t *testing.T) {
	life := func(t *testing.T, at crash.Point) (*cluster, *crash.API) {
		c := newCluster(t)
		a := crash.New(c.api, at)
		var down time.Time
		a.Written = func() {
			if last := c.check().Status.LastToken; !down.IsZero() && last != nil && last.After(down) {
				t.Errorf("a token is said to be of %s, but Keystone was down since %s", last, down)
			}
		}
		a.Meanwhile = func() { c.pass(c.reconciler(c.api, c.keystone)) }
		r := c.reconciler(a.Client(), a.HTTP(c.keystone))
		for _, step := range []func(){
			func() {},
			func() {
				if err := c.api.Create(context.Background(), clouds()); err != nil {
					t.Fatal(err)
				}
			},
			func() { down = c.clock.Now(); c.keystone.SetDown(true) },
			func() { down = time.Time{}; c.keystone.SetDown(false) },
		} {
			step()
			for range 5 {
				c.pass(r)
				a.PassEnded()
			}
		}
		return c, a
	}
	_, whole := life(t, crash.Nowhere)
	points := whole.Points()
	crash.Run(t, points, func(t *testing.T, p crash.Point) {
		c, _ := life(t, p)
		c.pass(c.reconciler(c.api, c.keystone))
		if s := c.reachable(); s.Status != metav1.ConditionTrue {
			t.Errorf("%v", s)
		}
		if strings.Contains(c.logs.String(), password) {
			t.Error("the password is in the log")
		}
	})
	t.Logf("%d calls, %d of them writes; %d runs", whole.Calls, len(whole.Writes), len(points))
}
