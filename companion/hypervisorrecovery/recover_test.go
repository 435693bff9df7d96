package hypervisorrecovery

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

// TestRecover: a node that hangs is powered off, its servers return to their power states on other nodes, and it returns to service.
func TestRecover(t *testing.T) {
	w := newSimulation(t, 3, runs("a"), runs("b"), runs("stopped").in("SHUTOFF"), runs("local").local(), runs("never").wants(priorityKey, "never"))
	r := w.sound()
	w.play(r, 3)
	if got := w.condition(conditionUnblocked) + w.condition(conditionRecovered) + w.condition(conditionObserved); got !=
		"True NothingBlocks: nothing prevents a recoveryTrue NoneFailed: no node is being recoveredTrue WitnessesReport: 3 nodes are observed" {
		t.Error(got)
	}
	first := w.machine("node-1")
	first.hangs = true
	w.play(r, 30)
	if got := w.state("node-1"); got != openstackv1.RecoveryEvacuated {
		t.Fatalf("%s: %s", got, w.condition(conditionUnblocked))
	}
	if !cmp.Equal([]string{"node-1"}, w.fenced) || first.powered {
		t.Errorf("fenced: %v", w.fenced)
	}
	for _, id := range []string{"a", "b"} {
		if got := w.running(id); len(got) != 1 || got[0] == "node-1" {
			t.Errorf("%s runs on %v", id, got)
		}
	}
	if host := w.hostOf("stopped"); host == "node-1" || len(w.running("stopped")) > 0 {
		t.Errorf("the stopped server is on %s, running on %v", host, w.running("stopped"))
	}
	record := w.record("node-1")
	if record.EvacuatedCount != 3 || record.ServerCount != 2 || !record.ForcedDown || record.BootID != "boot-0" || len(record.StoppedServers) > 0 {
		t.Errorf("%+v", record)
	}
	want := "False ServersRemain: 1 servers stay on node-1: name of local (local): it has a disk on the node, which would be lost: wait for the " +
		"node, or set its metadata recovery_local_disk to rebuild, with localDisks RebuildWithConsent"
	if got := w.condition(conditionUnblocked); got != want {
		t.Error(got)
	}
	if got := w.condition(conditionRecovered); got != "False Recovering: node-1 is Evacuated" {
		t.Error(got)
	}

	w.switchOn(first)
	w.play(r, 20)
	if got := w.state("node-1"); got != "" || w.nova.Services()[0].ForcedDown {
		t.Errorf("%s, %+v: %s", got, w.nova.Services()[0], w.condition(conditionUnblocked))
	}
	if got := w.condition(conditionUnblocked); got != "True NothingBlocks: nothing prevents a recovery" {
		t.Error(got)
	}
	w.play(r, 30)
	if got := w.condition(conditionUnblocked); got != "False ServersStopped: 2 servers do not run: name of local (local) on node-1: it "+
		"ran before the "+
		"failure of its node, and Nova does not start it: run openstack server start local; name of never (never) on node-1: it ran before "+
		"the failure of "+
		"its node, and Nova does not start it: run openstack server start never" {
		t.Error(got)
	}
	w.setStatus("local", "ACTIVE") // Its owner starts it.
	w.play(r, 100)
	if got := w.recovery().Status.FailedServers; len(got) != 1 || got[0].ID != "never" || got[0].ReturnTime == nil {
		t.Errorf("%+v", got)
	}
	all := strings.Join(controllertest.Events(w.events), "\n")
	for _, reason := range []string{
		"Suspected", "Fencing", "PoweredOff", "ForcedDown", "Evacuating", "Evacuated", "Returning", "ForcedUp", "InService",
	} {
		if !strings.Contains(all, " "+reason+" ") {
			t.Errorf("no event %s in:\n%s", reason, all)
		}
	}
	if strings.Contains(all, password) {
		t.Error("an event has the password")
	}
}

// crowdedText is in the message about a pool of which too many nodes have failed.
const crowdedText = "nodes of the pool do not report to a witness, or have not returned, and maxFailedPercent is 34: not recovered are "

