//go:build openstack && linux

package openstack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	virtual "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/ping"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// restarted is the release of which the pods of a node are replaced, too.
const restarted release.Release = "2025.2"

// TestHypervisors checks that two claims become a cloud of every release in which a server has an address and metadata,
// and is reachable from outside.
func TestHypervisors(t *testing.T) {
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			m := startMachines(t, of(t, "compute.yaml", r, dashed(r)), of(t, "hypervisors.yaml", r, dashed(r)), i)
			g := m.boot(t)
			t.Run("Metadata", func(t *testing.T) { testGuestMetadata(t, m, g) })
			t.Run("Screen", func(t *testing.T) {
				testScreen(t, m.nova, g.server, "QEMU ("+g.instanceName+")")
			})
			t.Run("Status", func(t *testing.T) { testPoolStatus(t, m) })
			t.Run("Capacity", func(t *testing.T) { testCapacity(t, m, 1) })
			t.Run("Shapes", func(t *testing.T) { testShapes(t, m) })
			m.memory(t)
			if r != restarted {
				return
			}
			t.Run("Restarts", func(t *testing.T) { testRestarts(t, m, g, restarts) })
			t.Run("Second", func(t *testing.T) { testSecond(t, m, g) })
			t.Run("Delete", func(t *testing.T) { testDelete(t, m, g) })
			t.Run("Empty", func(t *testing.T) { testCapacity(t, m, 0) })
		})
	}
}

// machines is a cloud with hypervisors, with its clients.
type machines struct {
	// nodes is the number of hypervisors.
	nodes int
	nova
	neutron neutron
	glance  glance
	// kernelArguments are additional arguments of servers' kernels.
	kernelArguments string
	// properties are further ones of the image, and ram the memory of the first flavor in MiB; 0: 128.
	properties map[string]string
	ram        int
	// raw: the image has a disk that Ceph can clone.
	raw bool
	// outside is the network of this machine in the cloud's external network: three numbers of its addresses.
	outside string
	began   time.Time
}

// startMachines creates a cloud from two claims: a control plane, and its hypervisors.
func startMachines(t *testing.T, plane, pool []byte, number int, options ...func(*Options)) *machines {
	t.Helper()
	m := &machines{began: time.Now(), outside: fmt.Sprintf("203.0.%d", 113+number)}
	cloud := start(t, plane, func(o *Options) {
		o.Pool = pool
		for _, set := range options {
			set(o)
		}
		m.nodes = max(o.Nodes, 1)
	})
	m.lap(t, "both claims are ready")
	if err := sandbox.AddNetwork(cloud.Pool().Uplinks["eth1"], m.outside+".1/24"); err != nil {
		t.Fatal(err)
	}
	provider, ends := administrator(t, cloud)
	c, err := openstack.NewComputeV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "2.96" // of all releases here
	m.nova, m.neutron, m.glance = nova{ServiceClient: c, cloud: cloud}, loggedIn(t, cloud), glanceOf(t, cloud)
	return m
}

// lap logs the time of a step since the first claim.
func (m *machines) lap(t *testing.T, step string) {
	t.Helper()
	t.Logf("%6.1f s: %s", time.Since(m.began).Seconds(), step)
}

// guest is a server that is reachable from outside.
type guest struct {
	server       servers.Server
	instanceName string
	port         ports.Port
	address      string // the floating one
	http         *http.Client
}

func newGuest(address string) guest {
	return guest{address: address, http: &http.Client{Timeout: 10 * time.Second}}
}

