package cinder

import (
	"encoding/json"
	"testing"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// TestOptionsCannotChangeComputedValues verifies that an option of a tenant, under any name, cannot change a value that pods are composed
// with.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	owners := servicetest.Owners[*model]{
		Derive: func(spec []byte) (*model, error) {
			in := function.Input[cinderv1.Cinder]{}
			in.XR.Name, in.XR.Namespace = cinderv1.ServiceName, "cloud"
			if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
				return nil, err
			}
			function.SetDefaults(&in.XR)
			return derive(in)
		},
		Groups: []registry.Group{{Name: "ceph-rbd", Template: "rbd"}, {Name: "archive_1", Template: "nfs"}},
		Tunable: []string{"DEFAULT default_availability_zone", "DEFAULT service_down_time",
			"DEFAULT glance_core_properties",
			"DEFAULT backup_max_operations", "DEFAULT backup_file_size", "DEFAULT backup_sha_block_size_bytes", "DEFAULT backup_ceph_chunk_size",
			"DEFAULT backup_s3_object_size", "DEFAULT backup_s3_block_size", "DEFAULT backup_swift_object_size", "DEFAULT backup_swift_block_size",
			"ceph-rbd rados_connect_timeout", "ceph-rbd rbd_flatten_volume_from_snapshot", "ceph-rbd report_discard_supported", "archive_1 nfs_snapshot_support",
		},
	}
	owners.CheckEachOption(t, definition.App, "medium")
}
