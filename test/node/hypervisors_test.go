//go:build node && linux

package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/ping"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/node"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
)

// machinePods are the pods of a node, and for how long a server may be without its network while each is replaced. A
// switch in userspace has no flows without its process.
var machinePods = []struct {
	component string
	without   time.Duration
}{
	{"libvirt", 0},
	{"nova-compute", 0},
	{"metadata", 0},
	{"ovn-gateway", 0},
	{"openvswitch", time.Minute},
}

// TestHypervisors checks that one claim becomes a cloud in which a server is reachable from outside, on a node that
// runs nothing but pods, that the server stays reachable while each pod is replaced, and that the cloud is deleted with
// its claim, after its servers.
func TestHypervisors(t *testing.T) {
	if !selected("Hypervisors") {
		t.Skip("it needs a separate platform: RUN=TestHypervisors")
	}
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 60*time.Minute)
	defer cancel()
	if !*running {
		if err := cluster.Hypervisor(ctx); err != nil {
			t.Fatal(err)
		}
	}
	started := time.Now()
	whole := decode(t, "testdata/cloud.yaml")
	namespaceOf(ctx, t, whole)
	plane, pool := part(whole, controlplanev1.GroupVersionKind, ""), part(whole, hypervisorv1.GroupVersionKind, "-hypervisors")
	defer func() {
		if t.Failed() {
			t.Log(cluster.FailedContainerLogs(context.WithoutCancel(ctx), instance(ctx, t, pool)))
		}
	}()
	apply(ctx, t, whole)
	ready, stop := stopwatch.WithTimeout(ctx, 25*time.Minute)
	defer stop()
	for _, c := range []*unstructured.Unstructured{plane, pool, whole} {
		if err := cluster.WaitCondition(ready, c.GroupVersionKind(), client.ObjectKeyFromObject(c), "Ready"); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s is ready after %.0f s", c.GetKind(), time.Since(started).Seconds())
	}
	g := &guest{cloud: login(ctx, t, instance(ctx, t, plane)), pool: instance(ctx, t, pool), http: &http.Client{Timeout: 10 * time.Second}}
	g.boot(ctx, t)
	t.Logf("a server is reachable after %.0f s", time.Since(started).Seconds())
	t.Run("Metadata", func(t *testing.T) { g.testMetadata(ctx, t) })
	t.Run("Privileges", func(t *testing.T) { g.testPrivileges(ctx, t) })
	usage(ctx, t, g.pool)
	t.Run("Restarts", func(t *testing.T) { g.testRestarts(ctx, t) })
	t.Run("Resize", func(t *testing.T) { g.testResize(ctx, t) })
	t.Run("Delete", func(t *testing.T) {
		const message = "1 virtual machine is on nodes of the pool"
		for _, c := range []*unstructured.Unstructured{whole, pool} {
			if err := cluster.Client.Delete(ctx, c.DeepCopy(), client.DryRunAll); err == nil {
				t.Errorf("%s %s is deleted with its virtual machine", c.GetKind(), c.GetName())
			} else if !strings.Contains(err.Error(), message) && !strings.Contains(err.Error(), "belongs to an OpenStackCluster") {
				t.Errorf("the message names neither the virtual machine nor the cloud: %v", err)
			}
		}
		if err := removed(ctx, g.compute, g.server.ID); err != nil {
			t.Error(err)
		}
		eventually(ctx, t, 5*time.Minute, func() error { return cluster.Client.Delete(ctx, whole.DeepCopy(), client.DryRunAll) })
		testDelete(ctx, t, whole, instance(ctx, t, plane))
		eventually(ctx, t, 2*time.Minute, func() error { return g.poolDeleted(ctx, pool) })
	})
}

// part returns a claim of an OpenStackCluster, without its content.
func part(whole *unstructured.Unstructured, kind schema.GroupVersionKind, suffix string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(whole.GetNamespace())
	u.SetName(whole.GetName() + suffix)
	return u
}

