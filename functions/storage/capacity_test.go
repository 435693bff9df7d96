package storage

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestRejectsTargetCapacityBeyondDevices verifies for ten claims that data above the capacity of their devices is rejected, and the largest
// fitting amount is accepted.
func TestRejectsTargetCapacityBeyondDevices(t *testing.T) {
	nodes := func(sizes ...string) string {
		var out []string
		for i, s := range sizes {
			var devices []string
			for j, size := range strings.Split(s, "+") {
				devices = append(devices, fmt.Sprintf("{name: sd%c, deviceClass: hdd, size: %s}", 'a'+j, size))
			}
			out = append(out, fmt.Sprintf("{name: n%d, devices: [%s]}", i, strings.Join(devices, ", ")))
		}
		return "nodes: [" + strings.Join(out, ", ") + "]"
	}
	for name, tc := range map[string]struct{ reason, spec, exceeded, accepted string }{
		"OneCopy":     {"85 % of a device can be used.", nodes("100Ti") + ", replicationFactor: 1, allowDataLoss: true", "86Ti", "85Ti"},
		"ThreeEqual":  {"Each node has one copy.", nodes("100Ti", "100Ti", "100Ti"), "86Ti", "85Ti"},
		"Largest":     {"Additional capacity of one node cannot be used.", nodes("10Ti", "10Ti", "100Ti"), "9Ti", "8Ti"},
		"Spread":      {"Copies are on three of four nodes.", nodes("30Ti", "30Ti", "30Ti", "30Ti"), "35Ti", "34Ti"},
		"LargestOf4":  {"Two copies are on three small nodes.", nodes("20Ti", "20Ti", "20Ti", "500Ti"), "26Ti", "25Ti"},
		"TwoCopies":   {"Half of the capacity can be used.", nodes("20Ti", "20Ti", "20Ti", "20Ti") + ", replicationFactor: 2", "35Ti", "34Ti"},
		"Devices":     {"All devices of a node are one failure domain.", nodes("10Ti+10Ti", "20Ti", "5Ti+15Ti"), "18Ti", "17Ti"},
		"OSD":         {"Each device is a failure domain.", nodes("10Ti+10Ti+10Ti") + ", failureDomain: osd", "9Ti", "8Ti"},
		"Zones":       {"The nodes limit the capacity of zones.", nodes("100Ti", "100Ti", "100Ti") + ", failureDomain: zone", "86Ti", "85Ti"},
		"ClassOfPool": {"Devices of the claim's class.", nodes("100Ti", "100Ti", "100Ti") + ", deviceClass: hdd", "86Ti", "85Ti"},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(target string) error {
				return makeReady(newCluster("{"+tc.spec+", targetCapacity: "+target+"}", open))
			}
			wantError(t, tc.reason, of(tc.exceeded), "spec.targetCapacity", tc.exceeded+" do not fit: devices of ")
			wantError(t, tc.reason, of(tc.accepted), "", "")
		})
	}
	wantError(t, "It cannot be compared.", makeReady(newCluster("{"+nodes("1Ti")+", targetCapacity: 10TB}", open)),
		"spec.targetCapacity", `"10TB" is not a quantity; set one such as 10Gi`)
	for name, spec := range map[string]string{
		"SizeUnknown":  `nodes: [{name: a, devices: [{name: sda, size: 1Ti}]}, {name: b, devices: [{name: sda}]}, {name: c, devices: [{name: sda}]}]`,
		"ClassUnknown": `nodes: [{name: a, devices: [{name: sda, size: 1Ti}, {name: sdb, size: 1Ti}, {name: sdc, size: 1Ti}]}], failureDomain: osd, deviceClass: hdd`,
		"Pattern":      `deviceSelector: {all: true}`,
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, "The capacity is unknown.", makeReady(newCluster("{"+spec+", targetCapacity: 900Ti}", open)), "", "")
		})
	}
}

