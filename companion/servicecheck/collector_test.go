package servicecheck

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// requests counts the requests to OpenStack and to Kubernetes.
type requests struct {
	http.RoundTripper

	mutex  sync.Mutex
	counts map[string]int
}

func (r *requests) add(name string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.counts[name]++
}

// take returns the counts since the previous call.
func (r *requests) take() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	out := r.counts
	r.counts = map[string]int{}
	return out
}

// RoundTrip counts a request by its first two path elements after the version.
func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(request.URL.Path, "/v2.1"), "/v2.0")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	r.add(request.Method + " " + parts[0])
	return r.RoundTripper.RoundTrip(request)
}

// reader counts the lists of pods.
func (r *requests) reader(api client.WithWatch) client.Client {
	return interceptor.NewClient(api, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*corev1.PodList); ok {
				r.add("list pods")
			}
			return c.List(ctx, l, opts...)
		},
	})
}

// fleet returns checks of pools with the given total number of nodes. All nodes have a server; the first have no free memory.
func fleet(t *testing.T, nodes, pools, full int) *cluster {
	t.Helper()
	c := newCluster(t)
	if err := c.api.Delete(t.Context(), check()); err != nil {
		t.Fatal(err)
	}
	var hypervisors []computetest.Hypervisor
	var services []compute.Service
	var agents []compute.Agent
	objects := []client.Object{}
	for p := range pools {
		space := fmt.Sprintf("pool-%d", p)
		o := check()
		o.Name, o.Spec.Processes = space, nil
		o.Spec.Nodes = []openstackv1.CheckedNodes{{Namespace: common.NamespaceName(space), DaemonSet: daemons}}
		set := &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: daemons, Namespace: space, UID: types.UID(space)},
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": daemons}}},
			Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: int32(nodes / pools)},
		}
		objects = append(objects, o, set)
		for i := range nodes / pools {
			node := fmt.Sprintf("node-%d-%d", p, i)
			objects = append(objects, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: node, Namespace: space, Labels: map[string]string{"app": daemons},
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
				},
				Spec: corev1.PodSpec{NodeName: node},
			})
			memory := computetest.Inventory{Total: 4096, Ratio: 1, Used: 1024}
			if len(hypervisors) < full {
				memory.Used = 4096
			}
			hypervisors = append(hypervisors, computetest.Hypervisor{
				Host: node, Provider: "rp-" + node, Servers: []compute.Server{runs("on-" + node)},
				Inventories: map[string]computetest.Inventory{"VCPU": {Total: 8, Ratio: 1, Used: 1}, "MEMORY_MB": memory},
			})
			services = append(services, compute.Service{ID: node, Binary: compute.Compute, Host: node, Up: true})
			agents = append(agents, compute.Agent{ID: node, Type: "OVN Controller agent", Host: node, Alive: true})
		}
	}
	for _, o := range objects {
		if err := c.api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	c.nova.SetHypervisors(hypervisors...)
	c.nova.Set(services...)
	c.nova.SetAgents(agents...)
	return c
}

// passOf runs a pass of a check and returns the condition Counted.
func (c *cluster) passOf(r *Reconciler, name string) (*openstackv1.ServiceCheck, reconcile.Result) {
	c.t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: name}
	result, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: key})
	if err != nil {
		c.t.Fatal(err)
	}
	o := &openstackv1.ServiceCheck{}
	if err := c.api.Get(context.Background(), key, o); err != nil {
		c.t.Fatal(err)
	}
	return o, result
}

