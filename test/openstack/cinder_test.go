//go:build openstack && linux

package openstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/backups"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestCinder checks that the Cinder of every release keeps volumes in a real Ceph, with two managers that share them,
// and backups in a bucket. The data read from a volume is the written data, whatever operations happened in between.
func TestCinder(t *testing.T) {
	if programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=cinder")
	}
	ceph := startCeph(t)
	for _, r := range release.Releases() {
		// One after the other: each has eight daemons in addition to the common ones.
		t.Run(string(r), func(t *testing.T) {
			c := startCinder(t, r, dashed(r), ceph)
			t.Run("Entries", func(t *testing.T) {
				testEntries(t, c.cloud, cinderv1.ServiceName, cinderv1.ServiceType, cinderv1.Port, cinderv1.Version)
			})
			t.Run("Capacity", func(t *testing.T) { testCapacityReport(t, c, r == release.Releases()[len(release.Releases())-1]) })
			t.Run("Types", func(t *testing.T) { testVolumeTypes(t, c) })
			t.Run("Volumes", func(t *testing.T) { testVolumes(t, c) })
			t.Run("Backup", func(t *testing.T) { testVolumeBackup(t, c) })
			t.Run("Managers", func(t *testing.T) { testManagers(t, c) })
			t.Run("Credential", func(t *testing.T) { testRotate(t, c.cloud, cinderv1.ServiceName, volumesUsed(t, c)) })
		})
	}
}

// TestCinderUpgrade upgrades a Cinder from one SLURP release to the next while volumes are created, and checks that no
// request fails. The data of volumes is kept.
func TestCinderUpgrade(t *testing.T) {
	if programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=cinder")
	}
	c := startCinder(t, before, "-up", startCeph(t))
	image, data := c.imaged(t)
	retained := c.create(t, volumes.CreateOpts{Name: "kept", Size: 1, ImageID: image})
	load := volumesUsed(t, c)
	load.more(t, 6)
	upgrade(t, c.cloud, of(t, "volumes.yaml", after, "-up"), after, "keystone", "glance", cinderv1.ServiceName)
	load.more(t, 12)
	load.stop(t)
	t.Log(load)
	c.holds(t, retained, data)
}

// cinder is a client of a Cinder at its internal address, with its environment.
type cinder struct {
	*gophercloud.ServiceClient
	cloud  *Cloud
	ceph   *operators.Ceph
	bucket *objectStore
}

func startCinder(t *testing.T, r release.Release, end string, ceph *operators.Ceph) cinder {
	t.Helper()
	return startCinderOf(t, string(of(t, "volumes.yaml", r, end)), end, ceph)
}

// startCinderOf starts a Cinder with a given claim.
func startCinderOf(t *testing.T, claim, end string, ceph *operators.Ceph) cinder {
	t.Helper()
	authority, err := pki.New("objects")
	if err != nil {
		t.Fatal(err)
	}
	bucket := &objectStore{host: "s3.volumes" + end + ".tenant-a.example.com", bucket: "backups", key: "backups", secret: "s3cret+/=$%"}
	cloud := start(t, []byte(claim), func(o *Options) {
		o.Secrets = map[string]map[string][]byte{
			"volumes-ceph": {cinderv1.CephConfigKey: ceph.Configuration(), cinderv1.CephKeyringKey: ceph.Keyrings["cinder"]},
			"volumes-s3": {
				cinderv1.S3AccessKeyIDKey: []byte(bucket.key), cinderv1.S3SecretAccessKeyKey: []byte(bucket.secret), "ca.crt": authority.Certificate,
			},
		}
		o.Prepare = func(c *Cloud) error { return bucket.start(t, c.Cluster, authority) }
	})
	provider, ends := administrator(t, cloud)
	c, err := openstack.NewBlockStorageV3(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "3.70"
	return cinder{c, cloud, ceph, bucket}
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
		if strings.Contains(is, "error") || time.Since(began) > waiting {
			t.Fatalf("%s is %s after %.0f s, want %s", label, is, time.Since(began).Seconds(), want)
		}
	}
}

