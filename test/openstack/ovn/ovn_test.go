//go:build openstack && linux

package ovn

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ovnchassisv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// election is the maximum time of a write during an election: twice the timer of five seconds (the members wait for
// different times, so that one of them wins), plus a margin for a busy machine.
const election = 30 * time.Second

// TestOVNRetainsRowsAfterFaults runs three members of each database and two of northd, as ordered by an OVNCluster, and checks that after
// any loss there is one cluster, with every acknowledged row.
func TestOVNRetainsRowsAfterFaults(t *testing.T) {
	t.Parallel()
	n := newOVN(t, "networks", 3)
	began := time.Now()
	n.converge()
	t.Logf("ready after %s", time.Since(began).Round(time.Second))
	nb, sb := n.northbound(), n.southbound()
	first, leader := nb.members(3)
	other, _ := sb.members(3)
	t.Logf("northbound %s, led by member %d; southbound %s", first, leader, other)

	same := func(t *testing.T, count int) {
		t.Helper()
		for of, want := range map[ovsdb]string{nb: first, sb: other} {
			if id, _ := of.members(count); id != want {
				t.Fatalf("the %s database is of cluster %s, want %s", of.part, id, want)
			}
		}
	}

	t.Run("Exposure", func(t *testing.T) { testExposure(t, n, sb) })
	t.Run("Northd", func(t *testing.T) { testNorthd(t, nb, sb) })
	t.Run("Settings", func(t *testing.T) { testSettings(t, n, nb) })
	t.Run("Chassis", func(t *testing.T) { testChassis(t, n, sb) })
	t.Run("Relay", func(t *testing.T) { testRelay(t, n, sb) })
	t.Run("Roles", func(t *testing.T) { testRoles(t, n, sb) })
	t.Run("Leader", func(t *testing.T) {
		w := nb.write(t, "leader")
		w.after(20)
		_, leader := nb.members(3)
		n.kill(t, nb.pod(leader))
		w.after(20)
		same(t, 3)
		w.end(3, 0)
	})
	t.Run("Volume", func(t *testing.T) {
		w := nb.write(t, "volume")
		w.after(10)
		previous, err := nb.memberStatus(0)
		if err != nil || previous == nil {
			t.Fatal(err)
		}
		n.lose(t, nb, 0)
		n.kill(t, nb.pod(0))
		w.after(20)
		same(t, 3)
		if is, err := nb.memberStatus(0); err != nil || is == nil || is.SID[1] == previous.SID[1] {
			t.Errorf("the first member has joined as %v (%v), and was %v", is, err, previous)
		}
		// Two members are enough again, which they are only if who was lost does not count any more.
		n.waitForServers(t, nb, 3)
		w.end(3, 0)
	})
	t.Run("Majority", func(t *testing.T) {
		w := nb.write(t, "majority")
		w.after(10)
		n.kill(t, nb.pod(1))
		n.kill(t, nb.pod(2))
		w.after(10)
		same(t, 3)
		w.end(3, 0)
	})
	t.Run("Certificates", func(t *testing.T) { testRenewal(t, n, nb) })
	t.Run("Scale", func(t *testing.T) {
		w := nb.write(t, "scale")
		for _, count := range []int{5, 3, 1, 3} {
			began := time.Now()
			n.scale(count)
			t.Logf("%d members after %s", count, time.Since(began).Round(time.Second))
			same(t, count)
			n.waitForServers(t, nb, count)
			testAddresses(t, n, sb, count)
			w.after(5)
		}
		w.end(3, 0)
	})
	t.Run("Restore", func(t *testing.T) { testRestore(t, n) })
}

// kill kills a pod, as a power loss of its node does.
func (n *ovnCluster) kill(t *testing.T, pod string) {
	t.Helper()
	if err := n.cluster.Kill(n.namespace, pod); err != nil {
		t.Fatal(err)
	}
}

// lose removes a member's files while it runs; its open files are lost with it.
func (n *ovnCluster) lose(t *testing.T, d ovsdb, i int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.claim(d.pod(i)), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", d.claim(d.pod(i)), err)
	}
	for _, f := range files {
		if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
}

// waitForServers waits until the cluster has a number of servers, running or not, according to the status of the
// leader.
func (n *ovnCluster) waitForServers(t *testing.T, d ovsdb, count int) {
	t.Helper()
	_, leader := d.members(count)
	harness.WaitFor(t, n.cluster, fmt.Sprintf("%d servers of %s", count, d.part), func() bool {
		text, err := n.cluster.Exec(context.Background(), n.namespace, d.pod(leader), "ovs-appctl", "--target=/tmp/control", "cluster/status", d.schema)
		return err == nil && serverCount(text) == count
	})
}