// TestNotRecovered: states in which nothing is changed, and their reasons.
func TestNotRecovered(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*simulation)
		want   string
		state  openstackv1.RecoveryState
		// recovered is the condition of that type, if it has another reason than the state.
		recovered string
	}{
		"ManagementPartition": {
			reason: "The servers run.", change: func(w *simulation) { w.machine("node-1").management = false },
			want: "True NothingBlocks: nothing prevents a recovery",
			recovered: "False WitnessesDisagree: node-1 is not recovered, because a witness reports that it runs (OpenStack: unreachable, kubelet: unreachable, " +
				"network: alive, power: On)",
		},
		"NoProbe": {
			reason: "A partition cannot be excluded.", change: func(w *simulation) {
				w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Nodes[0].Probes = nil })
				w.machine("node-1").hangs = true
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): it has no probes",
		},
		"ProbeOfManagement": {
			reason: "It is no independent witness.", change: func(w *simulation) {
				w.edit(func(s *openstackv1.HypervisorRecoverySpec) {
					s.Nodes[0].Probes = []openstackv1.ProbeAddress{"[::ffff:192.0.2.1]:22"}
				})
				w.machine("node-1").hangs = true
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): the probe [::ffff:192.0.2.1]:22 is in status.addresses of Node node-1: set an address of the node in another " +
				"network",
		},
		"ProbeWithName": {
			reason: "It may be an address of the kubelet.", change: func(w *simulation) {
				w.setProbe(w.machine("node-1"), "localhost:22")
				w.machine("node-1").hangs = true
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): the probe localhost:22 must be IP:port",
		},
		"ProbeOfOtherNode": {
			reason: "A dead host of the same network is silent, too.", change: func(w *simulation) {
				w.setProbe(w.machine("node-1"), "192.0.2.3:22")
				w.confirm(w.machine("node-1"), "192.0.2.3:22")
				w.machine("node-1").management = false
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): the probe 192.0.2.3:22 is in status.addresses of Node node-3: set an address of the node in another network",
		},
		"ProbeOfOtherEntry": {
			reason: "The entry is a copy.", change: func(w *simulation) {
				w.setProbe(w.machine("node-1"), "198.51.100.2:99")
				w.confirm(w.machine("node-1"), "198.51.100.2:99")
				w.machine("node-1").management = false
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): the probe 198.51.100.2:99 is also an address of node-2 in spec.nodes: correct one of them",
		},
		"NodeWithoutAddress": {
			reason: "Any probe may be in the network of the kubelet.", change: func(w *simulation) {
				n := &corev1.Node{}
				w.must(w.api.Get(context.Background(), client.ObjectKey{Name: "node-1"}, n))
				n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "node-1"}}
				w.must(w.api.Status().Update(context.Background(), n))
				w.setProbe(w.machine("node-1"), unusedAddress)
				w.confirm(w.machine("node-1"), unusedAddress)
				w.machine("node-1").management = false
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): status.addresses of its Node has no IP address, so that the probe may be in the network of the kubelet",
		},
		"ProbeOfDeletedNode": {
			reason: "The address is still of another node.", change: func(w *simulation) {
				o := w.recovery()
				o.Status.VerifiedNodes[2].Addresses = []string{"192.0.2.77"}
				w.must(w.api.Status().Update(context.Background(), o))
				w.machine("node-3").deleted = true
				w.must(w.api.Delete(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-3"}}))
				w.setProbe(w.machine("node-1"), "192.0.2.77:22")
				w.confirm(w.machine("node-1"), "192.0.2.77:22")
				w.machine("node-1").management = false
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): the probe 192.0.2.77:22 was in status.addresses of Node node-3: set an address of the node in another network",
		},
		"ProbeMisconfigured": {
			reason: "The servers run, and the probe never responded.", change: func(w *simulation) {
				w.setProbe(w.machine("node-1"), unusedAddress)
				w.machine("node-1").management = false
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): none of its probes has responded while it was healthy, so that their silence proves nothing",
		},
		"ProbeWithoutNode": {
			reason: "The probe may use the network of the kubelet.", change: func(w *simulation) {
				w.setProbe(w.machine("node-1"), "192.0.2.1:22")
				w.confirm(w.machine("node-1"), "192.0.2.1:22")
				w.machine("node-1").management, w.machine("node-1").deleted = false, true
				w.must(w.api.Delete(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}))
			},
			want: "False OneWitness: node-1 is not recovered, because less than two witnesses report a failure (OpenStack: unreachable, kubelet: unknown, " +
				"network: unknown, power: On)",
		},
		"ProbesReachNothing": {
			reason: "The network of the companion failed.", change: func(w *simulation) {
				for _, m := range w.machines {
					m.data = false
				}
				w.machine("node-1").management = false
			},
			want: "False PartitionPossible: node-1 does not report, and its network may have failed (OpenStack: unreachable, kubelet: unreachable, network: " +
				"unknown, power: On): no probe of a healthy node responds, so that the probes prove nothing",
		},
		"TooMany": {
			reason: "Power or network of the site failed.", change: func(w *simulation) {
				w.machine("node-1").hangs, w.machine("node-2").hangs = true, true
			},
			want:      "False TooManyFailed: 2 of 3 " + crowdedText + "node-1, node-2",
			recovered: "False TooManyFailed: 2 of 3 " + crowdedText + "node-1, node-2",
		},
		"TooManyOff": {
			reason: "Nodes without power are not evacuated, either.", change: func(w *simulation) {
				w.switchOff(w.machine("node-1"))
				w.switchOff(w.machine("node-2"))
			},
			want:      "False TooManyFailed: 2 of 3 " + crowdedText + "node-1, node-2",
			recovered: "False TooManyFailed: 2 of 3 " + crowdedText + "node-1, node-2",
		},
		"AllSilent": {
			reason: "No witness counts: the network of the companion may have failed.", change: func(w *simulation) {
				for _, m := range w.machines {
					m.management, m.data = false, false
				}
			},
			want:      "False TooManyFailed: 3 of 3 " + crowdedText + "node-1, node-2, node-3",
			recovered: "False TooManyFailed: 3 of 3 " + crowdedText + "node-1, node-2, node-3",
		},
		"AllOff": {
			reason: "The same without power.", change: func(w *simulation) {
				for _, m := range w.machines {
					w.switchOff(m)
				}
			},
			want: "False TooManyFailed: 3 of 3 " + crowdedText + "node-1, node-2, node-3",
		},
		"AllManagementCut": {
			reason: "Probes are not read, and the servers run.", change: func(w *simulation) {
				for _, m := range w.machines {
					m.management = false
				}
			},
			want: "False TooManyFailed: 3 of 3 " + crowdedText + "node-1, node-2, node-3",
		},
		"AllComputesDown": {
			reason: "RabbitMQ failed, and a node that fails now would not be recovered.", change: func(w *simulation) { w.computesDown = true },
			want:      "False TooManyFailed: 3 of 3 " + crowdedText + "node-1, node-2, node-3",
			recovered: "False TooManyFailed: 3 of 3 " + crowdedText + "node-1, node-2, node-3",
		},
		"AllCordoned": {
			reason: "Their absence is planned.", change: func(w *simulation) {
				for _, m := range w.machines {
					w.cordon(m.name, true)
					w.switchOff(m)
				}
			},
			want: "True NothingBlocks: nothing prevents a recovery", recovered: "True NoneFailed: no node is being recovered",
		},
		"DryRun": {
			reason: "Nothing is changed.", change: func(w *simulation) {
				w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryDryRun })
				w.machine("node-1").hangs = true
			},
			want: "True NothingBlocks: nothing prevents a recovery", state: openstackv1.RecoverySuspected,
		},
		"WrongController": {
			reason: "It would power another node off.", change: func(w *simulation) {
				w.machine("node-1").hangs, w.machine("node-1").uuid = true, "11111111-1111-1111-1111-111111111111"
			},
			want: "False FencingUnavailable: node-1 cannot be powered off, or its power cannot be verified: the controller belongs to system " +
				"11111111-1111-1111-1111-111111111111, and the node is 00000000-0000-0000-0000-000000000001: correct redfish.url",
			state: openstackv1.RecoverySuspected,
		},
		"ControllerHangs": {
			reason: "Its power cannot be proven.", change: func(w *simulation) { w.machine("node-1").hangs, w.machine("node-1").control = true, false },
			want: "False FencingUnavailable: node-1 cannot be powered off, or its power cannot be verified: no response from bmc-node-1: no " +
				"response in time", state: openstackv1.RecoverySuspected,
		},
		"NoSecret": {
			reason: "It has no login.", change: func(w *simulation) {
				w.must(w.api.Delete(context.Background(), &corev1.Secret{ObjectMeta: w.secret("bmc").ObjectMeta}))
				w.machine("node-1").hangs = true
			},
			want:  "False FencingUnavailable: node-1 cannot be powered off, or its power cannot be verified: Secret bmc does not exist",
			state: openstackv1.RecoverySuspected,
		},
		"Maintenance": {
			reason: "Its absence is planned.", change: func(w *simulation) {
				w.service(func(s *compute.Service) { s.Disabled, s.Reason = true, compute.MaintenanceReason+"replace-fan" })
				w.machine("node-1").hangs = true
			},
			want: "True NothingBlocks: nothing prevents a recovery",
		},
		"Disabled": {
			reason: "The same by another user.", change: func(w *simulation) {
				w.service(func(s *compute.Service) { s.Disabled, s.Reason = true, "disk is slow" })
				w.machine("node-1").hangs = true
			},
			want: "True NothingBlocks: nothing prevents a recovery",
		},
		"Cordoned": {
			reason: "The same in Kubernetes.", change: func(w *simulation) {
				w.cordon("node-1", true)
				w.machine("node-1").hangs = true
			},
			want: "True NothingBlocks: nothing prevents a recovery",
		},
		"ForcedDownByOther": {
			reason: "Another service recovers it.", change: func(w *simulation) {
				w.service(func(s *compute.Service) { s.ForcedDown = true })
				w.machine("node-1").hangs = true
			},
			want: "True NothingBlocks: nothing prevents a recovery",
			recovered: "False ForcedDown: forced_down of node-1 was not set by this object, and it has 1 servers: after the node is back, run openstack " +
				"--os-compute-api-version 2.53 compute service set --up node-1 nova-compute",
		},
		"NovaDown": {
			reason: "No witness reports.", change: func(w *simulation) { w.nova.SetDown(true); w.machine("node-1").hangs = true },
			want: "False ServiceUnavailable: cannot list compute services: Nova returned HTTP 503",
		},
		"PoolOutdated": {
			reason: "Nodes may have joined or left.", change: func(w *simulation) {
				w.checkEnded = true
				w.machine("node-1").hangs = true
				w.clock.SetTime(w.clock.Now().Add(20 * time.Minute))
			},
			want: "False PoolOutdated: status.nodes of ServiceCheck team-a-pool-54321 is older than 15m0s: see its condition Ready",
		},
		"NoPool": {
			reason: "The name is wrong.", change: func(w *simulation) {
				w.must(w.api.Delete(context.Background(), &openstackv1.ServiceCheck{ObjectMeta: w.recovery().ObjectMeta}))
			},
			want: "False PoolNotFound: metadata.name: ServiceCheck team-a-pool-54321 does not exist; create the HypervisorRecovery with the name " +
				"of the pool's namespace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"))
			r := w.sound()
			w.play(r, 2)
			tc.change(w)
			w.play(r, 20)
			if got := w.condition(conditionUnblocked); got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
			if got := w.state("node-1"); got != tc.state {
				t.Errorf("state %q", got)
			}
			if got := w.condition(conditionRecovered); tc.recovered != "" && got != tc.recovered {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.recovered)
			}
			if got := valueOfBlocked(w.recovery()); (got == 1) != strings.HasPrefix(tc.want, "False ") {
				t.Errorf("blocked is %v", got)
			}
			if len(w.fenced) > 0 || len(w.nova.Actions()) > 0 {
				t.Errorf("fenced %v, actions %v", w.fenced, w.nova.Actions())
			}
		})
	}
}

func (w *simulation) secret(name string) *corev1.Secret {
	s := &corev1.Secret{}
	w.must(w.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, s))
	return s
}

// service changes nova-compute of the first node.
func (w *simulation) service(change func(*compute.Service)) {
	all := w.nova.Services()
	change(&all[0])
	w.nova.Set(all...)
}

// TestAutomaticDisable: nova-compute disables itself when it loses libvirt, which is no planned absence.
func TestAutomaticDisable(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.service(func(s *compute.Service) { s.Disabled, s.Reason = true, "AUTO: Connection to libvirt lost: 1" })
	w.machine("node-1").hangs = true
	w.play(w.sound(), 30)
	if got := w.running("a"); len(got) != 1 || got[0] == "node-1" {
		t.Errorf("a runs on %v: %s", got, w.condition(conditionUnblocked))
	}
}

