package storage

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// alertsOf returns the alerts of a claim once everything is ready.
func alertsOf(t *testing.T, spec string) map[string]monitoringtest.Alert {
	t.Helper()
	created := kind.Desired(t, complete(t, spec))["alerts"]
	if created == nil {
		t.Fatal("there are no alerts")
	}
	return monitoringtest.Alerts(t, &unstructured.Unstructured{Object: created})
}

// TestAlerts verifies severity, delay and action of alerts. Alerts on unavailable or unwritable data are critical.
func TestAlerts(t *testing.T) {
	const warning, critical = "warning", "critical"
	expect := func(severity, wait string, expect ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: expect}
	}
	finds := func(checks string) string { return `ceph_health_detail{name=~"` + checks + `"}` }
	ceph := map[string]monitoringtest.Alert{
		"CephMetricsMissing":  expect(warning, "15m", "ceph_health_status"),
		"CephError":           expect(critical, "5m", "ceph_health_status"),
		"CephWarning":         expect(warning, "15m", "ceph_health_status"),
		"CephPGsUnavailable":  expect(critical, "5m", finds("PG_AVAILABILITY")),
		"CephPGsDamaged":      expect(critical, "5m", finds("PG_DAMAGED|OSD_SCRUB_ERRORS|OBJECT_UNFOUND")),
		"CephSlowRequests":    expect(warning, "15m", finds("SLOW_OPS")),
		"CephMonitorDown":     expect(warning, "15m", "ceph_mon_quorum_status"),
		"CephQuorumAtRisk":    expect(critical, "15m", "ceph_mon_quorum_status"),
		"CephOSDDown":         expect(warning, "15m", "ceph_osd_up"),
		"CephNodeDown":        expect(critical, "15m", finds("OSD_(HOST|RACK|ROW|ROOM|DATACENTER|ZONE|REGION)_DOWN")),
		"CephCapacityWarning": expect(warning, "15m", "ceph_cluster_total_used_raw_bytes", "ceph_cluster_total_bytes"),
		"CephPoolFilling":     expect(warning, "15m", "ceph_pool_stored", "ceph_pool_quota_bytes", "ceph_pool_metadata"),
		"CephNearFull":        expect(warning, "5m", finds("OSD_NEARFULL|OSD_BACKFILLFULL|POOL_NEAR_?FULL")),
		"CephFull":            expect(critical, "1m", finds("OSD_FULL|POOL_FULL")),
	}
	if diff := cmp.Diff(ceph, alertsOf(t, with("monitoring: {enabled: true}"))); diff != "" {
		t.Errorf("Ceph (-want +got):\n%s", diff)
	}
	testProgramAlerts(t)
	ceph["CephObjectStoreDown"] = expect(critical, "5m", `kube_deployment_status_replicas_available{deployment=~"rook-ceph-rgw-.+"}`)
	ceph["CephObjectStoreCertificateExpiring"] = expect(
		warning, "1h", `certmanager_certificate_expiration_timestamp_seconds{name=~"rook-ceph-rgw-.+|gateway-ca"}`,
	)
	if diff := cmp.Diff(ceph, alertsOf(t, with("monitoring: {enabled: true}, objectStores: [{name: objects}]"))); diff != "" {
		t.Errorf("with an object store (-want +got):\n%s", diff)
	}
	ceph["CephNFSDown"] = expect(critical, "5m", `kube_deployment_status_replicas_available{deployment=~"rook-ceph-nfs-.+"}`)
	if diff := cmp.Diff(ceph, alertsOf(t, with("monitoring: {enabled: true}, objectStores: [{name: objects}], filesystems: [{name: fs}], nfs: [{name: shares}]"))); diff != "" {
		t.Errorf("with NFS (-want +got):\n%s", diff)
	}
	delete(ceph, "CephNFSDown")
	delete(ceph, "CephObjectStoreDown")
	delete(ceph, "CephObjectStoreCertificateExpiring")
	ceph["CephMirrorDown"] = expect(warning, "15m", `kube_deployment_status_replicas_available{deployment=~"rook-ceph-rbd-mirror-.+"}`)
	if diff := cmp.Diff(ceph, alertsOf(t, with("monitoring: {enabled: true}, "+copied))); diff != "" {
		t.Errorf("with another cluster (-want +got):\n%s", diff)
	}
	somebodys := map[string]monitoringtest.Alert{
		"CephUserLoginFailing": expect(critical, "15m", `kube_deployment_status_replicas_available{deployment=~"check-.+"}`),
	}
	if diff := cmp.Diff(somebodys, alertsOf(t, "{"+externalCeph+", monitoring: {enabled: true}}")); diff != "" {
		t.Errorf("of an external cluster (-want +got):\n%s", diff)
	}
}

// testProgramAlerts verifies alerts on containers of Ceph, and on nodes of all its programs.
func testProgramAlerts(t *testing.T) {
	t.Helper()
	queries := func(severity, wait string, queries ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: queries}
	}
	const warning, pods = "warning", `kube_pod_info{pod=~"rook-ceph-(mon|mgr|osd|mds|rgw)-.+"}`
	node := func(remaining, all string) []string {
		const paths = `{mountpoint=~"/|/var|/var/lib|/var/lib/(cobaltcore|kubelet|containerd|rook).*"}`
		return []string{pods, "node_filesystem_" + remaining + paths, "node_filesystem_" + all + paths, "node_uname_info"}
	}
	want := map[string]monitoringtest.Alert{
		"CephContainerRestarting": queries(warning, "5m", "kube_pod_container_status_restarts_total"),
		"CephContainerOutOfMemory": queries(warning, "1m", `kube_pod_container_status_last_terminated_reason{reason="OOMKilled"}`,
			"kube_pod_container_status_restarts_total"),
		"CephNodeDiskFilling":   queries(warning, "15m", node("avail_bytes", "size_bytes")...),
		"CephNodeInodesFilling": queries(warning, "15m", node("files_free", "files")...),
		"CephNodeUnderPressure": queries("critical", "5m", pods,
			`kube_node_status_condition{condition=~"DiskPressure|MemoryPressure|PIDPressure",status="true"}`),
	}
	created := kind.Desired(t, complete(t, with("monitoring: {enabled: true}")))["program-alerts"]
	if created == nil {
		t.Fatal("there are no alerts on programs")
	}
	if diff := cmp.Diff(want, monitoringtest.Alerts(t, &unstructured.Unstructured{Object: created})); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
}

