//go:build openstack && linux

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	virtual "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestNeutron checks that the Neutron of every release, with two pods of its API, creates networks in OVN.
func TestNeutron(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			n := startNeutron(t, r, dashed(r))
			t.Run("Entries", func(t *testing.T) {
				testEntries(t, n.cloud, neutronv1.ServiceName, neutronv1.ServiceType, neutronv1.Port, "")
			})
			t.Run("Networks", func(t *testing.T) { testNetworks(t, n) })
			t.Run("Aging", func(t *testing.T) { testAging(t, n) })
			t.Run("Ports", func(t *testing.T) { testPorts(t, n, 100) })
			t.Run("Sync", func(t *testing.T) { testSync(t, n, r) })
			t.Run("Leaders", func(t *testing.T) { testLeaders(t, n) })
			t.Run("Credential", func(t *testing.T) { testRotate(t, n.cloud, neutronv1.ServiceName, portsUsed(t, n)) })
		})
	}
}

// testLeaders kills the leader of each of OVN's databases, twice, while clients create, show and delete ports. No
// request fails.
func testLeaders(t *testing.T, n neutron) {
	ctx := context.Background()
	load := portsUsed(t, n)
	for range 2 {
		for _, database := range []string{"northbound", "southbound"} {
			load.more(t, 10)
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
	load.more(t, 20)
	load.stop(t)
	t.Log(load)
}

// TestNeutronPorts creates many ports in parallel, with all workers of two pods, and checks that OVN has each of them
// once.
func TestNeutronPorts(t *testing.T) {
	t.Parallel()
	testPorts(t, startNeutron(t, newest, "-many"), 3000)
}

// TestNeutronUpgrade checks that a Neutron can be upgraded from one SLURP release to the next while ports are created,
// and that no request fails.
func TestNeutronUpgrade(t *testing.T) {
	t.Parallel()
	n := startNeutron(t, before, "-up")
	load := portsUsed(t, n)
	load.more(t, 10)
	upgrade(t, n.cloud, of(t, "networks.yaml", after, "-up"), after, "keystone", neutronv1.ServiceName)
	load.more(t, 20)
	load.stop(t)
	t.Log(load)
}

// TestNeutronOVN updates the image of OVN while ports are created, its databases before the processes between them. No
// request fails, and nothing is lost. The images differ only in their tags.
func TestNeutronOVN(t *testing.T) {
	t.Parallel()
	n := startNeutron(t, newest, "-ovn")
	load := portsUsed(t, n)
	load.more(t, 10)
	from, err := release.ImageFor(release.OVN, "", release.Override{})
	if err != nil {
		t.Fatal(err)
	}
	const next = "next"
	r, began := watchRollout(t, n.cloud), time.Now()
	claim := strings.Replace(string(of(t, "networks.yaml", newest, "-ovn")), "      ovn:\n", "      ovn:\n        ovnImage: {tag: "+next+"}\n", 1)
	if err := n.cloud.Change([]byte(claim)); err != nil {
		t.Fatal(err)
	}
	if err := n.cloud.Cluster.Wait(context.Background(), 10*time.Minute, "northd of another image", func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := n.cloud.Cluster.Client.List(ctx, pods, client.InNamespace(n.cloud.Namespace), client.MatchingLabels{
			"app.kubernetes.io/instance": ovnv1.Name, componentLabel: "northd",
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
	load.more(t, 20)
	load.stop(t)
	r.stop()
	t.Logf("in %.0f s, meanwhile %s", took.Seconds(), load)
	_, tag, _ := strings.Cut(from, ":")
	pods := func(component string) stage { return stage{ovnv1.Name + " " + component, tag, next} }
	r.inOrder(t, []stage{pods("northbound"), pods("northd")}, []stage{pods("southbound"), pods("northd")})
	testPorts(t, n, 20)
}

// TestNeutronAgents checks that a Neutron without OVN creates networks, and that the endpoints of agents are available
// in its queue.
func TestNeutronAgents(t *testing.T) {
	for _, r := range []release.Release{before, newest} {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			claim := string(of(t, "networks.yaml", r, "-agents"+dashed(r)))
			without, rest, _ := strings.Cut(claim, "      ovn:\n")
			_, global, _ := strings.Cut(rest, "  global:\n")
			n := loggedIn(t, start(t, []byte(without+"      mechanism: OVS\n  global:\n"+global), nil))
			ctx := context.Background()
			own := created(t, func() (*virtual.Network, error) {
				return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "own"}).Extract()
			})
			created(t, func() (*subnets.Subnet, error) {
				return subnets.Create(ctx, n.ServiceClient, subnets.CreateOpts{
					NetworkID: own.ID, IPVersion: gophercloud.IPv4, CIDR: "192.0.2.0/24",
				}).Extract()
			})
			port := created(t, func() (*ports.Port, error) {
				return ports.Create(ctx, n.ServiceClient, ports.CreateOpts{NetworkID: own.ID, Name: "machine"}).Extract()
			})
			created(t, func() (*routers.Router, error) {
				return routers.Create(ctx, n.ServiceClient, routers.CreateOpts{Name: "router"}).Extract()
			})
			// A packet of VXLAN has 50 bytes more.
			if got := n.mtu(t, own.ID); got != 8950 || len(port.FixedIPs) != 1 {
				t.Errorf("MTU %d, addresses %v", got, port.FixedIPs)
			}
		})
	}
}

// neutron is a client of a Neutron at its internal address.
type neutron struct {
	*gophercloud.ServiceClient
	cloud *Cloud
}

func startNeutron(t *testing.T, r release.Release, end string) neutron {
	t.Helper()
	return loggedIn(t, start(t, of(t, "networks.yaml", r, end), nil))
}

// loggedIn returns a client of a cloud's Neutron.
func loggedIn(t *testing.T, cloud *Cloud) neutron {
	t.Helper()
	provider, ends := administrator(t, cloud)
	c, err := openstack.NewNetworkV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	return neutron{c, cloud}
}

// ovn returns a column of a table of an OVN database, of all rows.
func (n neutron) ovn(t *testing.T, part, table, column string) []string {
	t.Helper()
	text, err := n.tool(t, part, "--format=json", "--data=json", "--columns="+column, "list", table)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var rows struct {
		Data [][]any `json:"data"`
	}
	_, body, _ := strings.Cut(text, "{")
	if err := json.Unmarshal([]byte("{"+body), &rows); err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	out := make([]string, len(rows.Data))
	for i, row := range rows.Data {
		out[i] = fmt.Sprint(row[0])
	}
	slices.Sort(out)
	return out
}

// tool runs OVN's command-line tool for a database, at all of its members.
func (n neutron) tool(t *testing.T, part string, command ...string) (string, error) {
	t.Helper()
	tool, port := "ovn-nbctl", ovnv1.NorthboundPort
	if part == "southbound" {
		tool, port = "ovn-sbctl", ovnv1.SouthboundPort
	}
	set := &appsv1.StatefulSet{}
	if err := n.cloud.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: n.cloud.Namespace, Name: ovnv1.Name + "-" + part}, set); err != nil {
		t.Fatal(err)
	}
	var at []string
	for i := range *set.Spec.Replicas {
		at = append(at, fmt.Sprintf("ssl:%[1]s-%[2]d.%[1]s.%[3]s.svc.cluster.local:%[4]d", ovnv1.Name+"-"+part, i, n.cloud.Namespace, port))
	}
	const keys = "/etc/ovn/tls/"
	return n.cloud.Cluster.Exec(context.Background(), n.cloud.Namespace, ovnv1.Name+"-"+part+"-0", append([]string{
		tool, "--timeout=60", "--db=" + strings.Join(at, ","), "-p", keys + "tls.key", "-c", keys + "tls.crt", "-C", keys + "ca.crt",
	}, command...)...)
}

