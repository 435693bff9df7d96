package servicecheck

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/blockstorage/blockstoragetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// volumes is a Cinder with two backends, one of which two managers share, and its environment.
type volumes struct {
	*cluster
	cinder *blockstoragetest.Cinder
	r      *Reconciler
}

const (
	shared = "cinder-volume-ceph-rbd"
	alone  = "cinder-volume-archive-1"
)

func newVolumes(t *testing.T, objects ...client.Object) *volumes {
	t.Helper()
	c := newCluster(t, append(objects, replicas("cinder-scheduler", 1), replicas(shared, 2), replicas(alone, 1))...)
	c.edit(name, func(s *openstackv1.ServiceCheckSpec) {
		s.Service = "block-storage"
		s.Processes = []openstackv1.CheckedProcess{
			{Binary: "cinder-scheduler", StatefulSetName: "cinder-scheduler"},
			{Binary: "cinder-volume", StatefulSetName: shared}, {Binary: "cinder-volume", StatefulSetName: alone},
		}
		s.Backends = []openstackv1.CheckedBackend{{Name: "ceph-rbd"}, {Name: "archive_1", LooksEverySeconds: 600}}
	})
	cinder := blockstoragetest.New(identitytest.New(map[string]string{"admin": password}))
	v := &volumes{cluster: c, cinder: cinder, r: c.reconciler(c.api, cinder)}
	v.report(true, true, true)
	v.look()
	return v
}

// report sets which managers report. Schedulers always do.
func (v *volumes) report(first, second, other bool) {
	v.cinder.Set(
		blockstoragetest.Service{Binary: "cinder-scheduler", Host: "cinder-scheduler-0", Up: true},
		blockstoragetest.Service{Binary: "cinder-volume", Host: shared + "-0@ceph-rbd", Up: first},
		blockstoragetest.Service{Binary: "cinder-volume", Host: shared + "-1@ceph-rbd", Up: second},
		blockstoragetest.Service{Binary: "cinder-volume", Host: alone + "-0@archive_1", Up: other},
	)
}

// look makes all managers report their capacity now.
func (v *volumes) look() {
	v.cinder.SetPools(
		blockstoragetest.Pool{Name: "cinder@ceph-rbd#ceph-rbd", ReportedAt: v.clock.Now(), Total: 100.9, Free: 60.2, State: "up"},
		blockstoragetest.Pool{Name: alone + "-0@archive_1#archive_1", ReportedAt: v.clock.Now(), Total: 10, Free: 0.0},
	)
}

// after returns the backends and the condition some time later.
func (v *volumes) after(d time.Duration) (backends []openstackv1.CheckedBackendState, ready metav1.Condition) {
	v.t.Helper()
	v.clock.SetTime(v.clock.Now().Add(d))
	if _, err := v.pass(v.r); err != nil {
		v.t.Fatal(err)
	}
	s := v.check().Status
	c := *meta.FindStatusCondition(s.Conditions, conditionReady)
	return s.Backends, metav1.Condition{Status: c.Status, Reason: c.Reason, Message: c.Message}
}

var (
	completeState = openstackv1.CheckedBackendState{Name: "ceph-rbd", Up: 2, TotalGiB: new(int64(100)), AvailableGiB: new(int64(60))}
	full          = openstackv1.CheckedBackendState{Name: "archive_1", Up: 1, TotalGiB: new(int64(10)), AvailableGiB: new(int64(0))}
	well          = metav1.Condition{Status: "True", Reason: "ProcessesUp", Message: "all known processes report"}
)

// lastReport returns a backend whose last report was at the given time.
func lastReport(s openstackv1.CheckedBackendState, at time.Time, notReporting bool, up int32) openstackv1.CheckedBackendState {
	s.Looked, s.Silent, s.Up = &metav1.Time{Time: at}, notReporting, up
	return s
}

