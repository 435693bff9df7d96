//go:build openstack && linux

package neutron

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	virtual "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestNeutron checks that the Neutron of every release, with two pods of its API, creates networks in OVN.
func TestNeutron(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			n := startNeutron(t, r, harness.Suffix(r))
			t.Run("Entries", func(t *testing.T) {
				harness.CheckCatalog(t, n.cloud, neutronv1.ServiceName, neutronv1.ServiceType, neutronv1.Port, "")
			})
			t.Run("Networks", func(t *testing.T) { testNetworks(t, n) })
			t.Run("Aging", func(t *testing.T) { testAging(t, n) })
			t.Run("Ports", func(t *testing.T) { testPorts(t, n, 100) })
			t.Run("Sync", func(t *testing.T) { testSync(t, n, r) })
			t.Run("Leaders", func(t *testing.T) { testLeaders(t, n) })
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, n.cloud, neutronv1.ServiceName, portsUsed(t, n)) })
		})
	}
}

// testLeaders kills the leader of each of OVN's databases, twice, while clients create, show and delete ports. No
// request fails.
func testLeaders(t *testing.T, n Neutron) {
	ctx := context.Background()
	load := portsUsed(t, n)
	for range 2 {
		for _, database := range []string{"northbound", "southbound"} {
			load.More(t, 10)
			raft := &c5c3v1.RaftCluster{}
			key := client.ObjectKey{Namespace: n.cloud.Namespace, Name: ovnv1.Name + "-" + database}
			err := n.cloud.Cluster.Wait(ctx, time.Minute, "three members of "+key.Name+", one of which leads", func(ctx context.Context) (bool, error) {
				if err := n.cloud.Cluster.Client.Get(ctx, key, raft); err != nil {
					return false, err
				}
				joined := 0
				for _, m := range raft.Status.Members {
					if m.State == "Joined" {
						joined++
					}
				}
				// The known state may be older than the last kill.
				return joined == 3 && raft.Status.Leader != "" && n.cloud.Cluster.Kill(n.cloud.Namespace, raft.Status.Leader) == nil, nil
			})
			if err != nil {
				t.Fatalf("%v\n%+v", err, raft.Status)
			}
		}
	}
	load.More(t, 20)
	load.Stop(t)
	t.Log(load)
}

// TestNeutronPorts creates many ports in parallel, with all workers of two pods, and checks that OVN has each of them
// once.
func TestNeutronPorts(t *testing.T) {
	t.Parallel()
	testPorts(t, startNeutron(t, harness.Newest, "-many"), 3000)
}

// TestNeutronUpgrade checks that a Neutron can be upgraded from one SLURP release to the next while ports are created,
// and that no request fails.
func TestNeutronUpgrade(t *testing.T) {
	t.Parallel()
	n := startNeutron(t, harness.UpgradeFrom, "-up")
	load := portsUsed(t, n)
	load.More(t, 10)
	harness.Upgrade(t, n.cloud, harness.Claim(t, "networks.yaml", harness.UpgradeTo, "-up"), harness.UpgradeTo, "keystone", neutronv1.ServiceName)
	load.More(t, 20)
	load.Stop(t)
	t.Log(load)
}

// TestNeutronOVN updates the image of OVN while ports are created, its databases before the processes between them. No
// request fails, and nothing is lost. The images differ only in their tags.
func TestNeutronOVN(t *testing.T) {
	t.Parallel()
	n := startNeutron(t, harness.Newest, "-ovn")
	load := portsUsed(t, n)
	load.More(t, 10)
	from, err := release.ImageFor(release.OVN, "", release.Override{})
	if err != nil {
		t.Fatal(err)
	}
	const next = "next"
	r, began := harness.WatchRollout(t, n.cloud), time.Now()
	claim := strings.Replace(string(harness.Claim(t, "networks.yaml", harness.Newest, "-ovn")), "      ovn:\n", "      ovn:\n        ovnImage: {tag: "+next+"}\n", 1)
	harness.Change(t, n.cloud, []byte(claim))
	if err := n.cloud.Cluster.Wait(context.Background(), 10*time.Minute, "northd of another image", func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := n.cloud.Cluster.Client.List(ctx, pods, client.InNamespace(n.cloud.Namespace), client.MatchingLabels{
			"app.kubernetes.io/instance": ovnv1.Name, harness.ComponentLabel: "northd",
		})
		renewed := 0
		for _, p := range pods.Items {
			if p.DeletionTimestamp == nil && strings.HasSuffix(p.Spec.Containers[0].Image, ":"+next) && p.Status.Phase == corev1.PodRunning {
				renewed++
			}
		}
		return renewed == 2 && len(pods.Items) == 2, err
	}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	load.More(t, 20)
	load.Stop(t)
	r.Stop()
	t.Logf("in %.0f s, meanwhile %s", took.Seconds(), load)
	_, tag, _ := strings.Cut(from, ":")
	pods := func(component string) harness.Stage {
		return harness.Stage{Label: ovnv1.Name + " " + component, From: tag, To: next}
	}
	r.CheckOrder(t, []harness.Stage{pods("northbound"), pods("northd")}, []harness.Stage{pods("southbound"), pods("northd")})
	testPorts(t, n, 20)
}

