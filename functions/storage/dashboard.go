package storage

import (
	"fmt"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// hasDashboard reports whether Ceph's own dashboard is wanted.
func (m *model) hasDashboard() bool { return m.spec.Dashboard != nil && m.spec.Dashboard.Enabled }

// dashboardSpec is what Rook is told of Ceph's own dashboard: never without TLS, since a password goes there by which Ceph is
// administrated. Rook has Ceph sign a certificate for itself: it takes none of ours.
func (m *model) dashboardSpec() object.Map {
	if !m.hasDashboard() {
		return object.Map{"enabled": false}
	}
	return object.Map{"enabled": true, "ssl": true}
}

// dashboardStatus is how it is reached, once there is a cluster.
func (m *model) dashboardStatus() *storagev1.DashboardStatus {
	if !m.hasDashboard() || !m.ceph().Exists() {
		return nil
	}
	return &storagev1.DashboardStatus{
		Endpoint: common.URL(fmt.Sprintf("https://%s.%s.svc:%d", rook.DashboardName, m.instance, rook.DashboardPort)), User: rook.DashboardUser,
		PasswordSecretRef: common.SecretKeyReference{Name: rook.DashboardSecret, Key: rook.DashboardKey},
	}
}
