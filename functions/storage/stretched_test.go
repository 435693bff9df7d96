package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// inZones returns nodes with a number in each zone, and the same devices.
func inZones(zones map[string]int, devices string) string {
	var out []string
	for _, zone := range []string{"a", "b", "c", ""} {
		for i := range zones[zone] {
			at := ""
			if zone != "" {
				at = ", zone: " + zone
			}
			out = append(out, fmt.Sprintf("{name: n%s%d%s, devices: [%s]}", zone, i, at, devices))
		}
	}
	return "nodes: [" + strings.Join(out, ", ") + "]"
}

// twoZones are two nodes with a device in each.
var twoZones = inZones(map[string]int{"a": 2, "b": 2}, "{name: sda}")

const arbiter = "stretched: {zones: [a, b], arbiter: {zone: c}}, replicationFactor: 4"

func stretched(fields string) string { return "{" + twoZones + ", " + arbiter + fields + "}" }

// TestRejectsUnsupportedStretchedSettings verifies that settings are rejected which Rook or Ceph reject in stretch mode, or wait for
// indefinitely.
func TestRejectsUnsupportedStretchedSettings(t *testing.T) {
	at := func(zones map[string]int, devices, fields string) string {
		return "{" + inZones(zones, devices) + ", " + arbiter + fields + "}"
	}
	two := map[string]int{"a": 2, "b": 2}
	for name, tc := range map[string]struct{ reason, spec, field, message string }{
		"Two":         {"Two nodes in each zone, and five monitors.", stretched(""), "", ""},
		"Arbiterless": {"The arbiter has no zone.", strings.Replace(stretched(""), "zone: c", "", 1), "spec.stretched", "a third for the arbiter"},
		"OneZone":     {"Two zones are required.", strings.Replace(stretched(""), "[a, b]", "[a]", 1), "spec.stretched", "set two zones"},
		"Copies":      {"A zone would have one copy, or none.", strings.Replace(stretched(""), "Factor: 4", "Factor: 3", 1), "spec.replicationFactor", "must be 4 with stretched"},
		"Arbiter": {
			"It would fail with the zone.", strings.Replace(stretched(""), "zone: c", "zone: b", 1), "spec.stretched.arbiter.zone",
			"must differ from zone b",
		},
		"Monitors": {"The monitors cannot be distributed.", stretched(", monitors: {count: 7}"), "spec.monitors.count", "not 7"},
		"Domain":   {"Racks are not supported.", stretched(", failureDomain: rack"), "spec.failureDomain", "failureDomain must be host or osd, not rack"},
		"Class":    {"Rook's CRUSH rule has no device class.", stretched(", deviceClass: ssd"), "spec.deviceClass", "all pools use the same CRUSH rule"},
		"PoolOf3":  {"Ceph refuses it.", stretched(", pools: [{name: images, replicated: {size: 3}}]"), "spec.pools[0]", "replicated with size 4"},
		"PoolClass": {
			"Rook ignores it.", stretched(", pools: [{name: images}, {name: vms, deviceClass: ssd}]"), "spec.pools[1]",
			"remove deviceClass and failureDomain",
		},
		"PoolDomain": {"It would not have an effect.", stretched(", pools: [{name: vms, failureDomain: osd}]"), "spec.pools[0]", "remove deviceClass and failureDomain"},
		"Pieces": {
			"Ceph refuses it.", stretched(", objectStores: [{name: s3, dataPool: {erasureCoded: {dataChunks: 2, codingChunks: 1}}}]"),
			"spec.objectStores[0].dataPool", "replicated with size 4",
		},
		"Files":   {"The same.", stretched(", filesystems: [{name: fs, dataPool: {replicated: {size: 2}}}]"), "spec.filesystems[0].dataPool", "replicated with size 4"},
		"Unknown": {"The zone of the node is required.", at(map[string]int{"a": 2, "b": 2, "": 1}, "{name: sda}", ""), "spec.nodes[4].zone", "must be in zone a or b"},
		"Third":   {"The zone of the arbiter holds no data.", at(map[string]int{"a": 2, "b": 2, "c": 1}, "{name: sda}", ""), "spec.nodes[4].zone", "must be in zone a or b"},
		"One": {
			"Both copies of the zone would be on it.", at(map[string]int{"a": 2, "b": 1}, "{name: sda}, {name: sdb}", ", monitors: {count: 3}"), "spec.nodes",
			"zone b holds two copies, which do not share a failure domain (host), and has 1 node",
		},
		"Places": {
			"Two monitors do not share a node.", at(map[string]int{"a": 1, "b": 1}, "{name: sda}, {name: sdb}", ", failureDomain: osd"), "spec.monitors.count",
			"zone a has 1 node for 2 monitors",
		},
		"Three":  {"One monitor each.", at(map[string]int{"a": 1, "b": 1}, "{name: sda}, {name: sdb}", ", failureDomain: osd, monitors: {count: 3}"), "", ""},
		"Device": {"Both copies would be on it.", at(map[string]int{"a": 1, "b": 1}, "{name: sda}", ", failureDomain: osd, monitors: {count: 3}"), "spec.nodes", "(osd), and has 1 device"},
		"Weight": {
			"Ceph takes no such zones.", at(map[string]int{"a": 3, "b": 2}, "{name: sda, size: 1Ti}", ""), "spec.nodes",
			"zone a has 3Ti of devices and zone b has 2Ti",
		},
		"Weights": {"Sizes are unknown.", at(map[string]int{"a": 3, "b": 2}, "{name: sda}", ""), "", ""},
		"Fits":    {"Half of a zone, before Ceph warns.", at(two, "{name: sda, size: 100Ti}", ", targetCapacity: 85Ti"), "", ""},
		"TooMuch": {
			"There are two copies in each.", at(two, "{name: sda, size: 100Ti}", ", targetCapacity: 86Ti"), "spec.targetCapacity",
			"86Ti do not fit: devices of 400Ti hold 85Ti of data in 4 copies, two in each of two zones",
		},
		"Lopsided": {
			"Additional capacity of one node of a zone cannot be used.",
			"{nodes: [{name: a0, zone: a, devices: [{name: sda, size: 10Ti}]}, {name: a1, zone: a, devices: [{name: sda, size: 90Ti}]}, " +
				"{name: b0, zone: b, devices: [{name: sda, size: 50Ti}]}, {name: b1, zone: b, devices: [{name: sda, size: 50Ti}]}], " + arbiter + ", targetCapacity: 9Ti}",
			"spec.targetCapacity", "hold 8.5Ti of data",
		},
		"NotStretched": {"Zones require stretched.", strings.Replace(stretched(""), arbiter, "replicationFactor: 3", 1), "spec.nodes[0].zone", "requires stretched"},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, tc.reason, makeReady(newCluster(tc.spec, open)), tc.field, tc.message)
		})
	}
}

