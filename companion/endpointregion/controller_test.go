package endpointregion

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc/korctest"
)

const (
	namespace = "team-a-prod-12345"
	name      = "glance-public"
	password  = "correct-horse-battery" // Must never be revealed.
)

var scheme = faultinjection.NewScheme(corev1.AddToScheme, openstackv1.AddToScheme, korctest.AddToScheme("Endpoint"))

// cluster is the environment of the controller, with all of its output.
type cluster struct {
	t        testing.TB
	api      client.WithWatch
	keystone *identitytest.Keystone
	events   *events.FakeRecorder
	logs     *bytes.Buffer
}

func newCluster(t testing.TB, objects ...client.Object) *cluster {
	t.Helper()
	return &cluster{
		t: t, keystone: identitytest.New(map[string]string{"admin": password}),
		api:    faultinjection.NewServer(scheme, []client.Object{&openstackv1.EndpointRegion{}}, objects...),
		events: events.NewFakeRecorder(10000), logs: &bytes.Buffer{},
	}
}

// endpoint returns an Endpoint of K-ORC.
func endpoint(id string) *unstructured.Unstructured {
	return korctest.Object("Endpoint", namespace, "glance-public", id)
}

func region() *openstackv1.EndpointRegion {
	e := &openstackv1.EndpointRegion{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1},
		Spec:       openstackv1.EndpointRegionSpec{EndpointRef: "glance-public", Region: "eu-de-1"},
	}
	e.Spec.CloudCredentialsRef.SecretName, e.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	return e
}

func clouds() client.Object { return identitytest.Clouds(namespace, "clouds", password) }

// reconciler returns a Reconciler with a client and a transport to Keystone.
func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{
		Client: api, Reader: api, Events: c.events, Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)),
		Transport: func([]byte) (http.RoundTripper, error) { return way, nil },
	}
}

func (c *cluster) sound() *Reconciler { return c.reconciler(c.api, c.keystone) }

// run reconciles until the controller is idle, or has waited three times.
func (c *cluster) run(r *Reconciler, finished func()) {
	c.t.Helper()
	controllertest.ReconcileUntilIdle(c.t, func() (reconcile.Result, error) {
		result, err := controllertest.ReconcileLogged(r, client.ObjectKey{Namespace: namespace, Name: name}, c.logs)
		finished()
		return result, err
	}, controller.ResyncInterval)
}

func (c *cluster) available() metav1.Condition {
	e := &openstackv1.EndpointRegion{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, e); err != nil {
		c.t.Fatal(err)
	}
	if condition := meta.FindStatusCondition(e.Status.Conditions, conditionAvailable); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func TestReconcile(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		before  string
		prepare func(*identitytest.Keystone)
		after   string
		events  int
		status  metav1.Condition
	}{
		"Without": {
			reason: "As created by K-ORC.", objects: []client.Object{region(), clouds(), endpoint("e")}, after: "eu-de-1", events: 1,
			status: metav1.Condition{Status: "True", Reason: "RegionSet", Message: "the endpoint is in its region"},
		},
		"Another": {
			reason: "Another administrator moved it.", objects: []client.Object{region(), clouds(), endpoint("e")}, before: "RegionOne",
			after: "eu-de-1", events: 1,
			status: metav1.Condition{Status: "True", Reason: "RegionSet", Message: "the endpoint is in its region"},
		},
		"There": {
			reason: "As created by bootstrap: no change is required.", objects: []client.Object{region(), clouds(), endpoint("e")},
			before: "eu-de-1", after: "eu-de-1",
			status: metav1.Condition{Status: "True", Reason: "RegionSet", Message: "the endpoint is in its region"},
		},
		"NotMadeYet": {
			reason: "K-ORC creates it concurrently.", objects: []client.Object{region(), clouds(), endpoint("")}, events: 1,
			status: metav1.Condition{Status: "False", Reason: "Waiting",
				Message: "K-ORC has not found or created Endpoint glance-public in Keystone yet"},
		},
		"Gone": {
			reason: "It was deleted; K-ORC will create another.", objects: []client.Object{region(), clouds(), endpoint("other")}, events: 1,
			status: metav1.Condition{
				Status: "False", Reason: "KeystoneUnavailable",
				Message: "cannot get endpoint other: Keystone returned HTTP 404: Could not find endpoint: other.",
			},
		},
		"Refused": {
			reason: "The message of Keystone.", objects: []client.Object{region(), clouds(), endpoint("e")}, events: 1,
			prepare: func(k *identitytest.Keystone) { k.Refuse("PATCH", "You are not authorized.") },
			status: metav1.Condition{
				Status: "False", Reason: "RejectedByKeystone",
				Message: "cannot set the region of endpoint e to eu-de-1: Keystone returned HTTP 403: You are not authorized.",
			},
		},
		"NoCredentials": {
			reason: "The credentials are created with Keystone.", objects: []client.Object{region(), endpoint("e")}, events: 1,
			status: metav1.Condition{Status: "False", Reason: "KeystoneUnavailable",
				Message: "spec.cloudCredentialsRef: Secret clouds does not exist"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			c.keystone.SetRegion("e", tc.before)
			if tc.prepare != nil {
				tc.prepare(c.keystone)
			}
			c.run(c.sound(), func() {})
			if got := c.keystone.Region("e"); got != tc.after {
				t.Errorf("%s: the region is %q, want %q", tc.reason, got, tc.after)
			}
			tc.status.Type, tc.status.ObservedGeneration = conditionAvailable, 1
			if diff := cmp.Diff(tc.status, c.available(), cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := len(c.events.Events); got != tc.events {
				t.Errorf("%s: %d events, want %d", tc.reason, got, tc.events)
			}
			if strings.Contains(c.logs.String(), password) {
				t.Error("the password is in the log")
			}
		})
	}
}

// TestRecoversFromFaultAtAnyCall repeats the life of an endpoint that is created late, moved, and re-created, for each call to Kubernetes and
// Keystone and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	life := func(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
		c := newCluster(t, region(), clouds())
		a := faultinjection.New(c.api, at)
		a.OnConcurrentWrite = func() { c.run(c.sound(), func() {}) }
		r := c.reconciler(a.Client(), a.HTTP(c.keystone))
		replace := func(id string) {
			c.keystone.SetRegion(id, "")
			if err := client.IgnoreNotFound(c.api.Delete(context.Background(), endpoint(""))); err != nil {
				t.Fatal(err)
			}
			if err := c.api.Create(context.Background(), endpoint(id)); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []func(){
			func() {}, func() { replace("e1") }, func() { c.keystone.SetRegion("e1", "RegionOne") }, func() { replace("e2") },
		} {
			step()
			c.run(r, a.ReconcileDone)
			c.run(r, a.ReconcileDone) // Missed changes are detected in the next pass.
		}
		c.run(c.sound(), func() {})
		return c, a
	}
	_, full := life(t, faultinjection.NoFault)
	points := full.Points()
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
		c, _ := life(t, p)
		if first, second := c.keystone.Region("e1"), c.keystone.Region("e2"); first != "eu-de-1" || second != "eu-de-1" {
			t.Errorf("regions %q and %q", first, second)
		}
		if s := c.available(); s.Status != metav1.ConditionTrue {
			t.Errorf("%v", s)
		}
	})
	t.Logf("%d calls, %d of them writes; %d runs", full.Calls, len(full.Writes), len(points))
}

