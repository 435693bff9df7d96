package raftcluster

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
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

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	ovnchassisv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const (
	namespace  = "team-a-prod-12345"
	name       = "ovn-northbound"
	domain     = "ovn-northbound.team-a-prod-12345.svc.cluster.local"
	ownCluster = "618fd7fb-82e8-49fc-90d9-73be342a6e86"
	another    = "4faed963-70cf-4947-8764-ec65f8ef37fa"
)

var scheme = faultinjection.NewScheme(appsv1.AddToScheme, corev1.AddToScheme, c5c3v1.AddToScheme, ovnchassisv1.AddToScheme)

// cluster is the environment of the controller.
type cluster struct {
	t       *testing.T
	api     client.WithWatch
	members *members
	clock   *clocktesting.FakePassiveClock
	events  *events.FakeRecorder
}

// newCluster returns a cluster with the number of pods and the recorded ID. Without a StatefulSet if the number is negative.
func newCluster(t *testing.T, pods int32, id string, objects ...client.Object) *cluster {
	t.Helper()
	m := newMembers(t)
	r := &c5c3v1.RaftCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1, UID: "of-the-cluster"},
		Spec: c5c3v1.RaftClusterSpec{
			Database: "OVN_Northbound", StatefulSetName: name, Domain: domain, Port: 6641, ClientSecretName: "client", IntervalSeconds: 10,
		},
		Status: c5c3v1.RaftClusterStatus{ClusterID: id},
	}
	objects = append(objects, r)
	if pods >= 0 {
		objects = append(objects, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: appsv1.StatefulSetSpec{Replicas: &pods},
		})
	}
	return &cluster{
		t: t, members: m, api: faultinjection.NewServer(scheme, []client.Object{&c5c3v1.RaftCluster{}, &ovnchassisv1.OVNChassis{}}, append(objects,
			m.secret())...),
		clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)), events: events.NewFakeRecorder(1000),
	}
}

func (c *cluster) pass(api client.Client) (reconcile.Result, error) {
	c.clock.SetTime(c.clock.Now().Add(time.Minute))
	r := &Reconciler{Client: api, Reader: api, Dial: c.members.dial, Events: c.events, Clock: c.clock}
	return r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
}

func (c *cluster) status() c5c3v1.RaftClusterStatus {
	c.t.Helper()
	o := &c5c3v1.RaftCluster{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		c.t.Fatal(err)
	}
	return o.Status
}

