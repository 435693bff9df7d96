//go:build openstack && linux

package volumes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
)

// TestVolumesAttachToServers checks that servers of two claims can attach volumes of a real Ceph, reattach them unchanged, keep them
// while pods of the node are replaced, continue after a rotation of the key, and boot from them.
func TestVolumesAttachToServers(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=volumes")
	}
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			d := Start(t, r, i, harness.Claim(t, "attached.yaml", r, harness.Suffix(r)))
			g := d.Boot(t)
			disk := d.Cinder.CreateVolume(t, volumes.CreateOpts{Name: "disk", Size: 1})
			t.Run("Attach", func(t *testing.T) { testAttach(t, d, g, disk) })
			t.Run("Status", func(t *testing.T) { testAttachable(t, d) })
			t.Run("Restarts", func(t *testing.T) { testAttachedRestarts(t, d, g, disk) })
			t.Run("Boot", func(t *testing.T) { testBootVolume(t, d, g) })
			t.Run("Key", func(t *testing.T) { testCephKey(t, d, g, disk) })
			d.Memory(t)
			t.Run("Delete", func(t *testing.T) { testDeleteVolumes(t, d, g, disk) })
		})
	}
}

// reads waits until a server reads a content from a volume.
func (d *Disks) reads(t *testing.T, g hypervisors.Guest, volume, write, want string) {
	t.Helper()
	d.Until(t, "the content of the volume", g.Server.ID, func() error {
		got, has, err := g.Disk(volume, write)
		if err == nil && (!has || got != want) {
			err = fmt.Errorf("it has the volume: %t, with %q, want %q", has, got, want)
		}
		return err
	})
}

// attach attaches a volume to a server.
func (d *Disks) attach(t *testing.T, g hypervisors.Guest, volume string) {
	t.Helper()
	began := time.Now()
	harness.Created(t, func() (*volumeattach.VolumeAttachment, error) {
		return volumeattach.Create(context.Background(), d.ServiceClient, g.Server.ID, volumeattach.CreateOpts{VolumeID: volume}).Extract()
	})
	if err := d.Cinder.WaitForStatus(context.Background(), volume, "in-use"); err != nil {
		t.Fatalf("%v\n%s%s", err, d.Logs(t, "nova-compute"), d.Logs(t, "volume-keys"))
	}
	t.Logf("attached in %.1f s", time.Since(began).Seconds())
}

// detach detaches a volume.
func (d *Disks) detach(t *testing.T, g hypervisors.Guest, volume string) {
	t.Helper()
	began := time.Now()
	if err := volumeattach.Delete(context.Background(), d.ServiceClient, g.Server.ID, volume).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := d.Cinder.WaitForStatus(context.Background(), volume, "available"); err != nil {
		t.Fatalf("%v\n%s", err, d.Logs(t, "nova-compute"))
	}
	d.Until(t, "the end of the attachment in Nova", g.Server.ID, func() error { // Cinder processes it before Nova records it.
		_, err := volumeattach.Get(context.Background(), d.ServiceClient, g.Server.ID, volume).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		}
		return fmt.Errorf("it still has one (%w)", err)
	})
	t.Logf("detached in %.1f s", time.Since(began).Seconds())
	if _, has, err := g.Disk(volume, ""); has || err != nil {
		t.Errorf("the virtual machine still has the volume: %t, %v", has, err)
	}
}

// unharmed fails if a server has ever failed to read or write any of its disks.
func (d *Disks) unharmed(t *testing.T, g hypervisors.Guest) {
	t.Helper()
	text, err := servers.ShowConsoleOutput(context.Background(), d.ServiceClient, g.Server.ID, servers.ShowConsoleOutputOpts{}).Extract()
	if err != nil || strings.Contains(text, "guest cannot write") || strings.Contains(strings.ToLower(text), "i/o error") {
		t.Errorf("it cannot write (%v):\n%s", err, text)
	}
	node := d.On(t, d.Place(t, g).Host, "libvirt")
	output, err := d.Cloud.Cluster.Exec(context.Background(), node.Namespace, node.Name,
		"virsh", "--connect", "qemu+unix:///system?socket=/run/libvirt/libvirt-sock", "domblkerror", g.InstanceName)
	if err != nil || !strings.Contains(output, "No errors found") {
		t.Errorf("QEMU's check of its disks: %v, %s", err, output)
	}
}

