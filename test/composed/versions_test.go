package composed

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
)

// rolls lists, for each component of a kind that is no service, the components whose new version runs first. Services have theirs in
// functions/<service>/expected.yaml.
var rolls = []roll{
	{"The metadata API calls the conductor.", "NovaCell.nova.openstack.c5c3.io", "metadata", "conductor"},
	{"A console proxy reads tokens that the conductor writes.", "NovaCell.nova.openstack.c5c3.io", "vnc", "conductor"},
	{"A console proxy reads tokens that the conductor writes.", "NovaCell.nova.openstack.c5c3.io", "spice", "conductor"},
	{"A console proxy reads tokens that the conductor writes.", "NovaCell.nova.openstack.c5c3.io", "serial", "conductor"},
	{"northd writes only tables that the database has.", "OVNCluster.ovn.c5c3.io", "northd", "northbound"},
	{"northd writes only tables that the database has.", "OVNCluster.ovn.c5c3.io", "northd", "southbound"},
	{"A relay copies only tables that the database has.", "OVNCluster.ovn.c5c3.io", "relay", "southbound"},
}

// roll requires that the new version of one component runs before the new version of another one.
type roll struct{ reason, kind, component, after string }

// allRolls returns the rolls of all kinds.
func allRolls(t *testing.T) []roll {
	t.Helper()
	out := slices.Clone(rolls)
	facts := expected.Services(t)
	for _, k := range kindregistry.Composites() {
		for _, r := range facts[k.Folder].Rollouts {
			out = append(out, roll{r.Reason, k.GroupKind().String(), r.Component, r.After})
		}
	}
	return out
}

// graphOf returns RolloutAfter of each component of a kind that has any.
func graphOf(r function.Runner) map[string][]string {
	out := map[string][]string{}
	graph := reflect.ValueOf(r).FieldByName("Graph")
	for i := range graph.Len() {
		if after := graph.Index(i).FieldByName("RolloutAfter").Interface().([]string); len(after) > 0 {
			out[graph.Index(i).FieldByName("Name").String()] = slices.Sorted(slices.Values(after))
		}
	}
	return out
}

// different returns the differences of what the kinds do from the table.
func different(t *testing.T, got map[string]map[string][]string) string {
	t.Helper()
	want := map[string]map[string][]string{}
	for kind := range got {
		want[kind] = map[string][]string{}
	}
	for _, r := range allRolls(t) {
		if want[r.kind] == nil {
			t.Fatalf("there is no kind %s", r.kind)
		}
		want[r.kind][r.component] = slices.Sorted(slices.Values(append(want[r.kind][r.component], r.after)))
	}
	return cmp.Diff(want, got)
}

func TestVersionsRollInOrder(t *testing.T) {
	got := map[string]map[string][]string{}
	runners := kinds.Runners()
	for _, k := range kindregistry.Composites() {
		kind := k.Composite().GroupKind().String()
		got[kind] = graphOf(runners[kind])
	}
	if diff := different(t, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The comparison fails without any one of them.
	for kind, components := range got {
		for component, after := range components {
			for i := range after {
				components[component] = slices.Delete(slices.Clone(after), i, i+1)
				if different(t, got) == "" {
					t.Errorf("%s: %s without %s is not noticed", kind, component, after[i])
				}
				components[component] = after
			}
		}
	}
}
