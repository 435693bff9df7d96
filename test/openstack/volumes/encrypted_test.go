//go:build openstack && linux

package volumes

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/barbican"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
)

// TestVolumesEncrypted checks that a server can write to a volume whose key is in Barbican, and read it after
// reattaching it, and from another volume created from it, and from an image of it. Ceph contains only encrypted data,
// and the keys are deleted with the volumes and the image.
func TestVolumesEncrypted(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=volumes")
	}
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			claim := strings.Replace(string(harness.Claim(t, "attached.yaml", r, harness.Suffix(r))), "    cinder:\n",
				"    barbican:\n      enabled: true\n      uwsgi: {processes: 1}\n    cinder:\n", 1)
			d := Start(t, r, i, []byte(claim))
			e := encrypted{d, barbican.Of(t, d.Cloud)}
			kind := e.kind(t)
			g := d.Boot(t)

			first := e.create(t, volumes.CreateOpts{Name: "first", Size: 1, VolumeType: kind})
			const secret = "only-who-has-the-key-reads-this"
			d.attach(t, g, first)
			d.reads(t, g, first, secret, secret)
			e.hides(t, first, secret)
			t.Run("Again", func(t *testing.T) {
				d.ReplacePod(t, "nova-compute")
				d.WaitForHypervisor(t)
				d.detach(t, g, first)
				d.attach(t, g, first)
				d.reads(t, g, first, "", secret)
				d.detach(t, g, first)
			})
			var created []string
			t.Run("Volume", func(t *testing.T) {
				of := e.create(t, volumes.CreateOpts{Name: "of a volume", Size: 1, SourceVolID: first})
				e.checkContent(t, g, of, secret)
				created = append(created, of)
			})
			image := ""
			t.Run("Image", func(t *testing.T) {
				image = e.image(t, first)
				// With the LUKS header, the image is larger than the volume was.
				of := e.create(t, volumes.CreateOpts{Name: "of an image", Size: 2, VolumeType: kind, ImageID: image})
				e.checkContent(t, g, of, secret)
				created = append(created, of)
			})
			t.Run("Delete", func(t *testing.T) { e.deleteAll(t, image, append(created, first)) })
			d.Memory(t)
		})
	}
}

// encrypted are volumes with keys.
type encrypted struct {
	*Disks
	keys barbican.Barbican
}

// kind creates the type of encrypted volumes, as described in docs/barbican.md, and returns its name.
func (e encrypted) kind(t *testing.T) string {
	t.Helper()
	const name = "luks"
	created, err := volumetypes.Create(context.Background(), e.Cinder.ServiceClient, volumetypes.CreateOpts{Name: name}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := volumetypes.CreateEncryption(context.Background(), e.Cinder.ServiceClient, created.ID, volumetypes.CreateEncryptionOpts{
		Provider: "luks", Cipher: "aes-xts-plain64", KeySize: 256, ControlLocation: "front-end",
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	return name
}

// create creates a volume that is encrypted with LUKS in Ceph.
func (e encrypted) create(t *testing.T, opts volumes.CreateOpts) string {
	t.Helper()
	id := e.Cinder.CreateVolume(t, opts)
	if v, err := volumes.Get(context.Background(), e.Cinder.ServiceClient, id).Extract(); err != nil || !v.Encrypted {
		t.Errorf("the volume is not encrypted: %+v, %v", v, err)
	}
	const magic = "LUKS\xba\xbe" // https://gitlab.com/cryptsetup/LUKS2-docs
	e.Cinder.Holds(t, id, []byte(magic))
	return id
}

// hides fails if the content of a volume can be read in Ceph.
func (e encrypted) hides(t *testing.T, volume, content string) {
	t.Helper()
	if bytes.Contains(e.Cinder.Block(t, volume, 256*glance.MiB), []byte(content)) {
		t.Error("Ceph has the unencrypted content")
	}
}

// checkContent checks that a server reads a content from a volume, which is not readable in Ceph.
func (e encrypted) checkContent(t *testing.T, g hypervisors.Guest, volume, content string) {
	t.Helper()
	e.attach(t, g, volume)
	e.reads(t, g, volume, "", content)
	e.hides(t, volume, content)
	e.detach(t, g, volume)
}

// image creates an image of a volume.
func (e encrypted) image(t *testing.T, volume string) string {
	t.Helper()
	began := time.Now()
	created, err := volumes.UploadImage(context.Background(), e.Cinder.ServiceClient, volume, volumes.UploadImageOpts{
		ImageName: "of an encrypted volume", DiskFormat: "raw", ContainerFormat: "bare",
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	e.Cinder.WaitForVolume(t, volume)
	e.Glance.WaitForImage(t, created.ImageID)
	got, err := images.Get(context.Background(), e.Glance.ServiceClient, created.ImageID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if key, _ := got.Properties["cinder_encryption_key_id"].(string); key == "" {
		t.Errorf("the image has no separate key: %v", got.Properties)
	}
	t.Logf("image of an encrypted volume in %.1f s", time.Since(began).Seconds())
	return created.ImageID
}

// deleteAll deletes volumes and an image, and waits until no key is left.
func (e encrypted) deleteAll(t *testing.T, image string, all []string) {
	t.Helper()
	ctx := context.Background()
	if n := e.count(t); n != len(all)+1 {
		t.Errorf("there are %d keys, for %d volumes and an image", n, len(all))
	}
	for _, id := range all {
		if err := volumes.Delete(ctx, e.Cinder.ServiceClient, id, nil).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range all {
		if err := e.Cinder.WaitForStatus(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := images.Delete(ctx, e.Glance.ServiceClient, image).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	e.Until(t, "the end of all keys", "", func() error {
		if n := e.count(t); n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// count returns the number of keys in the administrator's project.
func (e encrypted) count(t *testing.T) int {
	t.Helper()
	page, err := secrets.List(e.keys.ServiceClient, secrets.ListOpts{}).AllPages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, err := secrets.ExtractSecrets(page)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
