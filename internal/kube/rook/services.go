package rook

// Services with metrics that Rook creates for every cluster, and their port names
// (https://github.com/rook/rook/tree/v1.20.6/deploy/examples/monitoring).
const (
	// ManagerName is the Service of the active manager, which has metrics of the whole cluster.
	ManagerName    = "rook-ceph-mgr"
	ManagerMetrics = "http-metrics"
	// ExporterName is the Service of the exporters, which read the counters of the daemons on a node.
	ExporterName    = "rook-ceph-exporter"
	ExporterMetrics = "ceph-exporter-http-metrics"
)

// Selector returns the labels of Rook's Services of a cluster.
func Selector(app, namespace string) map[string]string {
	return map[string]string{"app": app, "rook_cluster": namespace}
}

// Objects of Ceph's dashboard in Rook: a Service, and a Secret with the password of a user, who is an administrator of Ceph
// (https://rook.io/docs/rook/latest/Storage-Configuration/Monitoring/ceph-dashboard/).
const (
	DashboardName   = "rook-ceph-mgr-dashboard"
	DashboardPort   = 8443
	DashboardUser   = "admin"
	DashboardSecret = "rook-ceph-dashboard-password" //nolint:gosec // the name of a Secret
	DashboardKey    = "password"
)