// testNetworks creates a project's network with a router to an external one, and a floating IP, and checks that OVN has
// all of it.
func testNetworks(t *testing.T, n neutron) {
	ctx := context.Background()
	outside := created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, external.CreateOptsExt{
			External: new(true),
			CreateOptsBuilder: provider.CreateOptsExt{
				CreateOptsBuilder: virtual.CreateOpts{Name: "outside"},
				Segments:          []provider.Segment{{NetworkType: "flat", PhysicalNetwork: "physnet1"}},
			},
		}).Extract()
	})
	created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, n.ServiceClient, subnets.CreateOpts{
			NetworkID: outside.ID, IPVersion: gophercloud.IPv4, CIDR: "203.0.113.0/24", EnableDHCP: new(false),
		}).Extract()
	})
	own := created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "own"}).Extract()
	})
	inside := created(t, func() (*subnets.Subnet, error) {
		return subnets.Create(ctx, n.ServiceClient, subnets.CreateOpts{
			NetworkID: own.ID, IPVersion: gophercloud.IPv4, CIDR: "192.0.2.0/24",
		}).Extract()
	})
	router := created(t, func() (*routers.Router, error) {
		return routers.Create(ctx, n.ServiceClient, routers.CreateOpts{
			Name: "router", GatewayInfo: &routers.GatewayInfo{NetworkID: outside.ID},
		}).Extract()
	})
	created(t, func() (*routers.InterfaceInfo, error) {
		return routers.AddInterface(ctx, n.ServiceClient, router.ID, routers.AddInterfaceOpts{SubnetID: inside.ID}).Extract()
	})
	port := created(t, func() (*ports.Port, error) {
		return ports.Create(ctx, n.ServiceClient, ports.CreateOpts{NetworkID: own.ID, Name: "machine"}).Extract()
	})
	floating := created(t, func() (*floatingips.FloatingIP, error) {
		return floatingips.Create(ctx, n.ServiceClient, floatingips.CreateOpts{FloatingNetworkID: outside.ID, PortID: port.ID}).Extract()
	})
	switches := n.ovn(t, "northbound", "Logical_Switch", "name")
	if diff := cmp.Diff(sorted("neutron-"+own.ID, "neutron-"+outside.ID), switches); diff != "" {
		t.Errorf("networks (-want +got):\n%s", diff)
	}
	if got := n.ovn(t, "northbound", "Logical_Router", "name"); !slices.Equal(got, []string{"neutron-" + router.ID}) {
		t.Errorf("routers: %v", got)
	}
	if got := n.ovn(t, "northbound", "Logical_Switch_Port", "name"); !slices.Contains(got, port.ID) {
		t.Errorf("port %s is not among %v", port.ID, got)
	}
	if got := n.ovn(t, "northbound", "NAT", "external_ip"); !slices.Contains(got, floating.FloatingIP) {
		t.Errorf("floating IP %s is not among %v", floating.FloatingIP, got)
	}
	// northd has translated it for the nodes.
	if got := n.ovn(t, "southbound", "Port_Binding", "logical_port"); !slices.Contains(got, port.ID) {
		t.Errorf("port %s is not among the bindings %v", port.ID, got)
	}
	// A packet of a tunnel has 58 bytes more, and servers get no address of the cluster's DNS.
	if inner, outer := n.mtu(t, own.ID), n.mtu(t, outside.ID); inner != 8942 || outer != 9000 {
		t.Errorf("MTU %d of the project's network, and %d of the external one", inner, outer)
	}
	for _, o := range n.ovn(t, "northbound", "DHCP_Options", "options") {
		if strings.Contains(o, "dns_server") {
			t.Errorf("DHCP sends servers %s", o)
		}
	}
}