// TestPowerFailure: a node without power is not switched off, and its servers run within 90 seconds after the witnesses have agreed.
func TestPowerFailure(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.play(r, 2)
	w.switchOff(w.machine("node-1"))
	var suspected time.Time
	for range 40 {
		w.play(r, 1)
		if record := w.record("node-1"); record != nil && suspected.IsZero() {
			suspected = record.SuspectTime.Time
		}
		if len(w.running("a")) > 0 {
			break
		}
	}
	if got := w.running("a"); len(got) != 1 || len(w.fenced) > 0 {
		t.Fatalf("a runs on %v, fenced %v: %s", got, w.fenced, w.condition(conditionUnblocked))
	}
	if took := w.clock.Now().Sub(suspected); suspected.IsZero() || took > 90*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestFailedEvacuation: an evacuation that fails is tried again, and a server that was stopped does not run afterwards.
func TestFailedEvacuation(t *testing.T) {
	w := newSimulation(t, 3, runs("a"), runs("stopped").in("SHUTOFF"))
	r := w.sound()
	w.nova.FailMoves("a", "No valid host was found.")
	w.nova.FailMoves("stopped", "No valid host was found.")
	w.machine("node-1").hangs = true
	w.play(r, 30)
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "False ServersRemain: 2 servers stay on node-1: name of a (a): 3 "+
		"evacuations "+
		"failed, and the next one starts after ") {
		t.Error(got)
	}
	if got := w.record("node-1").StoppedServers; !cmp.Equal([]string{"stopped"}, got) {
		t.Errorf("recorded: %v", got)
	}
	w.nova.FailMoves("a", "")
	w.nova.FailMoves("stopped", "")
	w.play(r, 100)
	if got := w.running("a"); len(got) != 1 || got[0] == "node-1" {
		t.Errorf("a runs on %v: %s", got, w.condition(conditionUnblocked))
	}
	if got := w.running("stopped"); len(got) > 0 || w.hostOf("stopped") == "node-1" || !slices.Contains(w.nova.Actions(), "os-stop stopped") {
		t.Errorf("stopped runs on %v, %v: %s", got, w.nova.Actions(), w.condition(conditionUnblocked))
	}
	if got := w.record("node-1").StoppedServers; len(got) > 0 {
		t.Errorf("recorded: %v", got)
	}
}

// TestRejected: a server that Nova rejects is reported and tried again after minutes, and others are evacuated before.
func TestRejected(t *testing.T) {
	w := newSimulation(t, 3, runs("a"), runs("b"), runs("c"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 1 })
	r := w.sound()
	w.nova.RejectActions("a", true)
	w.machine("node-1").hangs = true
	w.play(r, 30)
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "False ServersRemain: 1 servers stay on node-1: name of a (a): "+
		"cannot evacuate "+
		"server a: Nova returned HTTP 409: Cannot 'evacuate' instance a while it is so.; the next request is sent after ") {
		t.Error(got)
	}
	if len(w.running("b")) != 1 || len(w.running("c")) != 1 || len(w.record("node-1").RequestedServers) > 0 {
		t.Errorf("b runs on %v, c on %v: %+v", w.running("b"), w.running("c"), w.record("node-1"))
	}
	w.nova.RejectActions("a", false)
	w.play(r, 40)
	if got := w.condition(conditionUnblocked); got != "True NothingBlocks: nothing prevents a recovery" || len(w.running("a")) != 1 {
		t.Errorf("%s, a runs on %v", got, w.running("a"))
	}
}

// TestParallelServers: the cap applies to all nodes of the pool.
func TestParallelServers(t *testing.T) {
	w := newSimulation(t, 6, runs("a"), runs("b"), runs("c"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 2 })
	all := w.nova.Hypervisors()
	all[1].Servers = []compute.Server{runs("d").Server, runs("e").Server}
	for i := range all {
		all[i].Details["d"], all[i].Details["e"] = runs("d").Details, runs("e").Details
	}
	w.nova.SetHypervisors(all...)
	r := w.sound()
	w.machine("node-1").hangs, w.machine("node-2").hangs = true, true
	most := 0
	for range 40 {
		_, err := pass(r)
		w.must(err)
		busy := 0
		for _, h := range w.nova.Hypervisors() {
			for _, s := range h.Servers {
				if s.Task != "" {
					busy++
				}
			}
		}
		most = max(most, busy)
		w.advance()
	}
	if most != 2 {
		t.Errorf("%d servers at the same time", most)
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		if got := w.running(id); len(got) != 1 {
			t.Errorf("%s runs on %v: %s", id, got, w.condition(conditionUnblocked))
		}
	}
}

// TestPowerReturns: a node that starts before its servers are evacuated keeps them.
func TestPowerReturns(t *testing.T) {
	w := newSimulation(t, 3, runs("a"), runs("b"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 1 })
	r := w.sound()
	w.machine("node-1").hangs = true
	for i := 0; len(w.running("a")) != 1 || w.running("a")[0] == "node-1"; i++ {
		if i > 40 {
			t.Fatal(w.condition(conditionUnblocked))
		}
		w.play(r, 1)
	}
	if w.state("node-1") != openstackv1.RecoveryEvacuating || len(w.running("a")) != 1 {
		t.Fatalf("%s, a runs on %v", w.state("node-1"), w.running("a"))
	}
	w.switchOn(w.machine("node-1"))
	w.play(r, 30)
	if got := w.state("node-1"); got != "" || w.nova.Services()[0].ForcedDown {
		t.Errorf("%s: %s", got, w.condition(conditionUnblocked))
	}
	if got := w.hostOf("b"); got != "node-1" || len(w.running("b")) > 0 {
		t.Errorf("b is on %s, and runs on %v", got, w.running("b"))
	}
}

// TestDelayAfterPowerReturns: a node whose power was on again, and of which a witness reports that it runs, is powered off again only after
// the delay.
func TestDelayAfterPowerReturns(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	first := w.machine("node-1")
	first.hangs = true
	for i := 0; !w.nova.Services()[0].ForcedDown && i < 40; i++ {
		w.play(r, 1)
	}
	first.management = false
	w.switchOn(first)
	w.play(r, 10) // The probe responds.
	if got := w.record("node-1"); got == nil || got.State != openstackv1.RecoverySuspected || !got.ForcedDown || len(w.fenced) != 1 {
		t.Fatalf("%+v, powered off: %v: %s", got, w.fenced, w.condition(conditionUnblocked))
	}
	first.data = false
	start := w.clock.Now()
	for i := 0; len(w.fenced) < 2 && i < 20; i++ {
		w.play(r, 1)
	}
	if got := w.clock.Now().Sub(start); len(w.fenced) != 2 || got < 30*time.Second {
		t.Errorf("powered off: %v, after %s: %s", w.fenced, got, w.condition(conditionUnblocked))
	}
}

// TestPowerReread: a node that starts between the observation and the evacuation keeps its servers.
func TestPowerReread(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs = true
	reads := 0
	w.extra = func(q *http.Request) error {
		if q.URL.Host == "bmc-node-1" && q.Method == http.MethodGet && w.state("node-1") == openstackv1.RecoveryEvacuating && w.nova.Services()[0].ForcedDown {
			if reads++; reads == 2 { // The first read is part of the observation.
				w.switchOn(w.machine("node-1"))
			}
		}
		return nil
	}
	w.play(r, 40)
	if reads < 2 || len(w.nova.Actions()) > 0 {
		t.Errorf("%d reads, actions %v", reads, w.nova.Actions())
	}
	if got := w.running("a"); w.hostOf("a") != "node-1" || w.state("node-1") != "" {
		t.Errorf("a runs on %v, %s: %s", got, w.state("node-1"), w.condition(conditionUnblocked))
	}
}

// TestVerifyControllers: a controller that cannot be used is reported before its node fails.
func TestVerifyControllers(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.play(r, 4)
	w.machine("node-2").control = false
	w.play(r, 1)
	if got := w.condition(conditionFenceable); !strings.HasPrefix(got, "True ") {
		t.Errorf("after one failure: %s", got)
	}
	w.play(r, 1)
	if got := w.condition(conditionFenceable); got != "False FencingUnavailable: node-2 could not be powered off: no response from "+
		"bmc-node-2: no "+
		"response in time" {
		t.Error(got)
	}
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "True ") {
		t.Errorf("no node has failed: %s", got)
	}
	w.machine("node-2").control = true
	w.play(r, 4)
	if got := w.condition(conditionFenceable); got != "True NodesFenceable: no problem is known" {
		t.Error(got)
	}
}

