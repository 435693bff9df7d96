package composed

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// rolls lists, for each component, the components whose new version runs first.
var rolls = []struct{ reason, kind, component, after string }{
	{"A new API writes requests that only a new conductor reads.", "Nova.nova.openstack.c5c3.io", "api", "scheduler"},
	{"The scheduler calls the conductor.", "Nova.nova.openstack.c5c3.io", "scheduler", "conductor"},
	{"The metadata API reads what the new conductor and scheduler write.", "Nova.nova.openstack.c5c3.io", "metadata", "scheduler"},
	{"Cells are upgraded when the schema above them is.", "Nova.nova.openstack.c5c3.io", "cells", "schema"},
	{"Requests of a new API are processed by new workers.", "Barbican.barbican.openstack.c5c3.io", "api", "worker"},
	{"The scheduler calls the managers of volumes last.", "Cinder.cinder.openstack.c5c3.io", "volume", "scheduler"},
	{"A backup reads a volume by its manager.", "Cinder.cinder.openstack.c5c3.io", "backup", "volume"},
	{"Requests of a new API are processed by new managers.", "Cinder.cinder.openstack.c5c3.io", "api", "volume"},
	{"Requests of a new API are processed by new managers.", "Cinder.cinder.openstack.c5c3.io", "api", "backup"},
	{"Requests of a new API are processed by new engines.", "Heat.heat.openstack.c5c3.io", "api", "engine"},
	{"Requests of a new API are processed by new engines.", "Heat.heat.openstack.c5c3.io", "cfn", "engine"},
	{"The API migrates what it reads when it starts.", "Neutron.neutron.openstack.c5c3.io", "maintenance", "api"},
	{"The API migrates what it reads when it starts.", "Neutron.neutron.openstack.c5c3.io", "periodic", "api"},
	{"The API migrates what it reads when it starts.", "Neutron.neutron.openstack.c5c3.io", "rpc", "api"},
	{"The metadata API calls the conductor.", "NovaCell.nova.openstack.c5c3.io", "metadata", "conductor"},
	{"A console proxy reads tokens that the conductor writes.", "NovaCell.nova.openstack.c5c3.io", "vnc", "conductor"},
	{"A console proxy reads tokens that the conductor writes.", "NovaCell.nova.openstack.c5c3.io", "spice", "conductor"},
	{"A console proxy reads tokens that the conductor writes.", "NovaCell.nova.openstack.c5c3.io", "serial", "conductor"},
	{"northd writes only tables that the database has.", "OVNCluster.ovn.c5c3.io", "northd", "northbound"},
	{"northd writes only tables that the database has.", "OVNCluster.ovn.c5c3.io", "northd", "southbound"},
	{"A relay copies only tables that the database has.", "OVNCluster.ovn.c5c3.io", "relay", "southbound"},
	{"The conductor above the cells calls conductors of cells.", "Nova.nova.openstack.c5c3.io", "conductor", "cells"},
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
	for _, r := range rolls {
		if want[r.kind] == nil {
			t.Fatalf("there is no kind %s", r.kind)
		}
		want[r.kind][r.component] = slices.Sorted(slices.Values(append(want[r.kind][r.component], r.after)))
	}
	return cmp.Diff(want, got)
}

func TestVersionsRollInOrder(t *testing.T) {
	got := map[string]map[string][]string{}
	for kind, r := range kinds.Runners() {
		got[kind] = graphOf(r)
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
