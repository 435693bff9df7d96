package identitycheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const (
	namespace = "team-a-prod-12345"
	name      = "keystone"
	password  = "correct-horse-battery" // Must never be revealed.
)

var (
	start  = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	scheme = faultinjection.NewScheme(corev1.AddToScheme, openstackv1.AddToScheme)
)

// cluster is the environment of the controller, with all of its output.
type cluster struct {
	t        testing.TB
	api      client.WithWatch
	keystone *identitytest.Keystone
	clock    *clocktesting.FakePassiveClock
	events   *events.FakeRecorder
	logs     *bytes.Buffer
	logins   int
	// outside serves the public address.
	outside http.RoundTripper
}

func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	check := &openstackv1.IdentityCheck{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1}}
	check.Spec.CloudCredentialsRef.SecretName, check.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	check.Spec.Exempt, check.Spec.PublicURL = true, "https://identity.example.com/v3"
	keystone := identitytest.New(map[string]string{"admin": password})
	return &cluster{
		outside: keystone,
		t:       t, keystone: keystone, clock: clocktesting.NewFakePassiveClock(start),
		api:    faultinjection.NewServer(scheme, []client.Object{check}, append(objects, check)...),
		events: events.NewFakeRecorder(10000), logs: &bytes.Buffer{},
	}
}

func clouds() client.Object { return identitytest.Clouds(namespace, "clouds", password) }

func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: c.clock,
		Transport: func([]byte) (http.RoundTripper, error) { c.logins++; return way, nil },
		Public:    func([]byte) (http.RoundTripper, error) { return c.outside, nil },
	}
}

