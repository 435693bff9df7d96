//go:build openstack && linux

package hypervisors

import (
	"bytes"
	"cmp"
	"context"
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
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/neutron"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/nova"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// RestartRelease is the release of which the pods of a node are replaced, too.
const RestartRelease release.Release = "2025.2"

// Machines is a cloud with hypervisors, with its clients.
type Machines struct {
	// nodes is the number of hypervisors.
	nodes int
	nova.Nova
	Neutron neutron.Neutron
	Glance  glance.Glance
	// KernelArguments are additional arguments of servers' kernels.
	KernelArguments string
	// properties are further ones of the image, and ram the memory of the first flavor in MiB; 0: 128.
	properties map[string]string
	RAM        int
	// raw: the image has a disk that Ceph can clone.
	Raw bool
	// outside is the network of this machine in the cloud's external network: three numbers of its addresses.
	outside string
	began   time.Time
}

// Start creates a cloud from two claims: a control plane, and its hypervisors.
func Start(t *testing.T, plane, pool []byte, number int, options ...func(*clouds.Options)) *Machines {
	t.Helper()
	m := &Machines{began: time.Now(), outside: fmt.Sprintf("203.0.%d", 113+number)}
	cloud := harness.Start(t, plane, func(o *clouds.Options) {
		o.Pool = pool
		for _, set := range options {
			set(o)
		}
		m.nodes = max(o.Nodes, 1)
	})
	m.Lap(t, "both claims are ready")
	if err := sandbox.AddNetwork(cloud.Pool().Uplinks["eth1"], m.outside+".1/24"); err != nil {
		t.Fatal(err)
	}
	provider, ends := harness.Administrator(t, cloud)
	c, err := openstack.NewComputeV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "2.96" // of all releases here
	m.Nova, m.Neutron, m.Glance = nova.Nova{ServiceClient: c, Cloud: cloud}, neutron.Of(t, cloud), glance.Of(t, cloud)
	return m
}

// Lap logs the time of a step since the first claim.
func (m *Machines) Lap(t *testing.T, step string) {
	t.Helper()
	t.Logf("%6.1f s: %s", time.Since(m.began).Seconds(), step)
}

// Guest is a server that is reachable from outside.
type Guest struct {
	Server       servers.Server
	InstanceName string
	Port         ports.Port
	Address      string // the floating one
	http         *http.Client
}

// NewGuest returns a server at an address, without its data in Nova.
func NewGuest(address string) Guest {
	return Guest{Address: address, http: &http.Client{Timeout: 10 * time.Second}}
}

// Boot creates everything that a server needs, and a server.
func (m *Machines) Boot(t *testing.T) Guest {
	t.Helper()
	ctx := context.Background()
	m.Image = m.CreateImage(t)
	flavor := harness.Created(t, func() (*flavors.Flavor, error) {
		return flavors.Create(ctx, m.ServiceClient, flavors.CreateOpts{Name: "guest", RAM: cmp.Or(m.RAM, 128), VCPUs: 1, Disk: new(0)}).Extract()
	})
	m.Flavor = flavor.ID
	outside, inside := m.CreateNetworks(t)
	m.Lap(t, "images, a flavor, networks and a router")
	m.WaitForHypervisor(t)
	m.Lap(t, "a hypervisor in the cell")
	port := harness.Created(t, func() (*ports.Port, error) {
		return ports.Create(ctx, m.Neutron.ServiceClient, ports.CreateOpts{NetworkID: inside, Name: "guest"}).Extract()
	})
	floating := harness.Created(t, func() (*floatingips.FloatingIP, error) {
		return floatingips.Create(ctx, m.Neutron.ServiceClient, floatingips.CreateOpts{FloatingNetworkID: outside, PortID: port.ID}).Extract()
	})
	s, err := servers.Create(ctx, m.ServiceClient, servers.CreateOpts{
		Name: "guest", FlavorRef: m.Flavor, ImageRef: m.Image, Networks: []servers.Network{{Port: port.ID}},
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WaitForServer(ctx, s.ID); err != nil {
		t.Fatalf("%v\n%s", err, m.Logs(t, "nova-compute"))
	}
	m.Lap(t, "the virtual machine is ACTIVE")
	g := NewGuest(floating.FloatingIP)
	g.Port = *port
	shown := servers.Get(ctx, m.ServiceClient, s.ID)
	if err := shown.ExtractInto(&g.Server); err != nil {
		t.Fatal(err)
	}
	var more struct {
		Name string `json:"OS-EXT-SRV-ATTR:instance_name"`
	}
	if err := shown.ExtractInto(&more); err != nil {
		t.Fatal(err)
	}
	g.InstanceName = more.Name
	m.Until(t, "the virtual machine's answer to a ping", s.ID, func() error { return ping.Once(g.Address, time.Second) })
	m.Lap(t, "it replies to a ping from outside")
	m.Until(t, "the virtual machine's answer by HTTP", s.ID, func() error { _, err := g.Get("seconds"); return err })
	m.Lap(t, "it responds to HTTP")
	return g
}

// Until retries until there is no error. The error contains the server's console.
func (m *Machines) Until(t *testing.T, step, id string, try func() error) {
	t.Helper()
	var last error
	err := m.Cloud.Cluster.Wait(context.Background(), operators.Timeout, step, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		console, e := servers.ShowConsoleOutput(context.Background(), m.ServiceClient, id, servers.ShowConsoleOutputOpts{Length: 40}).Extract()
		t.Fatalf("%.400v: %v\nits console (%v):\n%s", err, last, e, console)
	}
}

// CreateImage uploads the image of servers: an empty disk, with a separate kernel and root.
func (m *Machines) CreateImage(t *testing.T) (id string) {
	t.Helper()
	upload := func(name, container, disk string, content io.Reader, properties map[string]string) string {
		i := harness.Created(t, func() (*images.Image, error) {
			return images.Create(context.Background(), m.Glance.ServiceClient, images.CreateOpts{
				Name: name, ContainerFormat: container, DiskFormat: disk, Properties: properties,
			}).Extract()
		})
		m.Glance.Upload(t, i.ID, content, "")
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
	kernel := upload("kernel", "aki", "aki", noDisk(t, harness.Programs.Guest.Kernel), nil)
	root := upload("root", "ari", "ari", open(harness.Programs.Guest.Initrd), nil)
	container, disk := "ami", "ami"
	if m.Raw {
		container, disk = "bare", "raw"
	}
	properties := map[string]string{"kernel_id": kernel, "ramdisk_id": root, "os_command_line": "console=ttyS0 panic=-1" + m.KernelArguments}
	maps.Copy(properties, m.properties)
	return upload("guest", container, disk, strings.NewReader(strings.Repeat("\x00", glance.MiB)), properties)
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

// CreateNetworks creates an external network, a project's network, and a router between them, and accepts the traffic of
// tests.
func (m *Machines) CreateNetworks(t *testing.T) (outside, inside string) {
	t.Helper()
	ctx, c := context.Background(), m.Neutron.ServiceClient
	out := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, c, external.CreateOptsExt{
			External: new(true),
			CreateOptsBuilder: provider.CreateOptsExt{
				CreateOptsBuilder: virtual.CreateOpts{Name: "outside"},
				Segments:          []provider.Segment{{NetworkType: "flat", PhysicalNetwork: "physnet1"}},
			},
		}).Extract()
	})
	harness.Created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, c, subnets.CreateOpts{
			NetworkID: out.ID, IPVersion: gophercloud.IPv4, CIDR: m.outside + ".0/24", EnableDHCP: new(false), GatewayIP: new(m.outside + ".1"),
			AllocationPools: []subnets.AllocationPool{{Start: m.outside + ".10", End: m.outside + ".200"}},
		}).Extract()
	})
	in := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, c, virtual.CreateOpts{Name: "inside"}).Extract()
	})
	subnet := harness.Created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, c, subnets.CreateOpts{NetworkID: in.ID, IPVersion: gophercloud.IPv4, CIDR: "192.0.2.0/24"}).Extract()
	})
	router := harness.Created(t, func() (*routers.Router, error) {
		return routers.Create(ctx, c, routers.CreateOpts{Name: "router", GatewayInfo: &routers.GatewayInfo{NetworkID: out.ID}}).Extract()
	})
	harness.Created(t, func() (*routers.InterfaceInfo, error) {
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
		harness.Created(t, func() (*rules.SecGroupRule, error) { return rules.Create(ctx, c, rule).Extract() })
	}
	return out.ID, in.ID
}