// TestArbiterRequiresAllowedZone verifies that a limit must allow a node in the arbiter's zone.
func TestArbiterRequiresAllowedZone(t *testing.T) {
	const platform = `{domain: example.com, limits: [{name: some, namespaces: ["*"], storageNodes: [%s], storageDevices: ["*"], storageNetworks: ["*"]}]}`
	for name, tc := range map[string]struct{ reason, nodes, field string }{
		"Zone":  {"It is.", `"kubernetes.io/hostname=n*", "topology.kubernetes.io/zone=c"`, ""},
		"Other": {"Another zone's are.", `"kubernetes.io/hostname=n*", "topology.kubernetes.io/zone=d"`, "spec.stretched.arbiter.zone"},
		"None":  {"Its data's are.", `"kubernetes.io/hostname=n*"`, "spec.stretched.arbiter.zone"},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(stretched(""), fmt.Sprintf(platform, tc.nodes)))
			wantError(t, tc.reason, err, tc.field, "storageNodes")
		})
	}
}

// TestConditionReportsLostZoneOrArbiter verifies the condition when a zone or the arbiter is lost. The claim is ready as long as data is
// available.
func TestConditionReportsLostZoneOrArbiter(t *testing.T) {
	warn := func(pairs ...string) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = map[string]any{"message": pairs[i+1]}
		}
		return out
	}
	down := []string{
		"DEGRADED_STRETCH_MODE", "We are missing stretch mode buckets, only requiring 1 of 2 buckets to peer", "OSD_ZONE_DOWN", "1 zone (2 osds) down",
		"OSD_HOST_DOWN", "2 hosts (2 osds) down", "OSD_DOWN", "2 osds down", "MON_DOWN", "2/5 mons down, quorum c,d,e",
	}
	for name, tc := range map[string]struct {
		reason, spec string
		details      map[string]any
		cluster      string
		zones        string
	}{
		"Intact": {"All nodes are available.", "", nil, "True", "True Intact"},
		"Zone": {
			"The other one has all data.", "", warn(down...), "True",
			"False ZoneDown one of the zones a and b is down; data is available in the other zone only; restore the zone " +
				"(DEGRADED_STRETCH_MODE: We are missing",
		},
		"Recovering": {
			"It is back, and is not up to date.", "", warn("RECOVERING_STRETCH_MODE", "We are recovering stretch mode buckets"), "True", "False Recovering",
		},
		"Arbiter": {
			"Both zones are available.", "", warn("MON_DOWN", "1/5 mons down, quorum a,b,c,d"), "True",
			"False MonitorDown a monitor is down: if it is the arbiter in zone c, the loss of a zone stops all reads and writes",
		},
		"Unreachable": {
			"Ceph reports it.", "", warn(append([]string{"PG_AVAILABILITY", "Reduced data availability: 8 pgs inactive"}, down...)...), "False PG_AVAILABILITY",
			"False ZoneDown",
		},
		"Node":  {"The other copy in its zone is available.", "", warn("OSD_HOST_DOWN", "1 host (1 osds) down"), "True", "True Intact"},
		"Four":  {"There may be two in each zone.", "", warn("OSD_HOST_DOWN", "4 hosts (4 osds) down"), "False OSD_HOST_DOWN", "True Intact"},
		"Both":  {"No copy is available.", "", warn("OSD_ZONE_DOWN", "2 zones (4 osds) down"), "False OSD_ZONE_DOWN", "False ZoneDown"},
		"More":  {"One node of the other zone, too: there is a copy left.", "", warn("OSD_ZONE_DOWN", "1 zone (2 osds) down", "OSD_HOST_DOWN", "3 hosts (3 osds) down"), "True", "False ZoneDown"},
		"Worse": {"Two of them.", "", warn("OSD_ZONE_DOWN", "1 zone (2 osds) down", "OSD_HOST_DOWN", "4 hosts (4 osds) down"), "False OSD_HOST_DOWN", "False ZoneDown"},
		"Devices": {
			"Each device may have a copy.", ", failureDomain: osd", warn("OSD_ZONE_DOWN", "1 zone (2 osds) down", "OSD_HOST_DOWN", "2 hosts (2 osds) down", "OSD_DOWN", "4 osds down"),
			"False OSD_DOWN", "False ZoneDown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := complete(t, stretched(tc.spec))
			health := "HEALTH_WARN"
			if tc.details == nil {
				health = healthOK
			}
			w.Reports = func(kind, _ string) map[string]any {
				if kind != "CephCluster" {
					return nil
				}
				return map[string]any{"ceph": map[string]any{
					"health": health, "fsid": "f", "capacity": map[string]any{"bytesTotal": int64(1)}, "details": tc.details,
				}}
			}
			_ = w.Refresh(func(simulate.Step) {}) // It is not ready any more, where that is wanted.
			requested := conditions(w)
			if got := requested["ClusterReady"]; !strings.HasPrefix(got, tc.cluster) {
				t.Errorf("%s\ncluster: got %q, want %q", tc.reason, got, tc.cluster)
			}
			if got := requested["ZonesHealthy"]; !strings.HasPrefix(got, tc.zones) {
				t.Errorf("%s\nzones: got %q, want %q", tc.reason, got, tc.zones)
			}
		})
	}
	if got := conditions(complete(t, with("pools: [{name: images}]")))["ZonesHealthy"]; got != "" {
		t.Errorf("a cluster without zones has the condition %q", got)
	}
}