// pass reconciles once, and advances the clock to the next pass.
func (c *cluster) pass(r *Reconciler) {
	result, _ := controllertest.ReconcileLogged(r, client.ObjectKey{Namespace: namespace, Name: name}, c.logs)
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

// drained returns the events so far.
func (c *cluster) drained() []string {
	return controllertest.Events(c.events)
}

// TestReportsOutageAfterThreeFailures: two failed logins are no outage; the third one is, and the first successful login ends it.
func TestReportsOutageAfterThreeFailures(t *testing.T) {
	c := newCluster(t, clouds())
	r := c.reconciler(c.api, c.keystone)
	c.pass(r)
	s := c.check().Status
	if got := c.reachable(); got.Status != metav1.ConditionTrue || s.APIVersion != "v3.14" || !s.LastToken.Time.Equal(start) {
		t.Fatalf("%+v", s)
	}
	c.keystone.SetDown(true)
	const three = 3 // As in the status, the metric and docs/explanation/companion.md.
	for failed := range three + 2 {
		if got := c.reachable().Status; (got == metav1.ConditionTrue) != (failed < three) {
			t.Errorf("it is %s after %d failures", got, failed)
		}
		c.pass(r)
	}
	want := metav1.Condition{
		Type: conditionReachable, Status: metav1.ConditionFalse, Reason: "KeystoneUnavailable", ObservedGeneration: 1,
		Message: "cannot log in as user admin: Keystone returned HTTP 503: Service Unavailable",
	}
	got := c.reachable()
	got.LastTransitionTime = metav1.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outage (-want +got):\n%s", diff)
	}
	if s := c.check().Status; !s.LastToken.Time.Equal(start) || s.Failures != failureThreshold {
		t.Errorf("%+v", s)
	}
	c.keystone.SetDown(false)
	at := c.clock.Now()
	c.pass(r)
	if s := c.check().Status; c.reachable().Status != metav1.ConditionTrue || s.Failures != 0 || !s.LastToken.Time.Equal(at) {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{
		"Normal OptionsSet the user is exempt from lockout, inactivity, password expiry and the password change at the first login",
		"Warning UnexpectedResponse https://identity.example.com/v3 returned 503 Service Unavailable: the address is not routed to Keystone",
		"Warning KeystoneUnavailable cannot log in as user admin: Keystone returned HTTP 503: Service Unavailable",
		"Normal TokenIssued Keystone issues tokens",
	}, c.drained()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if strings.Contains(c.logs.String(), password) {
		t.Error("the password is in the log")
	}
}

func TestReportsFailedLogins(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		want    string
	}{
		"WrongPassword": {
			"Keystone responds, but the login fails.", []client.Object{identitytest.Clouds(namespace, "clouds", "another")},
			"LoginRejected: cannot log in as user admin: the password is not accepted by Keystone, or the user is locked out, or has no role in " +
				"project admin",
		},
		"NoCredentials": {"The credentials are created with Keystone.", nil,
			"NoCredentials: spec.cloudCredentialsRef: Secret clouds does not exist"},
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

// TestLimitsLoginsAndStatusWrites: in an hour without changes, there are sixty logins, and the status is written six times. Additional
// passes do not log in.
func TestLimitsLoginsAndStatusWrites(t *testing.T) {
	c := newCluster(t, clouds())
	a := faultinjection.New(c.api, faultinjection.NoFault)
	r := c.reconciler(a.Client(), c.keystone)
	for c.clock.Now().Before(start.Add(time.Hour)) {
		c.pass(r)
		now := c.clock.Now()
		c.clock.SetTime(now.Add(-pollInterval + time.Second))
		c.pass(r)
		c.clock.SetTime(now)
	}
	if c.logins != 60 || len(a.Writes) != 6 {
		t.Errorf("%d logins and %d writes in an hour", c.logins, len(a.Writes))
	}
}

// TestPublic: the public address is reported separately from the internal one, and does not affect other conditions.
func TestPublic(t *testing.T) {
	c := newCluster(t, clouds())
	r := c.reconciler(c.api, c.keystone)
	public := func() metav1.Condition {
		if condition := meta.FindStatusCondition(c.check().Status.Conditions, conditionPublic); condition != nil {
			return *condition
		}
		return metav1.Condition{}
	}
	c.outside = answers(http.StatusNotFound)
	c.pass(r)
	if got := public(); got.Status != metav1.ConditionFalse || got.Reason != "UnexpectedResponse" || c.reachable().Status != metav1.ConditionTrue {
		t.Errorf("an address that never responded is reported immediately: %v, internal: %v", got, c.reachable())
	}
	c.outside = c.keystone
	c.pass(r)
	if got := public(); got.Status != metav1.ConditionTrue {
		t.Errorf("%v", got)
	}
	c.outside = answers(http.StatusBadGateway)
	for failed := range failureThreshold {
		if got := public(); got.Status != metav1.ConditionTrue {
			t.Errorf("it has gone after %d failures: %v", failed, got)
		}
		c.pass(r)
	}
	if got := public(); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "502 Bad Gateway") {
		t.Errorf("%v", got)
	}
	check := c.check()
	check.Spec.PublicURL = ""
	if err := c.api.Update(context.Background(), check); err != nil {
		t.Fatal(err)
	}
	c.pass(r)
	if got := public(); got.Type != "" || c.check().Status.PublicFailures != 0 {
		t.Errorf("still checked: %v", got)
	}
	if strings.Contains(c.logs.String()+strings.Join(c.drained(), ""), password) {
		t.Error("the password was revealed")
	}
}

// answers is the status code of all responses. Requests must not contain a password.
type answers int

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.Body != nil || r.Header.Get("X-Auth-Token") != "" {
		return nil, errors.New("unexpected request")
	}
	return &http.Response{
		StatusCode: int(a), Status: fmt.Sprintf("%d %s", int(a), http.StatusText(int(a))), Body: http.NoBody, Request: r,
	}, nil
}