// guest is a server, and clients of its cloud.
type guest struct {
	cloud *cloud
	// pool is the namespace of its hypervisor.
	pool                     string
	compute, network, glance *gophercloud.ServiceClient
	server                   *servers.Server
	// address is its floating IP.
	address string
	http    *http.Client
}

// boot creates everything that a server needs, and a server, and waits until it is reachable from outside.
func (g *guest) boot(ctx context.Context, t *testing.T) {
	t.Helper()
	var errs [3]error
	g.compute, errs[0] = g.cloud.compute()
	g.network, errs[1] = g.cloud.neutron()
	g.glance, errs[2] = g.cloud.glance()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	image, outside, inside := g.image(ctx, t), g.external(ctx, t), g.internal(ctx, t)
	router, err := routers.Create(ctx, g.network, routers.CreateOpts{Name: "router", GatewayInfo: &routers.GatewayInfo{NetworkID: outside}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := routers.AddInterface(ctx, g.network, router.ID, routers.AddInterfaceOpts{SubnetID: inside.Subnets[0]}).Extract(); err != nil {
		t.Fatal(err)
	}
	port, err := ports.Create(ctx, g.network, ports.CreateOpts{NetworkID: inside.ID, Name: "guest"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	floating, err := floatingips.Create(ctx, g.network, floatingips.CreateOpts{FloatingNetworkID: outside, PortID: port.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	g.address = floating.FloatingIP
	g.hypervisor(ctx, t)
	if g.server, err = servers.Create(ctx, g.compute, servers.CreateOpts{
		Name: "guest", FlavorRef: g.flavor(ctx, t, "guest", 128), ImageRef: image, Networks: []servers.Network{{Port: port.ID}},
	}, nil).Extract(); err != nil {
		t.Fatal(err)
	}
	if err := active(ctx, g.compute, g.server.ID); err != nil {
		t.Fatal(err)
	}
	g.until(ctx, t, func() error { return ping.Once(g.address, time.Second) })
	g.until(ctx, t, func() error { _, err := g.get(ctx, "seconds"); return err })
}

// flavor creates a flavor with one CPU, and returns its ID.
func (g *guest) flavor(ctx context.Context, t *testing.T, name string, memoryMiB int) (id string) {
	t.Helper()
	created, err := flavors.Create(ctx, g.compute, flavors.CreateOpts{Name: name, RAM: memoryMiB, VCPUs: 1, Disk: new(0)}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return created.ID
}

// image uploads the image of servers: an empty disk, with a separate kernel and root.
func (g *guest) image(ctx context.Context, t *testing.T) (id string) {
	t.Helper()
	files, err := install.NewGuest(ctx, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	upload := func(name, format string, content []byte, properties map[string]string) string {
		i, err := images.Create(ctx, g.glance, images.CreateOpts{Name: name, ContainerFormat: format, DiskFormat: format, Properties: properties}).Extract()
		if err == nil {
			err = imagedata.Upload(ctx, g.glance, i.ID, bytes.NewReader(content)).ExtractErr()
		}
		if err != nil {
			t.Fatal(err)
		}
		return i.ID
	}
	kernel, err := os.ReadFile(files.Kernel)
	root, e := os.ReadFile(files.Initrd)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	return upload("guest", "ami", make([]byte, 1<<20), map[string]string{
		"kernel_id": upload("kernel", "aki", kernel, nil), "ramdisk_id": upload("root", "ari", root, nil), "os_command_line": "console=ttyS0 panic=-1",
	})
}

// external creates the external network, and internal one of the project, in which servers accept the traffic of tests.
func (g *guest) external(ctx context.Context, t *testing.T) (id string) {
	t.Helper()
	created, err := networks.Create(ctx, g.network, external.CreateOptsExt{
		External: new(true),
		CreateOptsBuilder: provider.CreateOptsExt{
			CreateOptsBuilder: networks.CreateOpts{Name: "outside"},
			Segments:          []provider.Segment{{NetworkType: "flat", PhysicalNetwork: "physnet1"}},
		},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnets.Create(ctx, g.network, subnets.CreateOpts{
		NetworkID: created.ID, IPVersion: gophercloud.IPv4, CIDR: node.OutsideNetwork, EnableDHCP: new(false), GatewayIP: new(node.OutsideAddress),
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	return created.ID
}

func (g *guest) internal(ctx context.Context, t *testing.T) *networks.Network {
	t.Helper()
	id, err := g.cloud.network(ctx, "inside", "192.0.2.0/24")
	if err != nil {
		t.Fatal(err)
	}
	created, err := networks.Get(ctx, g.network, id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	page, err := groups.List(g.network, groups.ListOpts{Name: "default", ProjectID: created.ProjectID}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := groups.ExtractGroups(page)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d security groups, %v", len(all), err)
	}
	for _, rule := range []rules.CreateOpts{{Protocol: rules.ProtocolICMP}, {Protocol: rules.ProtocolTCP, PortRangeMin: 80, PortRangeMax: 80}} {
		rule.SecGroupID, rule.Direction, rule.EtherType = all[0].ID, rules.DirIngress, rules.EtherType4
		if _, err := rules.Create(ctx, g.network, rule).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	return created
}

// hypervisor waits until Nova has a hypervisor that is up.
func (g *guest) hypervisor(ctx context.Context, t *testing.T) {
	t.Helper()
	eventually(ctx, t, 5*time.Minute, func() error {
		page, err := hypervisors.List(g.compute, nil).AllPages(ctx)
		if err != nil {
			return err
		}
		all, err := hypervisors.ExtractHypervisors(page)
		if err == nil && (len(all) != 1 || all[0].State != "up") {
			err = fmt.Errorf("Nova has the hypervisors %+v", all)
		}
		return err
	})
}

// until retries until there is no error. The error contains the server's console.
func (g *guest) until(ctx context.Context, t *testing.T, try func() error) {
	t.Helper()
	if err := within(ctx, 3*time.Minute, try); err != nil {
		console, e := servers.ShowConsoleOutput(ctx, g.compute, g.server.ID, servers.ShowConsoleOutputOpts{Length: 40}).Extract()
		t.Fatalf("%v\nits console (%v):\n%s", err, e, console)
	}
}

// get returns a file that the server serves.
func (g *guest) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.address+"/"+path, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := g.http.Do(request)
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

// seconds returns the seconds that the server has counted since its start.
func (g *guest) seconds(ctx context.Context, t *testing.T) int {
	t.Helper()
	text, err := g.get(ctx, "seconds")
	n, e := strconv.Atoi(text)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	return n
}

// testMetadata checks that the server got its metadata, from the agent of its node.
func (g *guest) testMetadata(ctx context.Context, t *testing.T) {
	g.until(ctx, t, func() error {
		text, err := g.get(ctx, "meta_data.json")
		if err == nil && !strings.Contains(text, g.server.ID) {
			err = fmt.Errorf("it got %q", text)
		}
		return err
	})
}

// testPrivileges checks that no container of the node is privileged, and that each has a seccomp profile.
func (g *guest) testPrivileges(ctx context.Context, t *testing.T) {
	all := &corev1.PodList{}
	if err := cluster.Client.List(ctx, all, client.InNamespace(g.pool)); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Items {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			s := c.SecurityContext
			if s == nil || s.Privileged != nil && *s.Privileged || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s of %s has %+v", c.Name, p.Name, s)
			}
		}
	}
}

// poolDeleted returns an error if the claim of the pool, its pods or their owners still exist. The namespace stays,
// since the data of a pool is never deleted with its claim.
func (g *guest) poolDeleted(ctx context.Context, claim *unstructured.Unstructured) error {
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim.DeepCopy()); !apierrors.IsNotFound(err) {
		return errors.Join(errors.New("the claim of the pool still exists"), err)
	}
	pods := &corev1.PodList{}
	if err := cluster.Client.List(ctx, pods, client.InNamespace(g.pool)); err != nil || len(pods.Items) > 0 {
		return errors.Join(fmt.Errorf("%d pods of the pool still exist", len(pods.Items)), err)
	}
	return objectsRemain(ctx, g.pool)
}

// testRestarts replaces each pod of the node while the server is pinged.
func (g *guest) testRestarts(ctx context.Context, t *testing.T) {
	for _, r := range machinePods {
		t.Run(r.component, func(t *testing.T) {
			before, took := g.seconds(ctx, t), time.Duration(0)
			came, err := ping.During(g.address, func() {
				started := time.Now()
				g.replace(ctx, t, r.component)
				took = time.Since(started)
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s; replaced in %.1f s", came, took.Seconds())
			if came.Gap > r.without {
				t.Errorf("that is more than %s", r.without)
			}
			g.until(ctx, t, func() error { _, err := g.get(ctx, "seconds"); return err })
			if after := g.seconds(ctx, t); after <= before {
				t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", before, after)
			}
			g.until(ctx, t, func() error {
				id, err := g.get(ctx, "cgi-bin/metadata")
				if err == nil && !strings.HasPrefix(id, "i-") {
					err = fmt.Errorf("its id is %q", id)
				}
				return err
			})
		})
	}
}

// testResize changes the flavor of the server on its node, as Nova is configured to do (allow_resize_to_same_host): the
// first change is confirmed, the second one reverted. The server starts again, and is reachable after each step.
func (g *guest) testResize(ctx context.Context, t *testing.T) {
	larger, largest := g.flavor(ctx, t, "larger", 192), g.flavor(ctx, t, "largest", 256)
	for _, tc := range []struct {
		name, flavor, want string
		end                func(context.Context, *gophercloud.ServiceClient, string) error
	}{
		{"Confirm", larger, "larger", func(ctx context.Context, c *gophercloud.ServiceClient, id string) error {
			return servers.ConfirmResize(ctx, c, id).ExtractErr()
		}},
		{"Revert", largest, "larger", func(ctx context.Context, c *gophercloud.ServiceClient, id string) error {
			return servers.RevertResize(ctx, c, id).ExtractErr()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			started := time.Now()
			if err := servers.Resize(ctx, g.compute, g.server.ID, servers.ResizeOpts{FlavorRef: tc.flavor}).ExtractErr(); err != nil {
				t.Fatal(err)
			}
			if err := reached(ctx, g.compute, g.server.ID, "VERIFY_RESIZE"); err != nil {
				t.Fatal(err)
			}
			g.until(ctx, t, func() error { _, err := g.get(ctx, "seconds"); return err })
			t.Logf("the resized server is reachable after %.0f s", time.Since(started).Seconds())
			if err := tc.end(ctx, g.compute, g.server.ID); err != nil {
				t.Fatal(err)
			}
			if err := active(ctx, g.compute, g.server.ID); err != nil {
				t.Fatal(err)
			}
			g.until(ctx, t, func() error { _, err := g.get(ctx, "seconds"); return err })
			s, err := servers.Get(ctx, g.compute, g.server.ID).Extract()
			if err != nil {
				t.Fatal(err)
			}
			// Since the microversion 2.47, a server contains its flavor instead of a reference.
			if got := s.Flavor["original_name"]; got != tc.want && s.Flavor["id"] != larger {
				t.Errorf("its flavor is %v, want %s", s.Flavor, tc.want)
			}
		})
	}
}

// replace deletes the pod of a component, and waits until another one is ready.
func (g *guest) replace(ctx context.Context, t *testing.T, component string) {
	t.Helper()
	pods := func() []corev1.Pod {
		all := &corev1.PodList{}
		if err := cluster.Client.List(ctx, all, client.InNamespace(g.pool), client.MatchingLabels{"app.kubernetes.io/component": component}); err != nil {
			t.Fatal(err)
		}
		return all.Items
	}
	before := pods()
	if len(before) != 1 {
		t.Fatalf("%s has %d pods", component, len(before))
	}
	if err := cluster.Client.Delete(ctx, &before[0]); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, 3*time.Minute, func() error {
		now := pods()
		if len(now) == 1 && now[0].UID != before[0].UID && slices.ContainsFunc(now[0].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			return nil
		}
		return fmt.Errorf("%s has %d pods", component, len(now))
	})
}