// compare compares two values; times are equal if they are the same instant.
func compare(t *testing.T, reason string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// TestReportsLastCapacityOfBackends: the reported capacity is the last one of the managers, while they report.
func TestReportsLastCapacityOfBackends(t *testing.T) {
	v := newVolumes(t)
	start := v.clock.Now()
	got, ready := v.after(0)
	compare(t, "Both have reported.", []openstackv1.CheckedBackendState{completeState, full}, got)
	compare(t, "Everything reports.", well, ready)

	// Ceph becomes unreachable: its managers continue to report, but without capacity.
	got, ready = v.after(5 * time.Minute)
	compare(t, "It may be delayed.", []openstackv1.CheckedBackendState{completeState, full}, got)
	compare(t, "Nothing is overdue yet.", well, ready)
	got, ready = v.after(time.Minute)
	compare(t, "It is overdue; the one that reports every ten minutes is not.", []openstackv1.CheckedBackendState{lastReport(completeState,
		start,
		true, 2), full}, got)
	const notReporting = "backend ceph-rbd has not reported its capacity since 2001-09-09T01:46:40Z"
	compare(t, "The condition reports it.", metav1.Condition{Status: "False", Reason: "BackendsNotReporting", Message: notReporting}, ready)

	// Its managers restart and cannot connect to it.
	v.report(false, false, true)
	v.cinder.SetPools(blockstoragetest.Pool{Name: alone + "-0@archive_1#archive_1", ReportedAt: v.clock.Now(), Total: 10, Free: 0.0})
	got, ready = v.after(time.Minute)
	compare(t, "The previous capacity is retained.", []openstackv1.CheckedBackendState{lastReport(completeState, start, true, 0), full}, got)
	compare(t, "The condition reports both.", metav1.Condition{Status: "False", Reason: "ProcessesDown",
		Message: "cinder-volume does not report from " +
			shared + "-0, " + shared + "-1; " + notReporting}, ready)

	v.report(true, true, true)
	v.look()
	got, ready = v.after(time.Minute)
	compare(t, "It reports again.", []openstackv1.CheckedBackendState{completeState, full}, got)
	compare(t, "Everything reports again.", well, ready)
}

// TestToleratesRestartOfSchedulers: restarted schedulers know no backends, which is ignored for a while.
func TestToleratesRestartOfSchedulers(t *testing.T) {
	v := newVolumes(t)
	v.after(0)
	v.cinder.SetPools()
	start := v.clock.Now().Add(time.Minute)
	got, ready := v.after(time.Minute)
	compare(t, "They reported a minute ago.", []openstackv1.CheckedBackendState{lastReport(completeState, start, false, 2), lastReport(full,
		start, false, 1)}, got)
	compare(t, "The condition is True.", well, ready)
	got, _ = v.after(6 * time.Minute)
	compare(t, "The reports are overdue.", []openstackv1.CheckedBackendState{lastReport(completeState, start, true, 2), lastReport(full,
		start, false,
		1)}, got)
	v.look()
	got, _ = v.after(time.Minute)
	compare(t, "They do.", []openstackv1.CheckedBackendState{completeState, full}, got)
}

// TestBackendsNeverReported: the capacity of a backend that never reported is unset, not 0.
func TestBackendsNeverReported(t *testing.T) {
	v := newVolumes(t)
	v.cinder.SetPools()
	want := []openstackv1.CheckedBackendState{{Name: "ceph-rbd", Up: 2, Silent: true}, {Name: "archive_1", Up: 1, Silent: true}}
	for range 2 {
		got, ready := v.after(time.Minute)
		compare(t, "They have not reported.", want, got)
		compare(t, "The condition reports it.", metav1.Condition{Status: "False", Reason: "BackendsNotReporting",
			Message: "backend ceph-rbd has never " +
				"reported its capacity; backend archive_1 has never reported its capacity"}, ready)
	}
}

// TestRetainsCapacityWhileUnknown: an unknown amount keeps the previous one, and an infinite amount is unset.
func TestRetainsCapacityWhileUnknown(t *testing.T) {
	v := newVolumes(t)
	v.after(0)
	v.cinder.SetPools(
		blockstoragetest.Pool{Name: "cinder@ceph-rbd#ceph-rbd", ReportedAt: v.clock.Now(), Total: "unknown", Free: "unknown"},
		blockstoragetest.Pool{Name: alone + "-0@archive_1#archive_1", ReportedAt: v.clock.Now(), Total: "infinite", Free: "infinite"},
	)
	got, ready := v.after(time.Minute)
	compare(t, "One amount is unknown, and one is infinite.", []openstackv1.CheckedBackendState{completeState, {Name: "archive_1", Up: 1}},
		got)
	compare(t, "The condition is True.", well, ready)
	v.cinder.SetPools(
		blockstoragetest.Pool{Name: "cinder@ceph-rbd#ceph-rbd", ReportedAt: v.clock.Now(), Total: "unknown", Free: "unknown", State: "down"},
		blockstoragetest.Pool{Name: alone + "-0@archive_1#a", ReportedAt: v.clock.Now(), Total: 3, Free: 2},
		blockstoragetest.Pool{Name: alone + "-0@archive_1#b", ReportedAt: v.clock.Now(), Total: 4, Free: 1.5},
	)
	at := v.clock.Now().Add(time.Minute)
	two := openstackv1.CheckedBackendState{Name: "archive_1", Up: 1, TotalGiB: new(int64(7)), AvailableGiB: new(int64(3))}
	got, _ = v.after(time.Minute)
	compare(t, "One reports that it is down, and one has two pools.", []openstackv1.CheckedBackendState{lastReport(completeState, at, false,
		2), two},
		got)
}

// TestFailedRequestsRetainBackendState: the previous state is retained while requests fail.
func TestFailedRequestsRetainBackendState(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		prepare     func(*blockstoragetest.Cinder)
		wantMessage string
	}{
		"Cinder": {"It does not respond.", func(c *blockstoragetest.Cinder) { c.SetDown(true) },
			"cannot list the services of Cinder: Cinder returned HTTP 503"},
		"Schedulers": {"The API alone has no pools.", func(c *blockstoragetest.Cinder) { c.FailSchedulerRequests(true) },
			"cannot list the pools of Cinder: Cinder returned HTTP 500"},
		"Rights": {"The user has no permission.", func(c *blockstoragetest.Cinder) { c.FailRequests("Policy doesn't allow it.") },
			"Cinder returned HTTP 403: Policy doesn't allow it."},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolumes(t)
			v.after(0)
			tc.prepare(v.cinder)
			got, ready := v.after(time.Hour)
			compare(t, tc.reason, []openstackv1.CheckedBackendState{completeState, full}, got)
			if ready.Status != "False" || ready.Reason != "ServiceUnavailable" || !strings.Contains(ready.Message, tc.wantMessage) {
				t.Errorf("%s Condition: %+v", tc.reason, ready)
			}
		})
	}
}