// TestNeutronAgents checks that a Neutron without OVN creates networks, and that the endpoints of agents are available
// in its queue.
func TestNeutronAgents(t *testing.T) {
	for _, r := range []release.Release{harness.UpgradeFrom, harness.Newest} {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			claim := string(harness.Claim(t, "networks.yaml", r, "-agents"+harness.Suffix(r)))
			without, rest, _ := strings.Cut(claim, "      ovn:\n")
			_, global, _ := strings.Cut(rest, "  global:\n")
			n := Of(t, harness.Start(t, []byte(without+"      mechanism: OVS\n  global:\n"+global), nil))
			ctx := context.Background()
			own := harness.Created(t, func() (*virtual.Network, error) {
				return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "own"}).Extract()
			})
			harness.Created(t, func() (*subnets.Subnet, error) {
				return subnets.Create(ctx, n.ServiceClient, subnets.CreateOpts{
					NetworkID: own.ID, IPVersion: gophercloud.IPv4, CIDR: "192.0.2.0/24",
				}).Extract()
			})
			port := harness.Created(t, func() (*ports.Port, error) {
				return ports.Create(ctx, n.ServiceClient, ports.CreateOpts{NetworkID: own.ID, Name: "machine"}).Extract()
			})
			harness.Created(t, func() (*routers.Router, error) {
				return routers.Create(ctx, n.ServiceClient, routers.CreateOpts{Name: "router"}).Extract()
			})
			// A packet of VXLAN has 50 bytes more.
			if got := n.mtu(t, own.ID); got != 8950 || len(port.FixedIPs) != 1 {
				t.Errorf("MTU %d, addresses %v", got, port.FixedIPs)
			}
		})
	}
}

func startNeutron(t *testing.T, r release.Release, end string) Neutron {
	t.Helper()
	return Of(t, harness.Start(t, harness.Claim(t, "networks.yaml", r, end), nil))
}

// testNetworks creates a project's network with a router to an external one, and a floating IP, and checks that OVN has
// all of it.
func testNetworks(t *testing.T, n Neutron) {
	ctx := context.Background()
	outside := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, external.CreateOptsExt{
			External: new(true),
			CreateOptsBuilder: provider.CreateOptsExt{
				CreateOptsBuilder: virtual.CreateOpts{Name: "outside"},
				Segments:          []provider.Segment{{NetworkType: "flat", PhysicalNetwork: "physnet1"}},
			},
		}).Extract()
	})
	harness.Created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, n.ServiceClient, subnets.CreateOpts{
			NetworkID: outside.ID, IPVersion: gophercloud.IPv4, CIDR: "203.0.113.0/24", EnableDHCP: new(false),
		}).Extract()
	})
	own := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "own"}).Extract()
	})
	inside := harness.Created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, n.ServiceClient, subnets.CreateOpts{
			NetworkID: own.ID, IPVersion: gophercloud.IPv4, CIDR: "192.0.2.0/24",
		}).Extract()
	})
	router := harness.Created(t, func() (*routers.Router, error) {
		return routers.Create(ctx, n.ServiceClient, routers.CreateOpts{
			Name: "router", GatewayInfo: &routers.GatewayInfo{NetworkID: outside.ID},
		}).Extract()
	})
	harness.Created(t, func() (*routers.InterfaceInfo, error) {
		return routers.AddInterface(ctx, n.ServiceClient, router.ID, routers.AddInterfaceOpts{SubnetID: inside.ID}).Extract()
	})
	port := harness.Created(t, func() (*ports.Port, error) {
		return ports.Create(ctx, n.ServiceClient, ports.CreateOpts{NetworkID: own.ID, Name: "machine"}).Extract()
	})
	floating := harness.Created(t, func() (*floatingips.FloatingIP, error) {
		return floatingips.Create(ctx, n.ServiceClient, floatingips.CreateOpts{FloatingNetworkID: outside.ID, PortID: port.ID}).Extract()
	})
	switches := n.Ovn(t, "northbound", "Logical_Switch", "name")
	if diff := cmp.Diff(sorted("neutron-"+own.ID, "neutron-"+outside.ID), switches); diff != "" {
		t.Errorf("networks (-want +got):\n%s", diff)
	}
	if got := n.Ovn(t, "northbound", "Logical_Router", "name"); !slices.Equal(got, []string{"neutron-" + router.ID}) {
		t.Errorf("routers: %v", got)
	}
	if got := n.Ovn(t, "northbound", "Logical_Switch_Port", "name"); !slices.Contains(got, port.ID) {
		t.Errorf("port %s is not among %v", port.ID, got)
	}
	if got := n.Ovn(t, "northbound", "NAT", "external_ip"); !slices.Contains(got, floating.FloatingIP) {
		t.Errorf("floating IP %s is not among %v", floating.FloatingIP, got)
	}
	// northd has translated it for the nodes.
	if got := n.Ovn(t, "southbound", "Port_Binding", "logical_port"); !slices.Contains(got, port.ID) {
		t.Errorf("port %s is not among the bindings %v", port.ID, got)
	}
	// A packet of a tunnel has 58 bytes more, and servers get no address of the cluster's DNS.
	if inner, outer := n.mtu(t, own.ID), n.mtu(t, outside.ID); inner != 8942 || outer != 9000 {
		t.Errorf("MTU %d of the project's network, and %d of the external one", inner, outer)
	}
	for _, o := range n.Ovn(t, "northbound", "DHCP_Options", "options") {
		if strings.Contains(o, "dns_server") {
			t.Errorf("DHCP sends servers %s", o)
		}
	}
}