// testNorthd checks that changes are translated for the nodes, also after the active one of two has stopped.
func testNorthd(t *testing.T, nb, sb ovsdb) {
	appears := func(name string) {
		t.Helper()
		if _, err := nb.transact(0, nb.schema, map[string]any{"op": "insert", "table": "Logical_Switch", "row": map[string]any{"name": name}}); err != nil {
			t.Fatal(err)
		}
		harness.WaitFor(t, nb.cluster, name+" in the southbound database", func() bool {
			found, err := sb.names(0, "Datapath_Binding", "external_ids")
			if err != nil {
				return false
			}
			for ids := range found {
				if strings.Contains(ids, name) {
					return true
				}
			}
			return false
		})
	}
	appears("first")
}

// testExposure checks that a re-created pod keeps the address of its member.
func testExposure(t *testing.T, n *ovnCluster, sb ovsdb) {
	before := testAddresses(t, n, sb, 3)
	n.kill(t, sb.pod(0))
	harness.WaitFor(t, n.cluster, before[0]+" to lead to "+sb.pod(0)+" again", func() bool { return sb.isReachable(0, before[0]) })
	n.converge()
	if diff := cmp.Diff(before, testAddresses(t, n, sb, 3)); diff != "" {
		t.Errorf("addresses change with a pod (-was +is):\n%s", diff)
	}
}

// testAddresses checks that the status has an external address of each member, which leads to this member only, and
// which its certificate contains.
func testAddresses(t *testing.T, n *ovnCluster, sb ovsdb, count int) []string {
	t.Helper()
	southbound, _ := n.simulation.XR.GetFields()["status"].GetStructValue().AsMap()["southbound"].(map[string]any)
	all := strings.Split(fmt.Sprint(southbound["externalEndpoint"]), ",")
	if len(all) != count {
		t.Fatalf("the status names %v, want %d addresses", all, count)
	}
	for i, endpoint := range all {
		harness.WaitFor(t, n.cluster, endpoint+" to lead to "+sb.pod(i), func() bool { return sb.isReachable(i, endpoint) })
	}
	return all
}

// isReachable reports whether an external address leads to a member.
func (d ovsdb) isReachable(i int, endpoint string) bool {
	inside, err := d.memberStatus(i)
	if err != nil || inside == nil {
		return false
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "ssl:"))
	if err != nil {
		return false
	}
	outside, err := d.memberStatusAt(host)
	return err == nil && outside != nil && outside.SID[1] == inside.SID[1]
}

// testSettings checks that the election timer and the probes of clients can be changed while the members run, and that
// none is replaced.
func testSettings(t *testing.T, n *ovnCluster, nb ovsdb) {
	uids := func() (out []string) {
		for i := range 3 {
			pod := &corev1.Pod{}
			if err := n.cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: n.namespace, Name: nb.pod(i)}, pod); err != nil {
				t.Fatal(err)
			}
			out = append(out, string(pod.UID))
		}
		return out
	}
	before, w := uids(), nb.write(t, "settings")
	set := func(election, probe int) {
		spec := ovnSpec(3)
		spec["northbound"] = map[string]any{"replicas": 3, "electionTimerSeconds": election, "inactivityProbeSeconds": probe}
		n.order(spec)
		for i := range 3 {
			harness.WaitFor(t, n.cluster, fmt.Sprintf("an election timer of %d s at %s", election, nb.pod(i)), func() bool {
				return strings.Contains(nb.status(i, "cluster/status", nb.schema), fmt.Sprintf("\nElection timer: %d000\n", election))
			})
		}
		harness.WaitFor(t, n.cluster, "northd's own probe", func() bool {
			found, err := nb.names(0, "NB_Global", "options")
			for options := range found {
				return err == nil && strings.Contains(options, fmt.Sprintf("[northd_probe_interval %d000]", probe))
			}
			return false
		})
	}
	set(12, 90) // more than twice
	set(5, 60)
	w.end(3, 0)
	if diff := cmp.Diff(before, uids()); diff != "" {
		t.Errorf("members were replaced (-was +is):\n%s", diff)
	}
}

