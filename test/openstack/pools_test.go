//go:build openstack && linux

package openstack

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
)

// TestPools checks that images, volumes and disks of servers are in pools of a StorageCluster with a real Ceph, that
// volumes and disks are clones of their image, that a server writes without an error while the key of Nova's user is
// replaced and Ceph's daemon is killed, that it can be migrated without copying its disks, and that its deletion leaves
// nothing.
func TestPools(t *testing.T) {
	if programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=pools")
	}
	t.Run(string(restarted), func(t *testing.T) {
		p := startPools(t)
		g := p.boot(t)
		var disk string
		t.Run("Clones", func(t *testing.T) { disk = testClones(t, p, g) })
		t.Run("Attach", func(t *testing.T) { testAttach(t, p.disks, g, disk) })
		t.Run("Status", func(t *testing.T) { testStorageStatus(t, p) })
		t.Run("Key", func(t *testing.T) { testNovaKey(t, p, g, disk) })
		t.Run("Daemon", func(t *testing.T) { testDaemon(t, p, g, disk) })
		t.Run("Move", func(t *testing.T) { testMoveShared(t, p, g, disk) })
		t.Run("Snapshot", func(t *testing.T) { testSnapshot(t, p, g) })
		p.memory(t)
		t.Run("Delete", func(t *testing.T) { testDeleteDisks(t, p, g, disk) })
	})
}

// pools are two nodes with a Cinder, all of which keep their data in pools.
type pools struct{ *disks }