// testAging checks that OVN removes learned addresses: routers and external networks have an age limit, and the number
// of removals is limited, which Neutron's maintenance sets some time after its start.
func testAging(t *testing.T, n Neutron) {
	for _, want := range []struct{ table, column, setting string }{
		{"Logical_Router", "options", "[mac_binding_age_threshold 300]"}, {"Logical_Switch", "other_config", "[fdb_age_threshold 300]"},
		{"NB_Global", "options", "[mac_binding_removal_limit 1000]"}, {"NB_Global", "options", "[fdb_removal_limit 1000]"},
	} {
		err := n.cloud.Cluster.Wait(context.Background(), operators.Timeout, want.setting+" in "+want.table, func(context.Context) (bool, error) {
			return slices.ContainsFunc(n.Ovn(t, "northbound", want.table, want.column), func(row string) bool {
				return strings.Contains(row, want.setting)
			}), nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// testSync checks that a requested comparison finds manual changes of OVN and nothing else, that a repair reverts them,
// and that a repeated request has a single result.
func testSync(t *testing.T, n Neutron, r release.Release) {
	ctx := context.Background()
	request := func(request, mode string) *common.OVNSyncAnswer {
		t.Helper()
		before := string(harness.Claim(t, "networks.yaml", r, harness.Suffix(r)))
		claim := strings.Replace(before, "\n      ovn:\n", fmt.Sprintf("\n      ovn:\n        sync: {request: %s, mode: %s}\n", request, mode), 1)
		harness.Change(t, n.cloud, []byte(claim))
		s := &openstackv1.OVNSync{}
		err := n.cloud.Cluster.Wait(ctx, 5*time.Minute, "the answer", func(ctx context.Context) (bool, error) {
			err := n.cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: n.cloud.Namespace, Name: neutronv1.ServiceName}, s)
			a := s.Status.Answer
			return a != nil && a.Request == request && string(a.Mode) == mode, err
		})
		if err != nil {
			t.Fatalf("%v: %+v", err, s.Status)
		}
		t.Logf("%+v", s.Status.Answer)
		return s.Status.Answer
	}
	if a := request("untouched", "Log"); a.Differences != 0 {
		t.Errorf("differences without a change of OVN: %+v", a)
	}
	network := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "lost"}).Extract()
	})
	port := harness.Created(t, func() (*ports.Port, error) {
		return ports.Create(ctx, n.ServiceClient, ports.CreateOpts{NetworkID: network.ID, Name: "lost"}).Extract()
	})
	n.change(t, "lsp-del", port.ID)
	// Switches without Neutron's mark are not reported, because they may belong to other users.
	const found = "neutron-00000000-0000-4000-8000-000000000001"
	n.change(t, "ls-add", found, "--", "set", "Logical_Switch", found, `external_ids:"neutron:network_name"=found`)
	expected := map[string][2]int32{"Port": {1, 0}, "Network": {0, 1}}
	a := request("touched", "Log")
	for _, d := range a.Found {
		if want, ok := expected[d.Kind]; ok && want != [2]int32{d.Missing, d.Extra} {
			t.Errorf("%+v, want %v", d, want)
		}
		delete(expected, d.Kind)
	}
	if len(expected) > 0 {
		t.Errorf("%v is not found", expected)
	}
	if slices.Contains(n.Ovn(t, "northbound", "Logical_Switch_Port", "name"), port.ID) {
		t.Error("to look has brought the port back")
	}
	if a := request("touched", "Repair"); a.Differences != 0 || a.Repaired == 0 {
		t.Errorf("%+v", a)
	}
	if !slices.Contains(n.Ovn(t, "northbound", "Logical_Switch_Port", "name"), port.ID) {
		t.Error("the port is not back")
	}
	if slices.Contains(n.Ovn(t, "northbound", "Logical_Switch", "name"), found) {
		t.Error("the unknown switch still exists")
	}
	if a := request("after", "Log"); a.Differences != 0 {
		t.Errorf("after a repair: %+v", a)
	}
}

