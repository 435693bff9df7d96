package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestStorageClassesValidation verifies that a StorageClass without a driver, and pools with other users, are rejected.
func TestStorageClassesValidation(t *testing.T) {
	without := strings.Replace(open, ", csi: {}", "", 1)
	for name, tc := range map[string]struct{ reason, spec, platform, field, message string }{
		"Good":    {"The pool has no other user.", with("pools: [{name: pvcs, storageClass: {}}]"), open, "", ""},
		"Drivers": {"The driver is missing.", with("pools: [{name: pvcs, storageClass: {}}]"), without, "spec.pools[0].storageClass", "the platform has no CSI driver"},
		"Purpose": {
			"Cinder would see volumes of Kubernetes, and could delete them.", with("pools: [{name: volumes, storageClass: {}}]"), open,
			"spec.pools[0].storageClass", "cannot be set on a pool with purpose volumes",
		},
		"Objects": {"It has no block devices.", with("pools: [{name: a, application: rgw, storageClass: {}}]"), open, "spec.pools[0].storageClass", "of application rbd"},
		"Somebody's": {
			"Rook makes no users there.", "{" + strings.Replace(externalCeph, "{name: images}", "{name: images}, {name: a, storageClass: {}}", 1) + "}", open,
			"spec.pools[1].storageClass", "only in Ceph clusters that it runs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, tc.reason, makeReady(newCluster(tc.spec, tc.platform)), tc.field, tc.message)
		})
	}
}

// TestEachPoolHasItsStorageClass verifies that each pool has its own StorageClass with a unique name, in the nodes' cluster, and that its
// driver is not changed.
func TestEachPoolHasItsStorageClass(t *testing.T) {
	const instance, pools = "tenant-a-storage-72da48a0ed7f612b5eac", "pools: [{name: pvcs, storageClass: {}}, {name: scratch, storageClass: {reclaimPolicy: Delete}}]"
	w := complete(t, with(pools))
	created := kind.Desired(t, w)
	for pool, policy := range map[string]string{"pvcs": "Retain", "scratch": "Delete"} {
		class := created[classPrefix+pool]
		parameters, _ := class["parameters"].(map[string]any)
		got := []any{class["metadata"].(map[string]any)["name"], class["provisioner"], class["reclaimPolicy"], parameters["pool"], parameters["clusterID"]}
		if diff := cmp.Diff([]any{instance + "-" + pool, "rook.rbd.csi.ceph.com", policy, pool, instance}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pool, diff)
		}
	}
	want := []any{map[string]any{"pool": "pvcs", "name": instance + "-pvcs"}, map[string]any{"pool": "scratch", "name": instance + "-scratch"}}
	if diff := cmp.Diff(want, New().Run(w.Request()).Composite.Object.At("status", "storageClasses").List()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	around(w, strings.Replace(open, "csi: {}", "csi: {driverNamePrefix: other}", 1))
	if got := kind.Desired(t, w)[classPrefix+"pvcs"]["provisioner"]; got != "rook.rbd.csi.ceph.com" {
		t.Errorf("the driver of existing volumes changes to %v", got)
	}
	if got := kind.Desired(t, func() *simulate.Cluster {
		w := newCluster(with(pools), strings.Replace(open, "csi: {}", "csi: {driverNamePrefix: other}", 1))
		if err := makeReady(w); err != nil {
			t.Fatal(err)
		}
		return w
	}())[classPrefix+"pvcs"]["provisioner"]; got != "other.rbd.csi.ceph.com" {
		t.Errorf("the platform's driver is not taken: %v", got)
	}
}