// boot creates everything that a server needs, and a server.
func (m *machines) boot(t *testing.T) guest {
	t.Helper()
	ctx := context.Background()
	m.image = m.kernel(t)
	flavor := created(t, func() (*flavors.Flavor, error) {
		return flavors.Create(ctx, m.ServiceClient, flavors.CreateOpts{Name: "guest", RAM: cmp.Or(m.ram, 128), VCPUs: 1, Disk: new(0)}).Extract()
	})
	m.flavor = flavor.ID
	outside, inside := m.networks(t)
	m.lap(t, "images, a flavor, networks and a router")
	m.hypervisor(t)
	m.lap(t, "a hypervisor in the cell")
	port := created(t, func() (*ports.Port, error) {
		return ports.Create(ctx, m.neutron.ServiceClient, ports.CreateOpts{NetworkID: inside, Name: "guest"}).Extract()
	})
	floating := created(t, func() (*floatingips.FloatingIP, error) {
		return floatingips.Create(ctx, m.neutron.ServiceClient, floatingips.CreateOpts{FloatingNetworkID: outside, PortID: port.ID}).Extract()
	})
	s, err := servers.Create(ctx, m.ServiceClient, servers.CreateOpts{
		Name: "guest", FlavorRef: m.flavor, ImageRef: m.image, Networks: []servers.Network{{Port: port.ID}},
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.active(ctx, s.ID); err != nil {
		t.Fatalf("%v\n%s", err, m.logs(t, "nova-compute"))
	}
	m.lap(t, "the virtual machine is ACTIVE")
	g := newGuest(floating.FloatingIP)
	g.port = *port
	shown := servers.Get(ctx, m.ServiceClient, s.ID)
	if err := shown.ExtractInto(&g.server); err != nil {
		t.Fatal(err)
	}
	var more struct {
		Name string `json:"OS-EXT-SRV-ATTR:instance_name"`
	}
	if err := shown.ExtractInto(&more); err != nil {
		t.Fatal(err)
	}
	g.instanceName = more.Name
	m.until(t, "the virtual machine's answer to a ping", s.ID, func() error { return ping.Once(g.address, time.Second) })
	m.lap(t, "it replies to a ping from outside")
	m.until(t, "the virtual machine's answer by HTTP", s.ID, func() error { _, err := g.get("seconds"); return err })
	m.lap(t, "it responds to HTTP")
	return g
}

// until retries until there is no error. The error contains the server's console.
func (m *machines) until(t *testing.T, step, id string, try func() error) {
	t.Helper()
	var last error
	err := m.cloud.Cluster.Wait(context.Background(), operators.Timeout, step, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		console, e := servers.ShowConsoleOutput(context.Background(), m.ServiceClient, id, servers.ShowConsoleOutputOpts{Length: 40}).Extract()
		t.Fatalf("%.400v: %v\nits console (%v):\n%s", err, last, e, console)
	}
}

// kernel uploads the image of servers: an empty disk, with a separate kernel and root.
func (m *machines) kernel(t *testing.T) (id string) {
	t.Helper()
	upload := func(name, container, disk string, content io.Reader, properties map[string]string) string {
		i := created(t, func() (*images.Image, error) {
			return images.Create(context.Background(), m.glance.ServiceClient, images.CreateOpts{
				Name: name, ContainerFormat: container, DiskFormat: disk, Properties: properties,
			}).Extract()
		})
		m.glance.upload(t, i.ID, content, "")
		return i.ID
	}
	open := func(file string) io.Reader {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	kernel := upload("kernel", "aki", "aki", noDisk(t, programs.Guest.Kernel), nil)
	root := upload("root", "ari", "ari", open(programs.Guest.Initrd), nil)
	container, disk := "ami", "ami"
	if m.raw {
		container, disk = "bare", "raw"
	}
	properties := map[string]string{"kernel_id": kernel, "ramdisk_id": root, "os_command_line": "console=ttyS0 panic=-1" + m.kernelArguments}
	maps.Copy(properties, m.properties)
	return upload("guest", container, disk, strings.NewReader(strings.Repeat("\x00", mib)), properties)
}

// noDisk returns a kernel without the signature of a boot sector: with it, the target node of a migration treats the
// kernel as a broken disk (nova.virt.images.do_image_deep_inspection), unlike a node that starts the server. QEMU does
// not check it.
func noDisk(t *testing.T, kernel string) io.Reader {
	t.Helper()
	data, err := os.ReadFile(kernel)
	if err != nil {
		t.Fatal(err)
	}
	const signature = 510
	data[signature], data[signature+1] = 0, 0
	return bytes.NewReader(data)
}

// networks creates an external network, a project's network, and a router between them, and accepts the traffic of
// tests.
func (m *machines) networks(t *testing.T) (outside, inside string) {
	t.Helper()
	ctx, c := context.Background(), m.neutron.ServiceClient
	out := created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, c, external.CreateOptsExt{
			External: new(true),
			CreateOptsBuilder: provider.CreateOptsExt{
				CreateOptsBuilder: virtual.CreateOpts{Name: "outside"},
				Segments:          []provider.Segment{{NetworkType: "flat", PhysicalNetwork: "physnet1"}},
			},
		}).Extract()
	})
	created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, c, subnets.CreateOpts{
			NetworkID: out.ID, IPVersion: gophercloud.IPv4, CIDR: m.outside + ".0/24", EnableDHCP: new(false), GatewayIP: new(m.outside + ".1"),
			AllocationPools: []subnets.AllocationPool{{Start: m.outside + ".10", End: m.outside + ".200"}},
		}).Extract()
	})
	in := created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, c, virtual.CreateOpts{Name: "inside"}).Extract()
	})
	subnet := created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, c, subnets.CreateOpts{NetworkID: in.ID, IPVersion: gophercloud.IPv4, CIDR: "192.0.2.0/24"}).Extract()
	})
	router := created(t, func() (*routers.Router, error) {
		return routers.Create(ctx, c, routers.CreateOpts{Name: "router", GatewayInfo: &routers.GatewayInfo{NetworkID: out.ID}}).Extract()
	})
	created(t, func() (*routers.InterfaceInfo, error) {
		return routers.AddInterface(ctx, c, router.ID, routers.AddInterfaceOpts{SubnetID: subnet.ID}).Extract()
	})
	page, err := groups.List(c, groups.ListOpts{Name: "default", ProjectID: in.ProjectID}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := groups.ExtractGroups(page)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d security groups, %v", len(all), err)
	}
	for _, rule := range []rules.CreateOpts{{Protocol: rules.ProtocolICMP}, {Protocol: rules.ProtocolTCP, PortRangeMin: 80, PortRangeMax: 80}} {
		rule.SecGroupID, rule.Direction, rule.EtherType = all[0].ID, rules.DirIngress, rules.EtherType4
		created(t, func() (*rules.SecGroupRule, error) { return rules.Create(ctx, c, rule).Extract() })
	}
	return out.ID, in.ID
}

