package syntax_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// TestCheckSizes checks that each invalid size is reported with its field.
func TestCheckSizes(t *testing.T) {
	size := controlplanev1.StorageSize("10GB")
	plane := controlplanev1.Infrastructure{}
	plane.MariaDB.StorageSize, plane.Valkey.StorageSize = new(controlplanev1.StorageSize("10Gi")), &size
	const remedy = " is not a quantity; set one such as 10Gi"
	for name, tc := range map[string]struct {
		reason string
		spec   any
		want   string
	}{
		"control plane": {"The other size is valid.", plane, `spec.valkey.storageSize: "10GB"` + remedy},
		"storage": {
			"Sizes of devices are in lists.",
			storagev1.StorageClusterSpec{
				TargetCapacity: "1 TB", Nodes: []storagev1.Node{{Devices: []storagev1.Device{{Size: "1Ti"}, {Size: "many"}}}},
			},
			`spec.nodes[0].devices[1].size: "many"` + remedy + "\n" + `spec.targetCapacity: "1 TB"` + remedy,
		},
		"none": {"Sizes have defaults.", controlplanev1.Infrastructure{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := syntax.CheckSizes("spec", tc.spec); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nCheckSizes(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
