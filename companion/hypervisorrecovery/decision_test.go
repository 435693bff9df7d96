package hypervisorrecovery

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/fence"
)

// TestConclude lists all combinations of reports.
func TestConclude(t *testing.T) {
	all := []sight{unknown, alive, unreachable}
	count := map[conclusion]int{}
	for _, openStack := range all {
		for _, kubernetes := range all {
			for _, network := range all {
				for _, off := range []bool{false, true} {
					e := evidence{openStack, kubernetes, network, off}
					got := e.conclude()
					count[got]++
					management := 0
					for _, s := range []sight{openStack, kubernetes} {
						if s == unreachable {
							management++
						}
					}
					independent := 0
					if network == unreachable {
						independent++
					}
					if off {
						independent++
					}
					runs := openStack == alive || kubernetes == alive || network == alive
					if want := !runs && independent > 0 && management+independent >= 2; (got == failed) != want {
						t.Errorf("%+v: %s", e, got)
					}
					if want := management+independent == 0; (got == healthy) != want {
						t.Errorf("%+v: %s", e, got)
					}
				}
			}
		}
	}
	if count[partitioned] != 1 || count[contradicted] == 0 || count[uncertain] == 0 {
		t.Errorf("%v", count)
	}
}

func TestDecide(t *testing.T) {
	dead := evidence{openStack: unreachable, kubernetes: unreachable, network: unreachable}
	fine := evidence{openStack: alive, kubernetes: alive, network: alive}
	// suspected is a node that has been suspected for long enough, and can be powered off.
	suspected := situation{
		state: openstackv1.RecoverySuspected, recovers: true, evidence: dead, suspected: time.Minute, delay: 30 * time.Second, controllable: true,
		power: fence.On, offPasses: 2,
	}
	off := suspected
	off.state, off.power, off.forced, off.forcedHere, off.pending = openstackv1.RecoveryEvacuating, fence.Off, true, true, 2
	back := off
	back.state, back.evidence, back.returning, back.reports, back.pending = openstackv1.RecoveryReturning, fine, stabilizationTime, true, 0
	with := func(s situation, change func(*situation)) situation {
		change(&s)
		return s
	}
	for name, tc := range map[string]struct {
		reason    string
		situation situation
		want      step
		problem   string
	}{
		"Healthy": {"It reports to all witnesses.", situation{evidence: fine}, wait, ""},
		"Failed":  {"Three witnesses agree.", situation{evidence: dead}, suspect, ""},
		"PowerLost": {
			"The power is off, and the kubelet is unreachable.", situation{evidence: evidence{unknown, unreachable, unknown, true}}, suspect, "",
		},
		"Planned": {"Its maintenance explains the silence.", situation{evidence: dead, excluded: true}, wait, ""},
		"ComputeHung": {
			"nova-compute and the agents are unreachable, and the kubelet reports.", situation{evidence: evidence{unreachable, alive, unknown, false}}, wait,
			"WitnessesDisagree",
		},
		"Partition": {
			"Only the network of the kubelet is unreachable.", situation{evidence: evidence{unreachable, unreachable, unknown, false}}, wait, "PartitionPossible",
		},
		"PartitionWithProbe": {
			"The network of storage responds.", situation{evidence: evidence{unreachable, unreachable, alive, false}}, wait, "WitnessesDisagree",
		},
		"CrowdedUnread": {
			"Networks are not read then.", situation{evidence: evidence{unreachable, unreachable, unknown, false}, crowded: true}, wait, "TooManyFailed",
		},
		"OneWitness": {"Only the kubelet is unreachable.", situation{evidence: evidence{unknown, unreachable, unknown, false}}, wait, "OneWitness"},
		"Fence":      {"Everything is proven.", suspected, powerOff, ""},
		"AlreadyOff": {"It needs no request.", with(suspected, func(s *situation) { s.power = fence.Off }), prove, ""},
		"TooEarly":   {"Reports may be late.", with(suspected, func(s *situation) { s.suspected = 29 * time.Second }), wait, ""},
		"Interrupted": {
			"Passes fail again and again.", with(suspected, func(s *situation) { s.suspected, s.age = 0, s.delay+stallTimeout }), wait,
			"ObservationInterrupted",
		},
		"DryRun": {"Nothing is changed.", with(suspected, func(s *situation) { s.recovers = false }), wait, ""},
		"Crowded": {
			"Many nodes fail at once.", with(suspected, func(s *situation) { s.crowded = true }), wait, "TooManyFailed",
		},
		"CrowdedOff": {
			"The same if the power is off.", with(suspected, func(s *situation) { s.crowded, s.power = true, fence.Off }), wait, "TooManyFailed",
		},
		"NoFencing": {
			"Its power cannot be proven.", with(suspected, func(s *situation) { s.controllable = false }), wait, "FencingUnavailable",
		},
		"NoFencingInDryRun": {
			"A dry run shows it.", with(suspected, func(s *situation) { s.controllable, s.recovers = false, false }), wait, "FencingUnavailable",
		},
		"Recovered":      {"It reports again.", with(suspected, func(s *situation) { s.evidence = fine }), forget, ""},
		"BecamePlanned":  {"An operator cordons a dead node.", with(suspected, func(s *situation) { s.excluded = true }), wait, "Excluded"},
		"PlannedAndBack": {"It reports again.", with(suspected, func(s *situation) { s.excluded, s.evidence = true, fine }), forget, ""},
		"OffOnce":        {"A controller that restarts reports it.", with(suspected, func(s *situation) { s.power, s.offPasses = fence.Off, 1 }), wait, ""},
		"HealthyButForced": {
			"It runs without another boot.",
			with(suspected, func(s *situation) { s.evidence, s.forcedHere, s.steady = fine, true, stabilizationTime }), comeBack, "",
		},
		"FencingOffOnce": {
			"The same after a request.", with(fencing(suspected, time.Second), func(s *situation) { s.power, s.offPasses = fence.Off, 1 }), wait, "",
		},
		"FencingOffAndKubelet": {
			"The controller is mistaken.",
			with(fencing(suspected, time.Second), func(s *situation) { s.power, s.evidence.kubernetes = fence.Off, alive }), wait, "WitnessesDisagree",
		},
		"FencingOffAndProbe": {
			"The controller is mistaken.",
			with(fencing(suspected, time.Second), func(s *situation) { s.power, s.evidence.network = fence.Off, alive }), wait, "WitnessesDisagree",
		},
		"FencingOffAndOldReport": {
			"Nova trusts a report from before the request.", with(fencing(suspected, stabilizationTime-time.Second), func(s *situation) {
				s.power, s.evidence = fence.Off, evidence{alive, unreachable, unreachable, true}
			}), prove, "",
		},
		"FencingOffAndOpenStack": {
			"nova-compute reports after the request.", with(fencing(suspected, stabilizationTime), func(s *situation) {
				s.power, s.evidence = fence.Off, evidence{alive, unreachable, unreachable, true}
			}), wait, witnessesDisagree,
		},
		"FencingOffAndNewReport": {
			"nova-compute has reported after the request.", with(fencing(suspected, time.Minute), func(s *situation) {
				s.power, s.evidence, s.reportsSinceRequest = fence.Off, evidence{alive, unreachable, unreachable, true}, true
			}), wait, witnessesDisagree,
		},
		"EvacuateOffOnce": {"It may have run since the proof.", with(off, func(s *situation) { s.offPasses = 1 }), wait, ""},
		"DoneAgainOffOnce": {
			"The same after its return.", with(off, func(s *situation) { s.state, s.offPasses = openstackv1.RecoveryEvacuated, 1 }), wait, "",
		},
		"ForceDownAndKubelet": {
			"The controller is mistaken.", with(off, func(s *situation) { s.forced, s.evidence.kubernetes = false, alive }), wait, "WitnessesDisagree",
		},
		"EvacuateAndProbe": {
			"The controller is mistaken.", with(off, func(s *situation) { s.evidence.network = alive }), wait, "WitnessesDisagree",
		},
		"StartedAndOff": {
			"The controller is mistaken.", with(off, func(s *situation) { s.started, s.evidence.kubernetes = true, alive }), withdraw, "",
		},
		"RunsTwice": {
			"Its kubelet reports from the same boot.", with(off, func(s *situation) {
				s.state, s.pending, s.moved, s.evidence = openstackv1.RecoveryEvacuated, 0, true, fine
			}), wait, duplicateServers,
		},
		"RunsTwiceWhileEvacuating": {
			"The same before the last evacuation.", with(off, func(s *situation) { s.moved, s.evidence, s.power = true, fine, fence.On }), wait, duplicateServers,
		},
		"RunsTwiceSuspected": {
			"The same after its power was on.", with(suspected, func(s *situation) {
				s.moved, s.evidence, s.forcedHere, s.steady = true, fine, true, stabilizationTime
			}), wait, duplicateServers,
		},
		"RespondsForLong": {"It has no kubelet.", with(off, func(s *situation) {
			s.state, s.pending, s.moved, s.responding = openstackv1.RecoveryEvacuated, 0, true, bootTimeout
		}), wait, duplicateServers},
		"MayRunTwice": {"It is on, and may have been restarted.", with(off, func(s *situation) {
			s.state, s.pending, s.moved, s.responding, s.power = openstackv1.RecoveryEvacuated, 0, true, bootTimeout, fence.On
		}), wait, mayRunTwice},
		"MayRunTwiceUnreadable": {"Its controller does not respond.", with(off, func(s *situation) {
			s.state, s.pending, s.moved, s.responding, s.controllable = openstackv1.RecoveryEvacuated, 0, true, bootTimeout, false
		}), wait, mayRunTwice},
		"MayRunTwiceUnknownBoot": {"Its boot was never read.", with(off, func(s *situation) {
			s.state, s.pending, s.moved, s.evidence, s.unknownBoot = openstackv1.RecoveryEvacuated, 0, true, fine, true
		}), wait, mayRunTwice},
		"MayRunTwiceSuspected": {"Its power came back, and its kubelet did not.", with(suspected, func(s *situation) {
			s.moved, s.responding, s.evidence.network, s.forcedHere = true, bootTimeout, alive, true
		}), wait, mayRunTwice},
		"Starts": {"Its kubelet starts later.", with(off, func(s *situation) {
			s.state, s.pending, s.moved, s.responding, s.evidence.network = openstackv1.RecoveryEvacuated, 0, true, bootTimeout-time.Second, alive
		}), wait, ""},
		"NothingMoved": {
			"It was never off, and has all its servers.", with(off, func(s *situation) {
				s.state, s.pending, s.evidence = openstackv1.RecoveryEvacuated, 0, fine
			}), withdraw, "",
		},
		"StillForced":    {"forced_down must be cleared.", with(suspected, func(s *situation) { s.evidence, s.forcedHere = fine, true }), wait, ""},
		"ForcedAndBack":  {"It has started again.", with(suspected, func(s *situation) { s.forcedHere, s.started = true, true }), comeBack, ""},
		"FencingWaits":   {"It was requested.", fencing(suspected, time.Second), wait, ""},
		"FencingRepeats": {"The request may be lost.", fencing(suspected, repeatInterval), powerOff, ""},
		"FencingAgain": {
			"A witness has reported that it runs.",
			with(fencing(suspected, repeatInterval), func(s *situation) { s.suspected = s.delay - time.Second }), wait, "",
		},
		"FencingChanging": {
			"The controller executes it.", with(fencing(suspected, repeatInterval), func(s *situation) { s.power = fence.Changing }), wait, "",
		},
		"FencingLate": {"The power stays on.", fencing(suspected, powerTimeout), powerOff, "PowerStillOn"},
		"FencingOff":  {"The power is off.", with(fencing(suspected, time.Second), func(s *situation) { s.power = fence.Off }), prove, ""},
		"FencingAlive": {
			"It reports again, and the request may still be executed.",
			with(fencing(suspected, powerTimeout-time.Second), func(s *situation) { s.evidence, s.onPasses = fine, 2 }), wait, "",
		},
		"FencingAliveAndOn": {
			"The request was lost.", with(fencing(suspected, powerTimeout), func(s *situation) { s.evidence, s.onPasses = fine, 2 }), forget, "",
		},
		"FencingAliveOnce": {
			"The power was read once.", with(fencing(suspected, powerTimeout), func(s *situation) { s.evidence, s.onPasses = fine, 1 }), wait, "",
		},
		"FencingAliveUnreadable": {
			"The power is unknown.",
			with(fencing(suspected, powerTimeout), func(s *situation) { s.evidence, s.onPasses, s.controllable = fine, 2, false }), wait,
			"FencingUnavailable",
		},
		"FencingPartitioned": {
			"A probe is unknown.",
			with(fencing(suspected, powerTimeout), func(s *situation) { s.evidence.network, s.onPasses = unknown, 2 }), wait, "PartitionPossible",
		},
		"FencingUncertain": {
			"Witnesses are unknown.",
			with(fencing(suspected, powerTimeout), func(s *situation) { s.evidence, s.onPasses = evidence{unreachable, unknown, unknown, false}, 2 }), wait,
			"OneWitness",
		},
		"FencingUnknown": {
			"All witnesses are unknown.",
			with(fencing(suspected, powerTimeout), func(s *situation) { s.evidence, s.onPasses = evidence{unknown, unknown, unknown, false}, 2 }), wait,
			"OneWitness",
		},
		"FencingPartition": {
			"Its other network works again.",
			with(fencing(suspected, repeatInterval), func(s *situation) { s.evidence.network = alive }), wait, witnessesDisagree,
		},
		"FencingAliveAndForced": {
			"forced_down must be cleared.",
			with(fencing(suspected, powerTimeout), func(s *situation) { s.evidence, s.forcedHere, s.onPasses = fine, true, 2 }), withdraw, "",
		},
		"FencingPlanned": {
			"The request may still be executed.", with(fencing(suspected, repeatInterval), func(s *situation) { s.excluded = true }), powerOff, "",
		},
		"FencingCrowded": {
			"More nodes fail.", with(fencing(suspected, repeatInterval), func(s *situation) { s.crowded = true }), wait, "TooManyFailed",
		},
		"FencingUnreadable": {
			"The controller hangs.", with(fencing(suspected, repeatInterval), func(s *situation) { s.controllable = false }), wait,
			"FencingUnavailable",
		},
		"FencingDryRun": {
			"The mode was changed.", dryRun(fencing(suspected, repeatInterval)), wait, stoppedByMode,
		},
		"FencingDryRunOff": {
			"Its servers are down.",
			with(dryRun(fencing(suspected, repeatInterval)), func(s *situation) { s.power = fence.Off }), wait, stoppedByMode,
		},
		"FencingDryRunUnreadable": {
			"Its power is unknown.",
			with(dryRun(fencing(suspected, repeatInterval)), func(s *situation) { s.controllable = false }), wait, stoppedByMode,
		},
		"FencingDryRunAlive": {
			"The request may still be executed.",
			with(dryRun(fencing(suspected, powerTimeout-time.Second)), func(s *situation) { s.evidence, s.onPasses = fine, 2 }), wait, stoppedByMode,
		},
		"FencingDryRunReleased": {
			"It runs, and the request was lost.",
			with(dryRun(fencing(suspected, powerTimeout)), func(s *situation) { s.evidence, s.onPasses = fine, 2 }), forget, "",
		},
		"FencingUnreadableNodes": {
			"It is reported for the pool.", with(fencing(suspected, repeatInterval), func(s *situation) { s.recovers = false }), wait, "",
		},
		"ForceDown":  {"Nova has no record of the failure.", with(off, func(s *situation) { s.forced = false }), forceDown, ""},
		"Evacuate":   {"The power is off.", off, evacuate, ""},
		"EvacuateIn": {"The guard prevents only fencing.", with(off, func(s *situation) { s.crowded = true }), evacuate, ""},
		"Busy":       {"Evacuations are in progress.", with(off, func(s *situation) { s.pending, s.busy = 0, 1 }), wait, ""},
		"Complete":   {"No server is left.", with(off, func(s *situation) { s.pending = 0 }), complete, ""},
		"OffDryRun":  {"The mode was changed.", dryRun(off), wait, stoppedByMode},
		"OffDryRunUnreadable": {
			"The mode is the first obstacle.", with(dryRun(off), func(s *situation) { s.controllable = false }), wait, stoppedByMode,
		},
		"OffDryRunWithoutServers": {"Nothing is down.", with(dryRun(off), func(s *situation) { s.pending = 0 }), wait, ""},
		"OffDryRunPowerOn":        {"It runs its servers.", with(dryRun(off), func(s *situation) { s.power = fence.On }), withdraw, ""},
		"OffDryRunAlive": {
			"The controller is mistaken.", with(dryRun(off), func(s *situation) { s.evidence.network = alive }), wait, witnessesDisagree,
		},
		"OffDryRunTwice": {
			"It destroys data.", with(dryRun(off), func(s *situation) { s.moved, s.evidence = true, fine }), wait, duplicateServers,
		},
		"DoneDryRun": {
			"An owner has changed the metadata.",
			with(dryRun(off), func(s *situation) { s.state = openstackv1.RecoveryEvacuated }), wait, stoppedByMode,
		},
		"OffUnreadableNodes": {"It is reported for the pool.", with(off, func(s *situation) { s.recovers = false }), wait, ""},
		"PowerOn":            {"It runs its servers.", with(off, func(s *situation) { s.power = fence.On }), withdraw, ""},
		"PowerChanging": {
			"It may run its servers.", with(off, func(s *situation) { s.power = fence.Changing }), withdraw, "",
		},
		"PowerUnknown": {
			"It may run its servers.", with(off, func(s *situation) { s.controllable = false }), wait, "FencingUnavailable",
		},
		"PowerOnUnforced": {
			"The failure is over.", with(off, func(s *situation) { s.power, s.forced = fence.On, false }), withdraw, "",
		},
		"Done": {
			"It waits for its repair.", with(off, func(s *situation) { s.state, s.pending = openstackv1.RecoveryEvacuated, 0 }), wait, "",
		},
		"DoneUnreadable": {
			"Its controller has no power, either.",
			with(off, func(s *situation) { s.state, s.pending, s.controllable = openstackv1.RecoveryEvacuated, 0, false }), wait, "",
		},
		"DoneOn": {
			"It starts.", with(off, func(s *situation) { s.state, s.power = openstackv1.RecoveryEvacuated, fence.On }), wait, "PowerIsOn",
		},
		"DoneAgain": {
			"An owner has changed the metadata.", with(off, func(s *situation) { s.state = openstackv1.RecoveryEvacuated }), evacuate, "",
		},
		"Started": {
			"It is ready after another boot.",
			with(off, func(s *situation) { s.state, s.pending, s.started = openstackv1.RecoveryEvacuated, 0, true }), comeBack, "",
		},
		"StartedTooEarly": {"Servers are left.", with(off, func(s *situation) { s.started, s.power = true, fence.On }), withdraw, ""},
		"Return":          {"Its agents report for two minutes.", back, forceUp, ""},
		"ReturnSettles":   {"Reports may be old.", with(back, func(s *situation) { s.returning = stabilizationTime - time.Second }), wait, ""},
		"ReturnSilent":    {"nova-compute does not report.", with(back, func(s *situation) { s.reports = false }), wait, ""},
		"ReturnLate": {
			"An operator has to act.", with(back, func(s *situation) { s.reports, s.returning = false, agentTimeout }), wait, "AgentsDown",
		},
		"ReturnBusy":  {"A server is between two nodes.", with(back, func(s *situation) { s.busy = 1 }), wait, ""},
		"ReturnFails": {"It is not ready anymore.", with(back, func(s *situation) { s.evidence.kubernetes = unreachable }), leave, ""},
		"ForcedByOther": {
			"Another user has set forced_down.", with(back, func(s *situation) { s.forcedHere = false }), forget, "",
		},
		"FencingRequested": {
			"It was requested again a moment ago.",
			with(fencing(suspected, powerTimeout), func(s *situation) { s.requested = time.Second }), wait, "PowerStillOn",
		},
		"InService": {"forced_down is cleared.", with(back, func(s *situation) { s.forced = false }), forget, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, problem := decide(tc.situation); got != tc.want || problem != tc.problem {
				t.Errorf("%s got %q, %q; want %q, %q", tc.reason, got, problem, tc.want, tc.problem)
			}
		})
	}
}

