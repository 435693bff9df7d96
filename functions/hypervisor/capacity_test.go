package hypervisor

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// capacityFields are the status fields that the companion counts.
var capacityFields = []string{"virtualMachines", "totalVCPU", "availableVCPU", "totalMemory", "availableMemory"}

// reports replaces the status of an observed object. Empty: the object does not exist.
func reports(t *testing.T, w *simulate.Cluster, name, status string) {
	t.Helper()
	if status == "" {
		delete(w.Observed, name)
		return
	}
	setStatus(t, w, name, parsed(status).AsMap())
}

// setStatus replaces the status of an observed object.
func setStatus(t *testing.T, w *simulate.Cluster, name string, status map[string]any) {
	t.Helper()
	all := w.Observed[name].Map()
	all["status"] = status
	changed, err := structpb.NewStruct(all)
	if err != nil {
		t.Fatal(err)
	}
	w.Observed[name] = encoded.Of(changed)
}

// TestReportsCapacityOfPool verifies that the claim copies the companion's counts, and keeps them while Nova is unavailable, and that a
// missing count is not treated as zero. The condition on deletion names the remedy.
func TestReportsCapacityOfPool(t *testing.T) {
	const (
		counts      = "capacity: {virtualMachines: %, totalVCPU: 64, availableVCPU: 60, totalMemoryMiB: 131072, availableMemoryMiB: 126976}\n"
		responses   = "conditions: [{type: Ready, status: 'True', reason: ProcessesUp, message: all}, {type: Counted, status: 'True', reason: Complete, message: all}]\n"
		unavailable = "conditions: [{type: Counted, status: 'False', reason: ServiceUnavailable, message: \"cannot list hypervisors:\\nNova responds with 503\"}]\n"
		partial     = "conditions: [{type: Ready, status: 'True', reason: ProcessesUp, message: all}, {type: Counted, status: 'False', reason: CellUnavailable, message: a cell}]\n"
		uncounted   = "conditions: [{type: Ready, status: 'True', reason: ProcessesUp, message: all}]\n"
		earlier     = "conditions: [{type: Counted, status: 'True', reason: Complete, message: all, observedGeneration: 99}]\n"
		down        = "conditions: [{type: Ready, status: 'False', reason: ProcessesDown, message: one is down}, {type: Counted, status: 'True', reason: Complete, message: all}]\n"
		remembers   = "nodes: [{name: node-1}]\n"
		noPods      = "{desiredNumberScheduled: 1, numberAvailable: 0}"
		consent     = "or set spec.allowDeletionWithVirtualMachines: true to leave them running without management"
		first       = "to delete the claim, move them to another pool (openstack server migrate --live-migration) or delete them first, " + consent
		nodeless    = "STATUS_CONDITION_TRUE NoNodes: no node has registered that virtual machines could be on"
		none        = "STATUS_CONDITION_TRUE Counted: no virtual machine is on nodes of the pool"
		unknown     = "STATUS_CONDITION_FALSE CountUnknown: it is unknown whether virtual machines are on nodes of the pool: "
		see         = "; to delete the claim, resolve this first, " + consent
		unanswered  = "cannot list hypervisors: Nova responds with 503"
		notYet      = "the control plane's companion has not counted them yet"
		three       = "STATUS_CONDITION_FALSE ServersOnNodes: 3 virtual machines are on nodes of the pool"
		one         = "STATUS_CONDITION_FALSE ServersOnNodes: 1 virtual machine is on nodes of the pool"
		whenKnown   = " (when that was last known: "
		last3       = "{virtualMachines: 3, totalVCPU: 8, availableVCPU: 1, totalMemory: 4Gi, availableMemory: 1Gi}"
		last0       = "{virtualMachines: 0, totalVCPU: 8, availableVCPU: 8, totalMemory: 4Gi, availableMemory: 4Gi}"
		justStarted = "observedGeneration: 1\n"
	)
	of := func(n string) string { return strings.ReplaceAll(counts, "%", n) }
	now := func(n float64) map[string]any {
		return map[string]any{"virtualMachines": n, "totalVCPU": 64.0, "availableVCPU": 60.0, "totalMemory": "128Gi", "availableMemory": "124Gi"}
	}
	prior3 := map[string]any{"virtualMachines": 3.0, "totalVCPU": 8.0, "availableVCPU": 1.0, "totalMemory": "4Gi", "availableMemory": "1Gi"}
	prior0 := map[string]any{"virtualMachines": 0.0, "totalVCPU": 8.0, "availableVCPU": 8.0, "totalMemory": "4Gi", "availableMemory": "4Gi"}
	for name, tc := range map[string]struct {
		reason string
		// check is the status of the ServiceCheck, pods the status of nova-compute's DaemonSet, and last the previous status of the pool.
		check, pods, last string
		want              map[string]any
		wantMessage       string
	}{
		"Three":    {"Three servers prevent the deletion.", of("3") + responses + remembers, "", "", now(3), three + "; " + first},
		"One":      {"One server prevents the deletion.", of("1") + responses + remembers, "", "", now(1), one + "; " + first},
		"None":     {"The claim can be deleted.", of("0") + responses + remembers, "", "", now(0), none},
		"Gone":     {"The current count replaces the previous one.", of("0") + responses + remembers, "", last3, now(0), none},
		"NodeDown": {"A failed process does not hide the count.", of("0") + down + remembers, "", "", now(0), none},
		"Silent": {
			"The companion retains the last count.", of("3") + unavailable + remembers, "", "", now(3),
			three + whenKnown + unanswered + "); " + first,
		},
		"SilentAtNone": {"A previous count of zero may be outdated.", of("0") + unavailable + remembers, "", "", now(0), unknown + unanswered + see},
		"NeverSaid":    {"Nodes exist, and were never counted.", unavailable + remembers, noPods, "", map[string]any{}, unknown + unanswered + see},
		"NotYet":       {"nova-compute is ready, and may have some.", justStarted, "", "", map[string]any{}, unknown + notYet + see},
		"NoPods":       {"nova-compute may have registered before its pod failed.", justStarted, noPods, "", map[string]any{}, unknown + notYet + see},
		"Partial":      {"Nova lists no servers of a cell.", of("0") + partial + remembers, "", "", now(0), unknown + "a cell" + see},
		"Uncounted": {"An earlier companion counts servers of cells that respond.", of("0") + uncounted + remembers, "", "", now(0),
			unknown + notYet + see},
		"Earlier":    {"The companion has not counted the nodes of a new slice.", of("0") + earlier + remembers, "", "", now(0), unknown + notYet + see},
		"Lost":       {"The check was created again, without a count.", justStarted, noPods, last3, prior3, three + whenKnown + notYet + "); " + first},
		"LostAtNone": {"A previous count of zero is not used.", justStarted, noPods, last0, prior0, unknown + notYet + see},
		"NoCheck":    {"The check was deleted.", "", noPods, last3, prior3, three + whenKnown + notYet + "); " + first},
		"NothingYet": {"nova-compute was never created.", "", "-", "", map[string]any{}, nodeless},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			setClock(w, noon)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			if tc.check != "" {
				tc.check += observedAt(noon)
			}
			reports(t, w, checkComponent, tc.check)
			switch tc.pods {
			case "":
			case "-":
				delete(w.Observed, computeComponent)
			default:
				reports(t, w, computeComponent, tc.pods)
			}
			status := w.XR.GetFields()["status"].GetStructValue().GetFields()
			for _, f := range capacityFields {
				delete(status, f)
			}
			if tc.last != "" {
				maps.Copy(status, parsed(tc.last).GetFields())
			}
			rsp := New().Run(w.Request())
			all, got := rsp.Composite.Object.At("status").Map(), map[string]any{}
			for _, f := range capacityFields {
				if v, ok := all[f]; ok {
					got[f] = v
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			message := ""
			for _, c := range rsp.Conditions {
				if c.GetType() == noVirtualMachines {
					message = c.GetStatus().String() + " " + c.GetReason() + ": " + c.GetMessage()
				}
			}
			if message != tc.wantMessage {
				t.Errorf("%s Message %q, want %q", tc.reason, message, tc.wantMessage)
			}
		})
	}
}

