//go:build node && linux

package node_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// detection is the maximum time for which a claim may report that it is ready although clients get no token: the
// companion logs in every minute, and after a failure every ten seconds; the third in a row counts
// (docs/how-to/monitor-a-claim.md). Each may take half a minute.
const detection = 60*time.Second + 2*10*time.Second + 3*30*time.Second

// steady is the time for which everything must be well before a fault counts as over.
const steady = 5 * time.Second

// fault is a fault that a test causes.
type fault struct {
	// name is the name of the row in docs/reference/test-evidence.md.
	name string
	// strike causes the fault, and repair is the action of an operator. Recovery counts from the end of the first.
	strike, repair func(context.Context, *broken) error
	// timeout is the maximum time until everything has recovered. 0: five minutes.
	timeout time.Duration
	// lossless: no request may be lost. schema: the database's schema is expected to change.
	lossless, schema bool
	// loses are prefixes of the names of requests that may be lost; empty: any may, unless lossless is set.
	loses []string
}

// keystonePods selects the pods of Keystone's API.
const keystonePods = "app.kubernetes.io/name=keystone,app.kubernetes.io/component=api"

// serviceFaults are the faults of Keystone, its pods and its configuration.
var serviceFaults = []fault{
	{name: "a pod of Keystone is deleted", strike: remove(keystonePods, 1, nil), lossless: true},
	{name: "a pod of Keystone is killed", strike: remove(keystonePods, 1, new(int64))},
	{name: "the processes of a pod of Keystone crash", strike: crash(keystonePods)},
	{name: "memcached is killed", strike: remove("app.kubernetes.io/name=memcached", 1, new(int64)), lossless: true},
	{name: "the companion is killed", strike: remove("app.kubernetes.io/component=companion", 1, new(int64)), lossless: true},
	{name: "the Service of Keystone is deleted", strike: lose(&corev1.Service{}, "keystone")},
	{name: "the ConfigMap of Keystone is deleted, then a pod", strike: both(loseConfig, remove(keystonePods, 1, nil)), lossless: true},
	{name: "the Secret of the database's user is deleted, then a pod of Keystone", strike: loseSecret, repair: renewSecret, lossless: true},
	{name: "an image that does not exist is ordered", strike: orderImage, repair: withdrawImage, lossless: true},
	{
		name:   "Crossplane is stopped in the middle of an upgrade, and a pod of Keystone deleted meanwhile",
		strike: stopCrossplane, repair: startCrossplane, lossless: true, schema: true,
	},
}

// infrastructureFaults are the faults of Keystone's dependencies.
var infrastructureFaults = []fault{
	{name: "RabbitMQ is killed", strike: remove("app.kubernetes.io/component=rabbitmq", 1, new(int64)), lossless: true},
	{name: "the member of MariaDB that takes writes is killed", strike: killPrimary},
	{name: "another member of MariaDB is killed", strike: killReplica, lossless: true},
	{name: "the queue's disk is full", strike: fillDisk, repair: clearDisk, lossless: true},
	// Galera rejects a bootstrapped member that restarts once more. According to its source, the operator starts again
	// after podSyncTimeout, five minutes.
	{name: "all members of MariaDB are killed at once", strike: remove("app.kubernetes.io/instance=mariadb", 0, new(int64)), timeout: 10 * time.Minute},
}

// broken is a control plane that is used during faults.
type broken struct {
	claim     *unstructured.Unstructured
	namespace string
	load      *load
	history   *history
	// requests are the requests of the load to services other than Keystone.
	requests []request
	// held is the tenants' data after the last fault.
	held map[string]string
	// disk is the folder of the queue's volume.
	disk string
}

// TestServicesRecoverFromFaults checks that faults lose no data, that everything recovers without intervention or when the cause is
// gone, that the claim reports the fault, and that with a second pod no request is lost.
func TestServicesRecoverFromFaults(t *testing.T) {
	t.Parallel()
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	b := &broken{claim: order(ctx, t, "testdata/service-faults.yaml")}
	b.namespace = instance(ctx, t, b.claim)
	b.sufferAll(ctx, t, serviceFaults)
}