func TestReconcile(t *testing.T) {
	pod := func(i int) string { return fmt.Sprintf("%s-%d", name, i) }
	const noDatabase = `{"rows":[]}`
	for title, tc := range map[string]struct {
		reason         string
		pods           int32
		knownClusterID string
		replies        []string // of each pod; empty: no response
		id             string
		leader         string
		states         []string
		ready          metav1.Condition
		same           metav1.ConditionStatus
		after          time.Duration
	}{
		"No StatefulSet": {
			reason: "It is created after the first pass.", pods: -1,
			ready: metav1.Condition{Status: "False", Reason: "NoMembers", Message: "StatefulSet ovn-northbound has no pods yet"},
			after: shortRequeueInterval,
		},
		"Created": {
			reason: "The first member has created the cluster.", pods: 1, replies: []string{serving(ownCluster, "a", true, true, 3)},
			id: ownCluster, leader: pod(0), states: []string{"Joined"}, same: "True", after: shortRequeueInterval,
			ready: metav1.Condition{Status: "True", Reason: "QuorumHealthy", Message: "all 1 pods are members, and ovn-northbound-0 is the leader"},
		},
		"Starting": {
			reason: "Nothing is recorded without a response.", pods: 1, replies: []string{""}, states: []string{"Unreachable"}, same: "True",
			after: shortRequeueInterval,
			ready: metav1.Condition{Status: "False", Reason: "NoLeader", Message: "ovn-northbound-0 does not respond; no member is the leader"},
		},
		"Whole": {
			reason: "Three members; the second is the leader.", pods: 3, knownClusterID: ownCluster, id: ownCluster, leader: pod(1), same: "True",
			after: 10 * time.Second,
			replies: []string{serving(ownCluster, "a", false, true, 9), serving(ownCluster, "b", true, true, 10), serving(ownCluster, "c", false,
				true, 8)},
			states: []string{"Joined", "Joined", "Joined"},
			ready:  metav1.Condition{Status: "True", Reason: "QuorumHealthy", Message: "all 3 pods are members, and ovn-northbound-1 is the leader"},
		},
		"Joining": {
			reason: "One lost its volume and joins.", pods: 3, knownClusterID: ownCluster, id: ownCluster, leader: pod(1), same: "True",
			after:   shortRequeueInterval,
			replies: []string{serving("", "d", false, false, 0), serving(ownCluster, "b", true, true, 10), serving(ownCluster, "c", false, true, 8)},
			states:  []string{"Joining", "Joined", "Joined"},
			ready:   metav1.Condition{Status: "False", Reason: "MembersMissing", Message: "ovn-northbound-0 is not connected to a majority"},
		},
		"Left": {
			reason: "It no longer serves the database.", pods: 3, knownClusterID: ownCluster, id: ownCluster, leader: pod(0), same: "True",
			after:   shortRequeueInterval,
			replies: []string{serving(ownCluster, "a", true, true, 9), serving(ownCluster, "b", false, true, 10), noDatabase},
			states:  []string{"Joined", "Joined", "Left"},
			ready:   metav1.Condition{Status: "False", Reason: "MembersMissing", Message: "ovn-northbound-2 is no longer a member"},
		},
		"Behind": {
			reason: "It is connected but lags behind.", pods: 3, knownClusterID: ownCluster, id: ownCluster, leader: pod(0), same: "True",
			after: shortRequeueInterval,
			replies: []string{serving(ownCluster, "a", true, true, 5000), serving(ownCluster, "b", false, true, 4999), serving(ownCluster, "c",
				false, true, 99)},
			states: []string{"Joined", "Joined", "Joined"},
			ready:  metav1.Condition{Status: "False", Reason: "MembersMissing", Message: "ovn-northbound-2 is more than 1000 entries behind"},
		},
		"No majority": {
			reason: "Two are unreachable.", pods: 3, knownClusterID: ownCluster, id: ownCluster, same: "True", after: shortRequeueInterval,
			replies: []string{serving(ownCluster, "a", false, false, 9), "", ""}, states: []string{"Joining", "Unreachable", "Unreachable"},
			ready: metav1.Condition{
				Status: "False", Reason: "NoLeader",
				Message: "ovn-northbound-0 is not connected to a majority; ovn-northbound-1 does not respond; " +
					"ovn-northbound-2 does not respond; no member is the leader",
			},
		},
		"Another cluster": {
			reason: "It is reported and ignored, even if it is the leader of its own cluster.", pods: 3, knownClusterID: ownCluster, id: ownCluster,
			leader: pod(1), same: "False", after: shortRequeueInterval,
			replies: []string{serving(another, "x", true, true, 3), serving(ownCluster, "b", true, true, 10), serving(ownCluster, "c", false, true,
				8)},
			states: []string{"ClusterIDMismatch", "Joined", "Joined"},
			ready:  metav1.Condition{Status: "False", Reason: "ClusterIDMismatch", Message: "ovn-northbound-0 is a member of another cluster"},
		},
		"Only another": {
			reason: "The only member was re-created: the recorded ID is retained.", pods: 1, knownClusterID: ownCluster, id: ownCluster,
			same:    "False",
			after:   shortRequeueInterval,
			replies: []string{serving(another, "x", true, true, 3)}, states: []string{"ClusterIDMismatch"},
			ready: metav1.Condition{Status: "False", Reason: "ClusterIDMismatch",
				Message: "ovn-northbound-0 is a member of another cluster; no member is the leader"},
		},
		"Two at first": {
			reason: "It is unknown which ID is correct.", pods: 2, same: "False", after: shortRequeueInterval,
			replies: []string{serving(another, "x", true, true, 3), serving(ownCluster, "b", true, true, 3)}, states: []string{"ClusterIDMismatch", "ClusterIDMismatch"},
			ready: metav1.Condition{
				Status: "False", Reason: "ClusterIDMismatch", Message: "ovn-northbound-0 is a member of another cluster; " +
					"ovn-northbound-1 is a member of another cluster; no member is the leader",
			},
		},
		"Joiners answer first": {
			reason: "They have the ID that they were configured to join, of a lost cluster. It is not recorded, and no message suggests a deletion.",
			pods:   3, replies: []string{"", serving(another, "", false, false, 0), serving(another, "", false, false, 0)}, same: "True",
			after:  shortRequeueInterval,
			states: []string{"Unreachable", "Joining", "Joining"},
			ready: metav1.Condition{
				Status: "False", Reason: "NoLeader", Message: "ovn-northbound-0 does not respond; ovn-northbound-1 is not connected to a majority; " +
					"ovn-northbound-2 is not connected to a majority; no member is the leader",
			},
		},
		"Joiners with the first": {
			reason: "The cluster with the data is recorded.", pods: 2, id: ownCluster, leader: pod(0), same: "False",
			after:   shortRequeueInterval,
			replies: []string{serving(ownCluster, "a", true, true, 3), serving(another, "", false, false, 0)},
			states:  []string{"Joined", "ClusterIDMismatch"},
			ready:   metav1.Condition{Status: "False", Reason: "ClusterIDMismatch", Message: "ovn-northbound-1 is a member of another cluster"},
		},
		"Refuses": {
			reason: "The response is an error.", pods: 1, knownClusterID: ownCluster, id: ownCluster,
			replies: []string{`{"error":"unknown database"}`},
			states:  []string{"Unreachable"},
			same:    "True", after: shortRequeueInterval,
			ready: metav1.Condition{Status: "False", Reason: "NoLeader", Message: "ovn-northbound-0 does not respond; no member is the leader"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			c := newCluster(t, tc.pods, tc.knownClusterID)
			for i, rows := range tc.replies {
				if rows != "" {
					c.members.setReply(pod(i), rows)
				}
			}
			result, err := c.pass(c.api)
			if err != nil || result.RequeueAfter != tc.after {
				t.Errorf("%s next pass after %s (%v), want %s", tc.reason, result.RequeueAfter, err, tc.after)
			}
			s := c.status()
			var states []string
			for _, m := range s.Members {
				states = append(states, m.State)
			}
			if diff := cmp.Diff(tc.states, states); diff != "" || s.ClusterID != tc.id || s.Leader != tc.leader || s.ObservedGeneration != 1 {
				t.Errorf("%s cluster %q, leader %q, states (-want +got):\n%s", tc.reason, s.ClusterID, s.Leader, diff)
			}
			got := *meta.FindStatusCondition(s.Conditions, conditionReady)
			if diff := cmp.Diff(tc.ready, metav1.Condition{Status: got.Status, Reason: got.Reason, Message: got.Message}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if same := meta.FindStatusCondition(s.Conditions, conditionClusterIDMatches); same != nil && same.Status != tc.same || same == nil &&
				tc.same != "" {
				t.Errorf("%s ClusterIDMatches is %+v, want %s", tc.reason, same, tc.same)
			}
		})
	}
}

// TestCredentials: without a certificate no member is queried, and the content of the Secret is not revealed.
func TestCredentials(t *testing.T) {
	for title, tc := range map[string]struct {
		change func(*corev1.Secret)
		want   string
	}{
		"No key": {func(s *corev1.Secret) { s.Data["tls.key"] = []byte("correct-horse") },
			"Secret client does not hold a client's certificate, its key and the authority ca.crt"},
		"No authority": {func(s *corev1.Secret) { delete(s.Data, "ca.crt") },
			"Secret client does not hold a client's certificate, its key and the authority ca.crt"},
		"No Secret": {nil, "Secret client does not exist"},
	} {
		t.Run(title, func(t *testing.T) {
			c := newCluster(t, 1, "")
			s := &corev1.Secret{}
			if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "client"}, s); err != nil {
				t.Fatal(err)
			}
			var err error
			if tc.change == nil {
				err = c.api.Delete(context.Background(), s)
			} else {
				tc.change(s)
				err = c.api.Update(context.Background(), s)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.pass(c.api); err != nil {
				t.Fatal(err)
			}
			if got := meta.FindStatusCondition(c.status().Conditions, conditionReady); got.Message != tc.want || c.members.requestCount != 0 {
				t.Errorf("%q, %d requests; want %q", got.Message, c.members.requestCount, tc.want)
			}
		})
	}
}