// TestRequestsDependOnlyOnNodes: the number of requests of one pass of all pools depends on the number of nodes by its pages only, and not
// on the number of pools. Placement is queried separately for nodes without free memory, once.
func TestRequestsDependOnlyOnNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes, pools, full int
		// pages is the number of pages of hypervisors.
		pages int
	}{
		"a page":              {nodes: 200, pools: 1, pages: 1},
		"two pages":           {nodes: 201, pools: 1, pages: 2},
		"pools share a page":  {nodes: 200, pools: 4, pages: 1},
		"pools share pages":   {nodes: 1000, pools: 4, pages: 5},
		"many pools":          {nodes: 400, pools: 16, pages: 2},
		"no memory on twelve": {nodes: 400, pools: 4, full: 12, pages: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := fleet(t, tc.nodes, tc.pools, tc.full)
			count := &requests{RoundTripper: c.nova, counts: map[string]int{}}
			r := c.reconciler(count.reader(c.api), count)
			r.collector.parallel = parallelRequests
			for pass := range 2 {
				for p := range tc.pools {
					s, _ := c.passOf(r, fmt.Sprintf("pool-%d", p))
					nodes := int64(tc.nodes / tc.pools)
					if got := s.Status.Capacity; got == nil || got.VirtualMachines != nodes || got.TotalVCPU != 8*nodes || got.AvailableVCPU != 7*nodes {
						t.Fatalf("pool %d: %+v", p, got)
					}
				}
				want := map[string]int{
					"POST v3": 1, "GET os-services": 1, "GET os-hypervisors": tc.pages, "GET agents": 1, "GET allocation_candidates": 1,
					"list pods": tc.pools,
				}
				if tc.full > 0 {
					want["GET resource_providers"] = 2 * tc.full
				}
				if diff := cmp.Diff(want, count.take()); diff != "" {
					t.Errorf("pass %d (-want +got):\n%s", pass, diff)
				}
				c.clock.SetTime(c.clock.Now().Add(time.Minute))
			}
		})
	}
}

// TestChecksShareRecentRecords: a check uses the records of another one in the first half of its interval, and its next pass is at the same
// time as the next pass of the other.
func TestChecksShareRecentRecords(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// takes is the time that Neutron takes to respond. after is the time between the two checks, and change happens between them.
		takes  time.Duration
		after  time.Duration
		change func(*cluster)
		reads  bool
		next   time.Duration
	}{
		"at once": {reason: "They are new.", next: time.Minute},
		"later":   {reason: "They are recent enough.", after: 20 * time.Second, next: 40 * time.Second},
		"half":    {reason: "They are as old as permitted.", after: 30 * time.Second, next: 30 * time.Second},
		"too old": {reason: "They are older than half of the interval.", after: 31 * time.Second, reads: true, next: time.Minute},
		"other credentials": {reason: "They are of another user.", change: func(c *cluster) {
			c.edit("pool-1", func(s *openstackv1.ServiceCheckSpec) { s.CloudCredentialsRef.SecretName = "other" })
			if err := c.api.Create(c.t.Context(), identitytest.Clouds(namespace, "other", password)); err != nil {
				c.t.Fatal(err)
			}
		}, reads: true, next: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			c := fleet(t, 2, 2, 0)
			count := &requests{counts: map[string]int{}, RoundTripper: roundTripper(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/agents") {
					c.clock.SetTime(c.clock.Now().Add(tc.takes))
				}
				return c.nova.RoundTrip(r)
			})}
			r := c.reconciler(c.api, count)
			c.passOf(r, "pool-0")
			count.take()
			c.clock.SetTime(c.clock.Now().Add(tc.after))
			if tc.change != nil {
				tc.change(c)
			}
			_, result := c.passOf(r, "pool-1")
			if got := len(count.take()) > 0; got != tc.reads {
				t.Errorf("%s It sends requests: %t", tc.reason, got)
			}
			if result.RequeueAfter != tc.next {
				t.Errorf("%s The next pass is in %s, want %s", tc.reason, result.RequeueAfter, tc.next)
			}
		})
	}
}

