package servicecheck

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const (
	namespace = "team-a-prod-12345"
	name      = "nova"
	password  = "correct-horse-battery" // Must never be revealed.
)

var scheme = faultinjection.NewScheme(appsv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme)

// cluster is the environment of the controller.
type cluster struct {
	t      *testing.T
	api    client.WithWatch
	nova   *computetest.Nova
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder
}

func check() *openstackv1.ServiceCheck {
	c := &openstackv1.ServiceCheck{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1},
		Spec: openstackv1.ServiceCheckSpec{Service: "compute", IntervalSeconds: 60, Processes: []openstackv1.CheckedProcess{
			{Binary: "nova-conductor", StatefulSetName: "nova-conductor"}, {Binary: "nova-conductor", StatefulSetName: "nova-cell1-conductor"},
		}},
	}
	c.Spec.CloudCredentialsRef.SecretName, c.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	return c
}

// replicas returns a StatefulSet with the given number of replicas.
func replicas(name string, n int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       appsv1.StatefulSetSpec{Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}
}

func pod(set, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"app": set}}}
}

// record returns the record of a conductor on a host.
func record(host string, up bool) compute.Service {
	return compute.Service{ID: "id-of-" + host, Binary: "nova-conductor", Host: host, Up: up}
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	return &cluster{
		t: t, nova: computetest.New(identitytest.New(map[string]string{"admin": password})),
		api: faultinjection.NewServer(scheme, []client.Object{&openstackv1.ServiceCheck{}}, append(objects, check(), identitytest.Clouds(namespace,
			"clouds", password))...),
		clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)), events: events.NewFakeRecorder(1000),
	}
}

func (c *cluster) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	return &Reconciler{Env: controller.Env{
		Client: api, Reader: api, Events: c.events, Clock: c.clock, Transport: func([]byte) (http.RoundTripper, error) { return way, nil },
	}}
}

func (c *cluster) pass(r *Reconciler) (reconcile.Result, error) {
	return r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
}

func (c *cluster) check() *openstackv1.ServiceCheck {
	c.t.Helper()
	o := &openstackv1.ServiceCheck{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		c.t.Fatal(err)
	}
	return o
}

func (c *cluster) noted() string {
	return strings.Join(controllertest.Events(c.events), "\n")
}