// TestDeletionGuardSeparateCluster verifies that nodes in another cluster than the control plane's, whose servers are not counted, keep
// the deletion guard closed, regardless of the pods of nova-compute.
func TestDeletionGuardSeparateCluster(t *testing.T) {
	for name, tc := range map[string]struct{ pods, want string }{
		"before nova-compute": {"", "STATUS_CONDITION_TRUE NoNodes"},
		"available":           {"{desiredNumberScheduled: 3, numberAvailable: 3}", "STATUS_CONDITION_FALSE CountUnknown"},
		"not available":       {"{desiredNumberScheduled: 3, numberUnavailable: 3}", "STATUS_CONDITION_FALSE CountUnknown"},
		"without nodes":       {"{desiredNumberScheduled: 0}", "STATUS_CONDITION_FALSE CountUnknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(inCluster(mine, "east"), "tenant-a", objects(planeClaim, controlPlaneIn(""), storageClaim, storageXR)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			if _, ok := w.Observed[checkComponent]; ok {
				t.Fatal("the companion counts servers")
			}
			if tc.pods == "" {
				delete(w.Observed, computeComponent)
			} else {
				o, put := inside(t, w, computeComponent)
				o["status"] = parsed(tc.pods).AsMap()
				put()
			}
			got := ""
			for _, c := range New().Run(w.Request()).Conditions {
				if c.GetType() == noVirtualMachines {
					got = c.GetStatus().String() + " " + c.GetReason() + ": " + c.GetMessage()
				}
			}
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("got %q, want %s", got, tc.want)
			}
		})
	}
}
