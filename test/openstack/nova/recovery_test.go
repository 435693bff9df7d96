//go:build openstack && linux

package nova

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/hypervisorrecovery"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// recovery is a HypervisorRecovery of a pool of three nodes, with the companion's reconciler.
type recovery struct {
	fleet
	*site

	key        client.ObjectKey
	reconciler *hypervisorrecovery.Reconciler
	nova       *requests
	placement  *gophercloud.ServiceClient
	// last is the last state that was logged.
	last string
}

// TestNovaRecovery checks the reconciler of HypervisorRecovery with a real Nova: all times and clocks are real. A nova-compute that hangs
// alone is no failure. A node that hangs is powered off and forced down, and its servers are evacuated once, although the companion gets no
// response to its requests and restarts. When the node is back, Nova completes the migrations, and no server is on two hosts.
//
// These parts are simulated: guests (Nova's fake driver, whose definitions outlive nova-compute), Neutron's list of agents, the kubelets
// and the node controller, the networks of the probes, and the management controllers. Agents and Nodes fail after the same time as real
// ones.
func TestNovaRecovery(t *testing.T) {
	for _, r := range []release.Release{"2026.2"} {
		t.Run(string(r), func(t *testing.T) {
			f := startRecovery(t, r)
			failing, other, hanging := f.nodes[0], f.nodes[1], f.nodes[2]
			consent := map[string]string{"recovery_local_disk": "rebuild"}
			running := f.create(t, failing.name, "running", consent)
			stopped := f.create(t, failing.name, "stopped", consent)
			local := f.create(t, failing.name, "local", nil)
			neighbor := f.create(t, other.name, "neighbor", consent)
			f.stop(t, stopped)
			f.advance(t, "the verification of all nodes", func(s *openstackv1.HypervisorRecoveryStatus) bool {
				probes := 0
				for _, v := range s.VerifiedNodes {
					if v.Probe != "" {
						probes++
					}
				}
				return probes == len(f.nodes) && meta.IsStatusConditionTrue(s.Conditions, "Fenceable")
			})
			t.Run("HangingService", func(t *testing.T) { testHangingService(t, f, hanging) })
			f.hang(t, failing)
			failing.fail()
			f.nova.dropResponses(true)
			f.advance(t, "requests to evacuate servers", func(s *openstackv1.HypervisorRecoveryStatus) bool {
				return len(s.Recoveries) == 1 && len(s.Recoveries[0].RequestedServers) > 0
			})
			f.nova.dropResponses(false)
			f.reconciler = f.newReconciler() // The companion restarts, and has no response.
			f.advance(t, "the evacuation", func(s *openstackv1.HypervisorRecoveryStatus) bool {
				return len(s.Recoveries) == 1 && s.Recoveries[0].State == openstackv1.RecoveryEvacuated
			})
			if got := f.resets(); !slices.Equal(got, []string{failing.name}) {
				t.Errorf("nodes that were powered off: %v, want %s", got, failing.name)
			}
			f.checkServers(t, map[string]string{
				running: "ACTIVE not on " + failing.name, stopped: "SHUTOFF not on " + failing.name,
				local: "ACTIVE on " + failing.name, neighbor: "ACTIVE on " + other.name,
			}, failing.name)
			f.checkMigrations(t, "done", running, stopped)
			f.checkDomains(t, map[string]int{running: 2, stopped: 2, local: 1, neighbor: 1}) // The node without power has the old ones, too.
			if got := f.forceUp(t, failing.name); got != http.StatusBadRequest {
				t.Errorf("Nova returned HTTP %d for an early return, want 400", got)
			}
			if forced, state, _ := f.service(t, failing.name); !forced || state != "down" {
				t.Errorf("nova-compute is %s, forced_down %t", state, forced)
			}
			f.powerOn(failing)
			f.advance(t, "the return", func(s *openstackv1.HypervisorRecoveryStatus) bool { return len(s.Recoveries) == 0 })
			if forced, state, _ := f.service(t, failing.name); forced || state != "up" {
				t.Errorf("nova-compute is %s, forced_down %t", state, forced)
			}
			f.checkMigrations(t, "completed", running, stopped)
			f.checkDomains(t, map[string]int{running: 1, stopped: 1, local: 1, neighbor: 1})
			for _, id := range []string{running, stopped, local, neighbor} {
				if got := f.allocations(t, id); got != 1 {
					t.Errorf("server %s has allocations from %d providers, want 1", id, got)
				}
			}
			if got := f.status(t).FailedServers; len(got) != 1 || got[0].ID != local || got[0].ReturnTime == nil {
				t.Errorf("servers that Nova does not start: %+v, want %s", got, local)
			}
			if got, want := f.nova.evacuations(), (map[string]int{running: 1, stopped: 1}); !maps.Equal(got, want) {
				t.Errorf("requests to evacuate: %v, want %v", got, want)
			}
			if got := f.resets(); !slices.Equal(got, []string{failing.name}) {
				t.Errorf("nodes that were powered off: %v, want %s", got, failing.name)
			}
		})
	}
}