// TestConditionsReportHealthAndCapacity verifies the conditions on Ceph's health and capacity.
func TestConditionsReportHealthAndCapacity(t *testing.T) {
	const ti = int64(1) << 40
	for name, tc := range map[string]struct {
		reason, target, health string
		total, used            int64
		details                map[string]any
		capacity, healthy      string
	}{
		"Enough": {
			reason: "All is well.", target: "20Ti", health: "HEALTH_OK", total: 100 * ti, used: 10 * ti,
			capacity: "True CapacitySufficient 10 % of 100Ti are used", healthy: "True HEALTH_OK",
		},
		"TooSmall": {
			reason: "The capacity is lower than in the claim.", target: "30Ti", health: "HEALTH_OK", total: 100 * ti,
			capacity: "False CapacityInsufficient devices of 100Ti hold 28.3Ti of data in 3 copies before Ceph calls them nearly full (85 %), and " +
				"targetCapacity is 30Ti: add devices, or lower targetCapacity", healthy: "True HEALTH_OK",
		},
		"Almost": {
			reason: "One percent before.", target: "20Ti", health: "HEALTH_OK", total: 100 * ti, used: 75*ti - 1,
			capacity: "True CapacitySufficient 74 % of 100Ti are used", healthy: "True HEALTH_OK",
		},
		"NearFull": {
			reason: "Devices take days to come.", target: "20Ti", health: "HEALTH_WARN", total: 100 * ti, used: 80 * ti,
			details: map[string]any{
				"POOL_NEARFULL": map[string]any{"message": "1 pool(s) nearfull"}, "OSD_DOWN": map[string]any{"message": "1 osds down"},
			},
			capacity: "False NearFull 80 % of 100Ti are used; Ceph warns at 85 %, and rejects writes at 95 %: add devices, or remove data",
			healthy:  "False HEALTH_WARN OSD_DOWN: 1 osds down; POOL_NEARFULL: 1 pool(s) nearfull",
		},
		"NoReason": {reason: "Ceph has no details.", health: "HEALTH_WARN", total: ti, capacity: "True CapacitySufficient 0 % of 1Ti are used", healthy: "False HEALTH_WARN Ceph reports no reason"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := "pools: [{name: images}]"
			if tc.target != "" {
				spec += ", targetCapacity: " + tc.target
			}
			w := newCluster(with(spec), open)
			w.Reports = func(kind, _ string) map[string]any {
				if kind != "CephCluster" {
					return nil
				}
				return map[string]any{"ceph": map[string]any{
					"health": tc.health, "fsid": "f", "details": tc.details,
					"capacity": map[string]any{"bytesTotal": tc.total, "bytesUsed": tc.used, "bytesAvailable": tc.total - tc.used},
				}}
			}
			for range 9 {
				if _, err := w.Call(func(simulate.Step) {}); err != nil {
					t.Fatal(err)
				}
			}
			requested := conditions(w)
			if requested["CapacitySufficient"] != tc.capacity || requested["CephHealthy"] != tc.healthy {
				t.Errorf("%s\n got %q and %q\nwant %q and %q", tc.reason, requested["CapacitySufficient"], requested["CephHealthy"], tc.capacity, tc.healthy)
			}
			if got := requested["ClusterReady"]; !strings.HasPrefix(got, "True") {
				t.Errorf("the cluster is %s", got)
			}
		})
	}
}

// TestUnusableCephMakesClaimUnready verifies that the claim is not ready without capacity, while Ceph reports an error, and while data is
// unavailable, although Rook reports the cluster as ready.
func TestUnusableCephMakesClaimUnready(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, want string
		ceph         map[string]any
	}{
		"NoRoom": {"No device holds data.", "False NoDevices", map[string]any{"health": "HEALTH_WARN", "fsid": "f"}},
		"Error": {
			"Writes are blocked.", "False HEALTH_ERR CephCluster ceph: OSD_FULL: 1 full osd(s)",
			map[string]any{
				"health": "HEALTH_ERR", "fsid": "f", "capacity": map[string]any{"bytesTotal": int64(1)},
				"details": map[string]any{"OSD_FULL": map[string]any{"message": "1 full osd(s)"}},
			},
		},
		"Unreachable": {
			"Ceph only warns of it.", "False PG_AVAILABILITY CephCluster ceph: OSD_DOWN: 1 osds down; PG_AVAILABILITY: Reduced data availability",
			map[string]any{
				"health": "HEALTH_WARN", "fsid": "f", "capacity": map[string]any{"bytesTotal": int64(1)},
				"details": map[string]any{
					"OSD_DOWN":        map[string]any{"message": "1 osds down"},
					"PG_AVAILABILITY": map[string]any{"message": "Reduced data availability: 8 pgs inactive"},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster("{"+three+"}", open)
			w.Reports = func(kind, _ string) map[string]any {
				if kind != "CephCluster" {
					return nil
				}
				return map[string]any{"ceph": tc.ceph}
			}
			for range 9 {
				if _, err := w.Call(func(simulate.Step) {}); err != nil {
					t.Fatal(err)
				}
			}
			if got := conditions(w)["ClusterReady"]; !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
			for name := range w.Observed {
				if strings.HasPrefix(name, poolPrefix) {
					t.Errorf("%s exists", name)
				}
			}
		})
	}
}

