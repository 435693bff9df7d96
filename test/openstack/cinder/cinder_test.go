//go:build openstack && linux

package cinder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack"
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
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestCinder checks that the Cinder of every release keeps volumes in a real Ceph, with two managers that share them,
// and backups in a bucket. The data read from a volume is the written data, whatever operations happened in between.
func TestCinder(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=cinder")
	}
	ceph := harness.StartCeph(t)
	for _, r := range release.Releases() {
		// One after the other: each has eight daemons in addition to the common ones.
		t.Run(string(r), func(t *testing.T) {
			c := startCinder(t, r, harness.Suffix(r), ceph)
			t.Run("Entries", func(t *testing.T) {
				harness.CheckCatalog(t, c.Cloud, cinderv1.ServiceName, cinderv1.ServiceType, cinderv1.Port, cinderv1.Version)
			})
			t.Run("Capacity", func(t *testing.T) { testCapacityReport(t, c, r == release.Releases()[len(release.Releases())-1]) })
			t.Run("Types", func(t *testing.T) { testVolumeTypes(t, c) })
			t.Run("Volumes", func(t *testing.T) { testVolumes(t, c) })
			t.Run("Backup", func(t *testing.T) { testVolumeBackup(t, c) })
			t.Run("Managers", func(t *testing.T) { testManagers(t, c) })
			if r == release.Releases()[len(release.Releases())-1] {
				t.Run("Silence", func(t *testing.T) { testSilentManagers(t, c) })
			}
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, c.Cloud, cinderv1.ServiceName, VolumesUsed(t, c)) })
		})
	}
}

// TestCinderUpgrade upgrades a Cinder from one SLURP release to the next while volumes are created, and checks that no
// request fails. The data of volumes is kept.
func TestCinderUpgrade(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=cinder")
	}
	c := startCinder(t, harness.UpgradeFrom, "-up", harness.StartCeph(t))
	image, data := c.imaged(t)
	retained := c.CreateVolume(t, volumes.CreateOpts{Name: "kept", Size: 1, ImageID: image})
	load := VolumesUsed(t, c)
	load.More(t, 6)
	harness.Upgrade(t, c.Cloud, harness.Claim(t, "volumes.yaml", harness.UpgradeTo, "-up"), harness.UpgradeTo, "keystone", "glance", cinderv1.ServiceName)
	load.More(t, 12)
	load.Stop(t)
	t.Log(load)
	c.Holds(t, retained, data)
}

func startCinder(t *testing.T, r release.Release, end string, ceph *operators.Ceph) Cinder {
	t.Helper()
	return startOf(t, string(harness.Claim(t, "volumes.yaml", r, end)), end, ceph)
}

// startOf starts a Cinder with a given claim.
func startOf(t *testing.T, claim, end string, ceph *operators.Ceph) Cinder {
	t.Helper()
	authority, err := pki.New("objects")
	if err != nil {
		t.Fatal(err)
	}
	bucket := &harness.ObjectStore{Host: "s3.volumes" + end + ".tenant-a.example.com", Bucket: "backups", Key: "backups", Secret: "s3cret+/=$%"}
	cloud := harness.Start(t, []byte(claim), func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{
			"volumes-ceph": {cinderv1.CephConfigKey: ceph.Configuration(), cinderv1.CephKeyringKey: ceph.Keyrings["cinder"]},
			"volumes-s3": {
				cinderv1.S3AccessKeyIDKey: []byte(bucket.Key), cinderv1.S3SecretAccessKeyKey: []byte(bucket.Secret), "ca.crt": authority.Certificate,
			},
		}
		o.Prepare = func(c *clouds.Cloud) error { return bucket.Start(t, c.Cluster, authority) }
	})
	provider, ends := harness.Administrator(t, cloud)
	c, err := openstack.NewBlockStorageV3(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "3.70"
	return Cinder{c, cloud, ceph, bucket}
}

// imaged uploads an image of 8 MiB, and returns its content.
func (c Cinder) imaged(t *testing.T) (id string, data []byte) {
	t.Helper()
	g := glance.Of(t, c.Cloud)
	data, id = glance.Content(8*glance.MiB), g.CreateImage(t, "image", "raw")
	g.Upload(t, id, glance.InOneChunk(data), "")
	return id, data
}