// reattach detaches a volume, and attaches it, and checks its content.
func (d *Disks) reattach(t *testing.T, g hypervisors.Guest, volume, content string) {
	t.Helper()
	d.detach(t, g, volume)
	d.Cinder.Holds(t, volume, []byte(content))
	d.attach(t, g, volume)
	d.reads(t, g, volume, "", content)
}

// testAttach checks that a server can write to a volume, and read it after it was detached. Ceph has the written data.
func testAttach(t *testing.T, d *Disks, g hypervisors.Guest, disk string) {
	if _, has, err := g.Disk(disk, ""); has || err != nil {
		t.Fatalf("it has the volume already: %t, %v", has, err)
	}
	d.attach(t, g, disk)
	d.reads(t, g, disk, "", "")
	d.reads(t, g, disk, "written-by-the-guest", "written-by-the-guest")
	d.reattach(t, g, disk, "written-by-the-guest")
}

// testAttachable checks that the claim reports volumes of all backends as attachable.
func testAttachable(t *testing.T, d *Disks) {
	d.Until(t, "the claim's report", "", func() error {
		if err := d.Cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		if output := d.Cloud.Pool().ConditionMessage("VolumesAttachable"); output != "STATUS_CONDITION_TRUE AllBackendsConfigured" {
			return fmt.Errorf("it reports %q", output)
		}
		return nil
	})
}

// testAttachedRestarts replaces pods of the node while a server writes, and checks that the new pods can attach
// volumes.
func testAttachedRestarts(t *testing.T, d *Disks, g hypervisors.Guest, disk string) {
	for _, component := range []string{"volume-keys", "nova-compute", "libvirt"} {
		t.Run(component, func(t *testing.T) {
			before := d.Seconds(t, g)
			began := time.Now()
			d.ReplacePod(t, component)
			t.Logf("another pod in %.1f s", time.Since(began).Seconds())
			d.reads(t, g, disk, "while-"+component, "while-"+component)
			if component == "libvirt" {
				d.waitForKeys(t)
				t.Logf("libvirt has the key %.1f s after its pod was stopped", time.Since(began).Seconds())
			}
			if component == "nova-compute" {
				d.WaitForHypervisor(t)
			}
			d.reattach(t, g, disk, "while-"+component)
			if after := d.Seconds(t, g); after <= before {
				t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", before, after)
			}
		})
	}
}

