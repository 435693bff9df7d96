package rook

// Services by which Rook offers metrics, wherever it makes a cluster, and the ports that have them, as it calls both
// (https://github.com/rook/rook/tree/v1.20.6/deploy/examples/monitoring).
const (
	// ManagerName is the Service of the manager that works, which speaks for the whole cluster.
	ManagerName    = "rook-ceph-mgr"
	ManagerMetrics = "http-metrics"
	// ExporterName is the Service of those who ask the daemons of a node for their own counters.
	ExporterName    = "rook-ceph-exporter"
	ExporterMetrics = "ceph-exporter-http-metrics"
)

// Selector are the labels by which Rook's Services of a cluster are found.
func Selector(app, namespace string) map[string]string {
	return map[string]string{"app": app, "rook_cluster": namespace}
}

// How Rook offers Ceph's own dashboard: a Service, and a Secret with the password of a user, who administrates Ceph
// (https://rook.io/docs/rook/latest/Storage-Configuration/Monitoring/ceph-dashboard/).
const (
	DashboardName   = "rook-ceph-mgr-dashboard"
	DashboardPort   = 8443
	DashboardUser   = "admin"
	DashboardSecret = "rook-ceph-dashboard-password" //nolint:gosec // the name of a Secret
	DashboardKey    = "password"
)
