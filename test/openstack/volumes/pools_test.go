//go:build openstack && linux

package volumes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cinder"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
)

// TestPoolsStoreImagesAndDisks checks that images, volumes and disks of servers are in pools of a StorageCluster with a real Ceph, that
// volumes and disks are clones of their image, that a server writes without an error while the key of Nova's user is
// replaced and Ceph's daemon is killed, that it can be migrated without copying its disks, and that its deletion leaves
// nothing.
func TestPoolsStoreImagesAndDisks(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=pools")
	}
	t.Run(string(hypervisors.RestartRelease), func(t *testing.T) {
		p := startPools(t)
		g := p.Boot(t)
		var disk string
		t.Run("Clones", func(t *testing.T) { disk = testClones(t, p, g) })
		t.Run("Attach", func(t *testing.T) { testAttach(t, p.Disks, g, disk) })
		t.Run("Status", func(t *testing.T) { testStorageStatus(t, p) })
		t.Run("Key", func(t *testing.T) { testNovaKey(t, p, g, disk) })
		t.Run("Daemon", func(t *testing.T) { testDaemon(t, p, g, disk) })
		t.Run("Move", func(t *testing.T) { testMoveShared(t, p, g, disk) })
		t.Run("Snapshot", func(t *testing.T) { testSnapshot(t, p, g) })
		p.Memory(t)
		t.Run("Delete", func(t *testing.T) { testDeleteDisks(t, p, g, disk) })
	})
}

// pools are two nodes with a Cinder, all of which keep their data in pools.
type pools struct{ *Disks }

// startPools creates a cloud from three claims: Ceph, a control plane, and hypervisors.
func startPools(t *testing.T) *pools {
	t.Helper()
	plane := bytes.Replace(harness.Claim(t, "pooled.yaml", hypervisors.RestartRelease, harness.Suffix(hypervisors.RestartRelease)),
		[]byte("      ml2:"), []byte("      distributedFloatingIPs: true\n      ml2:"), 1)
	const pool = "storage: {clusterRef: {namespace: tenant-a, name: ceph}, pool: vms}\n  virtualization:"
	nodes := bytes.Replace(harness.Claim(t, "hypervisors.yaml", hypervisors.RestartRelease, harness.Suffix(hypervisors.RestartRelease)), []byte("virtualization:"), []byte(pool), 1)
	m := hypervisors.Start(t, plane, nodes, 0, func(o *clouds.Options) {
		o.Nodes, o.Storage, o.Disk = 2, harness.Read(t, "storage.yaml"), harness.DiskDir(t)
	})
	m.KernelArguments, m.Raw = " counts", true
	provider, ends := harness.Administrator(t, m.Cloud)
	c, err := openstack.NewBlockStorageV3(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "3.70"
	return &pools{&Disks{Machines: m, Cinder: cinder.Cinder{ServiceClient: c, Cloud: m.Cloud, Ceph: m.Cloud.Storage().Ceph}}}
}

// parent returns the source of a cloned block device: pool/image@snapshot.
func (p *pools) parent(t *testing.T, device string) string {
	t.Helper()
	out, err := p.Cinder.Ceph.Run(context.Background(), "rbd info --format json "+device+" 2>/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Parent struct {
			Pool     string `json:"pool"`
			Image    string `json:"image"`
			Snapshot string `json:"snapshot"`
		} `json:"parent"`
	}
	if err := json.Unmarshal([]byte(out), &info); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return info.Parent.Pool + "/" + info.Parent.Image + "@" + info.Parent.Snapshot
}

// in lists the images in a pool, including its trash.
func (p *pools) in(t *testing.T, pool string) []string {
	t.Helper()
	out, err := p.Cinder.Ceph.Run(context.Background(), fmt.Sprintf("(rbd ls %[1]s; rbd trash ls %[1]s) 2>/dev/null", pool))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(out)
}

// testClones checks that the disk of a server and a volume are clones of the image. It returns the volume.
func testClones(t *testing.T, p *pools, g hypervisors.Guest) (disk string) {
	want := "images/" + p.Image + "@snap"
	if got := p.parent(t, "vms/"+g.Server.ID+"_disk"); got != want {
		t.Errorf("the disk is a clone of %s, want %s\n%s", got, want, p.Logs(t, "nova-compute"))
	}
	disk = p.Cinder.CreateVolume(t, volumes.CreateOpts{Name: "disk", Size: 1, ImageID: p.Image})
	if got := p.parent(t, "volumes/volume-"+disk); got != want {
		t.Errorf("the volume is a clone of %s, want %s", got, want)
	}
	return disk
}

// testStorageStatus checks that the claim is ready, and reports its pool.
func testStorageStatus(t *testing.T, p *pools) {
	if err := p.Cloud.Follow(); err != nil {
		t.Fatal(err)
	}
	status := p.Cloud.Pool().Status()
	known, _ := status["storage"].(map[string]any)
	if status["phase"] != "Ready" || known["pool"] != "vms" || known["user"] != "nova" || known["fsid"] != p.Cinder.Ceph.FSID {
		t.Errorf("the claim is %v, and knows %v", status["phase"], known)
	}
}

// writes fails if the server has ever failed to write, and waits until it has continued to write to both of its disks.
func (p *pools) writes(t *testing.T, g hypervisors.Guest, disk, word string) {
	t.Helper()
	p.reads(t, g, disk, word, word)
	before := p.DiskCount(t, g)
	p.Until(t, "its writes", g.Server.ID, func() error {
		if now := p.DiskCount(t, g); now <= before {
			return fmt.Errorf("on its disk is %d still", now)
		}
		return nil
	})
	p.unharmed(t, g)
}