// change writes into the northbound database, bypassing Neutron.
func (n Neutron) change(t *testing.T, command ...string) {
	t.Helper()
	if text, err := n.tool(t, "northbound", command...); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// mtu returns the MTU of a network.
func (n Neutron) mtu(t *testing.T, network string) int {
	t.Helper()
	var got struct {
		MTU int `json:"mtu"`
	}
	if err := virtual.Get(context.Background(), n.ServiceClient, network).ExtractIntoStructPtr(&got, "network"); err != nil {
		t.Fatal(err)
	}
	return got.MTU
}

func sorted(items ...string) []string { slices.Sort(items); return items }

// testPorts creates a number of ports with parallel clients, and checks that Neutron and OVN have each of them once,
// with a unique address.
func testPorts(t *testing.T, n Neutron, count int) {
	ctx := context.Background()
	network := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "many"}).Extract()
	})
	harness.Created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, n.ServiceClient, subnets.CreateOpts{
			NetworkID: network.ID, IPVersion: gophercloud.IPv4, CIDR: "198.18.0.0/16",
		}).Extract()
	})
	const clients = 4
	began, ids, addresses := time.Now(), make([]string, count), make([]string, count)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := client; i < count; i += clients {
				p, err := ports.Create(ctx, n.ServiceClient, ports.CreateOpts{NetworkID: network.ID, Name: fmt.Sprintf("many-%d", i)}).Extract()
				if err != nil {
					t.Errorf("port %d: %v", i, err)
					return
				}
				ids[i], addresses[i] = p.ID, fmt.Sprint(p.FixedIPs)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	slices.Sort(ids)
	slices.Sort(addresses)
	if n := len(slices.Compact(slices.Clone(addresses))); n != count {
		t.Errorf("%d ports have %d addresses", count, n)
	}
	var got []string
	for _, name := range n.Ovn(t, "northbound", "Logical_Switch_Port", "name") {
		if _, exists := slices.BinarySearch(ids, name); exists {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("ports in OVN (-want +got):\n%s", diff)
	}
	t.Logf("%d ports in %.0f s, %.1f a second; OVN has each once", count, took.Seconds(), float64(count)/took.Seconds())
}

// portsUsed starts two clients that create, show and delete ports of a network.
func portsUsed(t *testing.T, n Neutron) *harness.Clients {
	t.Helper()
	ctx := context.Background()
	network := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "load"}).Extract()
	})
	return harness.StartClients(t, 2, func(ctx context.Context, client, round int, try harness.Request) error {
		port := &ports.Port{}
		if err := try("make a port", func() (err error) {
			port, err = ports.Create(ctx, n.ServiceClient, ports.CreateOpts{
				NetworkID: network.ID, Name: fmt.Sprintf("load-%d-%d", client, round),
			}).Extract()
			return err
		}); err != nil {
			return err
		}
		if err := try("show a port", func() error {
			got, err := ports.Get(ctx, n.ServiceClient, port.ID).Extract()
			if err == nil && got.Name != port.Name {
				err = fmt.Errorf("it is called %s, want %s", got.Name, port.Name)
			}
			return err
		}); err != nil {
			return err
		}
		return try("delete a port", func() error { return ports.Delete(ctx, n.ServiceClient, port.ID).ExtractErr() })
	})
}