// testHangingService checks that a node whose nova-compute hangs is not powered off: neither while an agent of Neutron reports, nor after
// that, because its kubelet does.
func testHangingService(t *testing.T, f *recovery, n *hypervisorNode) {
	const passes = 6
	began := time.Now()
	f.hang(t, n)
	f.advance(t, "a nova-compute that is down", func(*openstackv1.HypervisorRecoveryStatus) bool {
		_, state, _ := f.service(t, n.name)
		return state == "down"
	})
	t.Logf("Nova reports it as down after %.0f s", time.Since(began).Seconds())
	unchanged := func(reason string) func(*openstackv1.HypervisorRecoveryStatus) bool {
		count := 0
		return func(s *openstackv1.HypervisorRecoveryStatus) bool {
			c := meta.FindStatusCondition(s.Conditions, "Recovered")
			if len(s.Recoveries) > 0 || len(f.resets()) > 0 {
				t.Fatalf("%+v, powered off: %v", s.Recoveries, f.resets())
			}
			if c != nil && c.Reason == reason {
				count++
			}
			return count >= passes
		}
	}
	f.advance(t, "passes with a Neutron that reports", unchanged("NoneFailed"))
	n.set(func() { n.agentSince = time.Now() })
	f.advance(t, "passes with only a kubelet that reports", unchanged("WitnessesDisagree"))
	if forced, _, _ := f.service(t, n.name); forced {
		t.Errorf("it is forced down")
	}
	n.set(func() { n.agentSince = time.Time{} })
	f.resume(t, n)
	f.advance(t, "a nova-compute that is up", func(s *openstackv1.HypervisorRecoveryStatus) bool {
		_, state, _ := f.service(t, n.name)
		return state == "up" && meta.IsStatusConditionTrue(s.Conditions, "Recovered")
	})
}