// waitForKeys waits until libvirt has the current keys.
func (d *Disks) waitForKeys(t *testing.T) {
	t.Helper()
	for _, pod := range d.Pods(t, "volume-keys") {
		d.Until(t, "the key in libvirt", "", func() error {
			out, err := d.Cloud.Cluster.Exec(context.Background(), pod.Namespace, pod.Name, "sh", "/etc/cobaltcore/volume-keys.sh", "ready")
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
	}
}

// testBootVolume checks that a server can boot from a volume, which Cinder has created from an image.
func testBootVolume(t *testing.T, d *Disks, g hypervisors.Guest) {
	ctx := context.Background()
	image, err := images.Get(ctx, d.Glance.ServiceClient, d.Image).Extract()
	if err != nil {
		t.Fatal(err)
	}
	properties := map[string]string{}
	for _, name := range []string{"kernel_id", "ramdisk_id", "os_command_line"} {
		properties[name], _ = image.Properties[name].(string)
	}
	created := harness.Created(t, func() (*images.Image, error) {
		return images.Create(ctx, d.Glance.ServiceClient, images.CreateOpts{
			Name: "disk", ContainerFormat: "bare", DiskFormat: "raw", Properties: properties,
		}).Extract()
	})
	const content = "of-an-image"
	d.Glance.Upload(t, created.ID, strings.NewReader(content+strings.Repeat("\x00", glance.MiB-len(content))), "")
	root := d.Cinder.CreateVolume(t, volumes.CreateOpts{Name: "root", Size: 1, ImageID: created.ID})
	port, err := ports.Create(ctx, d.Neutron.ServiceClient, ports.CreateOpts{NetworkID: g.Port.NetworkID, Name: "of-a-volume"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	s, err := servers.Create(ctx, d.ServiceClient, servers.CreateOpts{
		Name: "of-a-volume", FlavorRef: d.Flavor, Networks: []servers.Network{{Port: port.ID}},
		BlockDevice: []servers.BlockDevice{{
			SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: root, DeleteOnTermination: true,
		}},
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WaitForServer(ctx, s.ID); err != nil {
		t.Fatalf("%v\n%s", err, d.Logs(t, "nova-compute"))
	}
	d.Until(t, "the virtual machine's disk on its console", s.ID, func() error {
		text, err := servers.ShowConsoleOutput(ctx, d.ServiceClient, s.ID, servers.ShowConsoleOutputOpts{}).Extract()
		want := "guest has a disk: " + hypervisors.Serial(root) + " " + content
		if err == nil && (!strings.Contains(text, want) || !strings.Contains(text, s.ID)) {
			err = fmt.Errorf("its output lacks %q or its ID", want)
		}
		return err
	})
	if err := d.DeleteServer(ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	if err := d.Cinder.WaitForStatus(ctx, root, ""); err != nil {
		t.Errorf("the volume outlives the virtual machine: %v", err)
	}
}

// testCephKey replaces the user's key, and checks that nodes have the new one, and that a running server continues to
// write and can attach a volume.
func testCephKey(t *testing.T, d *Disks, g hypervisors.Guest, disk string) {
	ctx, c := context.Background(), d.Cinder.Ceph
	before := string(c.Keyrings["cinder"])
	if err := c.Rekey(ctx, "cinder"); err != nil {
		t.Fatal(err)
	}
	if string(c.Keyrings["cinder"]) == before {
		t.Fatal("Ceph has not replaced the key")
	}
	d.reads(t, g, disk, "before-nodes-know", "before-nodes-know")
	if err := d.Cloud.Operators.SetSecret(ctx, "tenant-a", "volumes-ceph", cephClient(c, "cinder")); err != nil {
		t.Fatal(err)
	}
	if err := d.Cloud.Operators.Copy(ctx, d.Cloud.Namespace, "tenant-volumes-ceph"); err != nil {
		t.Fatal(err)
	}
	const copied = "volume-key-cinder-volume-ceph-rbd"
	d.Until(t, "the new key in the pool", "", func() error {
		if err := d.Cloud.Operators.Copy(ctx, d.Cloud.Pool().Namespace, copied); err != nil {
			return err
		}
		key, err := d.Cloud.Operators.Secret(ctx, d.Cloud.Pool().Namespace, copied)
		if err == nil && !bytes.Equal(bytes.TrimSpace(key["ceph-rbd.client.cinder.keyring"]), bytes.TrimSpace(c.Keyrings["cinder"])) {
			err = errors.New("the pool has the previous key")
		}
		return err
	})
	// Cinder's function replaces its pods when the companion reports changed contents of the Secret, which no companion
	// does here.
	if err := d.Cloud.Cluster.Evict(d.Cloud.Namespace, "cinder-volume-ceph-rbd-0"); err != nil {
		t.Fatal(err)
	}
	d.waitForKeys(t)
	d.reads(t, g, disk, "after-nodes-know", "after-nodes-know")
	d.reattach(t, g, disk, "after-nodes-know")
}

// listBlocks prints the names of the images in a pool, including its trash.
const listBlocks = `import rados, rbd, sys
conf, user, pool = sys.argv[1:]
with rados.Rados(conffile=conf, rados_id=user) as cluster, cluster.open_ioctx(pool) as pool:
    print(*rbd.RBD().list(pool), *(image["name"] for image in rbd.RBD().trash_list(pool)))
`

// testDeleteVolumes checks that deleted volumes leave nothing in Ceph, once the server that used them is deleted.
func testDeleteVolumes(t *testing.T, d *Disks, g hypervisors.Guest, disk string) {
	ctx := context.Background()
	if err := d.DeleteServer(ctx, g.Server.ID); err != nil {
		t.Fatal(err)
	}
	if err := d.Cinder.WaitForStatus(ctx, disk, "available"); err != nil {
		t.Fatal(err)
	}
	if err := volumes.Delete(ctx, d.Cinder.ServiceClient, disk, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := d.Cinder.WaitForStatus(ctx, disk, ""); err != nil {
		t.Fatal(err)
	}
	if remaining := strings.TrimSpace(string(d.Cinder.Python(t, listBlocks))); remaining != "" {
		t.Errorf("in Ceph there is still %s", remaining)
	}
}