// TestReportsOnlyBackendsOfSpec: a backend that was removed from the spec is not reported, and without backends, no scheduler is
// queried.
func TestReportsOnlyBackendsOfSpec(t *testing.T) {
	v := newVolumes(t)
	v.after(0)
	v.edit(name, func(s *openstackv1.ServiceCheckSpec) { s.Backends = s.Backends[1:] })
	got, _ := v.after(time.Minute)
	compare(t, "One remains.", []openstackv1.CheckedBackendState{full}, got)
	v.edit(name, func(s *openstackv1.ServiceCheckSpec) { s.Backends = nil })
	v.cinder.FailSchedulerRequests(true)
	got, ready := v.after(time.Minute)
	compare(t, "None is.", []openstackv1.CheckedBackendState(nil), got)
	compare(t, "Processes are reported.", well, ready)
}

// TestVolumeRecordsStay: Cinder has no request to remove a record, even of a pod that was scaled down.
func TestVolumeRecordsStay(t *testing.T) {
	v := newVolumes(t)
	v.cinder.Set(
		blockstoragetest.Service{Binary: "cinder-scheduler", Host: "cinder-scheduler-0", Up: true},
		blockstoragetest.Service{Binary: "cinder-scheduler", Host: "cinder-scheduler-1"},
		blockstoragetest.Service{Binary: "cinder-volume", Host: shared + "-0@ceph-rbd", Up: true},
		blockstoragetest.Service{Binary: "cinder-volume", Host: shared + "-1@ceph-rbd", Up: true},
		blockstoragetest.Service{Binary: "cinder-volume", Host: alone + "-0@archive_1", Up: true},
	)
	_, ready := v.after(0)
	compare(t, "It is no failure.", well, ready)
	if s := v.check().Status; s.Up != 4 || s.Down != 1 || s.Removed != 0 {
		t.Errorf("%+v", s)
	}
}

// TestCinderQueriedOnce: an additional pass within the interval sends no request.
func TestCinderQueriedOnce(t *testing.T) {
	v := newVolumes(t)
	for range 3 {
		v.after(0)
	}
	if n := v.cinder.RequestCount(); n != 2 {
		t.Errorf("%d requests, want one for the services and one for the pools", n)
	}
}

// TestBackendStateRecoversFromAnyFault: after a fault at any call, the status is correct in the end.
func TestBackendStateRecoversFromAnyFault(t *testing.T) {
	life := func(t *testing.T, at faultinjection.Point) *faultinjection.API {
		t.Helper()
		v := newVolumes(t)
		a := faultinjection.New(v.api, at)
		r := v.reconciler(a.Client(), a.HTTP(v.cinder))
		for range 4 {
			_, _ = v.pass(r)
			a.ReconcileDone()
			v.clock.SetTime(v.clock.Now().Add(time.Minute))
		}
		compare(t, "Both are reported.", []openstackv1.CheckedBackendState{completeState, full}, v.check().Status.Backends)
		return a
	}
	crashed := life(t, faultinjection.NoFault)
	faultinjection.Run(t, crashed.Points(), func(t *testing.T, p faultinjection.Point) { life(t, p) })
}