// startRecovery starts a Nova with three hypervisors in one cell, and the recovery of their pool.
func startRecovery(t *testing.T, r release.Release) *recovery {
	t.Helper()
	const cell, volume, folder = "cell1", "domains", "/var/lib/domains"
	ctx := context.Background()
	claim := bytes.Replace(harness.Claim(t, "fleet.yaml", r, harness.Suffix(r)),
		[]byte("      - {name: cell1, infrastructure: {mariadb: {}}}\n      - name: cell2\n      - name: cell3\n"),
		[]byte("      - name: "+cell+"\n"), 1)
	out := &recovery{site: newSite(t)}
	out.fleet = startFleet(t, r, claim, fleet{agents: out.listAgents, change: func(s *corev1.PodSpec) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume},
		}})
		c := &s.Containers[0]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: folder})
		c.Env = append(c.Env, corev1.EnvVar{Name: "DOMAINS", Value: folder})
	}}, map[string]int{cell: 3})
	pool := out.pools[cell]
	out.cluster, out.domains = out.Cloud.Cluster, out.Cloud.Cluster.ClaimDir(string(out.check(t, cell).Spec.Nodes[0].Namespace), volume)
	provider, ends := harness.Administrator(t, out.Cloud)
	var err error
	if out.placement, err = openstack.NewPlacementV1(provider, ends); err != nil {
		t.Fatal(err)
	}
	out.key = client.ObjectKey{Namespace: out.Cloud.Namespace, Name: pool.Namespace}
	object := &openstackv1.HypervisorRecovery{
		ObjectMeta: metav1.ObjectMeta{Namespace: out.key.Namespace, Name: out.key.Name},
		Spec: openstackv1.HypervisorRecoverySpec{
			Mode: openstackv1.RecoveryRecover, DelaySeconds: 30, MaxFailedPercent: 34, ParallelServers: 8,
			ServerMetadata: openstackv1.HonorMetadata, ImageDisks: openstackv1.ImageDisksLocal, LocalDisks: openstackv1.RebuildWithConsent,
		},
	}
	for i, name := range pool.nodes {
		n := out.add(i, name)
		object.Spec.Nodes = append(object.Spec.Nodes, openstackv1.RecoveryNode{
			Name: common.ObjectName(name), Probes: []openstackv1.ProbeAddress{openstackv1.ProbeAddress(n.probe)},
			Redfish: openstackv1.RedfishSystem{URL: out.controller.URL + systems + name, SecretName: "redfish"},
		})
	}
	for _, o := range []client.Object{out.secret("redfish", out.key.Namespace), object} {
		if err := out.cluster.Client.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	out.nova = &requests{count: map[string]int{}}
	out.reconciler = out.newReconciler()
	return out
}

// advance runs passes of the companion, when they are due, until a state is reached.
func (f *recovery) advance(t *testing.T, description string, reached func(*openstackv1.HypervisorRecoveryStatus) bool) {
	t.Helper()
	const limit = 15 * time.Minute
	ctx, began := context.Background(), time.Now()
	for {
		if err := f.report(ctx); err != nil {
			t.Fatal(err)
		}
		result, err := f.reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: f.key})
		if err != nil {
			t.Logf("a pass: %v", err)
		}
		status := f.status(t)
		f.logStatus(t, status)
		if reached(status) {
			t.Logf("%s: after %.0f s", description, time.Since(began).Seconds())
			return
		}
		if stopwatch.Since(began) > limit {
			t.Fatalf("%s: not after %s: %+v", description, limit, status)
		}
		time.Sleep(min(max(result.RequeueAfter, time.Second), 10*time.Second))
	}
}

// logStatus logs a state that differs from the last one.
func (f *recovery) logStatus(t *testing.T, s *openstackv1.HypervisorRecoveryStatus) {
	t.Helper()
	b := &strings.Builder{}
	for i := range s.Recoveries {
		r := &s.Recoveries[i]
		fmt.Fprintf(b, "%s %s, %d servers, %d requested, %d evacuated; ", r.NodeName, r.State, r.ServerCount, len(r.RequestedServers),
			r.EvacuatedCount)
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(b, "%s=%s %s: %s; ", c.Type, c.Status, c.Reason, c.Message)
	}
	if text := b.String(); text != f.last {
		f.last = text
		t.Log(time.Now().UTC().Format(time.TimeOnly), text)
	}
}

func (f *recovery) status(t *testing.T) *openstackv1.HypervisorRecoveryStatus {
	t.Helper()
	out := &openstackv1.HypervisorRecovery{}
	if err := f.cluster.Client.Get(context.Background(), f.key, out); err != nil {
		t.Fatal(err)
	}
	return &out.Status
}

