//go:build openstack && linux

package openstack

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
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
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
)

// TestSmoke: a cloud with virtual machines and volumes, of two claims, runs the smoke tests of all its services, or those that the flag
// names, by the CronJob that its claim orders. None fails, and they leave nothing.
func TestSmoke(t *testing.T) {
	if programs.Ceph == "" {
		t.Skip("a Ceph is run only if it is asked for: SERVICE=smoke")
	}
	for i, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			claim := strings.Replace(string(of(t, "attached.yaml", r, dashed(r))), "  global:\n",
				"  tempest:\n    enabled: true\n    allowAdministration: true\n    schedule: \"0 0 1 1 *\"\n  global:\n", 1)
			d := startDisks(t, r, i, []byte(claim))
			d.offer(t)
			c := testedCloud{cloud: d.cloud, claim: claim}
			c.before = d.everything(t, c)
			if *suite != "" {
				c.order(t, fmt.Sprintf("tests: {includeRegex: %q}", *suite))
			}
			begin := time.Now()
			job := c.begin(t, "all")
			c.ended(t, job)
			t.Logf("%v in %.0f s:\n%s", c.status(), time.Since(begin).Seconds(), verdicts(c.log(t, job)))
			if got := c.verdict(); !strings.HasPrefix(got, "True TestsPassed") {
				t.Error(got)
			}
			if n, _ := c.status()["passed"].(float64); *suite == "" && n < 50 {
				t.Errorf("the claim says %v", c.status())
			}
			if diff := cmp.Diff(c.before, d.everything(t, c)); diff != "" {
				t.Errorf("tests have left (-before +after):\n%s", diff)
			}
			d.memory(t)
		})
	}
}

// offer makes what tests of virtual machines need, and every cloud has: two flavors, a public image, and a network outside.
func (d *disks) offer(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	d.raw = true
	d.kernel(t)
	page, err := images.List(d.glance.ServiceClient, images.ListOpts{}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := images.ExtractImages(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all { // its kernel and what that loads, too: whoever boots it has to see them
		made(t, func() (*images.Image, error) {
			return images.Update(ctx, d.glance.ServiceClient, i.ID, images.UpdateOpts{
				images.UpdateVisibility{Visibility: images.ImageVisibilityPublic},
			}).Extract()
		})
	}
	for name, mib := range map[string]int{"guest": 128, "guest-2": 160} {
		made(t, func() (*flavors.Flavor, error) {
			return flavors.Create(ctx, d.ServiceClient, flavors.CreateOpts{Name: name, RAM: mib, VCPUs: 1, Disk: new(1)}).Extract()
		})
	}
	d.networks(t)
	d.hypervisor(t)
	d.lap(t, "a public image, flavors, networks and a hypervisor")
}

// verdicts are the lines that say which tests failed or were skipped, and how many.
func verdicts(log string) string {
	var out []string
	for line := range strings.Lines(log) {
		if verdictLine.MatchString(line) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

var verdictLine = regexp.MustCompile(`^(FAILED: |SKIPPED: |cannot remove |\{"passed")`)

// everything is all that there is in a cloud, of all projects, by what names it.
func (d *disks) everything(t *testing.T, c testedCloud) map[string][]string {
	t.Helper()
	out := c.things(t)
	net := d.neutron.ServiceClient
	for kind, pager := range map[string]pagination.Pager{
		"servers":  servers.List(d.ServiceClient, servers.ListOpts{AllTenants: true}),
		"flavors":  flavors.ListDetail(d.ServiceClient, flavors.ListOpts{AccessType: flavors.AllAccess}),
		"volumes":  volumes.List(d.cinder.ServiceClient, volumes.ListOpts{AllTenants: true}),
		"images":   images.List(d.glance.ServiceClient, images.ListOpts{}),
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
				continue // Neutron makes one for every project that asks for any, and keeps it.
			}
			out[kind] = append(out[kind], one.Name+" "+one.ID)
		}
		slices.Sort(out[kind])
	}
	return out
}