// TestVerifyProbes: silence of a healthy node is reported, and is no report of a witness.
func TestVerifyProbes(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	first := w.machine("node-1")
	w.setProbe(first, unusedAddress)
	w.play(r, 4)
	if got := w.condition(conditionFenceable); got != "False FencingUnavailable: node-1 could not be powered off: none of its probes "+
		"responds: correct "+
		"the addresses, or permit the connections" {
		t.Error(got)
	}
	w.setProbe(first, first.probe)
	w.play(r, 4)
	verified := func() []openstackv1.VerifiedNode { return w.recovery().Status.VerifiedNodes }
	if got := verified(); len(got) != 3 || got[0].Probe != first.probe {
		t.Errorf("%+v: %s", got, w.condition(conditionUnblocked))
	}
	first.data = false
	w.play(r, 30)
	if got := verified(); len(got) != 3 || got[0].Probe != "" || got[1].Probe == "" {
		t.Errorf("a probe that does not respond anymore: %+v", got)
	}
}

// TestVerifyNodeWithoutResponse: a probe that does not work anymore is not trusted until all other nodes were verified.
func TestVerifyNodeWithoutResponse(t *testing.T) {
	w := newSimulation(t, 20, runs("a"))
	r := w.sound()
	w.machine("node-1").data = false
	w.play(r, 8)
	if got := w.recovery().Status.VerifiedNodes[0]; got.Probe != "" {
		t.Errorf("%+v", got)
	}
	w.play(r, 21)
	if got := w.condition(conditionFenceable); !strings.Contains(got, "node-1 could not be powered off: none of its probes responds") {
		t.Error(got)
	}
}

// TestVerifyOthers: a node whose kubelet does not report does not end the verification of others.
func TestVerifyOthers(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.machine("node-1").unlisted, w.machine("node-2").control = true, false
	w.report()
	w.play(w.sound(), 6)
	if got := w.condition(conditionFenceable); !strings.HasPrefix(got, "False FencingUnavailable: node-2 could not be powered off: no response") {
		t.Error(got)
	}
}

// TestVerifyFailingNode: a node that fails just before its verification keeps the result of the last one.
func TestVerifyFailingNode(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs = true
	w.play(r, 30)
	if got := w.running("a"); len(got) != 1 || got[0] == "node-1" {
		t.Errorf("a runs on %v: %s", got, w.condition(conditionUnblocked))
	}
}

// TestSecretIsForHost: a Secret is sent only to hosts that its creator has permitted.
func TestSecretIsForHost(t *testing.T) {
	const one = "bmc-node-1"
	without := func(key string) *corev1.Secret {
		s := login("x", secretType, one)
		delete(s.Data, key)
		return s
	}
	for name, tc := range map[string]struct {
		reason string
		secret *corev1.Secret
		want   string
	}{
		"Permitted":   {"The controller may read it.", login("x", secretType, "bmc-node-9", "BMC-node-1"), ""},
		"Keystone":    {"It is the password of an administrator.", login("keystone-admin", corev1.SecretTypeOpaque, one), "must have the type"},
		"OtherHost":   {"The host would get a login of others.", login("x", secretType, "bmc-node-2", "node-1"), "is not for bmc-node-1"},
		"OtherPort":   {"Another program serves it.", login("x", secretType, one+":8443"), "is not for bmc-node-1"},
		"NoHost":      {"It is for no host.", without("host"), "host is missing"},
		"NoAuthority": {"Any public authority could identify a controller.", without("ca.crt"), "ca.crt is missing"},
		"NoPassword":  {"It has no login.", without("password"), "password is missing"},
		"NoUser":      {"It has no login.", without("username"), "username is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"))
			w.must(w.api.Create(context.Background(), tc.secret))
			w.edit(func(s *openstackv1.HypervisorRecoverySpec) {
				s.Nodes[0].Redfish.SecretName = common.ObjectName(tc.secret.Name)
			})
			sent := 0
			w.extra = func(q *http.Request) error {
				if q.URL.Host == one {
					sent++
				}
				return nil
			}
			w.play(w.sound(), 4)
			got := w.condition(conditionFenceable)
			if tc.want == "" != (sent > 0) || !strings.Contains(got, tc.want) || tc.want == "" && !strings.HasPrefix(got, "True ") {
				t.Errorf("%s %d requests, %s", tc.reason, sent, got)
			}
		})
	}
}

// TestPowerOffReread: a report between the observation and the request keeps the power on.
func TestPowerOffReread(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*simulation, *machine)
		want   string
	}{
		"Probe": {"The network of the data responds.", func(_ *simulation, m *machine) { m.hangs, m.management = false, false }, "a probe responds"},
		"Kubelet": {"The kubelet reports.", func(w *simulation, m *machine) {
			n := &corev1.Node{}
			w.must(w.api.Get(context.Background(), client.ObjectKey{Name: m.name}, n))
			n.Status.Conditions[0].Status = corev1.ConditionTrue
			w.must(w.api.Status().Update(context.Background(), n))
		}, "its kubelet reports"},
		"Compute": {"nova-compute reports.", func(w *simulation, _ *machine) {
			w.service(func(s *compute.Service) { s.Up = true })
		}, "its nova-compute or an agent of Neutron reports"},
		"Agent": {"OVN's controller reports.", func(w *simulation, m *machine) {
			w.nova.SetAgents(compute.Agent{ID: m.name, Type: "OVN Controller agent", Host: m.name, Alive: true})
		}, "its nova-compute or an agent of Neutron reports"},
		"Cell": {
			"The database of the cell failed, and the kubelet was not read.", func(w *simulation, m *machine) {
				w.nova.SetCellDown(m.name)
				n := &corev1.Node{}
				w.must(w.api.Get(context.Background(), client.ObjectKey{Name: m.name}, n))
				n.Status.Conditions = nil
				w.must(w.api.Status().Update(context.Background(), n))
			}, "the witnesses do not report its failure anymore (OpenStack: unknown, kubelet: unknown, network: unreachable)",
		},
		"ProbesFail": {
			"The network of the companion failed.", func(w *simulation, _ *machine) { w.isolated = true },
			"the witnesses do not report its failure anymore (OpenStack: unreachable, kubelet: unreachable, network: unknown)",
		},
		"Nova": {"The report cannot be read.", func(w *simulation, _ *machine) { w.nova.SetDown(true) }, "cannot list compute services"},
		"Off":  {"It has lost its power.", func(w *simulation, m *machine) { w.switchOff(m) }, ""},
		"Edit": {"A user stops the recovery.", func(w *simulation, _ *machine) {
			w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryDryRun })
		}, ""},
		"Late": {
			"The evidence is old.", func(w *simulation, _ *machine) { w.clock.SetTime(w.clock.Now().Add(evidenceTimeout + time.Second)) },
			"the observation is older than 2m0s",
		},
		"Other": {"The controller belongs to another node.", func(_ *simulation, m *machine) { m.uuid = uuidOf("node-2") }, "correct redfish.url"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"))
			r := w.sound()
			first := w.machine("node-1")
			first.hangs = true
			changed := false
			w.extra = func(q *http.Request) error {
				if q.URL.Host == "bmc-node-1" && !changed && w.state("node-1") == openstackv1.RecoveryFencing { // The record is written before.
					changed = true
					tc.change(w, first)
				}
				return nil
			}
			for i := 0; !changed && i < 30; i++ {
				_, err := pass(r)
				w.must(err)
				if !changed {
					w.advance()
				}
			}
			if got := w.condition(conditionUnblocked); !changed || len(w.fenced) > 0 || !strings.Contains(got, tc.want) {
				t.Errorf("%s changed %v, fenced %v: %s", tc.reason, changed, w.fenced, got)
			}
		})
	}
}

