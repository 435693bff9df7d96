//go:build openstack && linux

package tempest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	blockstorage "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	virtual "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/volumes"
)

// TestSmokeTestsPass runs the smoke tests of all services, or those that the flag selects, in a cloud with servers and volumes
// from two claims, with the CronJob of its claim. None fails, and they leave no objects.
func TestSmokeTestsPass(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=smoke")
	}
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			claim := strings.Replace(string(harness.Claim(t, "attached.yaml", r, harness.Suffix(r))), "  global:\n",
				"  tempest:\n    enabled: true\n    allowAdministration: true\n    schedule: \"0 0 1 1 *\"\n  global:\n", 1)
			d := volumes.Start(t, r, i, []byte(claim))
			offer(t, d)
			c := testedCloud{cloud: d.Cloud, claim: claim}
			c.before = allResources(t, d, c)
			if *suite != "" {
				c.order(t, fmt.Sprintf("tests: {includeRegex: %q}", *suite))
			}
			began := time.Now()
			job := c.startRun(t, "all")
			c.ended(t, job)
			t.Logf("%v in %.0f s:\n%s", c.status(), time.Since(began).Seconds(), verdicts(c.log(t, job)))
			if got := c.result(); !strings.HasPrefix(got, "True TestsPassed") {
				t.Error(got)
			}
			if n, _ := c.status()["passed"].(float64); *suite == "" && n < 50 {
				t.Errorf("the claim reports %v", c.status())
			}
			if diff := cmp.Diff(c.before, allResources(t, d, c)); diff != "" {
				t.Errorf("tests have left (-before +after):\n%s", diff)
			}
			d.Memory(t)
		})
	}
}

// offer creates the objects that tests of servers need in every cloud: two flavors, a public image, and an external
// network.
func offer(t *testing.T, d *volumes.Disks) {
	t.Helper()
	ctx := context.Background()
	d.Raw = true
	d.CreateImage(t)
	page, err := images.List(d.Glance.ServiceClient, images.ListOpts{}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := images.ExtractImages(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all { // its kernel and the initial root are public, too: users who boot it have to see them
		harness.Created(t, func() (*images.Image, error) {
			return images.Update(ctx, d.Glance.ServiceClient, i.ID, images.UpdateOpts{
				images.UpdateVisibility{Visibility: images.ImageVisibilityPublic},
			}).Extract()
		})
	}
	for name, mib := range map[string]int{"guest": 128, "guest-2": 160} {
		harness.Created(t, func() (*flavors.Flavor, error) {
			return flavors.Create(ctx, d.ServiceClient, flavors.CreateOpts{Name: name, RAM: mib, VCPUs: 1, Disk: new(1)}).Extract()
		})
	}
	d.CreateNetworks(t)
	d.WaitForHypervisor(t)
	d.Lap(t, "a public image, flavors, networks and a hypervisor")
}

// verdicts returns the lines about failed and skipped tests, and the counts.
func verdicts(log string) string {
	var out []string
	for line := range strings.Lines(log) {
		if resultLine.MatchString(line) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

var resultLine = regexp.MustCompile(`^(FAILED: |SKIPPED: |cannot remove |\{"passed")`)

// allResources returns the names of all resources in a cloud, of all projects.
func allResources(t *testing.T, d *volumes.Disks, c testedCloud) map[string][]string {
	t.Helper()
	out := c.resources(t)
	net := d.Neutron.ServiceClient
	for kind, pager := range map[string]pagination.Pager{
		"servers":  servers.List(d.ServiceClient, servers.ListOpts{AllTenants: true}),
		"flavors":  flavors.ListDetail(d.ServiceClient, flavors.ListOpts{AccessType: flavors.AllAccess}),
		"volumes":  blockstorage.List(d.Cinder.ServiceClient, blockstorage.ListOpts{AllTenants: true}),
		"images":   images.List(d.Glance.ServiceClient, images.ListOpts{}),
		"networks": virtual.List(net, virtual.ListOpts{}), "subnets": subnets.List(net, subnets.ListOpts{}),
		"ports": ports.List(net, ports.ListOpts{}), "routers": routers.List(net, routers.ListOpts{}),
		"floatingips": floatingips.List(net, floatingips.ListOpts{}), "security_groups": groups.List(net, groups.ListOpts{}),
	} {
		page, err := pager.AllPages(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		body := map[string][]struct {
			Name string `json:"name"`
			ID   string `json:"id"`
		}{}
		data, err := json.Marshal(page.GetBody())
		if err == nil {
			err = json.Unmarshal(data, &body)
		}
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, one := range body[kind] {
			if kind == "security_groups" && one.Name == "default" {
				continue // Neutron creates one for every project that lists any, and keeps it.
			}
			out[kind] = append(out[kind], one.Name+" "+one.ID)
		}
		slices.Sort(out[kind])
	}
	return out
}