// create creates a server on a node, and waits until it runs.
func (f *recovery) create(t *testing.T, node, name string, metadata map[string]string) (id string) {
	t.Helper()
	ctx := context.Background()
	s, err := servers.Create(ctx, f.ServiceClient, servers.CreateOpts{
		Name: name, FlavorRef: f.Flavor, ImageRef: f.Image, Networks: "none", HypervisorHostname: node, Metadata: metadata,
	}, nil).Extract()
	if err == nil {
		err = f.WaitForServer(ctx, s.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// stop stops a server.
func (f *recovery) stop(t *testing.T, id string) {
	t.Helper()
	ctx := context.Background()
	if err := servers.Stop(ctx, f.ServiceClient, id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	err := f.cluster.Wait(ctx, serverTimeout, "that it stops", func(ctx context.Context) (bool, error) {
		s, err := servers.Get(ctx, f.ServiceClient, id).Extract()
		return err == nil && s.Status == "SHUTOFF", err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkServers checks the status of servers, and whether they are on the failed host.
func (f *recovery) checkServers(t *testing.T, want map[string]string, failed string) {
	t.Helper()
	got := map[string]string{}
	for id := range want {
		s, err := servers.Get(context.Background(), f.ServiceClient, id).Extract()
		if err != nil {
			t.Fatal(err)
		}
		got[id] = s.Status + " on " + s.Host
		if want[id] == s.Status+" not on "+failed && s.Host != failed {
			got[id] = want[id]
		}
		if s.TaskState != "" {
			got[id] += ", with the task " + s.TaskState
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

// checkMigrations checks that each of these servers has one migration, an evacuation with a status, and that no other server has one.
func (f *recovery) checkMigrations(t *testing.T, status string, ids ...string) {
	t.Helper()
	var body struct {
		Migrations []struct {
			Server string `json:"instance_uuid"`
			Type   string `json:"migration_type"`
			Status string `json:"status"`
			Source string `json:"source_compute"`
			Target string `json:"dest_compute"`
		} `json:"migrations"`
	}
	_, err := f.Get(context.Background(), f.ServiceURL("os-migrations"), &body, nil) //nolint:bodyclose // the client does
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string][]string{}, map[string][]string{}
	for _, m := range body.Migrations {
		got[m.Server] = append(got[m.Server], m.Type+" "+m.Status)
	}
	for _, id := range ids {
		want[id] = []string{"evacuation " + status}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("migrations (-want +got):\n%s\n%+v", diff, body.Migrations)
	}
}

// checkDomains checks on how many hosts each server is defined.
func (f *recovery) checkDomains(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, n := range f.nodes {
		data, err := os.ReadFile(filepath.Join(f.domains, n.name+".json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		domains := map[string]string{}
		if err = errors.Join(err, json.Unmarshal(data, &domains)); err != nil {
			t.Fatal(err)
		}
		for id := range domains {
			got[id]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts of each guest (-want +got):\n%s", diff)
	}
}

// allocations returns the number of providers from which a server has resources.
func (f *recovery) allocations(t *testing.T, id string) int {
	t.Helper()
	var body struct {
		Allocations map[string]any `json:"allocations"`
	}
	//nolint:bodyclose // the client does
	_, err := f.placement.Get(context.Background(), f.placement.ServiceURL("allocations", id), &body, nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(body.Allocations)
}

// service returns whether nova-compute on a node is forced down, its state, and the ID of its record.
func (f *recovery) service(t *testing.T, node string) (forced bool, state, id string) {
	t.Helper()
	var body struct {
		Services []struct {
			ID     string `json:"id"`
			State  string `json:"state"`
			Forced bool   `json:"forced_down"`
		} `json:"services"`
	}
	//nolint:bodyclose // the client does
	_, err := f.Get(context.Background(), f.ServiceURL("os-services")+"?binary=nova-compute&host="+node, &body, nil)
	if err != nil || len(body.Services) != 1 {
		t.Fatalf("nova-compute on %s: %+v, %v", node, body.Services, err)
	}
	return body.Services[0].Forced, body.Services[0].State, body.Services[0].ID
}

// forceUp clears forced_down of a node, and returns the status of the response.
func (f *recovery) forceUp(t *testing.T, node string) int {
	t.Helper()
	_, _, id := f.service(t, node)
	//nolint:bodyclose // the client does
	response, err := f.Put(context.Background(), f.ServiceURL("os-services", id), map[string]any{"forced_down": false}, nil,
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusBadRequest, http.StatusConflict}})
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}
