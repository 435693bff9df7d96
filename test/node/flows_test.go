//go:build node && linux

package node_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/node/policy"
)

// flows are the connections that the kernel of the node tracks, and the pods of the meantime. The node's network
// enforces no policy, so every connection succeeds and is observed.
type flows struct {
	mu       sync.Mutex
	observed map[policy.Connection]time.Time
	pods     map[types.UID]*corev1.Pod
}

// watchFlows watches until the end of the test. The kernel remembers a closed connection for at least ten seconds, so
// that an interval of two seconds misses none. An address belongs to one pod for 254 others.
func watchFlows(ctx context.Context, t *testing.T) *flows {
	t.Helper()
	f := &flows{observed: map[policy.Connection]time.Time{}, pods: map[types.UID]*corev1.Pod{}}
	if err := f.look(ctx); err != nil {
		t.Fatalf("cannot see connections: %v", err)
	}
	for c := range f.observed {
		f.observed[c] = time.Time{} // earlier ones, perhaps of deleted pods
	}
	ctx, cancel := context.WithCancel(ctx)
	done := sync.WaitGroup{}
	done.Go(func() {
		for ; ctx.Err() == nil; wait(ctx, time.Second) {
			f.watchPods(ctx)
		}
	})
	done.Go(func() {
		for ; ctx.Err() == nil; wait(ctx, 2*time.Second) {
			if err := f.look(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("cannot see connections: %v", err)
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return f
}

// wait waits for a time, or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (f *flows) look(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "conntrack", "-L", "-o", "extended").Output()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range policy.ParseConntrack(string(out)) {
		if _, ok := f.observed[c]; !ok {
			f.observed[c] = time.Now()
		}
	}
	return nil
}

// watchPods records pods with their addresses until the watch ends.
func (f *flows) watchPods(ctx context.Context) {
	w, err := cluster.Client.Watch(ctx, &corev1.PodList{})
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && pod.Status.PodIP != "" && !pod.Spec.HostNetwork {
			f.mu.Lock()
			f.pods[pod.UID] = pod
			f.mu.Unlock()
		}
	}
}

// of returns the flows from or to pods of a namespace.
func (f *flows) of(t *testing.T, namespace string) []policy.Flow {
	t.Helper()
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	end := func(a netip.Addr, at time.Time) policy.End {
		e := policy.End{Address: a}
		for _, p := range f.pods {
			// The newest pod that existed at the time.
			if p.Status.PodIP == a.String() && !p.CreationTimestamp.After(at) &&
				(e.Pod == nil || e.Pod.CreationTimestamp.Before(&p.CreationTimestamp)) {
				e.Pod = p
			}
		}
		e.Node = e.Pod == nil && slices.ContainsFunc(own, func(o net.Addr) bool {
			prefix, err := netip.ParsePrefix(o.String())
			return err == nil && prefix.Addr() == a
		})
		return e
	}
	var out []policy.Flow
	for c, at := range f.observed {
		if at.IsZero() {
			continue
		}
		flow := policy.Flow{From: end(c.From, at), To: end(c.To, at), Protocol: c.Protocol, Port: c.Port}
		for _, e := range []policy.End{flow.From, flow.To} {
			if e.Pod != nil && e.Pod.Namespace == namespace {
				out = append(out, flow)
				break
			}
		}
	}
	return out
}

// unused are ports of network policies that no test uses, each with the reason why it is allowed.
var unused = map[string]string{
	"companion Ingress 0 TCP 8443":       "Prometheus, which is not here",
	"companion Egress 1 TCP 80":          "the public address, where no gateway is",
	"companion Egress 1 TCP 443":         "API servers of other clusters listen there",
	"mariadb Egress 2 TCP 443":           "API servers of other clusters listen there",
	"rabbitmq Egress 2 TCP 443":          "API servers of other clusters listen there",
	"companion Egress 0 TCP 53":          longAnswers,
	"keystone Egress 0 TCP 53":           longAnswers,
	"mariadb Egress 0 TCP 53":            longAnswers,
	"rabbitmq Egress 0 TCP 53":           longAnswers,
	"service-jobs Egress 0 TCP 53":       longAnswers,
	"memcached-keystone Egress 0 UDP 53": "memcached resolves no name; every pod may",
	"memcached-keystone Egress 0 TCP 53": "memcached resolves no name; every pod may",
	"keystone Ingress 1 TCP 5000":        "the gateway, which is not here",
	"rabbitmq Ingress 0 TCP 5671":        "Keystone sends no messages, and no other service is here",
	"rabbitmq Ingress 1 TCP 15671":       "the operator of users and permissions, of which there are none; the other one connects now and then",
	"rabbitmq Egress 2 TCP 6443":         "members of RabbitMQ 4.1 and newer find each other without the API server",
	"mariadb Ingress 1 TCP 4568":         "a member that was away for long copies everything, at another port",
	"mariadb Egress 1 TCP 4568":          "a member that was away for long copies everything, at another port",
}

// longAnswers is the reason why DNS over TCP is allowed.
const longAnswers = "long responses of name servers"

// checkPolicies compares the observed connections with the network policies of a namespace: none would be denied, and
// all allowed ports are needed, or on the list.
func (f *flows) checkPolicies(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	c, observed := f.checkDenied(ctx, t, namespace, func(policy.Flow) bool { return false })
	needed := c.Needed(observed)
	for _, title := range slices.Sorted(maps.Keys(needed)) {
		switch reason := unused[title]; {
		case needed[title]:
		case reason == "":
			t.Errorf("not needed: %s", title)
		default:
			t.Logf("  not needed: %s (%s)", title, reason)
		}
	}
}

// checkDenied checks that no observed connection would be denied, except those of other namespaces.
func (f *flows) checkDenied(
	ctx context.Context, t *testing.T, namespace string, strange func(policy.Flow) bool,
) (policy.Cluster, []policy.Flow) {
	t.Helper()
	all, policies := &corev1.NamespaceList{}, &networkingv1.NetworkPolicyList{}
	if err := cluster.Client.List(ctx, all); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Client.List(ctx, policies, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	c := policy.Cluster{Policies: policies.Items, Namespaces: map[string]labels.Set{}}
	for _, n := range all.Items {
		c.Namespaces[n.Name] = n.Labels
	}
	observed := f.of(t, namespace)
	denied := map[string]bool{}
	kinds := map[string]int{}
	for _, flow := range observed {
		kinds[kind(flow)]++
		if why := c.Denied(flow); why != "" && !strange(flow) {
			denied[why] = true
		}
	}
	t.Logf("%d policies, %d flows", len(policies.Items), len(observed))
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("  %3d  %s", kinds[k], k)
	}
	for _, why := range slices.Sorted(maps.Keys(denied)) {
		t.Error(why)
	}
	if len(policies.Items) == 0 || len(observed) == 0 {
		t.Error("no policies or no connections")
	}
	return c, observed
}

// kind returns a flow in terms of kinds of pods.
func kind(f policy.Flow) string {
	return fmt.Sprintf("%s → %s %s %d", kindOf(f.From), kindOf(f.To), f.Protocol, f.Port)
}

func kindOf(e policy.End) string {
	if e.Pod == nil {
		return e.String()
	}
	l := e.Pod.Labels
	if name := strings.TrimSpace(l["app.kubernetes.io/name"] + " " + l["app.kubernetes.io/component"]); name != "" {
		return name
	}
	name, _, _ := strings.Cut(e.Pod.Name, "-")
	return e.Pod.Namespace + "/" + name
}
