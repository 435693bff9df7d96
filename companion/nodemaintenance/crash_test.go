package nodemaintenance

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them. Writes are the most important
// ones.
var stride = flag.Int("crash.every", effort.Of(41, 7), "make every n-th run of TestRecoversFromFaultAtAnyCall")

// secondOrder is the order of the other node of the pool.
const secondOrder = "replace-disk"

// life drains, reboots and returns both nodes of a pool, of which one may be out of service, with orders that exist from the beginning. The
// rules are checked after each write.
type life struct {
	*cluster

	api  *faultinjection.API
	runs map[string]int
}

// tick makes a pass of each order, and ends the operations of Nova.
func (l *life) tick(r *Reconciler) {
	for _, o := range []string{name, secondOrder} {
		_, _ = r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: o}})
		l.api.ReconcileDone()
	}
	l.advance()
}

// advance ends the operations of Nova. Its scheduler selects no node that is disabled.
func (l *life) advance() {
	to, disabled := "", false
	for from, other := range map[string]string{"node-1": "node-2", "node-2": "node-1"} {
		if len(l.serversWithTask(from)) > 0 {
			to, disabled = other, disabled || l.disabled(other)
		}
	}
	if disabled {
		to = ""
	}
	l.nova.End(to, l.clock.Now().UTC().Format("2006-01-02T15:04:05.000000"))
	l.clock.SetTime(l.clock.Now().Add(30 * time.Second))
}

func (l *life) serversWithTask(host string) []string {
	var out []string
	for _, h := range l.nova.Hypervisors() {
		for _, s := range h.Servers {
			if h.Host == host && s.Task != "" {
				out = append(out, s.ID)
			}
		}
	}
	return out
}

// check verifies the rules: at most one node is out of service, a node that is drained has no server that runs, and a server that the order
// stopped is recorded.
func (l *life) check() {
	var out []string
	for _, s := range l.nova.Services() {
		if s.Disabled {
			out = append(out, s.Host+" "+s.Reason)
		}
	}
	if len(out) > 1 {
		l.t.Errorf("%d nodes are out of service: %v", len(out), out)
	}
	for _, o := range []string{name, secondOrder} {
		n := l.order(o)
		if n == nil || n.Status.DrainedTime == nil || n.Status.ReturnTime != nil || n.Status.State == openstackv1.MaintenanceInService {
			continue
		}
		for _, h := range l.nova.Hypervisors() {
			for _, s := range h.Servers {
				if h.Host == string(n.Spec.NodeName) && s.Status != "SHUTOFF" {
					l.t.Errorf("%s is drained with %+v", h.Host, s)
				}
			}
		}
	}
	recorded := map[string]bool{}
	for _, o := range []string{name, secondOrder} {
		if n := l.order(o); n != nil {
			for _, id := range n.Status.StoppedServers {
				recorded[id] = true
			}
		}
	}
	started := l.nova.Actions()
	for _, h := range l.nova.Hypervisors() {
		for _, s := range h.Servers {
			if s.Task == "powering-off" && !recorded[s.ID] && !slices.Contains(started, "os-start "+s.ID) {
				l.t.Errorf("%s is stopped without a record", s.ID)
			}
		}
	}
}

// play executes the life with a fault at one call.
func play(t *testing.T, at faultinjection.Point) *life {
	t.Helper()
	c := draining(t, runs("live"), runs("cold").wants("cold"), runs("stop").wants("stop"))
	c.nova.SetAgents(compute.Agent{ID: "1", Host: "node-1", Alive: true}, compute.Agent{ID: "2", Host: "node-2", Alive: true})
	second := order(secondOrder, "node-2")
	second.Spec.Mode, second.Spec.MaxNodes = openstackv1.MaintenanceDrain, 2
	c.must(c.api.Create(context.Background(), second))
	l := &life{cluster: c, api: faultinjection.New(c.api, at), runs: map[string]int{}}
	l.api.Written = l.check
	l.api.OnConcurrentWrite = func() {
		rival := l.sound()
		for range 1 + at.Call%5 {
			for _, o := range []string{secondOrder, name} {
				_, _ = rival.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: o}})
			}
			l.advance()
		}
		l.check()
	}
	r := c.reconciler(l.api.Client(), l.api.HTTP(c.nova))
	for range 120 {
		l.tick(r)
		for _, o := range []string{name, secondOrder} {
			n := l.order(o)
			if n.Status.DrainedTime != nil && n.Status.ReturnTime == nil {
				if node := string(n.Spec.NodeName); l.runs[node] == 0 {
					l.runs[node]++
					l.nodeNamed(node, func(n *corev1.Node) { n.Status.NodeInfo.BootID = "second" })
				}
			}
		}
		if l.order(name).Status.State == openstackv1.MaintenanceInService && l.order(secondOrder).Status.State == openstackv1.MaintenanceInService &&
			len(l.order(name).Finalizers)+len(l.order(secondOrder).Finalizers) == 0 {
			break
		}
	}
	return l
}

// nodeNamed changes the status of a Node.
func (c *cluster) nodeNamed(name string, change func(*corev1.Node)) {
	c.t.Helper()
	n := &corev1.Node{}
	c.must(c.api.Get(context.Background(), client.ObjectKey{Name: name}, n))
	change(n)
	c.must(c.api.Status().Update(context.Background(), n))
}

// finish verifies that both orders have ended, that all servers run, and that no operation was repeated after it had ended.
func (l *life) finish() {
	l.t.Helper()
	for _, o := range []string{name, secondOrder} {
		if n := l.order(o); n.Status.State != openstackv1.MaintenanceInService || len(n.Finalizers) > 0 {
			l.t.Errorf("%s: %s, %v, %v", o, n.Status.State, n.Finalizers, n.Status.Conditions)
		}
	}
	for _, s := range l.nova.Services() {
		if s.Disabled {
			l.t.Errorf("%+v", s)
		}
	}
	count := 0
	for _, h := range l.nova.Hypervisors() {
		for _, s := range h.Servers {
			count++
			if s.Status != "ACTIVE" || s.Task != "" {
				l.t.Errorf("%s: %+v", h.Host, s)
			}
		}
	}
	if count != 3 {
		l.t.Errorf("%d servers", count)
	}
	if l.t.Failed() {
		l.t.Log(strings.Join(l.nova.Actions(), "\n"))
	}
}

// TestRecoversFromFaultAtAnyCall repeats the life for each call to Kubernetes and to OpenStack, and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	full := play(t, faultinjection.NoFault)
	full.finish()
	all := full.api.Points()
	points := faultinjection.Sample(all, *stride, func(p faultinjection.Point) bool { return full.api.Writes[p.Call] != "" })
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) { play(t, p).finish() })
	t.Logf("%d calls, %d of them writes; %d of %d runs", full.api.Calls, len(full.api.Writes), len(points), len(all))
}