// TestPowerOffRereadSlow: a service that takes long does not make the reports about the node older than half a minute.
func TestPowerOffRereadSlow(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, host, want string
		// responds is set if the node reports again after the slow request has started.
		responds bool
	}{
		"Reference":         {"The report of the reference is old.", "node-3", "", false},
		"ReferenceRecovers": {"The networks of the node return meanwhile.", "node-3", "its nova-compute or an agent of Neutron reports", true},
		"Node":              {"Its own report is old.", "node-1", "the services took more than 30s for the reports about it", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"))
			r := w.sound()
			first := w.machine("node-1")
			first.hangs = true
			slow := false
			w.extra = func(q *http.Request) error {
				if !slow && w.state("node-1") == openstackv1.RecoveryFencing && strings.HasSuffix(q.URL.Path, "/os-services") &&
					strings.Contains(q.URL.RawQuery, "node-") && (tc.host == "node-1") == strings.Contains(q.URL.RawQuery, "node-1") {
					slow = true
					first.hangs = !tc.responds
					w.clock.SetTime(w.clock.Now().Add(80 * time.Second))
					w.report()
				}
				return nil
			}
			for i := 0; !slow && i < 30; i++ {
				_, err := pass(r)
				w.must(err)
				if !slow {
					w.advance()
				}
			}
			if got := w.condition(conditionUnblocked); !slow || (len(w.fenced) > 0) != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s slow %v, fenced %v: %s", tc.reason, slow, w.fenced, got)
			}
			if len(w.errors) > 0 {
				t.Error(w.errors)
			}
		})
	}
}

// TestPowerOffFirst: evacuations of other nodes do not delay a request to power off, whose evidence gets old.
func TestPowerOffFirst(t *testing.T) {
	var domains []domain
	for i := range 60 {
		domains = append(domains, runs(fmt.Sprint("server-", i)))
	}
	w := newSimulation(t, 6, domains...)
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 1 }) // One is requested in each pass.
	r := w.sound()
	w.machine("node-1").hangs = true
	w.play(r, 20)
	w.machine("node-2").hangs = true
	var order []string
	w.extra = func(q *http.Request) error {
		if q.Method == http.MethodPost {
			order = append(order, q.URL.Path[strings.LastIndex(q.URL.Path, "/")+1:])
		}
		return nil
	}
	for i := 0; !slices.Contains(w.fenced, "node-2") && i < 20; i++ {
		order = nil
		w.play(r, 1)
	}
	if len(order) < 2 || order[len(order)-2] != "ComputerSystem.Reset" || order[len(order)-1] != "action" {
		t.Errorf("requests: %v", order)
	}
}

// TestMistakenController: a controller that reports Off, and powers nothing off, proves nothing about a node that responds.
func TestMistakenController(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	first := w.machine("node-1")
	first.hangs, first.mistaken = true, true
	for i := 0; w.state("node-1") != openstackv1.RecoveryFencing && i < 30; i++ {
		w.play(r, 1)
	}
	first.hangs, first.management = false, false
	w.play(r, 10)
	if got := w.condition(conditionUnblocked); w.state("node-1") != openstackv1.RecoveryFencing || len(w.nova.Actions()) > 0 ||
		!strings.HasPrefix(got, "False WitnessesDisagree: node-1 is not recovered, because a witness reports that it runs") {
		t.Errorf("%s, actions %v: %s", w.state("node-1"), w.nova.Actions(), got)
	}
	first.mistaken, first.management = false, true
	w.play(r, 30)
	if got := w.state("node-1"); got != "" {
		t.Errorf("%s: %s", got, w.condition(conditionUnblocked))
	}
}

// TestLateFence: a node whose power goes off long after the request, and after it has reported again, is recovered.
func TestLateFence(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	first := w.machine("node-1")
	first.hangs, first.mistaken = true, true // The controller executes no request.
	w.playUntil(r, "node-1", openstackv1.RecoveryFencing)
	first.hangs, first.management = false, true
	w.play(r, 5)
	w.switchOff(first) // It executes it now.
	w.play(r, 30)
	if got := w.running("a"); len(got) != 1 || w.state("node-1") != openstackv1.RecoveryEvacuated || len(w.fenced) != 1 {
		t.Errorf("a runs on %v, %s, fenced %v: %s", got, w.state("node-1"), w.fenced, w.condition(conditionUnblocked))
	}
}

// TestDuplicateServers: a node that was never off is reported before all other problems, after its kubelet or its probe is back.
func TestDuplicateServers(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		resume func(*machine)
		ticks  int
	}{
		"Kubelet": {"It reports from the same boot.", func(m *machine) { m.hangs = false }, 3},
		"Probe":   {"It responds for longer than a boot.", func(m *machine) { m.hangs, m.management = false, false }, 33},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"), runs("local").local())
			r := w.sound()
			first := w.machine("node-1")
			first.hangs, first.lying = true, true
			w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
			tc.resume(first)
			w.play(r, tc.ticks)
			const want = "False RunsTwice: node-1 runs, although its controller has reported that its power is off: servers run twice, and destroy their " +
				"disks: switch the node off now, and repair its controller ("
			if got := w.condition(conditionUnblocked); w.state("node-1") != openstackv1.RecoveryEvacuated || !strings.HasPrefix(got, want) {
				t.Errorf("%s %s: %s", tc.reason, w.state("node-1"), got)
			}
			first.lying, first.management = false, true
			w.switchOff(first) // An operator does it.
			w.play(r, 10)
			w.switchOn(first)
			w.play(r, 30)
			if got := w.state("node-1"); got != "" || len(w.running("a")) != 1 {
				t.Errorf("%s, a runs on %v: %s", got, w.running("a"), w.condition(conditionUnblocked))
			}
		})
	}
}

// TestPossibleDuplicateServers: a node that runs without a kubelet after its evacuation is reported with the condition under which its servers run twice.
func TestPossibleDuplicateServers(t *testing.T) {
	const text = "runs, and servers were evacuated from it: if it was not restarted after "
	start := func(w *simulation) { // Its kubelet does not start.
		w.machine("node-1").management = false
		w.switchOn(w.machine("node-1"))
	}
	for name, tc := range map[string]struct {
		reason, want string
		lies         bool
		change       func(w *simulation, r *Reconciler)
	}{
		"Repaired": {"It was off.", "False MayRunTwice: node-1 " + text, false, func(w *simulation, _ *Reconciler) { start(w) }},
		"HonestController": {
			"Its controller reports On after it has reported Off.", "False MayRunTwice: node-1 " + text, true, func(w *simulation, _ *Reconciler) {
				w.machine("node-1").hangs, w.machine("node-1").lying, w.machine("node-1").management = false, false, false
			},
		},
		"Returned": {
			"It has returned, and its kubelet fails then.", "False ServersRemain: 1 servers stay on node-1: ", false, func(w *simulation, r *Reconciler) {
				w.switchOn(w.machine("node-1"))
				w.playUntil(r, "node-1", openstackv1.RecoveryReturning)
				w.machine("node-1").management = false
			},
		},
		"UnknownBoot": {
			"Its Node was never read while it was silent.", "False MayRunTwice: node-1 " + text, true, func(w *simulation, _ *Reconciler) {
				o := w.recovery()
				o.Status.Recoveries[0].BootID = ""
				w.must(w.api.Status().Update(context.Background(), o))
				w.machine("node-1").hangs = false
				w.report()
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"), runs("local").local())
			r := w.sound()
			first := w.machine("node-1")
			first.hangs, first.lying = true, tc.lies
			w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
			tc.change(w, r)
			w.play(r, 40)
			if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s %s: %s", tc.reason, w.state("node-1"), got)
			}
			first.lying, first.management = false, true
			w.switchOff(first)
			w.play(r, 10)
			w.switchOn(first)
			w.play(r, 30)
			if got := w.state("node-1"); got != "" || len(w.running("a")) != 1 {
				t.Errorf("%s %s, a runs on %v: %s", tc.reason, got, w.running("a"), w.condition(conditionUnblocked))
			}
		})
	}
}

// TestDuplicateServersAndFailedOperation: an operation on another node that fails does not hide a node that was never off.
func TestDuplicateServersAndFailedOperation(t *testing.T) {
	for name, fails := range map[string]bool{"Fails": true, "Succeeds": false} { // The next operations, after the first one has failed.
		t.Run(name, func(t *testing.T) { playDuplicateServers(t, fails) })
	}
}

