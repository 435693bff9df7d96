//go:build openstack && linux

package node

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/hypervisors"
)

// withDisk is the server with a disk.
var withDisk = strings.Replace(domain, "<devices>", `<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/>`+
	`<source file='/var/lib/nova/g.qcow2'/><target dev='vda' bus='virtio'/></disk>`, 1)

// bothNodes binds the server's port to both nodes while it is migrated, and its external address to the server's node,
// as Neutron does for distributed floating IPs. OVN activates the port on the new node when the server announces
// itself.
const bothNodes = `n() { ovn-nbctl --db=unix:/tmp/nb.sock --timeout=60 "$@"; }
n lsp-set-options p1 requested-chassis=%s activation-strategy=rarp`

// TestNodeMigration migrates a server between two nodes, with its disk, with TLS only, and back, while it is pinged. As
// nova-compute does, virsh calls the local libvirt to migrate it to the other one, by the name of its node; there is no
// OpenStack.
func TestNodeMigration(t *testing.T) {
	n := startNodes(t, "node-0", "node-1")
	n.exec(t, "central", topology+`
n lr-nat-del r dnat_and_snat 203.0.113.20
n lr-nat-add r dnat_and_snat 203.0.113.20 192.0.2.10 p1 02:00:00:00:01:03`)
	const secret = "a word that must be encrypted on the wire"
	const plug = "ovs-vsctl --timeout=20 -- add-port br-int tap00000000-01 -- set interface tap00000000-01 external_ids:iface-id=p1 || true"
	for _, node := range []string{"node-0", "node-1"} {
		n.at(node).exec(t, "libvirt", "qemu-img create -q -f qcow2 /var/lib/nova/g.qcow2 256M")
	}
	n.exec(t, "central", fmt.Sprintf(bothNodes, "node-0"))
	n.exec(t, "openvswitch", plug)
	n.exec(t, "libvirt", "echo \""+strings.Replace(withDisk, "console=ttyS0", "console=ttyS0 counts "+strings.ReplaceAll(secret, " ", "-"), 1)+
		"\" >/tmp/g.xml; "+hypervisors.Virsh+"define /tmp/g.xml; "+hypervisors.Virsh+"start g")
	g := hypervisors.NewGuest("203.0.113.20")
	harness.WaitFor(t, n.Cluster, "the virtual machine's answer", func() bool { _, err := g.Get("seconds"); return err == nil })
	for _, way := range [][2]string{{"node-0", "node-1"}, {"node-1", "node-0"}} {
		t.Run("To-"+way[1], func(t *testing.T) {
			from, to := n.at(way[0]), n.at(way[1])
			before, took := counted(t, g, "seconds"), time.Duration(0)
			name := strings.ReplaceAll(to.pod(t, "libvirt").Status.HostIP, ".", "-") + "." + n.namespace + ".pod"
			w := hypervisors.Tap(t, strings.ReplaceAll(secret, " ", "-"))
			came := harness.Ping(t, g.Address, func() {
				n.exec(t, "central", fmt.Sprintf(bothNodes, way[0]+","+way[1]))
				to.exec(t, "openvswitch", plug)
				began := time.Now()
				from.exec(t, "libvirt", hypervisors.Virsh+"migrate --live --p2p --persistent --undefinesource --copy-storage-all --auto-converge --tls g "+
					"qemu+tls://"+name+"/system --migrateuri tcp://"+name)
				took = time.Since(began)
				n.exec(t, "central", fmt.Sprintf(bothNodes, way[1]))
				from.exec(t, "openvswitch", "ovs-vsctl --timeout=20 del-port br-int tap00000000-01")
			})
			w.Stop(t)
			t.Logf("it has moved from %s to %s in %.1f s; %s", way[0], way[1], took.Seconds(), came)
			harness.WaitFor(t, n.Cluster, "the virtual machine's answer", func() bool { _, err := g.Get("seconds"); return err == nil })
			after := counted(t, g, "seconds")
			if disk := counted(t, g, "cgi-bin/disk"); after <= before || disk < after-3 || disk > after+3 {
				t.Errorf("it counted to %d before, and now to %d, and %d on its disk", before, after, disk)
			}
		})
	}
	to := n.at("node-1")
	name := strings.ReplaceAll(to.pod(t, "libvirt").Status.HostIP, ".", "-") + "." + n.namespace + ".pod"
	for label, flags := range map[string]string{
		"a migration in the clear":                        "qemu+tls://" + name + "/system --migrateuri tcp://" + name,
		"a name that the certificate has not":             "--tls qemu+tls://" + to.pod(t, "libvirt").Status.HostIP + "/system",
		"a stream to a name that the certificate has not": "--tls qemu+tls://" + name + "/system --migrateuri tcp://" + to.pod(t, "libvirt").Status.HostIP,
	} {
		out := n.exec(t, "libvirt", "! "+hypervisors.Virsh+"migrate --live --p2p --copy-storage-all g "+flags+" 2>&1")
		t.Logf("%s is refused: %s", label, strings.TrimSpace(out))
	}
	if _, err := g.Get("seconds"); err != nil {
		t.Error(err)
	}
}

// counted returns a number that the server serves.
func counted(t *testing.T, g hypervisors.Guest, path string) int {
	t.Helper()
	text, err := g.Get(path)
	number, e := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || e != nil {
		t.Fatalf("it serves %q at %s: %v, %v", text, path, err, e)
	}
	return number
}
