package hypervisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
)

// TestAlerts verifies that a pool has alerts if the platform has a Prometheus, with the labels that it selects.
func TestAlerts(t *testing.T) {
	const warning, critical = "warning", "critical"
	expect := func(severity, wait string, expect ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: expect}
	}
	const pods = `kube_pod_info{pod=~"nova-compute-.+"}`
	node := func(remaining, all string) []string {
		const paths = `{mountpoint=~"/|/var|/var/lib|/var/lib/(cobaltcore|kubelet|containerd|rook).*"}`
		return []string{pods, "node_filesystem_" + remaining + paths, "node_filesystem_" + all + paths, "node_uname_info"}
	}
	want := map[string]monitoringtest.Alert{
		"HypervisorContainerRestarting": expect(warning, "5m", "kube_pod_container_status_restarts_total"),
		"HypervisorContainerOutOfMemory": expect(warning, "1m", `kube_pod_container_status_last_terminated_reason{reason="OOMKilled"}`,
			"kube_pod_container_status_restarts_total"),
		"HypervisorProgramMissing":      expect(warning, "15m", "kube_daemonset_status_number_unavailable"),
		"HypervisorCertificateExpiring": expect(warning, "1h", "certmanager_certificate_expiration_timestamp_seconds"),
		"HypervisorNodeDiskFilling":     expect(warning, "15m", node("avail_bytes", "size_bytes")...),
		"HypervisorNodeInodesFilling":   expect(warning, "15m", node("files_free", "files")...),
		"HypervisorNodeUnderPressure": expect(critical, "5m", pods,
			`kube_node_status_condition{condition=~"DiskPressure|MemoryPressure|PIDPressure",status="true"}`),
	}
	for _, tc := range []struct {
		name, platform string
		want           map[string]monitoringtest.Alert
		labels         map[string]string
	}{
		{"none", "", nil, nil},
		{"off", "monitoring: {enabled: false}, ", nil, nil},
		{"on", "monitoring: {enabled: true, labels: {prometheus: platform}}, ", want, map[string]string{"prometheus": "platform"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newCluster(more("traits: [CUSTOM_A]"), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			w.Required["platform"] = objects("{metadata: {name: default}, spec: " + strings.Replace(open, "{", "{"+tc.platform, 1) + "}")
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			o, ok := kind.Desired(t, w)["alerts"]
			if ok != (tc.want != nil) {
				t.Fatalf("there are alerts: %t", ok)
			}
			if !ok {
				return
			}
			rules := &unstructured.Unstructured{Object: o}
			if diff := cmp.Diff(tc.want, monitoringtest.Alerts(t, rules)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for key, value := range tc.labels {
				if rules.GetLabels()[key] != value {
					t.Errorf("labels are %v, want %s=%s", rules.GetLabels(), key, value)
				}
			}
		})
	}
}