func playDuplicateServers(t *testing.T, fails bool) {
	t.Helper()
	w := newSimulation(t, 6, runs("a"))
	all := w.nova.Hypervisors()
	for i := range 20 {
		g := runs(fmt.Sprint("server-", i))
		all[1].Servers = append(all[1].Servers, g.Server)
		for j := range all {
			all[j].Details[g.ID] = g.Details
		}
	}
	w.nova.SetHypervisors(all...)
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 1 }) // Each pass has an operation.
	r := w.sound()
	w.machine("node-1").hangs, w.machine("node-1").lying = true, true
	w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
	w.machine("node-2").hangs = true
	w.playUntil(r, "node-2", openstackv1.RecoveryEvacuating)
	reject := func(rejected bool) {
		for i := range 20 {
			w.nova.RejectActions(fmt.Sprint("server-", i), rejected)
		}
	}
	reject(true) // Another server is tried in each pass.
	for i := 0; !strings.HasPrefix(w.condition(conditionUnblocked), "False OperationFailed: ") && i < 10; i++ {
		w.play(r, 1)
	}
	controllertest.Events(w.events)
	reject(fails)
	w.machine("node-1").hangs = false
	w.play(r, 4)
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "False RunsTwice: node-1 runs, although ") {
		t.Error(got)
	}
	if got := strings.Join(controllertest.Events(w.events), "\n"); strings.Count(got, " RunsTwice ") != 1 {
		t.Errorf("Events:\n%s", got)
	}
}

// TestOffOnce: a controller that reports Off in one pass proves nothing.
func TestOffOnce(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryDryRun })
	r := w.sound()
	first := w.machine("node-1")
	first.hangs = true
	w.play(r, 20)
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryRecover })
	first.powered = false
	w.play(r, 1)
	first.powered = true
	if got := w.state("node-1"); got != openstackv1.RecoverySuspected {
		t.Errorf("%s: %s", got, w.condition(conditionUnblocked))
	}
}

// TestCordonOfFailedNode: an operator who cordons a dead node does not end its recovery silently.
func TestCordonOfFailedNode(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.DelaySeconds = 60 })
	r := w.sound()
	w.machine("node-1").hangs = true
	playUntil := func(state openstackv1.RecoveryState) {
		t.Helper()
		for i := 0; w.state("node-1") != state && i < 30; i++ {
			w.play(r, 1)
		}
		if got := w.state("node-1"); got != state {
			t.Fatalf("%s instead of %s: %s", got, state, w.condition(conditionUnblocked))
		}
	}
	playUntil(openstackv1.RecoverySuspected)
	w.cordon("node-1", true)
	w.play(r, 20)
	if got := w.condition(conditionUnblocked); w.state("node-1") != openstackv1.RecoverySuspected || len(w.fenced) > 0 || got !=
		"False Excluded: node-1 has failed, and is not recovered, because its Node is cordoned: its servers are evacuated after that ends" {
		t.Errorf("%s, fenced %v: %s", w.state("node-1"), w.fenced, got)
	}
	w.cordon("node-1", false)
	playUntil(openstackv1.RecoveryFencing)
	w.cordon("node-1", true)
	playUntil(openstackv1.RecoveryEvacuated)
	if got := w.running("a"); len(got) != 1 || got[0] == "node-1" {
		t.Errorf("a runs on %v", got)
	}
}

// TestDelayAfterGap: the time without an observation of the witnesses does not count as agreement.
func TestDelayAfterGap(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		gap    func(*simulation, **Reconciler)
	}{
		"ServiceUnavailable": {"Nova did not respond.", func(w *simulation, r **Reconciler) {
			w.nova.SetDown(true)
			w.play(*r, 60)
			w.nova.SetDown(false)
		}},
		"Pause":     {"The companion had no processor.", func(w *simulation, _ **Reconciler) { w.wait(60) }},
		"NewLeader": {"Another process has observed before.", func(w *simulation, r **Reconciler) { w.wait(6); *r = w.sound() }},
		"Failure": {"The API server did not respond.", func(w *simulation, r **Reconciler) {
			w.wait(3)
			api := faultinjection.New(w.api, faultinjection.Point{Call: 1, Fault: faultinjection.FailBeforeWrite}) // The ServiceCheck.
			broken := w.reconciler(api.Client(), w)
			broken.memory = *(*r).memory.clone()
			if _, err := pass(broken); err == nil {
				w.t.Error("no error")
			}
			(*r).memory = broken.memory
			w.wait(1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"))
			r := w.sound()
			w.machine("node-1").hangs = true
			for i := 0; w.state("node-1") == "" && i < 30; i++ {
				w.play(r, 1)
			}
			tc.gap(w, &r)
			w.play(r, 1)
			if got := w.state("node-1"); got != openstackv1.RecoverySuspected || len(w.fenced) > 0 {
				t.Errorf("%s %s after one pass: %s", tc.reason, got, w.condition(conditionUnblocked))
			}
			w.play(r, 4)
			if len(w.fenced) == 0 {
				t.Errorf("%s", w.condition(conditionUnblocked))
			}
		})
	}
}

// wait lets time pass without an observation.
func (w *simulation) wait(ticks int) {
	for range ticks {
		w.advance()
	}
}

// TestManyFailures: the status has no more records than the API server accepts.
func TestManyFailures(t *testing.T) {
	const failures = recordLimit + 3
	w := newSimulation(t, 2*failures)
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) {
		s.MaxFailedPercent, s.Mode = 50, openstackv1.RecoveryDryRun
	})
	r := w.sound()
	for i := range failures {
		w.machines[i].hangs = true
	}
	w.play(r, 10)
	if got := len(w.recovery().Status.Recoveries); got != recordLimit {
		t.Errorf("%d records", got)
	}
	const want = "False TooManyFailed: node-7 is not recovered before others have returned, because status.recoveries has at most 32 nodes; "
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
}

// TestSystemIdentity: an entry that does not identify the system of its node powers nothing off.
func TestSystemIdentity(t *testing.T) {
	share := func(uuid string, count int) func(*simulation) {
		return func(w *simulation) {
			for _, m := range w.machines[:count] {
				n := &corev1.Node{}
				w.must(w.api.Get(context.Background(), client.ObjectKey{Name: m.name}, n))
				n.Status.NodeInfo.SystemUUID, m.uuid = uuid, uuid
				w.must(w.api.Status().Update(context.Background(), n))
			}
		}
	}
	configure := func(change func(nodes []openstackv1.RecoveryNode)) func(*simulation) {
		return func(w *simulation) { w.edit(func(s *openstackv1.HypervisorRecoverySpec) { change(s.Nodes) }) }
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*simulation)
		want   string
	}{
		"SharedURL": {"One entry is a copy.", configure(func(n []openstackv1.RecoveryNode) { n[1].Redfish.URL = n[0].Redfish.URL + "/" }),
			"redfish.url is also the address of node-2: correct one of them"},
		"SharedUUID":  {"Firmware has the same UUID.", share(uuidOf("node-9"), 2), "is also the one of node-2"},
		"Placeholder": {"Firmware has no UUID.", share("03000200-0400-0500-0006-000700080009", 1), "a placeholder of the firmware"},
		"SharedSystemUUID": {
			"One entry is a copy.", configure(func(n []openstackv1.RecoveryNode) { n[1].Redfish.SystemUUID = uuidOf("node-1") }), "is also the " +
				"one of node-2",
		},
		"CopiedEntry": {"It is the entry of another node.", func(w *simulation) {
			w.edit(func(s *openstackv1.HypervisorRecoverySpec) {
				s.Nodes[0].Redfish, s.Nodes[0].Redfish.SystemUUID = s.Nodes[1].Redfish, uuidOf("node-2")
				s.Nodes = slices.Delete(s.Nodes, 1, 2)
			})
		}, "redfish.systemUUID is 00000000-0000-0000-0000-000000000002, and the Node has 00000000-0000-0000-0000-000000000001"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"))
			tc.change(w)
			r := w.sound()
			w.play(r, 6)
			if got := w.condition(conditionFenceable); !strings.Contains(got, "node-1 could not be powered off: ") || !strings.Contains(got, tc.want) {
				t.Errorf("%s before the failure: %s", tc.reason, got)
			}
			w.machine("node-1").hangs = true
			w.play(r, 20)
			if got := w.condition(conditionUnblocked); len(w.fenced) > 0 || !strings.Contains(got, tc.want) {
				t.Errorf("%s fenced %v: %s", tc.reason, w.fenced, got)
			}
		})
	}
}

