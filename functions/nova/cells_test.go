package nova

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestCellsOwnServers verifies that pods which use a cell with its own database and queue mount the authorities of both at the configured
// paths, and that such a cell uses its own authorities instead of Nova's.
func TestCellsOwnServers(t *testing.T) {
	w, _ := kind.Ready(t, "medium")
	desired := kind.Desired(t, w)
	for _, resource := range []string{"deployment", "conductor", "scheduler"} {
		volumes, _, err := unstructured.NestedSlice(desired[resource], "spec", "template", "spec", "volumes")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, v := range volumes {
			v := v.(map[string]any)
			secret, _, _ := unstructured.NestedString(v, "secret", "secretName")
			if name := v["name"].(string); slices.Contains([]string{"cell2-database-ca", "cell2-queue-ca"}, name) {
				got[name] = secret
			}
		}
		want := map[string]string{"cell2-database-ca": "mariadb-cell-cell2-ca-bundle", "cell2-queue-ca": "rabbitmq-cell-cell2-tls"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", resource, diff)
		}
	}
	for _, cell := range []string{"cell1", "cell2"} {
		spec := desired[cellResource(cell)]["spec"].(map[string]any)
		if spec["exposure"] != nil {
			t.Errorf("%s has Nova's exposure, which would give its pods a public address: %v", cell, spec["exposure"])
		}
	}
}

// TestQueueVolumeBoundsCellStreams tests that streams of a cell with its own queue are bounded by the volume of that queue.
func TestQueueVolumeBoundsCellStreams(t *testing.T) {
	m := &model{Service: service.Service{Base: &service.Base{Name: "nova"}}, spec: &novav1.NovaSpec{}}
	m.spec.StreamBytes = 7
	own := &novav1.CellInfrastructure{Queue: &common.QueueServer{Members: common.Members{StorageSize: "5Gi"}}}
	for want, c := range map[int64]*novav1.Cell{7: {Name: "near"}, 20 << 20: {Name: "far", Infrastructure: own}} {
		if got := m.cell(c).Spec.StreamBytes; got != want {
			t.Errorf("a stream of cell %s may have %d bytes, want %d", c.Name, got, want)
		}
	}
}

// TestCellQueueSize checks that an invalid size of a cell's queue is reported with its field.
func TestCellQueueSize(t *testing.T) {
	own := &novav1.CellInfrastructure{Queue: &common.QueueServer{Members: common.Members{StorageSize: "5GB"}}}
	err := checkProcesses(&novav1.NovaSpec{Cells: []novav1.Cell{{Name: "near"}, {Name: "far", Infrastructure: own}}})
	if want := `spec.cells[1].infrastructure.queue.storageSize: "5GB" is not a quantity; set one such as 10Gi`; err == nil || err.Error() != want {
		t.Errorf("checkProcesses(...): %v, want %s", err, want)
	}
}
