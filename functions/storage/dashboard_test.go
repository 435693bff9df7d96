package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDashboardIsOptionalAndRequiresTLS verifies that Ceph's dashboard is disabled by default, and requires TLS.
func TestDashboardIsOptionalAndRequiresTLS(t *testing.T) {
	for fields, want := range map[string]map[string]any{
		"pools: [{name: images}]":     {"enabled": false},
		"dashboard: {enabled: false}": {"enabled": false},
		"dashboard: {enabled: true}":  {"enabled": true, "ssl": true},
	} {
		w := complete(t, with(fields))
		got := kind.Desired(t, w)[clusterResource]["spec"].(map[string]any)["dashboard"]
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
		reported := w.XR.GetFields()["status"].GetStructValue().AsMap()["dashboard"]
		var status any
		if want["enabled"] == true {
			status = map[string]any{
				"endpoint": "https://rook-ceph-mgr-dashboard.tenant-a-storage-72da48a0ed7f612b5eac.svc:8443", "user": "admin",
				"passwordSecretRef": map[string]any{"name": "rook-ceph-dashboard-password", "key": "password"},
			}
		}
		if diff := cmp.Diff(status, reported); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", fields, diff)
		}
	}
}