// TestStartOfRecovery: failed evacuations before the power was on again count.
func TestStartOfRecovery(t *testing.T) {
	w := newSimulation(t, 3, runs("a"), runs("b"))
	r := w.sound()
	w.nova.FailMoves("a", "No valid host was found.")
	w.nova.FailMoves("b", "No valid host was found.")
	first := w.machine("node-1")
	first.hangs = true
	w.play(r, 30)
	start := w.record("node-1").StartTime
	w.nova.RejectActions("a", true)
	w.nova.RejectActions("b", true)
	for w.state("node-1") != openstackv1.RecoveryEvacuating { // The next attempt.
		w.play(r, 1)
	}
	first.powered, first.hangs = true, true
	for i := 0; w.state("node-1") == openstackv1.RecoveryEvacuating && i < 10; i++ {
		w.play(r, 1)
	}
	record := w.record("node-1")
	if record == nil || record.State != openstackv1.RecoverySuspected || !record.StartTime.Equal(&start) || !record.SuspectTime.After(start.Time) {
		t.Fatalf("%+v: %s", record, w.condition(conditionUnblocked))
	}
	for i := 0; w.state("node-1") != openstackv1.RecoveryEvacuating && i < 30; i++ {
		w.play(r, 1)
	}
	w.play(r, 1)
	if got := w.condition(conditionUnblocked); !strings.Contains(got, "cannot evacuate server a") {
		t.Error(got)
	}
	if got := w.record("node-1").EvacuatedCount; got != 0 {
		t.Errorf("%d servers are evacuated", got)
	}
}

// TestBlockedInDryRun: a dry run that could not recover a node pages no operator.
func TestBlockedInDryRun(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryDryRun })
	w.machine("node-1").hangs, w.machine("node-1").control = true, false
	w.play(w.sound(), 20)
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "False FencingUnavailable: ") || valueOfBlocked(w.recovery()) != 0 {
		t.Errorf("blocked is %v: %s", valueOfBlocked(w.recovery()), got)
	}
}

// TestRecoveryStoppedByMode: a dry run that was set during a recovery is reported until the recovery continues, or the servers are up.
func TestRecoveryStoppedByMode(t *testing.T) {
	setMode := func(w *simulation, mode openstackv1.RecoveryMode) {
		w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = mode })
	}
	for name, tc := range map[string]struct {
		reason string
		state  openstackv1.RecoveryState
		// change is made after the mode was set, and the reports are those of then.
		change        func(*simulation)
		want, reports string
	}{
		"Fencing": {
			reason: "Its power goes off, and its servers are down.", state: openstackv1.RecoveryFencing, change: func(*simulation) {},
			want: "node-1 is Fencing", reports: "OpenStack: unreachable, kubelet: unreachable, network: unreachable, power: Off",
		},
		"Evacuating": {
			reason: "Its servers are down.", state: openstackv1.RecoveryEvacuating, change: func(*simulation) {},
			want: "node-1 is Evacuating", reports: "OpenStack: unreachable, kubelet: unreachable, network: unreachable, power: Off",
		},
		"OtherProblem": {
			reason: "A dry run pages for this one only.", state: openstackv1.RecoveryEvacuating, change: func(w *simulation) {
				w.machine("node-2").hangs, w.machine("node-2").control = true, false
			},
			want: "node-1 is Evacuating", reports: "OpenStack: unreachable, kubelet: unreachable, network: unreachable, power: Off",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 4, runs("a"), runs("b"))
			w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.MaxFailedPercent = 50 })
			r := w.sound()
			w.machine("node-1").hangs = true
			w.playUntil(r, "node-1", tc.state)
			setMode(w, openstackv1.RecoveryDryRun)
			tc.change(w)
			w.play(r, 20)
			want := "False StoppedByMode: " + tc.want + ", and its servers stay down with spec.mode DryRun: set it to Recover, or evacuate them " +
				"manually after the power of the node is off and requestedServers is empty (" + tc.reports + ")"
			if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, want) || valueOfBlocked(w.recovery()) != 1 {
				t.Errorf("%s blocked is %v\ngot  %s\nwant %s", tc.reason, valueOfBlocked(w.recovery()), got, want)
			}
			if actions := w.nova.Actions(); len(actions) > 0 {
				t.Errorf("%s actions %v", tc.reason, actions)
			}
			setMode(w, openstackv1.RecoveryRecover)
			w.play(r, 10)
			if got := w.running("a"); len(got) != 1 || got[0] == "node-1" {
				t.Errorf("%s a runs on %v: %s", tc.reason, got, w.condition(conditionUnblocked))
			}
		})
	}
	t.Run("ByHand", func(t *testing.T) {
		w := newSimulation(t, 3, runs("a"))
		r := w.sound()
		w.machine("node-1").hangs = true
		w.playUntil(r, "node-1", openstackv1.RecoveryFencing)
		setMode(w, openstackv1.RecoveryDryRun)
		w.play(r, 10)
		w.evacuateByHand("a")
		w.play(r, 10)
		w.switchOn(w.machine("node-1"))
		w.play(r, 30)
		if got := w.condition(conditionUnblocked); w.state("node-1") != "" || got != "True NothingBlocks: nothing prevents a recovery" {
			t.Errorf("%s: %s", w.state("node-1"), got)
		}
	})
}

// TestReportAfterPowerLoss: OpenStack shows that a node runs that had no power by itself, and whose controller reports Off.
func TestReportAfterPowerLoss(t *testing.T) {
	obs := &observation{now: time.Unix(1e9, 0), recovery: &openstackv1.HypervisorRecovery{}, past: &past{}, memory: &memory{}}
	n := &node{evidence: evidence{openStack: alive, kubernetes: unreachable, network: unknown}, record: &openstackv1.NodeRecovery{}}
	if s := obs.situation(n); !s.isAlive() {
		t.Error("OpenStack's report is ignored")
	}
	n.record.LastFenceTime = &metav1.Time{Time: obs.now.Add(-time.Second)}
	if s := obs.situation(n); s.isAlive() {
		t.Error("OpenStack's report may be from before the request")
	}
}

// TestDuplicateServersInDryRun: servers that run twice page an operator after a change of the mode.
func TestDuplicateServersInDryRun(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs, w.machine("node-1").lying = true, true
	w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryDryRun })
	w.machine("node-1").hangs = false
	w.play(r, 3)
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "False RunsTwice: ") || valueOfBlocked(w.recovery()) != 1 {
		t.Errorf("blocked is %v: %s", valueOfBlocked(w.recovery()), got)
	}
}

// TestRepeatedFencing: a node that has reported during the power off is not powered off again before it has failed for the delay.
func TestRepeatedFencing(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	first := w.machine("node-1")
	first.hangs, first.mistaken = true, true // The controller executes no request.
	w.playUntil(r, "node-1", openstackv1.RecoveryFencing)
	w.play(r, 1)
	first.hangs, first.management = false, false
	w.play(r, 5)
	first.hangs = true
	before := len(w.fenced)
	w.play(r, 2)
	if len(w.fenced) != before || w.state("node-1") != openstackv1.RecoveryFencing {
		t.Errorf("%s, fenced %v: %s", w.state("node-1"), w.fenced, w.condition(conditionUnblocked))
	}
	first.mistaken = false
	w.play(r, 30)
	if got := w.running("a"); len(got) != 1 || len(w.fenced) == before {
		t.Errorf("a runs on %v, fenced %v: %s", got, w.fenced, w.condition(conditionUnblocked))
	}
}

// TestStopInDryRun: a server that was stopped, and that Nova has started, is not stopped by a dry run.
func TestStopInDryRun(t *testing.T) {
	w := newSimulation(t, 3, runs("stopped").in("SHUTOFF"))
	r := w.sound()
	w.nova.FailMoves("stopped", "No valid host was found.")
	w.machine("node-1").hangs = true
	w.playUntil(r, "node-1", openstackv1.RecoveryEvacuating)
	w.play(r, 3)
	w.nova.FailMoves("stopped", "")
	for i := 0; w.hostOf("stopped") == "node-1" && i < 120; i++ {
		w.play(r, 1)
	}
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryDryRun })
	w.play(r, 5)
	if slices.Contains(w.nova.Actions(), "os-stop stopped") || len(w.running("stopped")) != 1 {
		t.Errorf("actions %v", w.nova.Actions())
	}
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Mode = openstackv1.RecoveryRecover })
	w.play(r, 5)
	if !slices.Contains(w.nova.Actions(), "os-stop stopped") || len(w.running("stopped")) != 0 {
		t.Errorf("actions %v", w.nova.Actions())
	}
}

