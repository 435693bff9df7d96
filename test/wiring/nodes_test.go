package wiring

import "testing"

func TestMetricsOfNodes(t *testing.T) {
	const join = ` and on (node) kube_pod_info{namespace="cloud",pod=~"a-.+"}`
	for _, tc := range []struct {
		name, reason, expr string
		want               int
	}{
		{"limited", "Only nodes with the pods count.", `node_filesystem_files{mountpoint="/"} / kube_node_info` + join, 2},
		{"all nodes", "Others' nodes are among them.", `node_filesystem_files{mountpoint="/"} > 1`, 0},
		{"other pods", "The pods belong to another namespace.", `node_filesystem_files > 1 and on (node) kube_pod_info{namespace="other"}`, 0},
		{"namespaced", "Metrics of pods have a namespace.", `kube_pod_start_time > 1` + join, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ofNodes(metricsOf(tc.expr), tc.expr, "cloud"); got != tc.want {
				t.Errorf("%s got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