// testChassis checks that the status reports the number of registered nodes, and which of them are no longer updating.
// That blocks nothing. Each is reported as registered, and only as long as it is.
func testChassis(t *testing.T, n *ovnCluster, sb ovsdb) {
	register := func(name string, done int) {
		t.Helper()
		_, leader := sb.members(3)
		_, err := sb.transactAt(sb.host(leader), sb.schema,
			map[string]any{"op": "insert", "table": "Encap", "uuid-name": "encap", "row": map[string]any{
				"type": "geneve", "ip": "192.0.2." + fmt.Sprint(len(name)), "chassis_name": name,
			}},
			map[string]any{"op": "insert", "table": "Chassis", "uuid-name": "chassis", "row": map[string]any{
				"name": name, "hostname": name + ".example", "encaps": []any{"named-uuid", "encap"},
				"other_config": []any{"map", []any{[]any{"ovn-bridge-mappings", "external:br-ex"}, []any{"ovn-cms-options", "enable-chassis-as-gw"}}},
			}},
			map[string]any{"op": "insert", "table": "Chassis_Private", "row": map[string]any{
				"name": name, "chassis": []any{"named-uuid", "chassis"}, "nb_cfg": done,
			}})
		if err != nil {
			t.Fatal(err)
		}
	}
	nb := n.northbound()
	_, leader := nb.members(3)
	if _, err := nb.transact(leader, nb.schema, map[string]any{
		"op": "update", "table": "NB_Global", "where": []any{}, "row": map[string]any{"nb_cfg": 40},
	}); err != nil {
		t.Fatal(err)
	}
	register("node-of-old", 3)
	register("node", 40)
	harness.WaitFor(t, n.cluster, "two nodes in the status, one of them up to date", func() bool {
		if err := n.look(context.Background()); err != nil {
			t.Fatal(err)
		}
		n.converge()
		s := n.simulation.XR.GetFields()["status"].GetStructValue().AsMap()
		return s["chassisCount"] == 2.0 && s["activeControllers"] == 1.0
	})
	shown := func() (out []string) {
		list := &ovnchassisv1.OVNChassisList{}
		if err := n.cluster.Client.List(context.Background(), list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out = append(out, fmt.Sprintf("%s %+v %t", o.Name, o.Spec, apimeta.IsStatusConditionTrue(o.Status.Conditions, "Ready")))
		}
		return out
	}
	const registered = " {SystemID:%[1]s Hostname:%[1]s.example Encapsulations:[{Type:geneve IP:192.0.2.%[2]d}] " +
		"BridgeMappings:[{PhysicalNetwork:external Bridge:br-ex}] Gateway:true} "
	one := "node" + fmt.Sprintf(registered, "node", len("node")) + "true"
	other := "node-of-old" + fmt.Sprintf(registered, "node-of-old", len("node-of-old")) + "false"
	harness.WaitFor(t, n.cluster, "both nodes as they have registered", func() bool { return slices.Equal(shown(), []string{one, other}) })
	_, leader = sb.members(3)
	where := []any{[]any{"name", "==", "node-of-old"}}
	if _, err := sb.transactAt(sb.host(leader), sb.schema,
		map[string]any{"op": "delete", "table": "Chassis_Private", "where": where}, map[string]any{"op": "delete", "table": "Chassis", "where": where},
	); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, n.cluster, "one node, when the record of the other is removed", func() bool { return slices.Equal(shown(), []string{one}) })
}

// testRelay checks that writes at a relay reach the members, and writes at the members the relay; it serves reads while
// its member is down.
func testRelay(t *testing.T, n *ovnCluster, sb ovsdb) {
	status := n.simulation.XR.GetFields()["status"].GetStructValue().AsMap()["relay"].(map[string]any)
	host := func(field string) string {
		host, _, err := net.SplitHostPort(strings.TrimPrefix(fmt.Sprint(status[field]), "ssl:"))
		if err != nil {
			t.Fatalf("status.relay is %v: %v", status, err)
		}
		return host
	}
	inside, outside := host("endpoint"), host("externalEndpoint")
	write := func(at, name string) error {
		_, err := sb.transactAt(at, sb.schema, map[string]any{"op": "mutate", "table": "SB_Global", "where": []any{}, "mutations": []any{
			[]any{"external_ids", "insert", []any{"map", []any{[]any{name, "yes"}}}},
		}})
		return err
	}
	for _, name := range []string{"inside", "outside"} {
		at := map[string]string{"inside": inside, "outside": outside}[name]
		if err := write(at, name); err != nil {
			t.Fatalf("cannot write at %s: %v", at, err)
		}
		for i := range 3 {
			harness.WaitFor(t, n.cluster, "a write at "+at+" at "+sb.pod(i), func() bool {
				found, err := sb.names(i, "SB_Global", "external_ids")
				for ids := range found {
					return err == nil && strings.Contains(ids, name)
				}
				return false
			})
		}
	}
	_, leader := sb.members(3)
	n.kill(t, sb.pod(leader))
	failed := 0
	for range 50 {
		if _, err := sb.transactAt(outside, sb.schema, map[string]any{"op": "select", "table": "SB_Global", "where": []any{}}); err != nil {
			failed++
		}
		time.Sleep(100 * time.Millisecond)
	}
	if failed > 0 {
		t.Errorf("%d of 50 reads failed while the member that led was gone", failed)
	}
	sb.members(3)
	switchName := "through-the-relay"
	nb := n.northbound()
	if _, err := nb.transact(0, nb.schema, map[string]any{"op": "insert", "table": "Logical_Switch", "row": map[string]any{"name": switchName}}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, n.cluster, switchName+" at a relay", func() bool {
		text, err := sb.transactAt(outside, sb.schema, map[string]any{"op": "select", "table": "Datapath_Binding", "where": []any{}})
		return err == nil && strings.Contains(string(text), switchName)
	})
}

