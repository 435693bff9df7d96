package storage

import (
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// of returns a selector of a metric of this cluster, with further labels. Prometheus adds the namespace label of the scraped Service.
func (m *model) of(metric, more string) string {
	return fmt.Sprintf("%s{namespace=%q%s}", metric, m.instance, more)
}

// healthCheckExpr returns an expression of active health checks of Ceph, by a regular expression of their names
// (https://docs.ceph.com/en/latest/rados/operations/health-checks/).
func (m *model) healthCheckExpr(checks string) string {
	return m.of("ceph_health_detail", fmt.Sprintf(",name=~%q", checks)) + " == 1"
}

// alerts use metrics of Ceph's manager (https://docs.ceph.com/en/latest/mgr/prometheus/), and metrics of kube-state-metrics and
// cert-manager.
func (m *model) alerts() []monitoring.Alert {
	out := append(m.healthAlerts(), m.daemonAlerts()...)
	out = append(out, m.capacityAlerts()...)
	if m.hasObjects() {
		out = append(out, m.objectAlerts()...)
	}
	if m.hasNFS() {
		out = append(out, m.nfsAlert())
	}
	if m.isStretched() {
		out = append(out, m.zoneAlert())
	}
	if m.peer() != nil {
		out = append(out, m.mirrorAlert())
	}
	return out
}

// healthAlerts returns alerts on Ceph's own health. Warnings of Ceph are critical if data is unavailable.
func (m *model) healthAlerts() []monitoring.Alert {
	status := m.of("ceph_health_status", "")
	return []monitoring.Alert{
		{
			Name: "CephMetricsMissing", Severity: monitoring.Warning, For: "15m",
			Expr:    "absent(" + status + ")",
			Summary: "Ceph metrics are missing. Other alerts on this cluster cannot fire.",
			Action:  "Check the pods of the managers, then the targets of Prometheus. Data is read and written without managers.",
		},
		{
			Name: "CephError", Severity: monitoring.Critical, For: "5m",
			Expr:    status + " == 2",
			Summary: "Ceph reports an error: data may be unavailable, or cannot be written.",
			Action:  "See the condition CephHealthy of the claim for the health checks of Ceph.",
		},
		{
			Name: "CephWarning", Severity: monitoring.Warning, For: "15m",
			Expr:    status + " == 1",
			Summary: "Ceph has reported health warnings for a quarter of an hour.",
			Action:  "See the condition CephHealthy of the claim for the health checks of Ceph.",
		},
		{
			Name: "CephPGsUnavailable", Severity: monitoring.Critical, For: "5m",
			Expr:    m.healthCheckExpr(unreachable),
			Summary: "Placement groups are inactive: their data cannot be read or written. Ceph reports this only as a warning.",
			Action:  "Too many devices or nodes with copies are unavailable at the same time: restore them.",
		},
		{
			Name: "CephPGsDamaged", Severity: monitoring.Critical, For: "5m",
			Expr:    m.healthCheckExpr("PG_DAMAGED|OSD_SCRUB_ERRORS|OBJECT_UNFOUND"),
			Summary: "Copies of data differ or are lost: {{ $labels.name }}.",
			Action:  "Do not remove a device, not even one that is down: it may have the last good copy. See Ceph's page on that health check.",
		},
		{
			Name: "CephSlowRequests", Severity: monitoring.Warning, For: "15m",
			Expr:    m.healthCheckExpr("SLOW_OPS"),
			Summary: "Requests to Ceph take more than half a minute.",
			Action:  "Ceph names the daemons in its health check: check their devices and network.",
		},
	}
}

// daemonAlerts returns alerts on unavailable daemons and nodes.
func (m *model) daemonAlerts() []monitoring.Alert {
	quorum := m.of("ceph_mon_quorum_status", "")
	return []monitoring.Alert{
		{
			Name: "CephMonitorDown", Severity: monitoring.Warning, For: "15m",
			Expr:    quorum + " == 0",
			Summary: "Monitor {{ $labels.ceph_daemon }} is not in the quorum.",
			Action:  "Check its pod and its node. Rook creates another monitor on a node without one.",
		},
		{
			Name: "CephQuorumAtRisk", Severity: monitoring.Critical, For: "15m",
			// The monitors have a majority, and the loss of one more would end it.
			Expr: fmt.Sprintf("sum by (namespace) (%[1]s) < count by (namespace) (%[1]s) / 2 + 1 and count by (namespace) (%[1]s) > 2",
				quorum),
			Summary: "The loss of one more monitor stops all reads and writes.",
			Action:  "Restore the nodes of monitors. If they are lost permanently, see Rook's page on restoring the quorum.",
		},
		{
			Name: "CephOSDDown", Severity: monitoring.Warning, For: "15m",
			Expr:    m.of("ceph_osd_up", "") + " == 0",
			Summary: "The daemon {{ $labels.ceph_daemon }} of a device is down.",
			Action:  "Ceph re-creates the copies on other devices. Replace the device and remove the OSD.",
		},
		{
			Name: "CephNodeDown", Severity: monitoring.Critical, For: "15m",
			Expr:    m.healthCheckExpr("OSD_(HOST|RACK|ROW|ROOM|DATACENTER|ZONE|REGION)_DOWN"),
			Summary: "One or more whole nodes of Ceph are down: {{ $labels.name }}.",
			Action:  "Restore the node. Until then, its data has one copy less.",
		},
	}
}

// capacityAlerts returns alerts on used capacity. They fire early, because obtaining devices takes days.
func (m *model) capacityAlerts() []monitoring.Alert {
	const more = "Add devices, or remove data; do not raise Ceph's ratios."
	return []monitoring.Alert{
		{
			Name: "CephCapacityWarning", Severity: monitoring.Warning, For: "15m",
			Expr: fmt.Sprintf("%s / %s >= 0.%d",
				m.of("ceph_cluster_total_used_raw_bytes", ""), m.of("ceph_cluster_total_bytes", ""), warnAt),
			Summary: fmt.Sprintf("%d %% of the capacity of Ceph is used. Ceph warns at %d %% and rejects writes at %d %%.", warnAt, nearFull, full),
			Action:  "Add devices, which takes days, or remove data.",
		},
		{
			Name: "CephPoolFilling", Severity: monitoring.Warning, For: "15m",
			Expr: fmt.Sprintf("%s / (%s > 0) > 0.8 and on (namespace, pool_id) %s",
				m.of("ceph_pool_stored", ""), m.of("ceph_pool_quota_bytes", ""), m.of("ceph_pool_metadata", "")),
			Summary: "Pool {{ $labels.pool_id }} uses more than 80 % of its quota. Writes above the quota fail.",
			Action:  "Raise the pool's quota in the claim, or remove data.",
		},
		{
			Name: "CephNearFull", Severity: monitoring.Warning, For: "5m",
			Expr:    m.healthCheckExpr("OSD_NEARFULL|OSD_BACKFILLFULL|POOL_NEAR_?FULL"),
			Summary: "A device or a pool of Ceph is nearly full: {{ $labels.name }}.", Action: more,
		},
		{
			Name: "CephFull", Severity: monitoring.Critical, For: "1m",
			Expr:    m.healthCheckExpr("OSD_FULL|POOL_FULL"),
			Summary: "Writes are blocked: {{ $labels.name }}.", Action: more,
		},
	}
}

// objectAlerts returns alerts on gateways of object stores, which Ceph's health does not cover.
func (m *model) objectAlerts() []monitoring.Alert {
	gateways := fmt.Sprintf(",deployment=~%q", rook.GatewayName(".+"))
	return []monitoring.Alert{
		{
			Name: "CephObjectStoreDown", Severity: monitoring.Critical, For: "5m",
			Expr:    m.of("kube_deployment_status_replicas_available", gateways) + " == 0",
			Summary: "No gateway of the object store is available ({{ $labels.deployment }}). Objects cannot be read or written.",
			Action:  "Check the events and logs of the pods.",
		},
		{
			Name: "CephObjectStoreCertificateExpiring", Severity: monitoring.Warning, For: "1h",
			Expr: m.of("certmanager_certificate_expiration_timestamp_seconds", fmt.Sprintf(",name=~%q", rook.GatewayName(".+|")+ca)) +
				" - time() < 7 * 24 * 3600",
			Summary: "The certificate {{ $labels.name }} of object stores expires within a week and was not renewed.",
			Action:  "Check the events of the Certificate and its issuer.",
		},
	}
}

// nfsAlert returns the alert on NFS servers, which Ceph's health does not cover.
func (m *model) nfsAlert() monitoring.Alert {
	return monitoring.Alert{
		Name: "CephNFSDown", Severity: monitoring.Critical, For: "5m",
		Expr:    m.of("kube_deployment_status_replicas_available", fmt.Sprintf(",deployment=~%q", rook.NFSApp+"-.+")) + " == 0",
		Summary: "An NFS server is not available ({{ $labels.deployment }}). Its clients hang.",
		Action:  "Check the events and logs of the pod. Each server requires its own node.",
	}
}

// zoneAlert returns the alert on an unavailable zone in stretch mode.
func (m *model) zoneAlert() monitoring.Alert {
	return monitoring.Alert{
		Name: "CephZoneDown", Severity: monitoring.Critical, For: "5m",
		Expr:    m.healthCheckExpr(degradedZones),
		Summary: "One of the two zones is down. All data is in the other zone only.",
		Action:  "Restore the zone. Ceph then resynchronizes it, reported as RECOVERING_STRETCH_MODE.",
	}
}

// mirrorAlert returns the alert on the daemons that mirror from another cluster, which Ceph's health does not cover. The peer cluster
// monitors the opposite direction.
func (m *model) mirrorAlert() monitoring.Alert {
	return monitoring.Alert{
		Name: "CephMirrorDown", Severity: monitoring.Warning, For: "15m",
		Expr:    m.of("kube_deployment_status_replicas_available", fmt.Sprintf(",deployment=~%q", rook.MirrorApp+"-.+")) + " == 0",
		Summary: "The mirroring daemon is not running ({{ $labels.deployment }}). Mirrored images fall behind.",
		Action:  "Check the events and logs of the pods, and the condition MirroringHealthy of the claim.",
	}
}

// userAlerts returns the alert on an external Ceph cluster, of which only the access of its users is observed.
func (m *model) userAlerts() []monitoring.Alert {
	return []monitoring.Alert{{
		Name: "CephUserLoginFailing", Severity: monitoring.Critical, For: "15m",
		Expr: m.of("kube_deployment_status_replicas_available", fmt.Sprintf(",deployment=~%q", checkPrefix+".+")) +
			" == 0",
		Summary: "The external Ceph cluster rejects the user or is unreachable ({{ $labels.deployment }}).",
		Action:  "See the events of the pod for the error, and contact the operator of that Ceph cluster.",
	}}
}

// programAlerts returns alerts on Ceph's containers, and on their nodes. Monitors store their databases on the node's disk.
func (m *model) programAlerts() []monitoring.Alert {
	return append(monitoring.Containers("Ceph", m.instance), monitoring.Nodes("Ceph", m.instance, "rook-ceph-(mon|mgr|osd|mds|rgw)-.+",
		"Remove images, logs and files that the node does not need, or give its file system more room.")...)
}