// TestWithoutCopy verifies that lost copies are reported although Ceph considers the data clean. If an OSD with a copy remains, Ceph
// reports unavailable data.
func TestWithoutCopy(t *testing.T) {
	down := func(check, message string) map[string]any {
		return map[string]any{check: map[string]any{"message": message}}
	}
	const one, two = `nodes: [{name: a, devices: [{name: sda}, {name: sdb}]}]`, `nodes: [{name: a, devices: [{name: sda}]}, {name: b, devices: [{name: sda}]}]`
	for name, tc := range map[string]struct {
		reason, spec string
		details      map[string]any
		want         string
	}{
		"Single": {
			"It had the only copy.", one + ", replicationFactor: 1, allowDataLoss: true", down("OSD_DOWN", "1 osds down"),
			"False OSD_DOWN CephCluster ceph: OSD_DOWN: 1 osds down",
		},
		"Mixed": {
			"One pool has a single copy.", two + ", replicationFactor: 2, pools: [{name: images}, {name: vms, replicated: {size: 1, allowDataLoss: true}}]",
			down("OSD_DOWN", "1 osds down"), "False OSD_DOWN",
		},
		"Devices": {"Both copies are lost.", one + ", replicationFactor: 2, failureDomain: osd", down("OSD_DOWN", "2 osds down"), "False OSD_DOWN"},
		"Device":  {"Another device has the copy.", one + ", replicationFactor: 2, failureDomain: osd", down("OSD_DOWN", "1 osds down"), "True"},
		"Nodes":   {"All nodes are down.", two + ", replicationFactor: 2", down("OSD_HOST_DOWN", "2 hosts (2 osds) down"), "False OSD_HOST_DOWN"},
		"Node":    {"The devices belong to one node.", two + ", replicationFactor: 2", down("OSD_DOWN", "2 osds down"), "True"},
	} {
		t.Run(name, func(t *testing.T) {
			w := complete(t, "{"+tc.spec+"}")
			w.Reports = func(kind, _ string) map[string]any {
				if kind != "CephCluster" {
					return nil
				}
				return map[string]any{"ceph": map[string]any{
					"health": "HEALTH_WARN", "fsid": "f", "capacity": map[string]any{"bytesTotal": int64(1)}, "details": tc.details,
				}}
			}
			_ = w.Refresh(func(simulate.Step) {}) // It is not ready any more, where that is wanted.
			if got := conditions(w)["ClusterReady"]; !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// conditions returns the current conditions, as status, reason and message.
func conditions(w *simulate.Cluster) map[string]string {
	out := map[string]string{}
	for _, c := range New().Run(w.Request()).Conditions {
		status := map[string]string{"STATUS_CONDITION_TRUE": "True", "STATUS_CONDITION_FALSE": "False"}[c.GetStatus().String()]
		out[c.GetType()] = strings.TrimSpace(status + " " + c.GetReason() + " " + c.GetMessage())
	}
	return out
}

// TestHealthMessageIsUTF8 verifies that a long message of Ceph is not cut within a character: protobuf rejects such a response.
func TestHealthMessageIsUTF8(t *testing.T) {
	for _, prefix := range []string{"", "x"} {
		s, err := structpb.NewStruct(map[string]any{"status": map[string]any{"ceph": map[string]any{"details": map[string]any{
			"LARGE_OMAP_OBJECTS": map[string]any{"message": prefix + strings.Repeat("é", 1000)},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		state, err := observe.New(map[string]encoded.Struct{"cluster": encoded.Of(s)})
		if err != nil {
			t.Fatal(err)
		}
		o, _ := state.Get("cluster")
		if got := details(o); !utf8.ValidString(got) || !strings.HasSuffix(got, "é…") {
			t.Errorf("%q", got)
		}
	}
}
