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
	all := w.Observed[name].Map()
	all["status"] = parsed(status).AsMap()
	changed, err := structpb.NewStruct(all)
	if err != nil {
		t.Fatal(err)
	}
	w.Observed[name] = encoded.Of(changed)
}

// TestCapacity verifies that the claim copies the companion's counts, and keeps them while Nova is unavailable, and that a missing count is
// not treated as zero. The condition on deletion names the remedy.
func TestCapacity(t *testing.T) {
	const (
		counts      = "capacity: {virtualMachines: %, totalVCPU: 64, availableVCPU: 60, totalMemoryMiB: 131072, availableMemoryMiB: 126976}\n"
		responses   = "conditions: [{type: Ready, status: 'True', reason: ProcessesUp, message: all}]\n"
		silent      = "conditions: [{type: Ready, status: 'False', reason: ServiceUnavailable, message: \"cannot list hypervisors:\\nNova answers 503\"}]\n"
		down        = "conditions: [{type: Ready, status: 'False', reason: ProcessesDown, message: one is down}]\n"
		remembers   = "nodes: [{name: node-1}]\n"
		noPods      = "{desiredNumberScheduled: 1, numberAvailable: 0}"
		consent     = "or say spec.allowDeletionWithVirtualMachines: true, and they go on without anybody who looks after them"
		first       = "to delete the claim, move them to another pool (openstack server migrate --live-migration) or delete them first, " + consent
		nodeless    = "STATUS_CONDITION_TRUE NoNodes: no node has registered that virtual machines could be on"
		none        = "STATUS_CONDITION_TRUE Counted: no virtual machine is on nodes of the pool"
		nobody      = "STATUS_CONDITION_FALSE NobodyKnows: nobody knows whether virtual machines are on nodes of the pool: "
		see         = "; to delete the claim, see to that first, " + consent
		unanswered  = "cannot list hypervisors: Nova answers 503"
		notYet      = "the control plane's companion has not counted them yet"
		three       = "STATUS_CONDITION_FALSE VirtualMachinesOnNodes: 3 virtual machines are on nodes of the pool"
		one         = "STATUS_CONDITION_FALSE VirtualMachinesOnNodes: 1 virtual machine is on nodes of the pool"
		whenKnown   = " (when that was last known: "
		lastWas3    = "{virtualMachines: 3, totalVCPU: 8, availableVCPU: 1, totalMemory: 4Gi, availableMemory: 1Gi}"
		lastWas0    = "{virtualMachines: 0, totalVCPU: 8, availableVCPU: 8, totalMemory: 4Gi, availableMemory: 4Gi}"
		justStarted = "observedGeneration: 1\n"
	)
	of := func(n string) string { return strings.ReplaceAll(counts, "%", n) }
	now := func(n float64) map[string]any {
		return map[string]any{"virtualMachines": n, "totalVCPU": 64.0, "availableVCPU": 60.0, "totalMemory": "128Gi", "availableMemory": "124Gi"}
	}
	was3 := map[string]any{"virtualMachines": 3.0, "totalVCPU": 8.0, "availableVCPU": 1.0, "totalMemory": "4Gi", "availableMemory": "1Gi"}
	was0 := map[string]any{"virtualMachines": 0.0, "totalVCPU": 8.0, "availableVCPU": 8.0, "totalMemory": "4Gi", "availableMemory": "4Gi"}
	for name, tc := range map[string]struct {
		reason string
		// check is the status of the ServiceCheck, pods the status of nova-compute's DaemonSet, and last the previous status of the pool.
		check, pods, last string
		want              map[string]any
		wantMessage       string
	}{
		"Three":    {"They are on its nodes.", of("3") + responses + remembers, "", "", now(3), three + "; " + first},
		"One":      {"So is one.", of("1") + responses + remembers, "", "", now(1), one + "; " + first},
		"None":     {"It may go.", of("0") + responses + remembers, "", "", now(0), none},
		"Gone":     {"What was is over.", of("0") + responses + remembers, "", lastWas3, now(0), none},
		"NodeDown": {"That a process is down hides no number.", of("0") + down + remembers, "", "", now(0), none},
		"Silent": {
			"The companion keeps what it counted last.", of("3") + silent + remembers, "", "", now(3),
			three + whenKnown + unanswered + "); " + first,
		},
		"SilentAtNone": {"That there were none says nothing of now.", of("0") + silent + remembers, "", "", now(0), nobody + unanswered + see},
		"NeverSaid":    {"Nodes are there, and nobody has ever said.", silent + remembers, noPods, "", map[string]any{}, nobody + unanswered + see},
		"NotYet":       {"nova-compute is ready, and may have some.", justStarted, "", "", map[string]any{}, nobody + notYet + see},
		"NoNodes":      {"There never was a node for any.", justStarted, noPods, "", map[string]any{}, nodeless},
		"Lost":         {"The check was made anew, and knows nothing.", justStarted, noPods, lastWas3, was3, three + whenKnown + notYet + "); " + first},
		"LostAtNone":   {"None is taken from what was before.", justStarted, noPods, lastWas0, was0, nobody + notYet + see},
		"NoCheck":      {"Somebody has deleted the check.", "", noPods, lastWas3, was3, three + whenKnown + notYet + "); " + first},
		"NothingYet":   {"Nothing is known of anything.", "", noPods, "", map[string]any{}, nodeless},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(mine, "tenant-a", objects(theirClaim, controlPlaneYAML)...)
			if err := w.Run(func(simulate.Step) {}); err != nil {
				t.Fatal(err)
			}
			reports(t, w, checkComponent, tc.check)
			if tc.pods != "" {
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
				t.Errorf("%s It says %q, want %q", tc.reason, message, tc.wantMessage)
			}
		})
	}
}