// TestForcedDownByOther: a node that returns keeps forced_down if another user has set it.
func TestForcedDownByOther(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	first := w.machine("node-1")
	first.hangs = true
	for i := 0; w.state("node-1") != openstackv1.RecoveryEvacuating && i < 30; i++ {
		w.play(r, 1)
	}
	w.service(func(s *compute.Service) { s.ForcedDown = true })
	w.play(r, 10)
	if w.state("node-1") != openstackv1.RecoveryEvacuated || w.record("node-1").ForcedDown {
		t.Fatalf("%+v: %s", w.record("node-1"), w.condition(conditionUnblocked))
	}
	w.switchOn(first)
	w.play(r, 30)
	if got := w.state("node-1"); got != "" || !w.nova.Services()[0].ForcedDown {
		t.Errorf("%s, forced_down %v", got, w.nova.Services()[0].ForcedDown)
	}
	if got := w.condition(conditionRecovered); got != "False ForcedDown: forced_down of node-1 was not set by this object, and it has 0 "+
		"servers: after the node is back, run openstack --os-compute-api-version 2.53 compute service set --up node-1 nova-compute" {
		t.Error(got)
	}
}

// TestDeletedObject: a new object reports a node that the deleted one has forced down, and does not clear it.
func TestDeletedObject(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs = true
	w.play(r, 30)
	if got := w.condition(conditionObserved); w.state("node-1") != openstackv1.RecoveryEvacuated || got != "True WitnessesReport: 3 nodes are observed" {
		t.Fatalf("%s: %s", w.state("node-1"), got)
	}
	o := w.recovery()
	w.must(w.api.Delete(context.Background(), o))
	w.must(w.api.Create(context.Background(), &openstackv1.HypervisorRecovery{
		ObjectMeta: metav1.ObjectMeta{Name: pool, Namespace: namespace, Generation: 1}, Spec: o.Spec,
	}))
	w.switchOn(w.machine("node-1"))
	w.play(r, 30)
	if got := w.condition(conditionRecovered); w.state("node-1") != "" || !w.nova.Services()[0].ForcedDown ||
		!strings.HasPrefix(got, "False ForcedDown: forced_down of node-1 was not set by this object") {
		t.Errorf("%s, forced_down %v: %s", w.state("node-1"), w.nova.Services()[0].ForcedDown, got)
	}
}

// TestEntries: nodes without an entry, and entries without a node, are reported.
func TestEntries(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Nodes[1].Name = "node-9" })
	r := w.sound()
	w.play(r, 2)
	want := []openstackv1.UnfenceableNode{
		{NodeName: "node-2", Reason: "spec.nodes has no entry for it"},
		{NodeName: "node-9", Reason: "the pool has no node with this name: correct or remove its entry"},
	}
	if diff := cmp.Diff(want, w.recovery().Status.UnfenceableNodes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.Nodes[1].Name = "node-2" })
	w.play(r, 3)
	if got := w.condition(conditionFenceable); !strings.HasPrefix(got, "True ") {
		t.Error(got)
	}
}

// TestFenceableAfterVerification: nodes are regarded as fenceable after each of them was verified once, also after a restart of the
// companion. A node that fails first is not awaited.
func TestFenceableAfterVerification(t *testing.T) {
	w := newSimulation(t, 4, runs("a"))
	w.machine("node-4").control = false
	r := w.sound()
	expect := func(reason, want string) {
		t.Helper()
		if got := w.condition(conditionFenceable); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", reason, got, want)
		}
	}
	const waiting = "Unknown WaitingForVerification: one node is verified every 10s, and "
	w.play(r, 1)
	expect("One was verified.", waiting+"3 were not verified yet: node-2, node-3, node-4")
	w.play(r, 2)
	expect("A failure is verified again.", waiting+"1 were not verified yet: node-4")
	w.play(r, 1)
	expect("It failed once.", waiting+"1 were not verified yet: node-4")
	w.play(r, 1)
	const unavailable = "False FencingUnavailable: node-4 could not be powered off: no response from bmc-node-4: no response in time"
	expect("It failed twice.", unavailable)
	w.machine("node-4").control = true
	w.play(r, 4)
	const fenceable = "True NodesFenceable: no problem is known"
	expect("It was corrected.", fenceable)
	r = w.sound()
	w.play(r, 1)
	expect("The companion has restarted.", fenceable)
	o := w.recovery()
	o.Status.VerifiedNodes = slices.Delete(o.Status.VerifiedNodes, 2, 3)
	w.must(w.api.Status().Update(context.Background(), o))
	w.play(r, 1)
	expect("A node was added.", waiting+"1 were not verified yet: node-3")
	w.machine("node-3").hangs = true
	w.play(r, 20)
	expect("It has failed, and cannot be verified.", fenceable)
}

// TestNeverIsNoProblem: a server whose owner has selected that it stays pages no operator.
func TestNeverIsNoProblem(t *testing.T) {
	w := newSimulation(t, 3, runs("a").wants(priorityKey, "never"), runs("b").wants(priorityKey, "nevr"))
	r := w.sound()
	w.machine("node-1").hangs = true
	w.play(r, 30)
	if got := w.condition(conditionUnblocked); w.state("node-1") != openstackv1.RecoveryEvacuated || !strings.HasPrefix(got, "True ") {
		t.Errorf("%s: %s", w.state("node-1"), got)
	}
	if got := w.record("node-1").RemainingServers; len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

// TestParallelReads: a service that responds after the request about another node was sent delays no node.
func TestParallelReads(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		state  openstackv1.RecoveryState
		about  func(*http.Request) string
	}{
		"Controllers": {"They hang at times.", openstackv1.RecoverySuspected, func(q *http.Request) string {
			host, _ := strings.CutPrefix(q.URL.Host, "bmc-")
			return host
		}},
		"Servers": {"Nova takes long for nodes with many servers.", openstackv1.RecoveryEvacuated, func(q *http.Request) string {
			return map[bool]string{true: q.URL.Query().Get("host")}[strings.HasSuffix(q.URL.Path, "/servers/detail")]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 6, runs("a"))
			r := w.sound()
			r.memory.parallel = parallelReads
			w.machine("node-1").hangs, w.machine("node-2").hangs = true, true
			for i := 0; (w.state("node-1") != tc.state || w.state("node-2") != tc.state) && i < 40; i++ {
				w.play(r, 1)
			}
			second := make(chan struct{})
			var once sync.Once
			w.extra = func(q *http.Request) error {
				switch tc.about(q) {
				case "node-1":
					select {
					case <-second:
					case <-time.After(5 * time.Second):
						t.Errorf("%s node-2 is not read before the response about node-1", tc.reason)
						once.Do(func() { close(second) })
					}
				case "node-2":
					once.Do(func() { close(second) })
				}
				return nil
			}
			w.play(r, 30)
			select {
			case <-second:
			default:
				t.Error("node-2 is not read")
			}
			for _, node := range []string{"node-1", "node-2"} {
				if got := w.state(node); got != openstackv1.RecoveryEvacuated {
					t.Errorf("%s is %s: %s", node, got, w.condition(conditionUnblocked))
				}
			}
		})
	}
}

// TestEvacuatedNodeIsNotRead: a node from which all servers were evacuated takes no time of a pass.
func TestEvacuatedNodeIsNotRead(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs = true
	w.play(r, 30)
	if got := w.state("node-1"); got != openstackv1.RecoveryEvacuated {
		t.Fatal(got)
	}
	w.extra = func(q *http.Request) error {
		if q.URL.Host == "bmc-node-1" {
			t.Error("its controller is read")
		}
		return nil
	}
	before := w.dials
	w.play(r, 4)
	if got := w.dials - before; got != 8 {
		t.Errorf("%d probes in 4 passes, each of which verifies one node, and shows that this one does not run", got)
	}
}

// TestRemovedNode: the record of a node that left the pool is kept while Nova has its nova-compute.
func TestRemovedNode(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs = true
	w.play(r, 30)
	check := &openstackv1.ServiceCheck{}
	w.must(w.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: pool}, check))
	check.Status.Nodes = check.Status.Nodes[1:]
	w.must(w.api.Update(context.Background(), check))
	w.play(r, 3)
	if got := w.record("node-1"); got == nil || !got.ForcedDown {
		t.Fatalf("%+v", got)
	}
	if got := w.condition(conditionUnblocked); got != "False RemovedFromPool: node-1 was removed from the pool while its recovery was "+
		"Evacuated: add it "+
		"again, or delete its nova-compute from Nova" {
		t.Error(got)
	}
	w.nova.Set(w.nova.Services()[1:]...)
	w.machines = w.machines[1:]
	w.play(r, 3)
	if got := w.record("node-1"); got != nil {
		t.Errorf("%+v", got)
	}
}