// testAging checks that OVN removes learned addresses: routers and external networks have an age limit, and the number
// of removals is limited, which Neutron's maintenance sets some time after its start.
func testAging(t *testing.T, n neutron) {
	for _, want := range []struct{ table, column, setting string }{
		{"Logical_Router", "options", "[mac_binding_age_threshold 300]"}, {"Logical_Switch", "other_config", "[fdb_age_threshold 300]"},
		{"NB_Global", "options", "[mac_binding_removal_limit 1000]"}, {"NB_Global", "options", "[fdb_removal_limit 1000]"},
	} {
		err := n.cloud.Cluster.Wait(context.Background(), operators.Timeout, want.setting+" in "+want.table, func(context.Context) (bool, error) {
			return slices.ContainsFunc(n.ovn(t, "northbound", want.table, want.column), func(row string) bool {
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
func testSync(t *testing.T, n neutron, r release.Release) {
	ctx := context.Background()
	request := func(request, mode string) *common.OVNSyncAnswer {
		t.Helper()
		before := string(of(t, "networks.yaml", r, dashed(r)))
		claim := strings.Replace(before, "\n      ovn:\n", fmt.Sprintf("\n      ovn:\n        sync: {request: %s, mode: %s}\n", request, mode), 1)
		if err := n.cloud.Change([]byte(claim)); err != nil {
			t.Fatal(err)
		}
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
	network := created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "lost"}).Extract()
	})
	port := created(t, func() (*ports.Port, error) {
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
	if slices.Contains(n.ovn(t, "northbound", "Logical_Switch_Port", "name"), port.ID) {
		t.Error("to look has brought the port back")
	}
	if a := request("touched", "Repair"); a.Differences != 0 || a.Repaired == 0 {
		t.Errorf("%+v", a)
	}
	if !slices.Contains(n.ovn(t, "northbound", "Logical_Switch_Port", "name"), port.ID) {
		t.Error("the port is not back")
	}
	if slices.Contains(n.ovn(t, "northbound", "Logical_Switch", "name"), found) {
		t.Error("the unknown switch still exists")
	}
	if a := request("after", "Log"); a.Differences != 0 {
		t.Errorf("after a repair: %+v", a)
	}
}

// change writes into the northbound database, bypassing Neutron.
func (n neutron) change(t *testing.T, command ...string) {
	t.Helper()
	if text, err := n.tool(t, "northbound", command...); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// mtu returns the MTU of a network.
func (n neutron) mtu(t *testing.T, network string) int {
	t.Helper()
	var got struct {
		MTU int `json:"mtu"`
	}
	if err := virtual.Get(context.Background(), n.ServiceClient, network).ExtractIntoStructPtr(&got, "network"); err != nil {
		t.Fatal(err)
	}
	return got.MTU
}

// created returns the result of create.
func created[T any](t *testing.T, create func() (*T, error)) *T {
	t.Helper()
	out, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sorted(items ...string) []string { slices.Sort(items); return items }

// testPorts creates a number of ports with parallel clients, and checks that Neutron and OVN have each of them once,
// with a unique address.
func testPorts(t *testing.T, n neutron, count int) {
	ctx := context.Background()
	network := created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "many"}).Extract()
	})
	created(t, func() (*subnets.Subnet, error) {
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
	for _, name := range n.ovn(t, "northbound", "Logical_Switch_Port", "name") {
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
func portsUsed(t *testing.T, n neutron) *load {
	t.Helper()
	ctx := context.Background()
	network := created(t, func() (*virtual.Network, error) {
		return virtual.Create(ctx, n.ServiceClient, virtual.CreateOpts{Name: "load"}).Extract()
	})
	return startClients(t, 2, func(ctx context.Context, client, round int, try request) error {
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