// TestRereadsSharedRecordsBeforeActions: records that another check has read before are read again before an action, and before a count of
// zero is reported.
func TestRereadsSharedRecordsBeforeActions(t *testing.T) {
	const later = 20 * time.Second
	for name, tc := range map[string]struct {
		reason string
		// before is the state that the other check reads, and after the state of this pass.
		before, after func(*cluster)
		holds         func(*testing.T, *cluster)
	}{
		"removed node returns": {
			reason: "Its records must stay.",
			before: func(c *cluster) { c.pods(pool, 1, "node-2"); c.stopReporting("node-1") },
			after: func(c *cluster) {
				services := c.nova.Services()
				services[0].Up = true
				c.nova.Set(services...)
			},
			holds: func(t *testing.T, c *cluster) {
				t.Helper()
				if diff := cmp.Diff(allRecords("node-1"), c.nova.Leftovers("node-1")); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
			},
		},
		"cordoned node is enabled": {
			reason: "Another user has enabled it, so that it can get servers.",
			before: func(c *cluster) {
				c.disable("node-1", disabledReasonPrefix+"2001-09-09T01:46:40Z")
				c.cordon("node-1", true)
			},
			after: func(c *cluster) {
				services := c.nova.Services()
				services[0].Disabled, services[0].Reason = false, ""
				c.nova.Set(services...)
			},
			holds: func(t *testing.T, c *cluster) {
				t.Helper()
				if got := meta.FindStatusCondition(c.check().Status.Conditions, conditionCordonedNodesEvacuated); got.Status != metav1.ConditionFalse {
					t.Errorf("%+v", got)
				}
				if s := c.service("node-1"); !s.Disabled {
					t.Error("it is not disabled again")
				}
			},
		},
		"first server": {
			reason: "It was created after the other check.",
			before: func(*cluster) {},
			after:  func(c *cluster) { c.on("node-2", "new") },
			holds: func(t *testing.T, c *cluster) {
				t.Helper()
				if got := c.check().Status.Capacity; got.VirtualMachines != 1 {
					t.Errorf("%+v", got)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := evicting(t)
			r := c.reconciler(c.api, c.nova)
			if _, err := c.pass(r); err != nil {
				t.Fatal(err)
			}
			c.clock.SetTime(c.clock.Now().Add(time.Minute))
			tc.before(c)
			c.passOf(r, "another")
			c.clock.SetTime(c.clock.Now().Add(later))
			tc.after(c)
			if _, err := c.pass(r); err != nil {
				t.Fatal(err)
			}
			t.Log(tc.reason)
			tc.holds(t, c)
		})
	}
}

// TestRecordsAfterAction: no check uses records that were read before an action changed them.
func TestRecordsAfterAction(t *testing.T) {
	c := hypervisors(t)
	r := c.reconciler(c.api, c.nova)
	c.runPasses(r)
	c.pods(pool, 1, "node-2")
	c.stopReporting("node-1")
	if _, err := c.pass(r); err != nil {
		t.Fatal(err)
	}
	if len(c.nova.Leftovers("node-1")) > 0 {
		t.Fatal("the records of the removed node are left")
	}
	count := &requests{RoundTripper: c.nova, counts: map[string]int{}}
	r.Transport = func([]byte) (http.RoundTripper, error) { return count, nil }
	c.passOf(r, "another")
	if len(count.take()) == 0 {
		t.Error("it uses records that contain the removed node")
	}
}

// TestDropsRecordsOfUnusedCredentials: records that were read with credentials that no check has any more are not kept.
func TestDropsRecordsOfUnusedCredentials(t *testing.T) {
	c := fleet(t, 2, 1, 0)
	r := c.reconciler(c.api, c.nova)
	c.passOf(r, "pool-0")
	c.edit("pool-0", func(s *openstackv1.ServiceCheckSpec) { s.CloudCredentialsRef.SecretName = "other" })
	if err := c.api.Create(t.Context(), identitytest.Clouds(namespace, "other", password)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 1} {
		c.clock.SetTime(c.clock.Now().Add(40 * time.Minute))
		if c.passOf(r, "pool-0"); len(r.collector.last) != want {
			t.Errorf("it keeps the records of %d credentials, want %d", len(r.collector.last), want)
		}
	}
}

// TestChecksShareRecentFailure: a failure is shared for a few seconds, so that not each check waits for a service that does not respond.
func TestChecksShareRecentFailure(t *testing.T) {
	c := fleet(t, 3, 3, 0)
	count := &requests{RoundTripper: c.nova, counts: map[string]int{}}
	r := c.reconciler(c.api, count)
	c.nova.SetDown(true)
	for i, tc := range []struct {
		after time.Duration
		reads bool
	}{{0, true}, {5 * time.Second, false}, {6 * time.Second, true}} {
		c.clock.SetTime(c.clock.Now().Add(tc.after))
		s, result := c.passOf(r, fmt.Sprintf("pool-%d", i))
		if got := meta.FindStatusCondition(s.Status.Conditions, conditionCounted); got.Reason != "ServiceUnavailable" {
			t.Errorf("check %d: %+v", i, got)
		}
		if got := len(count.take()) > 0; got != tc.reads || result.RequeueAfter != shortRequeueInterval {
			t.Errorf("check %d: it sends requests: %t, and the next pass is in %s", i, got, result.RequeueAfter)
		}
	}
}

// TestReadsOfPassHaveCommonDeadline: the reads of a pass have a common deadline, in addition to the timeout of each request.
func TestReadsOfPassHaveCommonDeadline(t *testing.T) {
	c := fleet(t, 1, 1, 0)
	lists := 0
	r := c.reconciler(c.api, c.nova)
	r.Reader = interceptor.NewClient(c.api, interceptor.Funcs{
		List: func(ctx context.Context, under client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			lists++
			if at, ok := ctx.Deadline(); !ok || time.Until(at) > passTimeout {
				t.Errorf("the deadline is %s (%t)", at, ok)
			}
			return under.List(ctx, l, opts...)
		},
	})
	if c.passOf(r, "pool-0"); lists == 0 {
		t.Error("nothing was listed")
	}
}

// roundTripper is a function that serves requests.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip serves a request.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestInParallel: all calls are made, no more at a time than the limit, and the error is returned by the first call in order.
func TestInParallel(t *testing.T) {
	for name, tc := range map[string]struct {
		limit, n, want int
	}{
		"one at a time": {limit: 0, n: 5, want: 1},
		"some":          {limit: 3, n: 20, want: 3},
		"fewer calls":   {limit: 8, n: 2, want: 2},
		"none":          {limit: 8, n: 0, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			// Calls wait until as many run as may.
			var mutex sync.Mutex
			running, most, calls := 0, 0, 0
			reached := make(chan struct{})
			release := sync.OnceFunc(func() { close(reached) })
			count := func(change int) {
				mutex.Lock()
				defer mutex.Unlock()
				running += change
				calls += max(change, 0)
				if most = max(most, running); running == tc.want {
					release()
				}
			}
			if err := inParallel(tc.limit, tc.n, func(int) error {
				count(1)
				<-reached
				count(-1)
				return nil
			}); err != nil {
				t.Error(err)
			}
			if most != tc.want || calls != tc.n {
				t.Errorf("%d calls, %d at a time, want %d", calls, most, tc.want)
			}
		})
	}
	var done []int
	err := inParallel(1, 5, func(i int) error {
		done = append(done, i)
		if i == 2 {
			return errors.New("two")
		}
		return nil
	})
	if diff := cmp.Diff([]int{0, 1, 2}, done); diff != "" || err == nil || err.Error() != "two" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	release := make(chan struct{})
	err = inParallel(2, 2, func(i int) error {
		if i == 0 {
			<-release
		} else {
			close(release)
		}
		return fmt.Errorf("call %d", i)
	})
	if err == nil || err.Error() != "call 0" {
		t.Errorf("the error of the call that ended first: %v", err)
	}
}