// TestInfrastructureRecoversFromFaults checks the same for databases and queues with three members each. The network policies would
// deny none of the observed connections.
func TestInfrastructureRecoversFromFaults(t *testing.T) {
	t.Parallel()
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	observed := watchFlows(ctx, t)
	b := &broken{claim: order(ctx, t, "testdata/infrastructure-faults.yaml")}
	b.namespace = instance(ctx, t, b.claim)
	usage(ctx, t, b.namespace)
	t.Run("Restricted", func(t *testing.T) { testRestricted(ctx, t, b.namespace) })
	if err := b.smallDisk(ctx); err != nil {
		t.Fatal(err)
	}
	b.sufferAll(ctx, t, infrastructureFaults)
	if err := unix.Unmount(b.disk, unix.MNT_DETACH); err != nil {
		t.Error(err)
	}
	t.Run("NetworkPolicies", func(t *testing.T) { observed.checkPolicies(ctx, t, b.namespace) })
}

// sufferAll causes one fault after the other in a control plane under load, and logs the rows of docs/reference/test-evidence.md.
func (b *broken) sufferAll(ctx context.Context, t *testing.T, faults []fault) {
	t.Helper()
	b.history = b.listen(ctx, t)
	b.load = startLoad(ctx, t, b.namespace, b.requests...)
	if _, err := b.recovered(ctx, time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	endow(ctx, t, login(ctx, t, b.namespace))
	b.held = holdings(ctx, t, b.namespace)
	table := []string{"| Fault | Requests lost | of | Longest time without an answer | Everything is back after | The claim was not ready for | Data lost |", "|---|---|---|---|---|---|---|"}
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) { table = append(table, b.suffer(ctx, t, f)) })
	}
	t.Logf("\n%s", strings.Join(table, "\n"))
	b.load.stop()
}

// suffer causes one fault, and returns its row of the table.
func (b *broken) suffer(ctx context.Context, t *testing.T, f fault) string {
	b.load.take()
	started := time.Now()
	if err := f.strike(ctx, b); err != nil {
		t.Errorf("cannot bring it about: %v", err)
	}
	from := time.Now()
	if f.repair != nil {
		if err := f.repair(ctx, b); err != nil {
			t.Errorf("cannot fix it: %v", err)
		}
	}
	back, err := b.recovered(ctx, from, f.timeout)
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, cluster.Waiting(ctx, b.namespace), cluster.FailedContainerLogs(ctx, b.namespace))
	}
	counts := b.load.take()
	t.Log(counts)
	for _, text := range counts.first {
		t.Log(text)
		if f.lossless {
			t.Errorf("with a second pod, no request should be lost")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts.by)) {
		t.Logf("lost: %d × %s", counts.by[name], name)
		if len(f.loses) > 0 && !slices.ContainsFunc(f.loses, func(may string) bool { return strings.HasPrefix(name, may) }) {
			t.Errorf("%d × %s was lost, but the fault may only lose: %s", counts.by[name], name, strings.Join(f.loses, ", "))
		}
	}
	if !back.After(from) {
		back = from
	}
	unready := b.history.check(t, started, counts.outages)
	before := b.held
	b.held = holdings(ctx, t, b.namespace)
	expected := func(name, _ string) bool { return f.schema && strings.HasPrefix(name, tables) }
	if diff := cmp.Diff(before, b.held, cmpopts.IgnoreMapEntries(expected)); diff != "" {
		t.Errorf("data changed: -before +after\n%s", diff)
	}
	failures := 0
	for name, value := range before {
		if b.held[name] != value && !expected(name, value) {
			failures++
		}
	}
	row := fmt.Sprintf("| %s | %d | %d | %.1f s | %.0f s | %.0f s | %d |", f.name, counts.failed, counts.total(),
		counts.silence.Seconds(), back.Sub(from).Seconds(), unready.Seconds(), failures)
	t.Log(row)
	return row
}

// recovered waits until everything has been well for a while, and returns the start of that time: the claim is ready,
// every expected pod runs, and clients' requests succeed. It starts shortly after the fault, so that the fault has an
// effect before the first check.
func (b *broken) recovered(ctx context.Context, since time.Time, timeout time.Duration) (time.Time, error) {
	const notice = 3 * time.Second
	if timeout == 0 {
		timeout = 5 * time.Minute
	}
	var well time.Time
	for {
		err := errors.Join(b.load.answered(since), b.well(ctx))
		now := time.Now()
		switch {
		case err != nil:
			well = time.Time{}
		case well.IsZero():
			well = now
		case now.Sub(well) >= steady && now.Sub(since) >= notice+steady:
			return well, nil
		}
		if now.Sub(since) > timeout {
			return now, fmt.Errorf("it has not recovered after %.0f s: %w", timeout.Seconds(), err)
		}
		time.Sleep(time.Second)
	}
}

