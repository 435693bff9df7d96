//go:build openstack && linux

package harness

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// StartCeph runs a Ceph with the pools images and volumes, outside of every control plane, until the test ends.
func StartCeph(t *testing.T) *operators.Ceph {
	t.Helper()
	return StartCephWith(t, []string{"images", "volumes", "backups"}, map[string]operators.Caps{
		"glance": operators.OwnPool("images"), "cinder": operators.OwnPool("volumes"), "cinder-backup": operators.OwnPool("backups"),
	})
}

// StartCephWith starts a Ceph with given pools and clients.
func StartCephWith(t *testing.T, pools []string, clients map[string]operators.Caps) *operators.Ceph {
	t.Helper()
	ceph, stop, err := clouds.StartCeph(context.Background(), Programs, DiskDir(t), pools, clients, Progress())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return ceph
}

// DiskDir returns a folder of the test on a disk: other folders are in memory.
func DiskDir(t *testing.T) string {
	t.Helper()
	cache, err := install.Cache()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Join(cache, "openstack"), "ceph-data-") //nolint:usetesting // as said
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