// TestChecksEndpointEveryTenMinutes: a moved endpoint triggers no event, so it is checked every ten minutes.
func TestChecksEndpointEveryTenMinutes(t *testing.T) {
	c := newCluster(t, region(), clouds(), endpoint("e"))
	c.keystone.SetRegion("e", "eu-de-1")
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
	result, err := c.sound().Reconcile(context.Background(), request)
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > 10*time.Minute {
		t.Errorf("looks again after %s: %v", result.RequeueAfter, err)
	}
}

// TestNext: the decision for each observation, and its status.
func TestNext(t *testing.T) {
	now := time.Unix(1e9, 0)
	type decision struct {
		Name, Note, Reason, ID string
		Action                 bool
		After                  time.Duration
		At                     time.Time
	}
	for name, tc := range map[string]struct {
		reason string
		state  observation
		want   decision
	}{
		"Waits": {
			"Its creation by K-ORC triggers no event.", observation{waits: condition.False("Waiting", "no endpoint")},
			decision{Reason: "Waiting", After: 10 * time.Second, At: now},
		},
		"Elsewhere": {
			"The next pass follows immediately.", observation{id: "e", region: "RegionOne"},
			decision{Name: "RegionSet", Note: `set the region of endpoint e to eu-de-1; it was "RegionOne"`, Action: true},
		},
		"There": {
			"The next pass follows later.", observation{id: "e", region: "eu-de-1"},
			decision{Reason: "RegionSet", ID: "e", After: 10 * time.Minute, At: now},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := tc.state
			w.endpoint, w.now = region(), now
			s := next(&w)
			got := decision{Name: s.Name, Note: s.Note, Action: s.Action != nil, After: s.RequeueAfter}
			if s.Status != nil {
				s.Status()
				c := w.endpoint.Status.Conditions[0]
				got.Reason, got.At = c.Reason, c.LastTransitionTime.Time
			}
			got.ID = w.endpoint.Status.ID
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStatusHasIDDespiteRejectionOrDeletion: the ID of the endpoint stays in the status when K-ORC's object is deleted, and is set when
// Keystone rejects the request.
func TestStatusHasIDDespiteRejectionOrDeletion(t *testing.T) {
	c := newCluster(t, region(), clouds(), endpoint("e"))
	c.keystone.SetRegion("e", "")
	c.keystone.Refuse("PATCH", "You are not authorized.")
	id := func() string {
		e := &openstackv1.EndpointRegion{}
		if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, e); err != nil {
			t.Fatal(err)
		}
		return e.Status.ID
	}
	c.run(c.sound(), func() {})
	if got := id(); got != "e" {
		t.Errorf("refused: %q", got)
	}
	if err := c.api.Delete(t.Context(), endpoint("e")); err != nil {
		t.Fatal(err)
	}
	c.run(c.sound(), func() {})
	if got := id(); got != "e" {
		t.Errorf("gone: %q", got)
	}
	if c := c.available(); !c.LastTransitionTime.Time.Equal(time.Unix(1e9, 0)) {
		t.Errorf("%v", c)
	}
}
