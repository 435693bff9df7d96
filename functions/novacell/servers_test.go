package novacell

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestInvalidBackupEndpoint checks that an endpoint without a valid port is an error, and not traffic to port 443.
func TestInvalidBackupEndpoint(t *testing.T) {
	m := &model{Service: service.Service{Base: &service.Base{}}, spec: &novacellv1.NovaCellSpec{Infrastructure: &novav1.CellInfrastructure{
		Database: &common.DatabaseServer{Backup: &common.DatabaseBackup{Endpoint: "s3:none"}},
	}}}
	want := `spec.infrastructure.database.backup.endpoint: "https://s3:none" is not an address; give scheme://host:port`
	if _, err := m.network(); err == nil || err.Error() != want {
		t.Errorf("network(): error %v, want %s", err, want)
	}
}

// TestCheckSizes checks that an invalid size of a volume is reported with its field, and that a cell needs no servers.
func TestCheckSizes(t *testing.T) {
	members := func(size string) common.Members { return common.Members{StorageSize: size} }
	const remedy = " is not a quantity; set one such as 10Gi"
	for name, tc := range map[string]struct {
		reason string
		own    *novav1.CellInfrastructure
		want   string
	}{
		"none": {reason: "The cell uses the servers of the control plane."},
		"valid": {reason: "Both are quantities.", own: &novav1.CellInfrastructure{
			Database: &common.DatabaseServer{Members: members("5Gi")}, Queue: &common.QueueServer{Members: members("1Gi")},
		}},
		"invalid": {
			"Each is reported.", &novav1.CellInfrastructure{
				Database: &common.DatabaseServer{Members: members("5GB")}, Queue: &common.QueueServer{Members: members("x")},
			},
			`spec.infrastructure.database.storageSize: "5GB"` + remedy + "\n" + `spec.infrastructure.queue.storageSize: "x"` + remedy,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := checkSizes(&novacellv1.NovaCellSpec{Infrastructure: tc.own}); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\ncheckSizes(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