// testRenewal checks that members serve a renewed certificate, and verify each other by it, without a restart.
func testRenewal(t *testing.T, n *ovnCluster, nb ovsdb) {
	w := nb.write(t, "renewal")
	ctx := context.Background()
	before, err := n.operators.Secret(ctx, n.namespace, "ovn-northbound-tls")
	if err != nil {
		t.Fatal(err)
	}
	u, err := n.operators.Find("Certificate.cert-manager.io", n.namespace, "ovn-northbound-tls")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.operators.Reconcile(ctx, []map[string]any{u.DeepCopy().Object}); err != nil {
		t.Fatal(err)
	}
	after, err := n.operators.Secret(ctx, n.namespace, "ovn-northbound-tls")
	if err != nil || string(after["tls.crt"]) == string(before["tls.crt"]) {
		t.Fatalf("the certificate is not a new one: %v", err)
	}
	for i := range 3 {
		harness.WaitFor(t, n.cluster, "the new certificate of "+nb.pod(i), func() bool { return nb.served(i) == string(after["tls.crt"]) })
	}
	w.after(10)
	w.end(3, 0)
}

// writer writes rows without a pause, each once.
type writer struct {
	t       *testing.T
	d       ovsdb
	prefix  string
	stop    chan struct{}
	done    chan struct{}
	mu      sync.Mutex
	written []string
	longest time.Duration
	retried int
}

func (d ovsdb) write(t *testing.T, prefix string) *writer {
	t.Helper()
	w := &writer{t: t, d: d, prefix: prefix, stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *writer) run() {
	defer close(w.done)
	member := 0
	for i := 0; ; i++ {
		name, began := fmt.Sprintf("%s-%d", w.prefix, i), time.Now()
		for {
			select {
			case <-w.stop:
				return
			default:
			}
			// An existing row is not created again: its acknowledgement was lost.
			existing, err := w.d.names(member, "Logical_Switch", "name")
			if err == nil && existing[name] == 0 {
				_, err = w.d.transact(member, w.d.schema, map[string]any{
					"op": "insert", "table": "Logical_Switch", "row": map[string]any{"name": name},
				})
			}
			if err == nil {
				break
			}
			w.mu.Lock()
			w.retried++
			w.mu.Unlock()
			member = (member + 1) % 3 //nolint:mnd // as many as there are at least most of the time
			time.Sleep(100 * time.Millisecond)
		}
		w.mu.Lock()
		w.written, w.longest = append(w.written, name), max(w.longest, time.Since(began))
		w.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

// after waits until a number of further rows are written.
func (w *writer) after(more int) {
	w.t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.written)
	}
	want := count() + more
	harness.WaitFor(w.t, w.d.cluster, fmt.Sprintf("%d rows", want), func() bool { return count() >= want })
}

// end stops writing, and requires that each of the members has every acknowledged row.
func (w *writer) end(members, killed int) {
	w.t.Helper()
	close(w.stop)
	<-w.done
	if w.longest > election {
		w.t.Errorf("a write took %s, want %s at most", w.longest, election)
	}
	for i := range members {
		missing := -1
		harness.WaitFor(w.t, w.d.cluster, "the rows of "+w.d.pod(i), func() bool {
			existing, err := w.d.names(i, "Logical_Switch", "name")
			if err != nil {
				return false
			}
			missing = 0
			for _, name := range w.written {
				if existing[name] == 0 {
					missing++
				}
			}
			return missing <= killed
		})
	}
	w.t.Logf("%d rows written, %d attempts failed, the longest write took %s; all %d members have all of them",
		len(w.written), w.retried, w.longest.Round(time.Millisecond), members)
}
