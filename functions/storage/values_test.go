package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
)

func TestRejectsInvalidDevicesAndAddresses(t *testing.T) {
	const address = "; write the address as ceph mon dump prints it, such as [v2:10.0.0.1:3300,v1:10.0.0.1:6789]"
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"nothing":          {reason: "Defaults are accepted.", spec: "{}"},
		"devices":          {reason: "Each node has its own devices.", spec: "{nodes: [{name: a, devices: [{name: sda}, {name: /dev/sdb}]}, {name: b, devices: [{name: sda}]}]}"},
		"device twice":     {"sda is /dev/sda.", "{nodes: [{name: a, devices: [{name: sda}, {name: sdb}, {name: /dev/sda}]}]}", "spec.nodes[0].devices[2].name: /dev/sda is the device of devices[0] already; remove one of them"},
		"partition":        {"An OSD takes the disk.", "{nodes: [{name: a, devices: [{name: sda}, {name: sda2}]}]}", "spec.nodes[0].devices[1].name: sda2 and devices[0] (sda) are a disk and a partition of it, and an OSD takes a whole device; remove one of them"},
		"partition first":  {"The order does not matter.", "{nodes: [{name: a, devices: [{name: nvme0n1p1}, {name: /dev/nvme0n1}]}]}", "spec.nodes[0].devices[1].name: /dev/nvme0n1 and devices[0] (nvme0n1p1) are a disk and a partition of it, and an OSD takes a whole device; remove one of them"},
		"partition by ID":  {"The names are links.", "{nodes: [{name: a, devices: [{name: /dev/disk/by-id/wwn-0x5}, {name: /dev/disk/by-id/wwn-0x5-part1}]}]}", "spec.nodes[0].devices[1].name: /dev/disk/by-id/wwn-0x5-part1 and devices[0] (/dev/disk/by-id/wwn-0x5) are a disk and a partition of it, and an OSD takes a whole device; remove one of them"},
		"partitions":       {reason: "Each may be a device.", spec: "{nodes: [{name: a, devices: [{name: sda1}, {name: sda2}, {name: nvme0n1p1}, {name: nvme0n1p2}]}]}"},
		"disks alike":      {reason: "Their names have a common prefix.", spec: "{nodes: [{name: a, devices: [{name: sda}, {name: sdaa}, {name: nvme0n1}, {name: nvme0n10}, {name: /dev/disk/by-id/wwn-0x5}, {name: /dev/disk/by-id/wwn-0x51}]}]}"},
		"patterns":         {reason: "Rook compiles them.", spec: "{deviceSelector: {filter: '^nvme[0-9]n1$'}}"},
		"broken filter":    {"Rook does not compile it.", "{deviceSelector: {filter: 'nvme[0-9'}}", "spec.deviceSelector.filter: is not a regular expression of Go: missing closing ]: `[0-9`; correct it, or use nodes to name devices"},
		"lookahead":        {"Go has none.", "{deviceSelector: {pathFilter: '(?!sda)'}}", "spec.deviceSelector.pathFilter: is not a regular expression of Go: invalid or unsupported Perl syntax: `(?!`; correct it, or use nodes to name devices"},
		"monitors":         {reason: "All address formats are accepted.", spec: "{external: {monitors: ['[v2:10.0.0.1:3300,v1:10.0.0.1:6789]', '10.0.0.2:6789', '10.0.0.3', 'mon.example.com', 'v2:[fd00::1]:3300', '[fd00::2]', 'mon.example.com:3300']}}"},
		"port of monitor":  {"Ports end at 65535.", "{external: {monitors: ['[v2:10.0.0.1:3300,v1:10.0.0.1:67890]']}}", "spec.external.monitors[0]: there is no port 67890; give one from 1 to 65535" + address},
		"no port":          {"A version needs one.", "{external: {monitors: ['v2:mon']}}", "spec.external.monitors[0]: \"mon\" must be host:port" + address},
		"monitor twice":    {"One would be missing.", "{external: {monitors: ['10.0.0.1:6789', '10.0.0.2:6789', '10.0.0.1:6789']}}", "spec.external.monitors[2]: 10.0.0.1:6789 is the address of monitors[0] already; name each monitor once"},
		"networks":         {reason: "All are IPv4 networks.", spec: "{network: {host: true, publicCIDRs: [10.0.0.0/24, 10.0.1.0/24], clusterCIDRs: [10.1.0.0/24]}}"},
		"networks of IPv6": {reason: "All are IPv6 networks.", spec: "{network: {host: true, publicCIDRs: ['fd00::/64'], clusterCIDRs: ['fd01::/64']}}"},
		"two families":     {"Daemons listen at one.", "{network: {host: true, publicCIDRs: [10.0.0.0/24], clusterCIDRs: ['fd01::/64']}}", "spec.network.clusterCIDRs[0]: fd01::/64 and 10.0.0.0/24 must be of one family: daemons listen at IPv4 or at IPv6; remove one of them"},
		"schedules":        {reason: "They differ.", spec: "{pools: [{name: a, mirroring: {snapshotSchedules: [{interval: 1h}, {interval: 1d}, {interval: 90m}]}}, {name: b, mirroring: {snapshotSchedules: [{interval: 1h}]}}]}"},
		"interval too long": {
			"Ceph cannot store it.", "{pools: [{name: a, mirroring: {snapshotSchedules: [{interval: 99999999999d}]}}]}",
			"spec.pools[0].mirroring.snapshotSchedules[0].interval: 99999999999d is not a number of minutes, hours or days; set an interval such as 15m, 1h or 1d",
		},
		"interval twice": {"Ceph keeps one.", "{pools: [{name: a, mirroring: {snapshotSchedules: [{interval: 1d}, {interval: 24h}]}}]}", "spec.pools[0].mirroring.snapshotSchedules[1].interval: 24h and 1d are the same interval, of which Ceph keeps one; remove one of them"},
		"memory": {
			"The daemons cannot start with less.",
			"{monitors: {resources: {limits: {memory: 8Mi}}}, managers: {resources: {limits: {memory: 8Mi}}}, osds: {resources: {limits: {memory: 1119Mi}}}, mirroring: {resources: {limits: {memory: 8Mi}}}, " +
				"filesystems: [{name: a, resources: {limits: {memory: 8Mi}}}], objectStores: [{name: a, resources: {limits: {memory: 8Mi}}}], nfs: [{name: a, resources: {limits: {memory: 8Mi}}}]}",
			"spec.monitors.resources.limits.memory: must be at least 256Mi for a Ceph monitor, not 8Mi: the monitor's store needs as much; set 256Mi or more, or remove the field\n" +
				"spec.managers.resources.limits.memory: must be at least 256Mi for a Ceph manager, not 8Mi: its Python modules need as much; set 256Mi or more, or remove the field\n" +
				"spec.osds.resources.limits.memory: must be at least 1120Mi for an OSD, not 1119Mi: its caches take at least 896Mi of it; set 1120Mi or more, or remove the field\n" +
				"spec.mirroring.resources.limits.memory: must be at least 256Mi for an rbd-mirror daemon, not 8Mi: the daemon needs as much to start; set 256Mi or more, or remove the field\n" +
				"spec.filesystems[0].resources.limits.memory: must be at least 256Mi for a Ceph metadata server, not 8Mi: its cache takes half of it; set 256Mi or more, or remove the field\n" +
				"spec.objectStores[0].resources.limits.memory: must be at least 256Mi for a RADOS gateway, not 8Mi: the gateway needs as much to start; set 256Mi or more, or remove the field\n" +
				"spec.nfs[0].resources.limits.memory: must be at least 256Mi for an NFS server, not 8Mi: the server needs as much to start; set 256Mi or more, or remove the field",
		},
		"label": {
			"Kubernetes refuses the pod.", "{nodeSelector: {'a b': c}}",
			"spec.nodeSelector: \"a b\" is not the key of a label: it must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS domain and '/' before it; correct the key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &m.spec); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := m.checkValues(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMissingValuesCauseNoFailure verifies that missing values, which the schema rejects, cause no failure.
func TestMissingValuesCauseNoFailure(t *testing.T) {
	m := &model{spec: storagev1.StorageClusterSpec{
		Network: storagev1.Network{PublicCIDRs: []common.CIDR{"a"}},
		Pools:   []storagev1.Pool{{Mirroring: &storagev1.PoolMirroring{SnapshotSchedules: []storagev1.SnapshotSchedule{{}}}}},
	}}
	if err := m.checkValues(); err != nil {
		t.Error(err)
	}
}
