package controlplane

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestMonitoringObjectsFollowTheirTargets checks that all monitoring objects have the labels that Prometheus selects by, and are created
// after the objects that they monitor.
func TestMonitoringObjectsFollowTheirTargets(t *testing.T) {
	const spec = "{size: medium, global: {monitoring: {enabled: true, labels: {team: a}}}}"
	w, stage, calls := newCluster(t, spec, bare), map[string]int{}, 0
	if err := w.Run(func(s simulate.Step) {
		if s.Depth > 0 {
			return
		}
		calls++
		for _, name := range s.New {
			stage[name] = calls
		}
	}); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for name, o := range desired(t, w) {
		m := inner(o)
		if m["kind"] != "PrometheusRule" && m["kind"] != "ServiceMonitor" {
			continue
		}
		found[name] = true
		if at(m, "metadata", "labels", "team") != "a" {
			t.Errorf("%s has labels %v", name, at(m, "metadata", "labels"))
		}
		if stage[name] <= stage["catalog"] {
			t.Errorf("%s appears in call %d, the catalog in call %d", name, stage[name], stage["catalog"])
		}
	}
	want := []string{
		"cache-alerts", "companion-alerts", "companion-monitor", "database-alerts", "database-monitor", "database-proxy-monitor", "locks-alerts",
		"messaging-alerts", "messaging-monitor", "program-alerts",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("monitoring (-want +got):\n%s", diff)
	}
}
