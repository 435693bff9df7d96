package storage

import (
	"fmt"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// hasDashboard reports whether the claim enables Ceph's own dashboard.
func (m *model) hasDashboard() bool { return m.spec.Dashboard != nil && m.spec.Dashboard.Enabled }

// dashboardSpec returns Rook's settings of Ceph's own dashboard. TLS is always on, because the login sends a password with administrative
// rights. Rook has Ceph create a self-signed certificate; other certificates are not supported.
func (m *model) dashboardSpec() object.Map {
	if !m.hasDashboard() {
		return object.Map{"enabled": false}
	}
	return object.Map{"enabled": true, "ssl": true}
}

// dashboardStatus returns the address and credentials of the dashboard, once a cluster exists.
func (m *model) dashboardStatus() *storagev1.DashboardStatus {
	if !m.hasDashboard() || !m.ceph().Exists() {
		return nil
	}
	return &storagev1.DashboardStatus{
		Endpoint: common.URL(fmt.Sprintf("https://%s.%s.svc:%d", rook.DashboardName, m.instance, rook.DashboardPort)), User: rook.DashboardUser,
		PasswordSecretRef: common.SecretKeyReference{Name: rook.DashboardSecret, Key: rook.DashboardKey},
	}
}