// hypervisor waits until Nova has all nodes, in their cell.
func (m *machines) hypervisor(t *testing.T) {
	t.Helper()
	if err := m.cloud.WaitForHypervisors(context.Background(), m.ServiceClient); err != nil {
		t.Fatalf("%v\n%s", err, m.logs(t, "nova-compute"))
	}
}

// get returns a file that the server serves.
func (g guest) get(path string) (string, error) {
	response, err := g.http.Get("http://" + g.address + "/" + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return strings.TrimSpace(string(text)), err
}

// testGuestMetadata checks that the server got its metadata, from an agent that authenticated it.
func testGuestMetadata(t *testing.T, m *machines, g guest) {
	var text string
	m.until(t, "its metadata", g.server.ID, func() error { // The server reads the metadata after it has started to serve.
		if _, err := g.get("public-ipv4"); err != nil {
			return err
		}
		metadata, err := g.get("meta_data.json")
		text = metadata
		return err
	})
	var metadata struct {
		UUID string `json:"uuid"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(text), &metadata); err != nil || metadata.UUID != g.server.ID || metadata.Name != "guest" {
		t.Errorf("it knows %s (%v), want the uuid %s", text, err, g.server.ID)
	}
	if text, err := g.get("public-ipv4"); err != nil || text != g.address {
		t.Errorf("its address outside is %q (%v), want %s", text, err, g.address)
	}
}

// testPoolStatus checks that both claims report the node.
func testPoolStatus(t *testing.T, m *machines) {
	m.cloud.Operators.Forward(2 * time.Minute)
	m.until(t, "the node in both claims", "", func() error {
		if err := m.cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		pool, plane := m.cloud.Pool().Status(), m.cloud.Status()
		ovn, _ := plane["ovn"].(map[string]any)
		nodes := float64(m.nodes)
		if pool["phase"] != "Ready" || pool["nodeCount"] != nodes || pool["readyNodes"] != nodes || ovn["chassisCount"] != nodes {
			return fmt.Errorf("the pool is %v with %v of %v nodes, and OVN has %v", pool["phase"], pool["readyNodes"], pool["nodeCount"], ovn)
		}
		return nil
	})
}