// TestRecoversFromFaultAtAnyCall: after a fault at any call, and with another leader, the first recorded cluster ID is kept, even if members have
// another one.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	life := func(t *testing.T, at faultinjection.Point) *faultinjection.API {
		t.Helper()
		c := newCluster(t, 1, "")
		first := name + "-0"
		c.members.setReply(first, serving(ownCluster, "a", true, true, 3))
		a := faultinjection.New(c.api, at)
		a.OnConcurrentWrite = func() { _, _ = c.pass(c.api) }
		for range 3 {
			_, _ = c.pass(a.Client())
			a.ReconcileDone()
		}
		if s := c.status(); s.ClusterID != ownCluster {
			t.Errorf("cluster %q, want %s", s.ClusterID, ownCluster)
		}
		c.members.setReply(first, serving(another, "x", true, true, 3))
		for range 3 {
			_, _ = c.pass(a.Client())
			a.ReconcileDone()
		}
		if s := c.status(); s.ClusterID != ownCluster || s.Leader != "" || !meta.IsStatusConditionFalse(s.Conditions, conditionClusterIDMatches) {
			t.Errorf("it followed another cluster: %+v", s)
		}
		return a
	}
	full := life(t, faultinjection.NoFault)
	faultinjection.Run(t, full.Points(), func(t *testing.T, p faultinjection.Point) { life(t, p) })
	t.Logf("%d calls, %d of them writes", full.Calls, len(full.Writes))
}