// testVolumeTypes checks the volume types of the claim.
func testVolumeTypes(t *testing.T, c Cinder) {
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
func testVolumes(t *testing.T, c Cinder) {
	ctx := context.Background()
	image, data := c.imaged(t)
	empty := c.CreateVolume(t, volumes.CreateOpts{Name: "empty", Size: 1})
	v, err := volumes.Get(ctx, c.ServiceClient, empty).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if v.VolumeType != "fast" {
		t.Errorf("a volume without a type is %s, want fast", v.VolumeType)
	}
	if got := c.Block(t, empty, 16); !bytes.Equal(got, make([]byte, 16)) {
		t.Errorf("an empty volume begins with %x", got)
	}
	of := c.CreateVolume(t, volumes.CreateOpts{Name: "of an image", Size: 1, ImageID: image})
	c.Holds(t, of, data)
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
	c.Holds(t, c.CreateVolume(t, volumes.CreateOpts{Name: "of a snapshot", Size: 1, SnapshotID: snapshot.ID}), data)
	clone := c.CreateVolume(t, volumes.CreateOpts{Name: "of a volume", Size: 1, SourceVolID: of})
	c.Holds(t, clone, data)
	if err := volumes.ExtendSize(ctx, c.ServiceClient, clone, volumes.ExtendSizeOpts{NewSize: 2}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	c.WaitForVolume(t, clone)
	if got := string(c.Block(t, clone, 0)); got != fmt.Sprint(2<<30) {
		t.Errorf("a volume of 2 GiB has %s bytes", got)
	}
	began := time.Now()
	uploaded, err := volumes.UploadImage(ctx, c.ServiceClient, of, volumes.UploadImageOpts{
		ImageName: "of a volume", DiskFormat: "raw", ContainerFormat: "bare", Force: true,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	c.WaitForVolume(t, of)
	g := glance.Of(t, c.Cloud)
	g.WaitForImage(t, uploaded.ImageID)
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
func testVolumeBackup(t *testing.T, c Cinder) {
	image, data := c.imaged(t)
	c.BackUp(t, image, data, func() []string { return c.bucket.Names(t) })
}

// testManagers stops one of two managers while ten volumes are created, and checks that all are created: the other
// manager takes over, and the first one returns.
func testManagers(t *testing.T, c Cinder) {
	ctx := context.Background()
	var all []string
	for i := range 10 {
		v, err := volumes.Create(ctx, c.ServiceClient, volumes.CreateOpts{Name: fmt.Sprintf("of ten-%d", i), Size: 1}, nil).Extract()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v.ID)
		if i == 4 {
			if err := c.Cloud.Cluster.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: c.Cloud.Namespace, Name: "cinder-volume-ceph-rbd-0",
			}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range all {
		c.WaitForVolume(t, id)
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

// testSilentManagers creates a volume after both managers have not reported for longer than Cinder's default for a service that is down
// (60 s), as in a rollout on busy nodes. The volume waits for the managers, and does not fail.
func testSilentManagers(t *testing.T, c Cinder) {
	signal := func(ctx context.Context, name string) { // [c] excludes the shell itself.
		command := `for p in /proc/[0-9]*; do case "$(tr '\0' ' ' < $p/cmdline 2>/dev/null)" in *[c]inder-volume*) kill -` + name + ` ${p#/proc/} || true;; esac; done`
		for _, pod := range []string{"cinder-volume-ceph-rbd-0", "cinder-volume-ceph-rbd-1"} {
			if out, err := c.Cloud.Cluster.Exec(ctx, c.Cloud.Namespace, pod, "sh", "-c", command); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	resumed := false
	signal(t.Context(), "STOP")
	t.Cleanup(func() {
		if !resumed {
			signal(context.Background(), "CONT")
		}
	})
	time.Sleep(75 * time.Second)
	v, err := volumes.Create(t.Context(), c.ServiceClient, volumes.CreateOpts{Name: "of silent managers", Size: 1}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	waiting, err := volumes.Get(t.Context(), c.ServiceClient, v.ID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if waiting.Status != "creating" {
		t.Errorf("the volume is %s while no manager runs, want creating", waiting.Status)
	}
	signal(t.Context(), "CONT")
	resumed = true
	c.WaitForVolume(t, v.ID)
}