// dryRun returns a node after the mode was changed.
func dryRun(s situation) situation {
	s.recovers, s.dryRun = false, true
	return s
}

// fencing returns a node for which the power off was requested.
func fencing(s situation, since time.Duration) situation {
	s.state, s.fencing, s.requested = openstackv1.RecoveryFencing, since, since
	return s
}

// TestReportsSinceRequest: a report of nova-compute proves that its node runs after a request to power it off, unless the clocks differ, or
// Nova does not regard it as up.
func TestReportsSinceRequest(t *testing.T) {
	now := time.Unix(1e9, 0)
	request := metav1.Time{Time: now.Add(-time.Minute)}
	for name, tc := range map[string]struct {
		reason  string
		service *compute.Service
		want    bool
	}{
		"Later":   {"It runs.", &compute.Service{Up: true, ReportedAt: request.Add(reportDelay + time.Second)}, true},
		"Earlier": {"Nova trusts it for a minute.", &compute.Service{Up: true, ReportedAt: request.Add(reportDelay)}, false},
		"Down":    {"forced_down changes the record.", &compute.Service{ForcedDown: true, ReportedAt: now}, false},
		"None":    {"Nova has no record.", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			obs := &observation{now: now, past: &past{}, recovery: &openstackv1.HypervisorRecovery{}}
			record := &openstackv1.NodeRecovery{State: openstackv1.RecoveryFencing, LastFenceTime: &request}
			if got := obs.situation(&node{record: record, service: tc.service}).reportsSinceRequest; got != tc.want {
				t.Errorf("%s %v", tc.reason, got)
			}
		})
	}
}