// create creates a volume, and waits until it is available.
func (c cinder) create(t *testing.T, opts volumes.CreateOpts) (id string) {
	t.Helper()
	began := time.Now()
	v, err := volumes.Create(context.Background(), c.ServiceClient, opts, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	c.available(t, v.ID)
	t.Logf("volume %s in %.1f s", opts.Name, time.Since(began).Seconds())
	return v.ID
}

func (c cinder) available(t *testing.T, id string) {
	t.Helper()
	waitForStatus(t, "the volume", "available", func(ctx context.Context) (string, error) {
		v, err := volumes.Get(ctx, c.ServiceClient, id).Extract()
		if err != nil {
			return "", err
		}
		return v.Status, nil
	})
}

// imaged uploads an image of 8 MiB, and returns its content.
func (c cinder) imaged(t *testing.T) (id string, data []byte) {
	t.Helper()
	g := glanceOf(t, c.cloud)
	data, id = content(8*mib), g.create(t, "image", "raw")
	g.upload(t, id, complete(data), "")
	return id, data
}

// read writes the beginning of an image of a pool to the standard output, or its size.
const readBlock = `import rados, rbd, sys
conf, user, pool, name, size = sys.argv[1:]
with rados.Rados(conffile=conf, rados_id=user) as cluster, cluster.open_ioctx(pool) as pool:
    with rbd.Image(pool, name, read_only=True) as image:
        sys.stdout.buffer.write(image.read(0, int(size)) if int(size) else str(image.size()).encode())
`

// block returns a volume's data in Ceph, up to a size, or its size.
func (c cinder) block(t *testing.T, id string, size int) []byte {
	t.Helper()
	return c.python(t, readBlock, "volume-"+id, fmt.Sprint(size))
}

// python runs a Python script with a ceph.conf, the user and the pool of volumes, and further arguments.
func (c cinder) python(t *testing.T, script string, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	conf, keyring := filepath.Join(dir, "ceph.conf"), filepath.Join(dir, "keyring")
	if err := os.WriteFile(conf, fmt.Appendf(c.ceph.Configuration(), "keyring = %s\n", keyring), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyring, c.ceph.Keyrings["cinder"], 0o600); err != nil {
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

// holds checks that a volume starts with a content.
func (c cinder) holds(t *testing.T, id string, want []byte) {
	t.Helper()
	if got := c.block(t, id, len(want)); !bytes.Equal(got, want) {
		t.Errorf("the volume has sha256 %x, want %x", sha256.Sum256(got), sha256.Sum256(want))
	}
}

// testVolumeTypes checks the volume types of the claim.
func testVolumeTypes(t *testing.T, c cinder) {
	page, err := volumetypes.List(c.ServiceClient, volumetypes.ListOpts{IsPublic: volumetypes.VisibilityDefault}).AllPages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, err := volumetypes.ExtractVolumeTypes(page)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range all {
		got[v.Name] = fmt.Sprint(v.Description, v.IsPublic, v.ExtraSpecs)
	}
	delete(got, "__DEFAULT__") // Cinder's default.
	want := map[string]string{
		"fast":   "In a pool" + fmt.Sprint(true) + " map[volume_backend_name:ceph-rbd]",
		"shared": fmt.Sprint(false) + " map[multiattach:<is> True volume_backend_name:ceph-rbd]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("volume types (-want +got):\n%s", diff)
	}
}

// testVolumes creates volumes: empty, from an image, from a snapshot, and from a volume; extends one, and uploads it as
// an image.
func testVolumes(t *testing.T, c cinder) {
	ctx := context.Background()
	image, data := c.imaged(t)
	empty := c.create(t, volumes.CreateOpts{Name: "empty", Size: 1})
	v, err := volumes.Get(ctx, c.ServiceClient, empty).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if v.VolumeType != "fast" {
		t.Errorf("a volume without a type is %s, want fast", v.VolumeType)
	}
	if got := c.block(t, empty, 16); !bytes.Equal(got, make([]byte, 16)) {
		t.Errorf("an empty volume begins with %x", got)
	}
	of := c.create(t, volumes.CreateOpts{Name: "of an image", Size: 1, ImageID: image})
	c.holds(t, of, data)
	snapshot, err := snapshots.Create(ctx, c.ServiceClient, snapshots.CreateOpts{VolumeID: of, Name: "snapshot"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	waitForStatus(t, "the snapshot", "available", func(ctx context.Context) (string, error) {
		s, err := snapshots.Get(ctx, c.ServiceClient, snapshot.ID).Extract()
		if err != nil {
			return "", err
		}
		return s.Status, nil
	})
	c.holds(t, c.create(t, volumes.CreateOpts{Name: "of a snapshot", Size: 1, SnapshotID: snapshot.ID}), data)
	clone := c.create(t, volumes.CreateOpts{Name: "of a volume", Size: 1, SourceVolID: of})
	c.holds(t, clone, data)
	if err := volumes.ExtendSize(ctx, c.ServiceClient, clone, volumes.ExtendSizeOpts{NewSize: 2}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	c.available(t, clone)
	if got := string(c.block(t, clone, 0)); got != fmt.Sprint(2<<30) {
		t.Errorf("a volume of 2 GiB has %s bytes", got)
	}
	began := time.Now()
	uploaded, err := volumes.UploadImage(ctx, c.ServiceClient, of, volumes.UploadImageOpts{
		ImageName: "of a volume", DiskFormat: "raw", ContainerFormat: "bare", Force: true,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	c.available(t, of)
	g := glanceOf(t, c.cloud)
	g.waitForImage(t, uploaded.ImageID)
	body, err := imagedata.Download(ctx, g.ServiceClient, uploaded.ImageID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data))
	if _, err := io.ReadFull(body, got); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the image of a volume begins with sha256 %x, want %x (%v)", sha256.Sum256(got), sha256.Sum256(data), err)
	}
	_ = body.(io.Closer).Close()
	t.Logf("image of a volume in %.1f s", time.Since(began).Seconds())
}

// testVolumeBackup checks that a backup is restored byte by byte, from a bucket.
func testVolumeBackup(t *testing.T, c cinder) {
	image, data := c.imaged(t)
	c.backUp(t, image, data, func() []string { return c.bucket.names(t) })
}

// backUp backs up a volume of an image, restores it into another one, and deletes the backup. It returns the volume.
// The names of retained objects contain its ID.
func (c cinder) backUp(t *testing.T, image string, data []byte, retained func() []string) (from string) {
	t.Helper()
	ctx := context.Background()
	from, began := c.create(t, volumes.CreateOpts{Name: "backed up", Size: 1, ImageID: image}), time.Now()
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
	c.available(t, to.VolumeID)
	t.Logf("restored in %.1f s", time.Since(began).Seconds())
	c.holds(t, to.VolumeID, data)
	const all = 64 * mib // of 1 GiB, the rest of which is empty
	if !bytes.Equal(c.block(t, to.VolumeID, all), c.block(t, from, all)) {
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

// testManagers stops one of two managers while ten volumes are created, and checks that all are created: the other
// manager takes over, and the first one returns.
func testManagers(t *testing.T, c cinder) {
	ctx := context.Background()
	var all []string
	for i := range 10 {
		v, err := volumes.Create(ctx, c.ServiceClient, volumes.CreateOpts{Name: fmt.Sprintf("of ten-%d", i), Size: 1}, nil).Extract()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v.ID)
		if i == 4 {
			if err := c.cloud.Cluster.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: c.cloud.Namespace, Name: "cinder-volume-ceph-rbd-0",
			}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range all {
		c.available(t, id)
	}
	page, err := services.List(c.ServiceClient, services.ListOpts{Binary: "cinder-volume"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	known, err := services.ExtractServices(page)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, s := range known {
		hosts = append(hosts, s.Host)
	}
	slices.Sort(hosts)
	if diff := cmp.Diff([]string{"cinder-volume-ceph-rbd-0@ceph-rbd", "cinder-volume-ceph-rbd-1@ceph-rbd"}, hosts); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
}

// volumesUsed starts two clients that create and delete volumes.
func volumesUsed(t *testing.T, c cinder) *load {
	t.Helper()
	return startClients(t, 2, func(ctx context.Context, client, round int, try request) error {
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
		if err := try("have it", func() error { return c.becomes(ctx, id, "available") }); err != nil {
			return err
		}
		return try("delete it", func() error {
			if err := volumes.Delete(ctx, c.ServiceClient, id, nil).ExtractErr(); err != nil {
				return err
			}
			return c.becomes(ctx, id, "")
		})
	})
}

// becomes waits until a volume has a status, or, without one, until it is deleted.
func (c cinder) becomes(ctx context.Context, id, status string) error {
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
