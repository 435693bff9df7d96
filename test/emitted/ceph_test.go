package emitted

import "fmt"

// cephScenes returns the scenes of alerts on Ceph clusters.
func cephScenes() map[string][]scene {
	status := func(n string) string { return "ceph_health_status{} " + n + "x100" }
	check := func(name, n string) string {
		return `ceph_health_detail{name="` + name + `",severity="HEALTH_WARN"} ` + n + "x100"
	}
	// found are the scenes of an alert on one of some health checks.
	found := func(checks ...string) []scene {
		out := []scene{quiet("Another one has.", check("RECENT_CRASH", "1"))}
		for _, c := range checks {
			out = append(out, raised(c+" has found something.", c, check(c, "1")), quiet(c+" has not any more.", check(c, "0")))
		}
		return out
	}
	monitors := func(in ...int) []string {
		var out []string
		for i, n := range in {
			out = append(out, fmt.Sprintf(`ceph_mon_quorum_status{ceph_daemon="mon.%c"} %dx100`, 'a'+i, n))
		}
		return out
	}
	used := func(percent int) []string {
		return []string{fmt.Sprintf("ceph_cluster_total_used_raw_bytes{} %dx100", percent), "ceph_cluster_total_bytes{} 100x100"}
	}
	stored := func(n, quota int) []string {
		return []string{
			fmt.Sprintf(`ceph_pool_stored{pool_id="3"} %dx100`, n), fmt.Sprintf(`ceph_pool_quota_bytes{pool_id="3"} %dx100`, quota),
			`ceph_pool_metadata{pool_id="3",name="volumes"} 1x100`,
		}
	}
	available := func(deployment, n string) string {
		return `kube_deployment_status_replicas_available{deployment="` + deployment + `"} ` + n + "x100"
	}
	return map[string][]scene{
		"CephMetricsMissing": {raised("No metric.", ""), quiet("A manager does.", status("2"))},
		"CephError":          {raised("It does.", "", status("2")), quiet("A warning is none.", status("1"))},
		"CephWarning": {
			raised("It does.", "", status("1")), quiet("All is well.", status("0")), quiet("It did for ten minutes.", "ceph_health_status{} 0x10 1x10 0x100"),
		},
		"CephPGsUnavailable": found("PG_AVAILABILITY"),
		"CephPGsDamaged":     found("PG_DAMAGED", "OSD_SCRUB_ERRORS", "OBJECT_UNFOUND"),
		"CephSlowRequests":   found("SLOW_OPS"),
		"CephMonitorDown":    {raised("One is.", "mon.c", monitors(1, 1, 0)...), quiet("None is.", monitors(1, 1, 1)...)},
		"CephQuorumAtRisk": {
			raised("Two of three.", "", monitors(1, 1, 0)...), raised("Three of five.", "", monitors(1, 1, 1, 0, 0)...),
			quiet("All three.", monitors(1, 1, 1)...), quiet("Four of five.", monitors(1, 1, 1, 1, 0)...), quiet("There is but one.", monitors(1)...),
		},
		"CephOSDDown": {
			raised("One is.", "osd.1", `ceph_osd_up{ceph_daemon="osd.0"} 1x100`, `ceph_osd_up{ceph_daemon="osd.1"} 0x100`),
			quiet("None is.", `ceph_osd_up{ceph_daemon="osd.0"} 1x100`),
		},
		"CephNodeDown":        append(found("OSD_HOST_DOWN", "OSD_ZONE_DOWN"), quiet("A device is.", check("OSD_DOWN", "1"))),
		"CephCapacityWarning": {raised("Three quarters.", "", used(75)...), quiet("Less.", used(74)...)},
		"CephPoolFilling":     {raised("More than four fifths.", "3", stored(81, 100)...), quiet("Four fifths.", stored(80, 100)...), quiet("It has no quota.", stored(81, 0)...)},
		"CephNearFull":        found("OSD_NEARFULL", "OSD_BACKFILLFULL", "POOL_NEARFULL", "POOL_NEAR_FULL"),
		"CephFull":            append(found("OSD_FULL", "POOL_FULL"), quiet("Nearly.", check("OSD_NEARFULL", "1"))),
		"CephObjectStoreDown": {
			raised("None exists.", "rook-ceph-rgw-objects-a", available("rook-ceph-rgw-objects-a", "0")),
			quiet("One is.", available("rook-ceph-rgw-objects-a", "1"), available("rook-ceph-mon-a", "0")),
		},
		"CephObjectStoreCertificateExpiring": append(expiring("rook-ceph-rgw-objects"), expiring("gateway-ca")...),
		"CephNFSDown": {
			raised("One is not there.", "rook-ceph-nfs-shares-b", available("rook-ceph-nfs-shares-a", "1"), available("rook-ceph-nfs-shares-b", "0")),
			quiet("All are.", available("rook-ceph-nfs-shares-a", "1"), available("rook-ceph-mon-a", "0")),
		},
		"CephMirrorDown": {
			raised("None is available.", "rook-ceph-rbd-mirror-a", available("rook-ceph-rbd-mirror-a", "0")),
			quiet("One is.", available("rook-ceph-rbd-mirror-a", "1"), available("rook-ceph-mon-a", "0")),
		},
		"CephZoneDown": found("DEGRADED_STRETCH_MODE"),
		"CephUserLoginFailing": {
			raised("One is.", "check-glance", available("check-glance", "0")), quiet("None is.", available("check-glance", "1"), available("other", "0")),
		},
	}
}