// startPools creates a cloud from three claims: Ceph, a control plane, and hypervisors.
func startPools(t *testing.T) *pools {
	t.Helper()
	plane := bytes.Replace(of(t, "pooled.yaml", restarted, dashed(restarted)),
		[]byte("      ml2:"), []byte("      distributedFloatingIPs: true\n      ml2:"), 1)
	const pool = "storage: {clusterRef: {namespace: tenant-a, name: ceph}, pool: vms}\n  virtualization:"
	hypervisors := bytes.Replace(of(t, "hypervisors.yaml", restarted, dashed(restarted)), []byte("virtualization:"), []byte(pool), 1)
	m := startMachines(t, plane, hypervisors, 0, func(o *Options) { o.Nodes, o.Storage, o.Disk = 2, read(t, "storage.yaml"), onDisk(t) })
	m.kernelArguments, m.raw = " counts", true
	provider, ends := administrator(t, m.cloud)
	c, err := openstack.NewBlockStorageV3(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "3.70"
	return &pools{&disks{machines: m, cinder: cinder{ServiceClient: c, cloud: m.cloud, ceph: m.cloud.Storage().Ceph}}}
}

// parent returns the source of a cloned block device: pool/image@snapshot.
func (p *pools) parent(t *testing.T, device string) string {
	t.Helper()
	out, err := p.cinder.ceph.Run(context.Background(), "rbd info --format json "+device+" 2>/dev/null")
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
	out, err := p.cinder.ceph.Run(context.Background(), fmt.Sprintf("(rbd ls %[1]s; rbd trash ls %[1]s) 2>/dev/null", pool))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(out)
}

// testClones checks that the disk of a server and a volume are clones of the image. It returns the volume.
func testClones(t *testing.T, p *pools, g guest) (disk string) {
	want := "images/" + p.image + "@snap"
	if got := p.parent(t, "vms/"+g.server.ID+"_disk"); got != want {
		t.Errorf("the disk is a clone of %s, want %s\n%s", got, want, p.logs(t, "nova-compute"))
	}
	disk = p.cinder.create(t, volumes.CreateOpts{Name: "disk", Size: 1, ImageID: p.image})
	if got := p.parent(t, "volumes/volume-"+disk); got != want {
		t.Errorf("the volume is a clone of %s, want %s", got, want)
	}
	return disk
}

// testStorageStatus checks that the claim is ready, and reports its pool.
func testStorageStatus(t *testing.T, p *pools) {
	if err := p.cloud.Follow(); err != nil {
		t.Fatal(err)
	}
	status := p.cloud.Pool().Status()
	known, _ := status["storage"].(map[string]any)
	if status["phase"] != "Ready" || known["pool"] != "vms" || known["user"] != "nova" || known["fsid"] != p.cinder.ceph.FSID {
		t.Errorf("the claim is %v, and knows %v", status["phase"], known)
	}
}

// writes fails if the server has ever failed to write, and waits until it has continued to write to both of its disks.
func (p *pools) writes(t *testing.T, g guest, disk, word string) {
	t.Helper()
	p.reads(t, g, disk, word, word)
	before := p.diskCount(t, g)
	p.until(t, "its writes", g.server.ID, func() error {
		if now := p.diskCount(t, g); now <= before {
			return fmt.Errorf("on its disk is %d still", now)
		}
		return nil
	})
	p.unharmed(t, g)
}

// testNovaKey replaces the key of Nova's user, and checks that a running server continues to write, that nodes have the
// new key, and that another server starts.
func testNovaKey(t *testing.T, p *pools, g guest, disk string) {
	ctx, ceph, count := context.Background(), p.cinder.ceph, p.seconds(t, g)
	before := ceph.Key("nova")
	if err := ceph.Rekey(ctx, "nova"); err != nil {
		t.Fatal(err)
	}
	if ceph.Key("nova") == before || ceph.Key("nova") == "" {
		t.Fatal("Ceph has not replaced the key")
	}
	p.writes(t, g, disk, "before-nodes-know")
	cloud, began := p.cloud, time.Now()
	if err := cloud.GiveKeys(ctx); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Operators.Copy(ctx, cloud.Pool().Namespace, "storage-key-"+rook.SecretName("nova")); err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(ceph.Key("nova"))))
	for component, file := range map[string]string{"nova-compute": "/etc/nova/storage/" + rook.UserKey, "volume-keys": "/etc/keys/spec.storage"} {
		for _, pod := range p.pods(t, component) {
			p.until(t, "the new key in "+pod.Name, "", func() error {
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
	testSecond(t, p.machines, g)
	if now := p.seconds(t, g); now <= count {
		t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", count, now)
	}
}

// testDaemon kills the only daemon with the data, and checks that a server waits until it is restarted.
func testDaemon(t *testing.T, p *pools, g guest, disk string) {
	count, began := p.seconds(t, g), time.Now()
	if err := p.cinder.ceph.KillOSD(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("Ceph responds again after %.1f s", time.Since(began).Seconds())
	p.writes(t, g, disk, "after-the-daemon")
	t.Logf("the virtual machine writes after %.1f s", time.Since(began).Seconds())
	if now := p.seconds(t, g); now <= count {
		t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", count, now)
	}
}

// testMoveShared checks that a server can be migrated to the other node without copying its disks.
func testMoveShared(t *testing.T, p *pools, g guest, disk string) {
	to, count, began := p.otherNode(t, g), p.seconds(t, g), time.Now()
	came := pinged(t, g.address, func() {
		p.moves(t, g, to)
		if got := p.moved(t, g); got.Status != "completed" {
			t.Fatalf("it has %s\n%s", got.Status, p.logs(t, "nova-compute"))
		}
	})
	t.Logf("it has moved in %.1f s; %s", time.Since(began).Seconds(), came)
	p.goesOn(t, g, count, to)
	p.writes(t, g, disk, "on-the-other-node")
	node := p.on(t, to, "nova-compute")
	files, err := p.cloud.Cluster.Exec(context.Background(), node.Namespace, node.Name, "ls", "/var/lib/nova/instances/"+g.server.ID)
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
func testSnapshot(t *testing.T, p *pools, g guest) {
	began := time.Now()
	image, err := servers.CreateImage(context.Background(), p.ServiceClient, g.server.ID, servers.CreateImageOpts{Name: "snapshot"}).ExtractImageID()
	if err != nil {
		t.Fatal(err)
	}
	p.glance.waitForImage(t, image)
	t.Logf("an image of its disk after %.1f s", time.Since(began).Seconds())
	if err := p.active(context.Background(), g.server.ID); err != nil {
		t.Error(err)
	}
	content, err := p.cinder.ceph.Run(context.Background(), "rbd export --no-progress images/"+image+" - 2>/dev/null | head -c 16 | tr -d '\\0'")
	if err != nil || strings.Trim(content, "0123456789\n") != "" || strings.TrimSpace(content) == "" {
		t.Errorf("the image begins with %q (%v), want the server's counter", content, err)
	}
}

// testDeleteDisks checks that a server's disks are deleted with it, and its volume when it is deleted.
func testDeleteDisks(t *testing.T, p *pools, g guest, disk string) {
	ctx := context.Background()
	if len(p.in(t, "vms")) == 0 {
		t.Error("the pool is empty before")
	}
	if err := p.delete(ctx, g.server.ID); err != nil {
		t.Fatal(err)
	}
	if remaining := p.in(t, "vms"); len(remaining) > 0 {
		t.Errorf("of a virtual machine that was deleted, there is still %v", remaining)
	}
	if err := p.cinder.becomes(ctx, disk, "available"); err != nil {
		t.Fatal(err)
	}
	if err := volumes.Delete(ctx, p.cinder.ServiceClient, disk, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := p.cinder.becomes(ctx, disk, ""); err != nil {
		t.Fatal(err)
	}
	if remaining := p.in(t, "volumes"); len(remaining) > 0 {
		t.Errorf("of a volume that was deleted, there is still %v", remaining)
	}
}
