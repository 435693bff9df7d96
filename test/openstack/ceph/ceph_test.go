//go:build openstack && linux

package ceph

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// block writes an image into a pool and reads it, as Glance's store does.
const block = `import rados, rbd, sys
conf, user, pool, name = sys.argv[1:]
with rados.Rados(conffile=conf, rados_id=user) as cluster, cluster.open_ioctx(pool) as pool:
    rbd.RBD().create(pool, name, 1 << 22, old_format=False)
    with rbd.Image(pool, name) as image:
        image.write(b"content", 0)
        print(image.read(0, 7).decode())
`

// TestCephLimitsClientToItsPool checks that a client of a real Ceph can write into its pool and into no other, with the libraries of
// OpenStack's services.
func TestCephLimitsClientToItsPool(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=ceph")
	}
	t.Parallel()
	ceph, dir := harness.StartCeph(t), t.TempDir()
	conf := filepath.Join(dir, "ceph.conf")
	if err := os.WriteFile(conf, fmt.Appendf(ceph.Configuration(), "keyring = %s/$name.keyring\n", dir), 0o600); err != nil {
		t.Fatal(err)
	}
	for user, keyring := range ceph.Keyrings {
		if err := os.WriteFile(filepath.Join(dir, "client."+user+".keyring"), keyring, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for r, venv := range harness.Programs.Services {
		for pool, want := range map[string]string{"images": "content", "volumes": "PermissionError"} {
			out, err := exec.Command(filepath.Join(venv, "bin", "python"), "-c", block, conf, "glance", pool, string(r)).CombinedOutput()
			if !strings.Contains(string(out), want) {
				t.Errorf("client.glance of %s in pool %s: %v, want %s:\n%s", r, pool, err, want, out)
			}
		}
	}
}