func TestReconcile(t *testing.T) {
	compute0 := compute.Service{ID: "c", Binary: "nova-compute", Host: "compute-0"}
	both := []client.Object{replicas("nova-conductor", 2), replicas("nova-cell1-conductor", 1)}
	up := []compute.Service{record("nova-conductor-0", true), record("nova-conductor-1", true), record("nova-cell1-conductor-0", true)}
	with := func(more ...compute.Service) []compute.Service {
		return append(append([]compute.Service{}, up...), more...)
	}
	for name, tc := range map[string]struct {
		reason   string
		objects  []client.Object
		services []compute.Service
		prepare  func(*computetest.Nova)
		removed  []string
		up, down int32
		ready    metav1.Condition
	}{
		"Up": {
			reason: "Hypervisors that are down are counted, but do not affect the condition.", objects: both, services: with(compute0), up: 3,
			down:  1,
			ready: metav1.Condition{Status: "True", Reason: "ProcessesUp", Message: "all known processes report"},
		},
		"Away": {
			reason: "It was scaled down, and counts as an old version.", objects: both, services: with(record("nova-conductor-2", false),
				record("nova-cell1-conductor-1", false)),
			removed: []string{"nova-conductor-2", "nova-cell1-conductor-1"}, up: 3,
			ready: metav1.Condition{Status: "True", Reason: "ProcessesUp", Message: "all known processes report"},
		},
		"Stopping": {
			reason:   "Its pod still exists, and may report once more.",
			objects:  append([]client.Object{pod("nova-conductor", "nova-conductor-2")}, both...),
			services: with(record("nova-conductor-2", false)), up: 3, down: 1,
			ready: metav1.Condition{Status: "True", Reason: "ProcessesUp", Message: "all known processes report"},
		},
		"Silent": {
			reason: "It restarts, or requires an administrator.", objects: both,
			services: []compute.Service{record("nova-conductor-0", true), record("nova-conductor-1", false)}, up: 1, down: 1,
			ready: metav1.Condition{
				Status: "False", Reason: "ProcessesDown",
				Message: "nova-conductor does not report from nova-conductor-1; nova-conductor does not report from nova-cell1-conductor-0",
			},
		},
		"Stopped": {
			reason:   "It is stopped for a schema change, and will be started again.",
			objects:  []client.Object{replicas("nova-conductor", 0), replicas("nova-cell1-conductor", 1)},
			services: []compute.Service{record("nova-conductor-0", false), record("nova-cell1-conductor-0", true)}, up: 1, down: 1,
			ready: metav1.Condition{Status: "True", Reason: "ProcessesUp", Message: "all known processes report"},
		},
		"NoStatefulSet": {
			reason: "It does not exist yet, or is being re-created.", objects: both[:1], services: with(record("nova-cell1-conductor-7", false)),
			up: 3, down: 1,
			ready: metav1.Condition{Status: "False", Reason: "ProcessesDown", Message: "StatefulSet nova-cell1-conductor does not exist"},
		},
		"CellDown": {
			reason: "Nova searches a record in one cell after the other, and cannot delete it.", objects: both,
			services: with(record("nova-conductor-2", false), compute.Service{ID: "u", Binary: "nova-compute", Host: "compute-1", Up: true}),
			prepare:  func(n *computetest.Nova) { n.SetCellDown("compute-1") }, up: 3,
			ready: metav1.Condition{
				Status: "Unknown", Reason: "CellUnavailable",
				Message: "the database of the cell of compute-1 does not respond: the state of compute-1 is unknown",
			},
		},
		"Refused": {
			reason: "The user may only list, or not even that.", objects: both,
			prepare: func(n *computetest.Nova) { n.FailRequests("Policy doesn't allow it.") },
			ready: metav1.Condition{Status: "False", Reason: "ServiceUnavailable",
				Message: "cannot list compute services: Nova returned HTTP 403: Policy doesn't allow it."},
		},
		"Down": {
			reason: "Nova is unavailable.", objects: both, prepare: func(n *computetest.Nova) { n.SetDown(true) },
			ready: metav1.Condition{Status: "False", Reason: "ServiceUnavailable", Message: "cannot list compute services: Nova returned HTTP 503"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			c.nova.Set(tc.services...)
			if tc.prepare != nil {
				tc.prepare(c.nova)
			}
			result, err := c.pass(c.reconciler(c.api, c.nova))
			if err != nil || result.RequeueAfter == 0 {
				t.Fatalf("%+v, %v", result, err)
			}
			var removed []string
			for _, s := range c.nova.Deleted() {
				removed = append(removed, s.Host)
			}
			if diff := cmp.Diff(tc.removed, removed); diff != "" {
				t.Errorf("%s removed (-want +got):\n%s", tc.reason, diff)
			}
			s := c.check().Status
			if s.Up != tc.up || s.Down != tc.down || int(s.Removed) != len(tc.removed) || s.ObservedGeneration != 1 {
				t.Errorf("%s %+v", tc.reason, s)
			}
			got := *meta.FindStatusCondition(s.Conditions, conditionReady)
			if diff := cmp.Diff(tc.ready, metav1.Condition{Status: got.Status, Reason: got.Reason, Message: got.Message}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if noted := c.noted(); strings.Contains(noted, "removed the records") != (len(tc.removed) > 0) {
				t.Error(noted)
			}
		})
	}
}

// TestCountsProcessesByBinary: processes are counted by binary, in alphabetical order.
func TestCountsProcessesByBinary(t *testing.T) {
	c := newCluster(t, replicas("nova-conductor", 1), replicas("nova-cell1-conductor", 0))
	c.nova.Set(
		compute.Service{ID: "1", Binary: "nova-scheduler", Host: "a", Up: true}, record("nova-conductor-0", true),
		compute.Service{ID: "2", Binary: "nova-compute", Host: "b"}, compute.Service{ID: "3", Binary: "nova-compute", Host: "c", Up: true},
	)
	if _, err := c.pass(c.reconciler(c.api, c.nova)); err != nil {
		t.Fatal(err)
	}
	want := []openstackv1.BinaryState{{Binary: "nova-compute", Up: 1, Down: 1}, {Binary: "nova-conductor", Up: 1}, {Binary: "nova-scheduler",
		Up: 1}}
	if diff := cmp.Diff(want, c.check().Status.Binaries); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestInterval: requests are sent at the interval of the spec, and an additional pass waits.
func TestInterval(t *testing.T) {
	c := newCluster(t, replicas("nova-conductor", 0), replicas("nova-cell1-conductor", 0))
	r := c.reconciler(c.api, c.nova)
	for _, want := range []time.Duration{60 * time.Second, shortRequeueInterval} {
		if result, err := c.pass(r); err != nil || result.RequeueAfter != want {
			t.Errorf("%s, %v, want %s", result.RequeueAfter, err, want)
		}
	}
}

// TestRecoversFromFaultAtAnyCall: after a fault at any call, and with another leader, exactly the stale records are removed in the end.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	life := func(t *testing.T, at faultinjection.Point) *faultinjection.API {
		t.Helper()
		c := newCluster(t, replicas("nova-conductor", 1), replicas("nova-cell1-conductor", 1))
		c.nova.Set(
			record("nova-conductor-0", false), record("nova-conductor-1", false), record("nova-conductor-2", false),
			record("nova-cell1-conductor-0", true),
		)
		a := faultinjection.New(c.api, at)
		a.OnConcurrentWrite = func() { _, _ = c.pass(c.reconciler(c.api, c.nova)) }
		r := c.reconciler(a.Client(), a.HTTP(c.nova))
		for range 4 {
			_, _ = c.pass(r)
			a.ReconcileDone()
			c.clock.SetTime(c.clock.Now().Add(time.Minute))
		}
		want := []compute.Service{record("nova-conductor-0", false), record("nova-cell1-conductor-0", true)}
		if diff := cmp.Diff(want, c.nova.Services()); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		if s := c.check().Status; s.Up != 1 || s.Down != 1 {
			t.Errorf("%+v", s)
		}
		return a
	}
	completeState := life(t, faultinjection.NoFault)
	faultinjection.Run(t, completeState.Points(), func(t *testing.T, p faultinjection.Point) { life(t, p) })
	t.Logf("%d calls, %d of them writes", completeState.Calls, len(completeState.Writes))
}