// externalCeph is an external Ceph cluster.
const externalCeph = `external: {fsid: 5b1a1b1e-0000-4000-8000-000000000001, monitors: ["[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"], ` +
	`publicCIDRs: [10.0.0.0/24], clients: [{service: glance, secretRef: {name: a}}]}, pools: [{name: images}]`

// TestMonitored verifies that the claim overrides the platform's Prometheus settings and labels.
func TestMonitored(t *testing.T) {
	const platformLabels = ", monitoring: {enabled: true, labels: {prometheus: platform}}"
	for name, tc := range map[string]struct {
		reason, spec, platform string
		want                   map[string]string
	}{
		"None":     {reason: "Monitoring is not configured."},
		"Platform": {"The platform has one.", "", platformLabels, map[string]string{"prometheus": "platform"}},
		"Off":      {"The claim does without.", ", monitoring: {enabled: false}", platformLabels, nil},
		"More":     {"It has additional labels.", ", monitoring: {labels: {team: a}}", platformLabels, map[string]string{"prometheus": "platform", "team": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster("{"+three+tc.spec+"}", "{domain: example.com"+tc.platform+", limits: ["+limittest.Everything+"]}")
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			created := kind.Desired(t, w)
			for _, resource := range []string{"alerts", "dashboard", "manager-monitor", "exporter-monitor"} {
				if (created[resource] != nil) != (tc.want != nil) {
					t.Fatalf("%s: %s exists: %t", tc.reason, resource, created[resource] != nil)
				}
				labels := (&unstructured.Unstructured{Object: created[resource]}).GetLabels()
				for k, v := range tc.want {
					if labels[k] != v {
						t.Errorf("%s: %s has labels %v", tc.reason, resource, labels)
					}
				}
			}
		})
	}
}

// TestMonitoringStartsAfterInstallation verifies that an installation fires no alerts, and that an existing cluster stays monitored while
// it is not ready.
func TestMonitoringStartsAfterInstallation(t *testing.T) {
	w := newCluster(with("monitoring: {enabled: true}"), open)
	for range 9 {
		if _, err := w.Call(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
		_, cluster := w.Observed[clusterResource]
		if _, alerts := w.Observed["alerts"]; alerts && !cluster {
			t.Fatal("there are alerts, and no cluster")
		}
	}
	w = complete(t, with("monitoring: {enabled: true}"))
	w.Reports = func(kind, _ string) map[string]any {
		if kind != "CephCluster" {
			return nil
		}
		return map[string]any{"ceph": map[string]any{"health": healthError, "fsid": "f"}}
	}
	_ = w.Refresh(func(simulate.Step) {})
	if !strings.HasPrefix(conditions(w)["ClusterReady"], "False") || kind.Desired(t, w)["alerts"] == nil {
		t.Error("alerts are removed when the cluster is not ready any more")
	}
}

// TestPlatformLimitsMonitoringLabels verifies that the platform limits the monitoring labels of claims.
func TestPlatformLimitsMonitoringLabels(t *testing.T) {
	const permissive = `{name: some, namespaces: ["*"], storageNodes: ["*"], storageDevices: ["*"], storageNetworks: ["*"], monitoringLabels: ["team={namespace}"]}`
	for name, tc := range map[string]struct{ reason, labels, field, message string }{
		"Own":      {"It is left to it.", "{team: tenant-a}", "", ""},
		"Platform": {"The platform has it anyway.", "{prometheus: platform}", "", ""},
		"Other":    {"It would be looked at by others.", "{team: tenant-b}", "spec.monitoring.labels", `"team=tenant-b" is not in the monitoringLabels`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(with("monitoring: {enabled: true, labels: "+tc.labels+"}"),
				"{domain: example.com, monitoring: {labels: {prometheus: platform}}, limits: ["+permissive+"]}")
			wantError(t, tc.reason, makeReady(w), tc.field, tc.message)
		})
	}
}

// TestDashboard verifies that every panel selects this cluster only.
func TestDashboard(t *testing.T) {
	created := kind.Desired(t, complete(t, with("monitoring: {enabled: true}, objectStores: [{name: objects}]")))["dashboard"]
	text := created["data"].(map[string]any)["ceph-dashboard.json"].(string)
	const instance = "tenant-a-storage-72da48a0ed7f612b5eac"
	var queried []string
	for _, part := range strings.Split(text, `"expr":"`)[1:] {
		expr, _, _ := strings.Cut(strings.ReplaceAll(part, `\"`, `'`), `"`)
		expr = strings.NewReplacer(`'`, `"`, `\u003e`, `>`).Replace(expr)
		queried = append(queried, monitoringtest.Selectors(t, "the dashboard", expr, instance)...)
	}
	for _, metric := range []string{"ceph_health_status", "ceph_pool_stored", "ceph_osd_up", "ceph_rgw_op_put_obj_ops"} {
		if !slices.Contains(queried, metric) {
			t.Errorf("nothing shows %s: %v", metric, queried)
		}
	}
}