// TestReportsClusterIDOnce: an event reports the recorded cluster ID once.
func TestReportsClusterIDOnce(t *testing.T) {
	c := newCluster(t, 1, "")
	c.members.setReply(name+"-0", serving(ownCluster, "a", true, true, 3))
	for range 3 {
		if _, err := c.pass(c.api); err != nil {
			t.Fatal(err)
		}
	}
	reported := 0
	for _, e := range controllertest.Events(c.events) {
		if strings.Contains(e, "recorded the cluster ID "+ownCluster) {
			reported++
		}
	}
	if reported != 1 {
		t.Errorf("%d events, want one", reported)
	}
}

// TestWritesStatusOnceDuringOutage: the status is written once during an outage, because each write triggers Crossplane.
func TestWritesStatusOnceDuringOutage(t *testing.T) {
	c := newCluster(t, 3, ownCluster)
	index := 5000
	c.members.setReply(name+"-1", serving(ownCluster, "b", true, true, index))
	c.members.setReply(name+"-2", serving(ownCluster, "c", false, true, 1))
	c.members.refuse = func() error {
		c.members.requestCount++ // Each attempt has another port.
		return &net.OpError{
			Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40000 + c.members.requestCount},
			Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 6641}, Err: syscall.ECONNRESET,
		}
	}
	var first c5c3v1.RaftClusterStatus
	for i := range 3 {
		if _, err := c.pass(c.api); err != nil {
			t.Fatal(err)
		}
		index += 7
		c.members.setReply(name+"-1", serving(ownCluster, "b", true, true, index))
		if i == 0 {
			first = c.status()
		}
	}
	if diff := cmp.Diff(first, c.status()); diff != "" {
		t.Errorf("the status changes from pass to pass (-first +last):\n%s", diff)
	}
	if got, want := first.Members[0].Message, "cannot connect: connection reset by peer"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestExpiredCertificateMessageHasNoTime: the message for members with expired certificates contains no time.
func TestExpiredCertificateMessageHasNoTime(t *testing.T) {
	c := newCluster(t, 1, ownCluster)
	c.members.expire()
	c.members.setReply(name+"-0", serving(ownCluster, "a", true, true, 3))
	if _, err := c.pass(c.api); err != nil {
		t.Fatal(err)
	}
	if got, want := c.status().Members[0].Message, "cannot connect by TLS: the certificate has expired or is not valid yet"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