// well returns an error unless everything is well.
func (b *broken) well(ctx context.Context) error {
	if !b.load.steady(2 * time.Second) {
		return errors.New("requests are lost")
	}
	claim := b.claim.DeepCopy()
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return err
	}
	for _, c := range platform.Conditions(claim) {
		if c.Status != "True" || c.ObservedGeneration != 0 && c.ObservedGeneration != claim.GetGeneration() {
			return fmt.Errorf("the claim's %s is %s of generation %d:%s", c.Type, c.Status, c.ObservedGeneration, untrue(claim))
		}
	}
	pods := &corev1.PodList{}
	if err := cluster.Client.List(ctx, pods, client.InNamespace(b.namespace)); err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil {
			return fmt.Errorf("pod %s stops", p.Name)
		}
	}
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	if err := errors.Join(cluster.Client.List(ctx, deployments, client.InNamespace(b.namespace)),
		cluster.Client.List(ctx, sets, client.InNamespace(b.namespace))); err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != *d.Spec.Replicas || s.AvailableReplicas != s.UpdatedReplicas || s.Replicas != s.UpdatedReplicas {
			return fmt.Errorf("deployment %s has %d of %d pods: %s", d.Name, s.AvailableReplicas, *d.Spec.Replicas, cluster.Waiting(ctx, b.namespace))
		}
	}
	for _, d := range sets.Items {
		if s := d.Status; s.ObservedGeneration != d.Generation || s.ReadyReplicas != *d.Spec.Replicas || s.Replicas != s.ReadyReplicas {
			return fmt.Errorf("set %s has %d of %d pods: %s", d.Name, s.ReadyReplicas, *d.Spec.Replicas, cluster.Waiting(ctx, b.namespace))
		}
	}
	return nil
}

// history records the reports of a claim over time.
type history struct {
	mu  sync.Mutex
	all []report
}

type report struct {
	at    time.Time
	ready bool
	why   string
}

// listen watches the claim until the end of the test.
func (b *broken) listen(ctx context.Context, t *testing.T) *history {
	t.Helper()
	s := &history{}
	ctx, cancel := context.WithCancel(ctx)
	done := sync.WaitGroup{}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(b.claim.GroupVersionKind())
	done.Go(func() {
		for ; ctx.Err() == nil; wait(ctx, time.Second) {
			w, err := cluster.Client.Watch(ctx, list, client.InNamespace(b.claim.GetNamespace()), client.MatchingFields{"metadata.name": b.claim.GetName()})
			if err != nil {
				continue
			}
			for event := range w.ResultChan() {
				if claim, ok := event.Object.(*unstructured.Unstructured); ok {
					s.note(claim)
				}
			}
			w.Stop()
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return s
}

func (s *history) note(claim *unstructured.Unstructured) {
	now := report{at: time.Now()}
	c, _ := platform.ConditionOf(claim, "Ready")
	now.ready = c.Status == "True"
	for _, c := range platform.Conditions(claim) {
		if c.Status != "True" {
			now.why += fmt.Sprintf("%s=%s %s: %s; ", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.all); n == 0 || s.all[n-1].ready != now.ready || s.all[n-1].why != now.why {
		s.all = append(s.all, now)
	}
}

// check compares the claim's reports since a time with the results of clients, and returns how long it was not ready.
// If clients got no token for longer than the detection time, it must have reported that it is not ready.
func (s *history) check(t *testing.T, since time.Time, outages []outage) (unready time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i, w := range s.all {
		end := now
		if i+1 < len(s.all) {
			end = s.all[i+1].at
		}
		if end.Before(since) {
			continue
		}
		if w.at.After(since) {
			t.Logf("%5.1f s  ready: %t  %.300s", w.at.Sub(since).Seconds(), w.ready, w.why)
		}
		if !w.ready {
			unready += end.Sub(later(w.at, since))
		}
		for _, o := range outages {
			to := o.to
			if to.IsZero() {
				to = now
			}
			lie := earlier(end, to).Sub(later(w.at, o.from.Add(detection)))
			if w.ready && lie > 0 {
				t.Errorf("the claim was ready for %.0f s although clients had got no token for %.0f s", lie.Seconds(), detection.Seconds())
			}
		}
	}
	return unready
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// awaits waits until the claim reports a reason why it is not ready.
func (s *history) awaits(ctx context.Context, text string) error {
	return within(ctx, 2*time.Minute, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if last := s.all[len(s.all)-1]; last.ready || !strings.Contains(last.why, text) {
			return fmt.Errorf("the claim does not report %q, but %+v", text, last)
		}
		return nil
	})
}