// TestExemptsAdministratorFromLockout: failed logins as the administrator do not lock it out, from the first login on, and again after the option was
// removed. Other options of the user are retained.
func TestExemptsAdministratorFromLockout(t *testing.T) {
	c := newCluster(t, clouds())
	r := c.reconciler(c.api, c.keystone)
	c.keystone.SetLockoutAttempts(6)
	c.keystone.SetOption("admin", "multi_factor_auth_enabled", false)
	want := map[string]any{
		"ignore_lockout_failure_attempts": true, "ignore_password_expiry": true, "ignore_change_password_upon_first_use": true,
		"ignore_user_inactivity": true, "multi_factor_auth_enabled": false,
	}
	for _, round := range []string{"first", "after it was removed"} {
		c.pass(r)
		if diff := cmp.Diff(want, c.keystone.Options("admin")); diff != "" {
			t.Errorf("%s: options (-want +got):\n%s", round, diff)
		}
		for range 6 {
			c.keystone.Fail("admin")
		}
		for range failureThreshold + 1 {
			c.pass(r)
		}
		if got := c.reachable(); got.Status != metav1.ConditionTrue || !meta.IsStatusConditionTrue(c.check().Status.Conditions, conditionLockoutExempt) {
			t.Errorf("%s: %v", round, got)
		}
		c.keystone.SetOption("admin", "ignore_lockout_failure_attempts", nil)
	}
}

// TestReportsLockoutUntilLoginSucceeds: a user that was locked out before is not ready, with the possible reasons, and continues when
// Keystone accepts it.
func TestReportsLockoutUntilLoginSucceeds(t *testing.T) {
	c := newCluster(t, clouds())
	r := c.reconciler(c.api, c.keystone)
	c.keystone.SetLockoutAttempts(1)
	c.keystone.Fail("admin")
	c.pass(r)
	if got := c.reachable(); got.Reason != "LoginRejected" || !strings.Contains(got.Message, "locked out") {
		t.Errorf("%v", got)
	}
	c.keystone.SetLockoutAttempts(0)
	c.pass(r)
	c.keystone.SetLockoutAttempts(1)
	c.keystone.Fail("admin")
	c.pass(r)
	if got := c.reachable(); got.Status != metav1.ConditionTrue {
		t.Errorf("%v", got)
	}
}

// TestRejectedExemptionPreservesReadiness: a rejection of the options is reported, and does not affect readiness.
func TestRejectedExemptionPreservesReadiness(t *testing.T) {
	c := newCluster(t, clouds())
	c.keystone.Refuse(http.MethodPatch, "You are not authorized to perform the requested action: identity:update_user.")
	c.pass(c.reconciler(c.api, c.keystone))
	got := meta.FindStatusCondition(c.check().Status.Conditions, conditionLockoutExempt)
	if got == nil || got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "identity:update_user") ||
		c.reachable().Status != metav1.ConditionTrue {
		t.Errorf("%v", got)
	}
}

// TestRecoversFromFaultAtAnyCall repeats an outage for each call to Kubernetes and Keystone and each fault. The time of the last token in the
// status is always correct.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	life := func(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
		c := newCluster(t)
		a := faultinjection.New(c.api, at)
		var down time.Time
		a.Written = func() {
			if last := c.check().Status.LastToken; !down.IsZero() && last != nil && last.After(down) {
				t.Errorf("a token is recorded for %s, but Keystone was down since %s", last, down)
			}
		}
		a.OnConcurrentWrite = func() { c.pass(c.reconciler(c.api, c.keystone)) }
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
				a.ReconcileDone()
			}
		}
		return c, a
	}
	_, full := life(t, faultinjection.NoFault)
	points := full.Points()
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
		c, _ := life(t, p)
		c.pass(c.reconciler(c.api, c.keystone))
		if s := c.reachable(); s.Status != metav1.ConditionTrue {
			t.Errorf("%v", s)
		}
		if strings.Contains(c.logs.String(), password) {
			t.Error("the password is in the log")
		}
		if len(c.keystone.Options("admin")) != 4 {
			t.Errorf("options %v", c.keystone.Options("admin"))
		}
	})
	t.Logf("%d calls, %d of them writes; %d runs", full.Calls, len(full.Writes), len(points))
}