// TestManagerPool verifies that the pool which Rook requires for a ready stretched cluster does not wait for the cluster. All other pools
// wait.
func TestManagerPool(t *testing.T) {
	for spec, want := range map[string][]string{stretched(""): {"mgr-pool"}, with("pools: [{name: images}]"): nil} {
		w := newCluster(spec, open)
		w.Reports = func(kind, _ string) map[string]any {
			if kind != "CephCluster" {
				return nil
			}
			return map[string]any{"phase": "Progressing"}
		}
		for range 9 {
			if _, err := w.Call(func(simulate.Step) {}); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for name := range w.Observed {
			if name == "mgr-pool" || strings.HasPrefix(name, poolPrefix) {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pools of a cluster that is not ready (-want +got):\n%s", diff)
		}
	}
}

// TestZoneAlert verifies the alert on an unavailable zone.
func TestZoneAlert(t *testing.T) {
	want := monitoringtest.Alert{Severity: "critical", For: "5m", Selectors: []string{`ceph_health_detail{name=~"DEGRADED_STRETCH_MODE"}`}}
	if diff := cmp.Diff(want, alertsOf(t, stretched(", monitoring: {enabled: true}"))["CephZoneDown"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPatternSelectsDevicesInDataZones verifies that devices by pattern are selected in the two zones only.
func TestPatternSelectsDevicesInDataZones(t *testing.T) {
	spec := kind.Desired(t, complete(t, "{deviceSelector: {all: true}, "+arbiter+"}"))[clusterResource]["spec"].(map[string]any)
	labels := func(of string) string {
		return fmt.Sprint(spec["placement"].(map[string]any)[of].(map[string]any)["nodeAffinity"])
	}
	if got := labels("all"); !strings.Contains(got, "key:topology.kubernetes.io/zone operator:In values:[a b]") {
		t.Errorf("daemons run on %s", got)
	}
	got := labels("arbiter")
	if !strings.Contains(got, "key:topology.kubernetes.io/zone operator:In values:[c]") || !strings.Contains(got, "node-role.kubernetes.io/storage") {
		t.Errorf("the arbiter runs on %s", got)
	}
}
