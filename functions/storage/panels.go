package storage

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

// dashboard builds the dashboard of the metrics that the alerts use.
func (m *model) dashboard() (runtime.Object, error) {
	line := func(metric, legend string) monitoring.Query {
		return monitoring.Query{Expr: m.of(metric, ""), Legend: legend}
	}
	// named adds the names of pools to their series.
	named := func(expr string) monitoring.Query {
		return monitoring.Query{
			Expr: fmt.Sprintf("%s * on (namespace, pool_id) group_left (name) %s", expr, m.of("ceph_pool_metadata", "")), Legend: "{{name}}",
		}
	}
	rate := func(metric string) string { return fmt.Sprintf("rate(%s[5m])", m.of(metric, "")) }
	sum := func(metric, legend string) monitoring.Query {
		return monitoring.Query{Expr: fmt.Sprintf("sum(%s)", m.of(metric, "")), Legend: legend}
	}
	panels := []monitoring.Panel{
		{Title: "Health: 0 is fine, 1 a warning, 2 an error", Unit: monitoring.Number, Lines: []monitoring.Query{
			line("ceph_health_status", "health"), {Expr: m.of("ceph_health_detail", "") + " == 1", Legend: "{{name}}"},
		}},
		{Title: "Room, in bytes with all copies", Unit: monitoring.Bytes, Lines: []monitoring.Query{
			line("ceph_cluster_total_bytes", "all"), line("ceph_cluster_total_used_raw_bytes", "used"),
		}},
		{Title: "Daemons", Unit: monitoring.Number, Lines: []monitoring.Query{
			sum("ceph_mon_quorum_status", "monitors that agree"), sum("ceph_osd_up", "devices up"), sum("ceph_osd_in", "devices with data"),
		}},
		{Title: "Groups of data", Unit: monitoring.Number, Lines: []monitoring.Query{
			sum("ceph_pg_total", "all"), sum("ceph_pg_active", "within reach"), sum("ceph_pg_clean", "with all copies"),
		}},
		{Title: "Pools, copies not counted", Unit: monitoring.Bytes, Lines: []monitoring.Query{named(m.of("ceph_pool_stored", ""))}},
		{Title: "Room of pools that have a quota", Unit: monitoring.Number, Lines: []monitoring.Query{
			named(fmt.Sprintf("%s / (%s > 0)", m.of("ceph_pool_stored", ""), m.of("ceph_pool_quota_bytes", ""))),
		}},
		{Title: "Read in a second", Unit: monitoring.Bytes, Lines: []monitoring.Query{named(rate("ceph_pool_rd_bytes"))}},
		{Title: "Written in a second", Unit: monitoring.Bytes, Lines: []monitoring.Query{named(rate("ceph_pool_wr_bytes"))}},
		{Title: "Slowest devices, in milliseconds", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: fmt.Sprintf("topk(10, %s)", m.of("ceph_osd_apply_latency_ms", "")), Legend: "{{ceph_daemon}}"},
		}},
		{Title: "Objects without all copies, or misplaced", Unit: monitoring.Number, Lines: []monitoring.Query{
			line("ceph_num_objects_degraded", "without all copies"), line("ceph_num_objects_misplaced", "misplaced"),
			line("ceph_num_objects_unfound", "not found"),
		}},
	}
	if m.hasObjects() {
		gateways := func(op, legend string) monitoring.Query {
			return monitoring.Query{Expr: fmt.Sprintf("sum(%s)", rate("ceph_rgw_op_"+op)), Legend: legend}
		}
		lines := []monitoring.Query{
			gateways("get_obj_ops", "objects read"), gateways("put_obj_ops", "objects written"), gateways("del_obj_ops", "objects deleted"),
		}
		panels = append(panels, monitoring.Panel{Title: "Requests to object stores in a second", Unit: monitoring.Number, Lines: lines})
	}
	return monitoring.Dashboard(m.meta(cephName+"-dashboard"), m.monitoring, "Ceph of "+m.claim.Namespace+"/"+m.claim.Name, panels...)
}
