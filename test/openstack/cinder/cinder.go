//go:build openstack && linux

package cinder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/backups"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// Cinder is a client of a Cinder at its internal address, with its environment.
type Cinder struct {
	*gophercloud.ServiceClient
	Cloud  *clouds.Cloud
	Ceph   *operators.Ceph
	bucket *harness.ObjectStore
}

// waiting is the timeout of operations that read or write a whole GiB.
const waiting = 4 * time.Minute

// waitForStatus waits until a resource has a status.
func waitForStatus(t *testing.T, label, want string, status func(ctx context.Context) (string, error)) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		is, err := status(context.Background())
		if err != nil {
			t.Fatalf("cannot look at %s: %v", label, err)
		}
		if is == want {
			return
		}
		if strings.Contains(is, "error") || stopwatch.Since(began) > waiting {
			t.Fatalf("%s is %s after %.0f s, want %s", label, is, time.Since(began).Seconds(), want)
		}
	}
}

// CreateVolume creates a volume, and waits until it is available.
func (c Cinder) CreateVolume(t *testing.T, opts volumes.CreateOpts) (id string) {
	t.Helper()
	began := time.Now()
	v, err := volumes.Create(context.Background(), c.ServiceClient, opts, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	c.WaitForVolume(t, v.ID)
	t.Logf("volume %s in %.1f s", opts.Name, time.Since(began).Seconds())
	return v.ID
}

// WaitForVolume waits until a volume is available.
func (c Cinder) WaitForVolume(t *testing.T, id string) {
	t.Helper()
	waitForStatus(t, "the volume", "available", func(ctx context.Context) (string, error) {
		v, err := volumes.Get(ctx, c.ServiceClient, id).Extract()
		if err != nil {
			return "", err
		}
		return v.Status, nil
	})
}

// read writes the beginning of an image of a pool to the standard output, or its size.
const readBlock = `import rados, rbd, sys
conf, user, pool, name, size = sys.argv[1:]
with rados.Rados(conffile=conf, rados_id=user) as cluster, cluster.open_ioctx(pool) as pool:
    with rbd.Image(pool, name, read_only=True) as image:
        sys.stdout.buffer.write(image.read(0, int(size)) if int(size) else str(image.size()).encode())
`

// Block returns a volume's data in Ceph, up to a size, or its size.
func (c Cinder) Block(t *testing.T, id string, size int) []byte {
	t.Helper()
	return c.Python(t, readBlock, "volume-"+id, fmt.Sprint(size))
}

// Python runs a Python script with a ceph.conf, the user and the pool of volumes, and further arguments.
func (c Cinder) Python(t *testing.T, script string, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	conf, keyring := filepath.Join(dir, "ceph.conf"), filepath.Join(dir, "keyring")
	if err := os.WriteFile(conf, fmt.Appendf(c.Ceph.Configuration(), "keyring = %s\n", keyring), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyring, c.Ceph.Keyrings["cinder"], 0o600); err != nil {
		t.Fatal(err)
	}
	var failed bytes.Buffer
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", script, conf, "cinder", "volumes"}, args...)...)
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("Ceph does not answer %v: %v\n%s", args, err, failed.String())
	}
	return out
}

// Holds checks that a volume starts with a content.
func (c Cinder) Holds(t *testing.T, id string, want []byte) {
	t.Helper()
	if got := c.Block(t, id, len(want)); !bytes.Equal(got, want) {
		t.Errorf("the volume has sha256 %x, want %x", sha256.Sum256(got), sha256.Sum256(want))
	}
}

// BackUp backs up a volume of an image, restores it into another one, and deletes the backup. It returns the volume.
// The names of retained objects contain its ID.
func (c Cinder) BackUp(t *testing.T, image string, data []byte, retained func() []string) (from string) {
	t.Helper()
	ctx := context.Background()
	from, began := c.CreateVolume(t, volumes.CreateOpts{Name: "backed up", Size: 1, ImageID: image}), time.Now()
	b, err := backups.Create(ctx, c.ServiceClient, backups.CreateOpts{VolumeID: from, Name: "backup"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	done := func(ctx context.Context) (string, error) {
		b, err := backups.Get(ctx, c.ServiceClient, b.ID).Extract()
		if err != nil {
			return "", err
		}
		if b.FailReason != "" {
			t.Log(b.FailReason)
		}
		return b.Status, nil
	}
	waitForStatus(t, "the backup", "available", done)
	stored := slices.DeleteFunc(retained(), func(name string) bool { return !strings.Contains(name, from) })
	t.Logf("backup of 1 GiB in %.1f s, %d objects", time.Since(began).Seconds(), len(stored))
	if len(stored) == 0 {
		t.Error("nothing is kept")
	}
	began = time.Now()
	to, err := backups.RestoreFromBackup(ctx, c.ServiceClient, b.ID, backups.RestoreOpts{Name: "restored"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	waitForStatus(t, "the backup", "available", done)
	c.WaitForVolume(t, to.VolumeID)
	t.Logf("restored in %.1f s", time.Since(began).Seconds())
	c.Holds(t, to.VolumeID, data)
	const all = 64 * glance.MiB // of 1 GiB, the rest of which is empty
	if !bytes.Equal(c.Block(t, to.VolumeID, all), c.Block(t, from, all)) {
		t.Error("the restored volume differs from the original")
	}
	if err := backups.Delete(ctx, c.ServiceClient, b.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(waiting); ; time.Sleep(200 * time.Millisecond) {
		if _, err := done(ctx); gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the backup is not deleted")
		}
	}
	return from
}

// VolumesUsed starts two clients that create and delete volumes.
func VolumesUsed(t *testing.T, c Cinder) *harness.Clients {
	t.Helper()
	return harness.StartClients(t, 2, func(ctx context.Context, client, round int, try harness.Request) error {
		id := ""
		if err := try("make a volume", func() error {
			v, err := volumes.Create(ctx, c.ServiceClient, volumes.CreateOpts{Name: fmt.Sprintf("load-%d-%d", client, round), Size: 1}, nil).Extract()
			if err == nil {
				id = v.ID
			}
			return err
		}); err != nil {
			return err
		}
		if err := try("have it", func() error { return c.WaitForStatus(ctx, id, "available") }); err != nil {
			return err
		}
		return try("delete it", func() error {
			if err := volumes.Delete(ctx, c.ServiceClient, id, nil).ExtractErr(); err != nil {
				return err
			}
			return c.WaitForStatus(ctx, id, "")
		})
	})
}

// WaitForStatus waits until a volume has a status, or, without one, until it is deleted.
func (c Cinder) WaitForStatus(ctx context.Context, id, status string) error {
	for end := time.Now().Add(waiting); ; time.Sleep(200 * time.Millisecond) {
		v, err := volumes.Get(ctx, c.ServiceClient, id).Extract()
		switch {
		case status == "" && gophercloud.ResponseCodeIs(err, http.StatusNotFound):
			return nil
		case err != nil:
			return err
		case v.Status == status:
			return nil
		case strings.Contains(v.Status, "error") || time.Now().After(end):
			return fmt.Errorf("the volume is %s", v.Status)
		}
	}
}