// testNovaKey replaces the key of Nova's user, and checks that a running server continues to write, that nodes have the
// new key, and that another server starts.
func testNovaKey(t *testing.T, p *pools, g hypervisors.Guest, disk string) {
	ctx, ceph, count := context.Background(), p.Cinder.Ceph, p.Seconds(t, g)
	before := ceph.Key("nova")
	if err := ceph.Rekey(ctx, "nova"); err != nil {
		t.Fatal(err)
	}
	if ceph.Key("nova") == before || ceph.Key("nova") == "" {
		t.Fatal("Ceph has not replaced the key")
	}
	p.writes(t, g, disk, "before-nodes-know")
	cloud, began := p.Cloud, time.Now()
	if err := cloud.GiveKeys(ctx); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Operators.Copy(ctx, cloud.Pool().Namespace, "storage-key-"+rook.SecretName("nova")); err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(ceph.Key("nova"))))
	for component, file := range map[string]string{"nova-compute": "/etc/nova/storage/" + rook.UserKey, "volume-keys": "/etc/keys/spec.storage"} {
		for _, pod := range p.Pods(t, component) {
			p.Until(t, "the new key in "+pod.Name, "", func() error {
				out, err := cloud.Cluster.Exec(ctx, pod.Namespace, pod.Name, "sha256sum", file)
				if err == nil && !strings.HasPrefix(out, digest) {
					err = fmt.Errorf("it has another one: %s", out)
				}
				return err
			})
		}
	}
	p.waitForKeys(t)
	t.Logf("libvirt has the new key on all nodes after %.1f s", time.Since(began).Seconds())
	p.writes(t, g, disk, "after-nodes-know")
	hypervisors.CheckSecondServer(t, p.Machines, g)
	if now := p.Seconds(t, g); now <= count {
		t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", count, now)
	}
}

// testDaemon kills the only daemon with the data, and checks that a server waits until it is restarted.
func testDaemon(t *testing.T, p *pools, g hypervisors.Guest, disk string) {
	count, began := p.Seconds(t, g), time.Now()
	if err := p.Cinder.Ceph.KillOSD(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("Ceph responds again after %.1f s", time.Since(began).Seconds())
	p.writes(t, g, disk, "after-the-daemon")
	t.Logf("the virtual machine writes after %.1f s", time.Since(began).Seconds())
	if now := p.Seconds(t, g); now <= count {
		t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", count, now)
	}
}

// testMoveShared checks that a server can be migrated to the other node without copying its disks.
func testMoveShared(t *testing.T, p *pools, g hypervisors.Guest, disk string) {
	to, count, began := p.OtherNode(t, g), p.Seconds(t, g), time.Now()
	came := harness.Ping(t, g.Address, func() {
		p.Migrate(t, g, to)
		if got := p.WaitForMigration(t, g); got.Status != "completed" {
			t.Fatalf("it has %s\n%s", got.Status, p.Logs(t, "nova-compute"))
		}
	})
	t.Logf("it has moved in %.1f s; %s", time.Since(began).Seconds(), came)
	p.CheckRunning(t, g, count, to)
	p.writes(t, g, disk, "on-the-other-node")
	node := p.On(t, to, "nova-compute")
	files, err := p.Cloud.Cluster.Exec(context.Background(), node.Namespace, node.Name, "ls", "/var/lib/nova/instances/"+g.Server.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(files) {
		if name == "disk" {
			t.Errorf("its disk is on the node: %s", files)
		}
	}
}

// testSnapshot creates an image of a server's disk. Nova's user may not write in the pool of images, so that the data
// is transferred by the node.
func testSnapshot(t *testing.T, p *pools, g hypervisors.Guest) {
	began := time.Now()
	image, err := servers.CreateImage(context.Background(), p.ServiceClient, g.Server.ID, servers.CreateImageOpts{Name: "snapshot"}).ExtractImageID()
	if err != nil {
		t.Fatal(err)
	}
	p.Glance.WaitForImage(t, image)
	t.Logf("an image of its disk after %.1f s", time.Since(began).Seconds())
	if err := p.WaitForServer(context.Background(), g.Server.ID); err != nil {
		t.Error(err)
	}
	content, err := p.Cinder.Ceph.Run(context.Background(), "rbd export --no-progress images/"+image+" - 2>/dev/null | head -c 16 | tr -d '\\0'")
	if err != nil || strings.Trim(content, "0123456789\n") != "" || strings.TrimSpace(content) == "" {
		t.Errorf("the image begins with %q (%v), want the server's counter", content, err)
	}
}

// testDeleteDisks checks that a server's disks are deleted with it, and its volume when it is deleted.
func testDeleteDisks(t *testing.T, p *pools, g hypervisors.Guest, disk string) {
	ctx := context.Background()
	if len(p.in(t, "vms")) == 0 {
		t.Error("the pool is empty before")
	}
	if err := p.DeleteServer(ctx, g.Server.ID); err != nil {
		t.Fatal(err)
	}
	if remaining := p.in(t, "vms"); len(remaining) > 0 {
		t.Errorf("of a virtual machine that was deleted, there is still %v", remaining)
	}
	if err := p.Cinder.WaitForStatus(ctx, disk, "available"); err != nil {
		t.Fatal(err)
	}
	if err := volumes.Delete(ctx, p.Cinder.ServiceClient, disk, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := p.Cinder.WaitForStatus(ctx, disk, ""); err != nil {
		t.Fatal(err)
	}
	if remaining := p.in(t, "volumes"); len(remaining) > 0 {
		t.Errorf("of a volume that was deleted, there is still %v", remaining)
	}
}