// WaitForHypervisor waits until Nova has all nodes, in their cell.
func (m *Machines) WaitForHypervisor(t *testing.T) {
	t.Helper()
	if err := m.Cloud.WaitForHypervisors(context.Background(), m.ServiceClient); err != nil {
		t.Fatalf("%v\n%s", err, m.Logs(t, "nova-compute"))
	}
}

// Get returns a file that the server serves.
func (g Guest) Get(path string) (string, error) {
	response, err := g.http.Get("http://" + g.Address + "/" + path)
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

const Virsh = "virsh --connect 'qemu+unix:///system?socket=/run/libvirt/libvirt-sock' "

// Serial returns the visible part of a volume's ID in a server.
func Serial(volume string) string {
	const visible = 20
	return volume[:visible]
}

// Disk returns the content of a volume as a server reads it, after writing it if write is set. has is false if the
// server does not see it.
func (g Guest) Disk(volume, write string) (content string, has bool, err error) {
	path := "cgi-bin/disks"
	if write != "" {
		path += "?" + Serial(volume) + "=" + write
	}
	text, err := g.Get(path)
	for line := range strings.Lines(text) {
		if content, has = strings.CutPrefix(line, Serial(volume)); has {
			return strings.TrimSpace(content), true, err
		}
	}
	return "", false, err
}
