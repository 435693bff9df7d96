//go:build openstack && linux

package nova

import (
	"bytes"
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
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

const (
	// unresponsiveCell is the cell whose database becomes silent. Nova reads it first, because it is the oldest.
	unresponsiveCell = "cell1"
	// unresponsiveDatabase is the Service of its database.
	unresponsiveDatabase = "mariadb-cell-" + unresponsiveCell
	// statusDelay is the maximum time until a status is current: some passes of the companion while a database is silent, on a busy machine.
	statusDelay = 10 * time.Minute
	// requestLimit is the maximum duration of a request about one server of another cell: it can wait for a worker that waits twice for the
	// silent database (25 s each).
	requestLimit = time.Minute
)

// A fleetPool is a pool of fake hypervisors in one cell, with the objects and conditions of its claim.
type fleetPool struct {
	*clouds.Pool

	cell  string
	nodes []string
}

// fleet is a Nova with three cells and a pool in each.
type fleet struct {
	Nova

	pools map[string]fleetPool
	// agents returns Neutron's agents; nil: none. change changes the pods of nova-compute; nil: not.
	agents func() []agent
	change func(*corev1.PodSpec)
}

// TestNovaFleet checks a Nova with 50 nova-computes in three cells while the database of one accepts connections and does not respond. The
// status of the other pools stays current and their guards work. The state of the pool in the silent cell is unknown and its guards are
// closed. All of it recovers without a restart.
func TestNovaFleet(t *testing.T) {
	for _, r := range []release.Release{"2025.2", "2026.2"} {
		t.Run(string(r), func(t *testing.T) {
			claim := harness.Claim(t, "fleet.yaml", r, harness.Suffix(r))
			f := startFleet(t, r, claim, fleet{}, map[string]int{unresponsiveCell: 17, "cell2": 17, "cell3": 16})
			ctx := context.Background()
			retained, err := f.createServerOn(ctx, f.pools["cell2"].nodes[0], "retained")
			if err == nil {
				err = f.WaitForServer(ctx, retained)
			}
			if err != nil {
				t.Fatal(err)
			}
			f.cordon(t, f.pools[unresponsiveCell].nodes[0])
			f.cordon(t, f.pools["cell3"].nodes[0])
			f.until(t, "the state before", true, f.healthy)
			pods := f.podIDs(t)
			if err := f.Cloud.Cluster.Silence(f.Cloud.Namespace, unresponsiveDatabase, true); err != nil {
				t.Fatal(err)
			}
			unresponsiveSince := f.Cloud.Operators.Now()
			finish := f.probe(retained)
			f.until(t, "the status of the pool in the silent cell", false, f.unknown)
			f.until(t, "the status of the other pools", false, func() error { return f.current(unresponsiveSince, 0) })
			t.Run("Guards", func(t *testing.T) { testGuardsDuringOutage(t, f) })
			t.Run("Requests", func(t *testing.T) { testRequestsDuringOutage(t, f, retained) })
			f.until(t, "the same status later", false, func() error {
				return errors.Join(f.unknown(), f.current(f.Cloud.Operators.Now().Add(-statusDelay), 0))
			})
			count, longest, errs := finish()
			t.Logf("%d requests for a server of another cell: at most %.1f s", count, longest.Seconds())
			if count < 10 || longest > requestLimit || len(errs) > 0 {
				t.Errorf("%d requests took at most %.1f s, limit %.0f s; errors: %v", count, longest.Seconds(), requestLimit.Seconds(), errs)
			}
			if err := f.Cloud.Cluster.Silence(f.Cloud.Namespace, unresponsiveDatabase, false); err != nil {
				t.Fatal(err)
			}
			back := time.Now()
			f.until(t, "the recovery", false, f.recovered)
			t.Logf("the status is complete %.0f s after the database responds", time.Since(back).Seconds())
			f.until(t, "a server in the cell", false, func() error {
				id, err := f.createServerOn(ctx, f.pools[unresponsiveCell].nodes[1], "again")
				if err == nil {
					err = f.WaitForServer(ctx, id)
				}
				if id != "" {
					err = errors.Join(err, f.DeleteServer(ctx, id))
				}
				return err
			})
			t.Logf("the cell runs a server %.0f s after the database responds", time.Since(back).Seconds())
			if diff := cmp.Diff(pods, f.podIDs(t)); diff != "" {
				t.Errorf("pods were replaced (-before +after):\n%s", diff)
			}
		})
	}
}

// testGuardsDuringOutage checks that the guards of the other pools close and open: for a server that is created and deleted, and for a node
// that is cordoned.
func testGuardsDuringOutage(t *testing.T, f fleet) {
	ctx, p := context.Background(), f.pools["cell3"]
	began := time.Now()
	id, err := f.createServerOn(ctx, p.nodes[1], "meanwhile")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Nova accepts a server of another cell after %.0f s", time.Since(began).Seconds())
	f.until(t, "that it runs", false, func() error { return f.WaitForServer(ctx, id) })
	f.until(t, "that the guard closes", false, func() error { return f.condition("cell3", "NoVirtualMachines", false, "1 virtual machine") })
	began = time.Now()
	if err := f.DeleteServer(ctx, id); err != nil {
		t.Fatal(err)
	}
	t.Logf("it is deleted after %.0f s", time.Since(began).Seconds())
	node := f.pools["cell2"].nodes[1]
	f.cordon(t, node)
	f.until(t, "that the guard opens", false, func() error { return f.condition("cell3", "NoVirtualMachines", true, "Counted") })
	f.until(t, "that the node is evicted", false, func() error { return f.condition("cell2", "CordonedNodesEvacuated", true, node) })
}

// testRequestsDuringOutage checks that lists have the records of the other cells.
func testRequestsDuringOutage(t *testing.T, f fleet, retained string) {
	began := time.Now()
	if got := f.statuses(t); got[retained] != "ACTIVE" {
		t.Errorf("the list of servers has %v, and not %s", got, retained)
	}
	t.Logf("a list of servers takes %.0f s", time.Since(began).Seconds())
	began = time.Now()
	up, unknown, err := f.computeStates()
	want, unresponsive := len(f.pools["cell2"].nodes)+len(f.pools["cell3"].nodes), len(f.pools[unresponsiveCell].nodes)
	if err != nil || up != want || unknown != unresponsive {
		t.Errorf("%d nova-computes are up and %d unknown, want %d up and all of the cell unknown: %v", up, unknown, want, err)
	}
	t.Logf("a list of services takes %.0f s", time.Since(began).Seconds())
}

// startFleet starts the cloud of a claim, composes a pool in each cell, and runs its nova-computes, one pool after the other, so that not all
// of them start at once.
func startFleet(t *testing.T, r release.Release, claim []byte, f fleet, sizes map[string]int) fleet {
	t.Helper()
	ctx := context.Background()
	cloud := harness.Start(t, claim, nil)
	// nova-computes have a fake Neutron, which the pools' functions require.
	withNeutron := bytes.Replace(claim, []byte("    nova:\n"), []byte("    neutron: {enabled: true}\n    nova:\n"), 1)
	f.Nova, f.pools = clientOf(t, cloud, f.agents), map[string]fleetPool{}
	nodes := map[string]map[string]string{}
	for _, cell := range slices.Sorted(maps.Keys(sizes)) {
		p := fleetPool{cell: cell}
		for i := range sizes[cell] {
			p.nodes = append(p.nodes, fmt.Sprintf("%s-node-%02d", cell, i))
			nodes[p.nodes[i]] = map[string]string{"cell": cell}
		}
		var err error
		if p.Pool, err = cloud.ComposePool(ctx, withNeutron, poolClaim(cell, harness.Suffix(r))); err != nil {
			t.Fatal(err)
		}
		f.pools[cell] = p
	}
	cloud.Cluster.Nodes = nodes
	for _, cell := range slices.Sorted(maps.Keys(sizes)) {
		began := time.Now()
		f.run(t, f.pools[cell], r)
		total := 0
		for _, p := range f.pools {
			if p.cell <= cell {
				total += len(p.nodes)
			}
		}
		err := cloud.Cluster.Wait(ctx, 2*operators.Timeout, "nova-computes of "+cell, func(context.Context) (bool, error) {
			up, _, err := f.computeStates()
			time.Sleep(time.Second)
			return up == total, err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d nova-computes of %s are up after %.0f s", len(f.pools[cell].nodes), cell, time.Since(began).Seconds())
	}
	f.until(t, "the mappings of all hosts", true, f.mappedHosts)
	return f
}

// mappedHosts returns an error unless the companion has mapped each host to its cell. Until then, Nova creates no server on it.
func (f fleet) mappedHosts() error {
	all := &openstackv1.CellMappingList{}
	if err := f.Cloud.Cluster.Client.List(context.Background(), all, client.InNamespace(f.Cloud.Namespace)); err != nil {
		return err
	}
	mapped := map[string]int{}
	for i := range all.Items {
		mapped[all.Items[i].Spec.Cell] = len(all.Items[i].Status.Hosts)
	}
	for cell, p := range f.pools {
		if mapped[cell] != len(p.nodes) {
			return fmt.Errorf("%d of %d hosts of %s are mapped", mapped[cell], len(p.nodes), cell)
		}
	}
	return nil
}

// poolClaim returns the claim of a pool.
func poolClaim(cell, end string) []byte {
	return fmt.Appendf(nil, `apiVersion: crossplane.c5c3.io/v1alpha1
kind: HypervisorCluster
metadata: {namespace: tenant-a, name: pool-%[1]s}
spec:
  controlPlaneRef: {namespace: tenant-a, name: fleet%[2]s}
  cell: %[1]s
  nodeSelector: {node-role.kubernetes.io/hypervisor: %[1]s}
  virtualization: {driver: qemu, evictOnCordon: true}
`, cell, end)
}

// run runs the nova-computes of a pool, as the DaemonSet of which the companion finds the nodes.
func (f fleet) run(t *testing.T, p fleetPool, r release.Release) {
	t.Helper()
	ctx, ns := context.Background(), f.Cloud.Namespace
	version, err := r.Version("nova")
	if err != nil {
		t.Fatal(err)
	}
	login, err := f.Cloud.Operators.Secret(ctx, ns, "nova-credential")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := f.Cloud.Operators.Secret(ctx, ns, "nova-"+p.cell+"-queue")
	if err != nil {
		t.Fatal(err)
	}
	checked := f.check(t, p.cell).Spec.Nodes
	if len(checked) != 1 {
		t.Fatalf("the pool has the DaemonSets %v", checked)
	}
	namespace, name := string(checked[0].Namespace), string(checked[0].DaemonSet)
	objects := hypervisor.Hypervisor{
		Host: "nova-compute", ControlPlane: ns, Consoles: "[vnc]\nenabled = false\n", Screen: "127.0.0.1:5900",
		CredentialID: string(login["application_credential_id"]), CredentialSecret: string(login["application_credential_secret"]),
		Queue:       hypervisor.QueueURL(ns, p.cell, string(queue["username"]), string(queue["password"])),
		Authorities: authorities(t, f.Cloud),
	}.Objects(namespace, "nova:"+version)
	for i, o := range objects {
		set, ok := o.(*appsv1.StatefulSet)
		if !ok {
			continue
		}
		d := &appsv1.DaemonSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec:       appsv1.DaemonSetSpec{Selector: set.Spec.Selector, Template: set.Spec.Template},
		}
		d.Spec.Template.Spec.NodeSelector = map[string]string{"cell": p.cell}
		for _, variable := range []string{oslo.MustEnvName("DEFAULT", "host"), oslo.MustEnvName("oslo_messaging_rabbit", "hostname")} {
			d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{
				Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}},
			})
		}
		if f.change != nil {
			f.change(&d.Spec.Template.Spec)
		}
		objects[i] = d
	}
	for _, o := range objects {
		if err := f.Cloud.Cluster.Apply(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// check returns the companion's check of a pool.
func (f fleet) check(t *testing.T, cell string) *openstackv1.ServiceCheck {
	t.Helper()
	c, err := f.checkOf(cell)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (f fleet) checkOf(cell string) (*openstackv1.ServiceCheck, error) {
	c := &openstackv1.ServiceCheck{}
	key := client.ObjectKey{Namespace: f.Cloud.Namespace, Name: f.pools[cell].Namespace}
	return c, f.Cloud.Cluster.Client.Get(context.Background(), key, c)
}

// cordon cordons a node.
func (f fleet) cordon(t *testing.T, node string) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	_, err := controllerutil.CreateOrUpdate(context.Background(), f.Cloud.Cluster.Client, n, func() error {
		n.Spec.Unschedulable = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// computeStates returns how many nova-computes are up, and how many are in a cell whose database does not respond.
func (f fleet) computeStates() (up, unknown int, err error) {
	var body struct {
		Services []struct{ State, Status string }
	}
	_, err = f.Get(context.Background(), f.ServiceURL("os-services")+"?binary=nova-compute", &body, nil) //nolint:bodyclose // the client does
	for _, s := range body.Services {
		switch {
		case s.Status == "UNKNOWN":
			unknown++
		case s.State == "up":
			up++
		}
	}
	return up, unknown, err
}

// until waits until a check succeeds. The companion's clock is set forward only if the database responds: otherwise a pass takes longer than
// its interval, and every status would be too old. For the same reason, it is set forward less often on a busy machine.
func (f fleet) until(t *testing.T, description string, forward bool, holds func() error) {
	t.Helper()
	began, reported := time.Now(), time.Now()
	forwarded := began
	for {
		if forward && stopwatch.Since(forwarded) > 10*time.Second {
			f.Cloud.Operators.Forward(2 * time.Minute)
			forwarded = time.Now()
		}
		var err error
		for _, p := range f.pools {
			err = errors.Join(err, f.Cloud.FollowPool(p.Pool))
		}
		if err = errors.Join(err, holds()); err == nil {
			t.Logf("%s: after %.0f s", description, time.Since(began).Seconds())
			return
		}
		if stopwatch.Since(began) > statusDelay {
			t.Fatalf("%s: not after %s: %v", description, statusDelay, err)
		}
		if time.Now().After(reported.Add(time.Minute)) {
			t.Logf("%s: not yet after %.0f s: %v", description, time.Since(began).Seconds(), err)
			reported = time.Now()
		}
		time.Sleep(time.Second)
	}
}

// condition returns an error unless a condition of a pool's claim has a status and a text.
func (f fleet) condition(cell, condition string, want bool, text string) error {
	if is, got := f.pools[cell].Condition(condition); is != want || !strings.Contains(got, text) {
		return fmt.Errorf("%s of the pool in %s is %t, %s; want %t, %s", condition, cell, is, got, want, text)
	}
	return nil
}

// ready returns an error unless the companion's condition Ready of a pool has a status and a text.
func (f fleet) ready(cell string, want metav1.ConditionStatus, text string) error {
	c, err := f.checkOf(cell)
	if err != nil {
		return err
	}
	if is := meta.FindStatusCondition(c.Status.Conditions, "Ready"); is == nil || is.Status != want || !strings.Contains(is.Message, text) {
		return fmt.Errorf("the check of the pool in %s is %+v; want %s, %s", cell, is, want, text)
	}
	return nil
}

// healthy returns an error unless each pool has the state with which the test begins.
func (f fleet) healthy() error {
	return errors.Join(f.recovered(), f.condition("cell2", "CordonedNodesEvacuated", true, "NoNodesCordoned"))
}

// recovered is the same for nodes that are cordoned by now.
func (f fleet) recovered() error {
	return errors.Join(
		f.ready(unresponsiveCell, metav1.ConditionTrue, "all known processes"), f.counts(unresponsiveCell, 0),
		f.condition(unresponsiveCell, "NoVirtualMachines", true, "Counted"),
		f.condition(unresponsiveCell, "CordonedNodesEvacuated", true, f.pools[unresponsiveCell].nodes[0]),
		f.current(time.Time{}, 0),
	)
}

// counts returns an error unless the companion counts servers on the registered nodes of a pool, all of which are up.
func (f fleet) counts(cell string, servers int64) error {
	c, err := f.checkOf(cell)
	if err != nil {
		return err
	}
	if s, want := c.Status, len(f.pools[cell].nodes); len(s.Nodes) != want || int(s.Up) != want || s.Down != 0 || s.Capacity == nil ||
		s.Capacity.VirtualMachines != servers || s.Capacity.TotalVCPU == 0 {
		return fmt.Errorf("the pool in %s has %d nodes, %d up, %d down, %+v; want %d nodes with %d servers", cell, len(s.Nodes), s.Up, s.Down,
			s.Capacity, want, servers)
	}
	return nil
}

// current returns an error unless the status of the pools in the other cells is right and was observed after a time.
func (f fleet) current(after time.Time, inCell3 int64) error {
	errs := []error{
		f.counts("cell2", 1), f.counts("cell3", inCell3),
		f.condition("cell2", "NoVirtualMachines", false, "1 virtual machine is on nodes of the pool; "),
		f.condition("cell3", "CordonedNodesEvacuated", true, f.pools["cell3"].nodes[0]),
	}
	for _, cell := range []string{"cell2", "cell3"} {
		errs = append(errs, f.ready(cell, metav1.ConditionTrue, "all known processes"))
		c, err := f.checkOf(cell)
		if at := c.Status.LastObservationTime; err == nil && (at == nil || at.Time.Before(after)) {
			err = fmt.Errorf("the status of the pool in %s was observed at %v, not after %v", cell, at, after)
		}
		errs = append(errs, err)
	}
	if inCell3 == 0 {
		errs = append(errs, f.condition("cell3", "NoVirtualMachines", true, "Counted"))
	}
	return errors.Join(errs...)
}

// unknown returns an error unless the state of the pool in the silent cell is unknown, with a message that names the cell.
func (f fleet) unknown() error {
	const text = "the database of cell " + unresponsiveCell + " does not respond"
	c, err := f.checkOf(unresponsiveCell)
	if err == nil && c.Status.Down > 0 {
		err = fmt.Errorf("%d nova-computes of the silent cell count as down", c.Status.Down)
	}
	return errors.Join(err, f.ready(unresponsiveCell, metav1.ConditionUnknown, text), f.condition(unresponsiveCell, "NoVirtualMachines", false, text),
		f.condition(unresponsiveCell, "CordonedNodesEvacuated", false, text))
}

// podIDs returns the UIDs of the pods of the control plane and the pools, by name.
func (f fleet) podIDs(t *testing.T) map[string]string {
	t.Helper()
	out, all := map[string]string{}, &corev1.PodList{}
	if err := f.Cloud.Cluster.Client.List(context.Background(), all); err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		if owner := metav1.GetControllerOf(&all.Items[i]); owner != nil && owner.Kind != "Job" {
			out[all.Items[i].Namespace+"/"+all.Items[i].Name] = string(all.Items[i].UID)
		}
	}
	return out
}

// probe requests a server once a second until it is finished, and returns the number of requests, the longest duration, and all errors.
func (f fleet) probe(id string) (finish func() (int, time.Duration, []error)) {
	var (
		group   sync.WaitGroup
		count   int
		longest time.Duration
		errs    []error
	)
	done := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
			}
			began := time.Now()
			_, err := servers.Get(context.Background(), f.ServiceClient, id).Extract()
			count, longest = count+1, max(longest, time.Since(began))
			if err != nil {
				errs = append(errs, err)
			}
		}
	})
	return func() (int, time.Duration, []error) {
		close(done)
		group.Wait()
		return count, longest, errs
	}
}
