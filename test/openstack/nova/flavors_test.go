//go:build openstack && linux

package nova

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/aggregates"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// offered is the section of a claim for flavors and aggregates, with the ID of a project.
const catalogSection = `
      flavors:
      - name: c1-small
        vcpus: 1
        memoryMiB: 64
        description: Small machines
        extraSpecs: {"aggregate_instance_extra_specs:ssd": "true", "hw:boot_menu": "false"}
      - name: c1-large
        id: "42"
        vcpus: 4
        memoryMiB: 256
        diskGiB: 1
        ephemeralGiB: 2
        swapMiB: 16
        private: true
        projects: [%s]
      aggregates:
      - name: east
        availabilityZone: az-east
        hosts: [compute-cell1]
        metadata: {ssd: "true"}
      - name: west
        availabilityZone: az-west
        hosts: [compute-cell2, compute-later]
      - name: tenant_filter_tests
`

// edited is the changed section.
const edited = `
      flavors:
      - name: c1-small
        vcpus: 1
        memoryMiB: 64
        extraSpecs: {"aggregate_instance_extra_specs:ssd": "false"}
      aggregates:
      - name: east
        availabilityZone: az-east
        metadata: {rack: "7"}
      - name: west
        availabilityZone: az-west
        hosts: [compute-cell1, compute-cell2]
`

// TestNovaFlavors checks that a real Nova has the flavors and aggregates of a claim, and that servers can be created
// with them. Manually deleted ones are restored, removed ones are deleted, and Nova's errors are reported with its
// messages.
func TestNovaFlavors(t *testing.T) {
	t.Parallel()
	const r release.Release = "2025.2"
	ctx, n := context.Background(), Start(t, r, "-flavors")
	claim := func(more string) []byte {
		before := string(harness.Claim(t, "machines.yaml", r, "-flavors"))
		return []byte(strings.Replace(before, "\n      - name: cell2\n", "\n      - name: cell2"+more, 1))
	}
	provider, ends := harness.Administrator(t, n.Cloud)
	keystone, err := openstack.NewIdentityV3(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	page, err := projects.List(keystone, projects.ListOpts{Name: "service"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, err := projects.ExtractProjects(page)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	project := found[0].ID
	harness.Change(t, n.Cloud, claim(fmt.Sprintf(catalogSection, project)))
	all := map[string]string{
		"flavor c1-large":               "4 256 1 2 16 public=false map[] [" + project + "]",
		"flavor c1-small":               "1 64 0 0 0 public=true map[aggregate_instance_extra_specs:ssd:true hw:boot_menu:false] Small machines",
		"flavor tiny":                   "1 64 0 0 0 public=true map[]",
		"aggregate east":                "az-east [compute-cell1] map[availability_zone:az-east ssd:true]",
		"aggregate tenant_filter_tests": " [] map[]",
		"aggregate west":                "az-west [compute-cell2] map[availability_zone:az-west]",
	}
	n.waitForCatalog(t, "ordered", all)

	machine := n.createIn(t, "c1-small", "az-west")
	if s, err := servers.Get(ctx, n.ServiceClient, machine).Extract(); err != nil || s.Host != "compute-cell2" {
		t.Errorf("a virtual machine of zone az-west is on %q, %v; want compute-cell2", s.Host, err)
	}
	n.testRejected(t)

	for _, g := range n.Aggregates(t) {
		if g.Name != "east" {
			continue
		}
		if err := aggregates.RemoveHost(ctx, n.ServiceClient, g.ID, aggregates.RemoveHostOpts{Host: "compute-cell1"}).Err; err != nil {
			t.Fatal(err)
		}
		if err := aggregates.Delete(ctx, n.ServiceClient, g.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := flavors.Delete(ctx, n.ServiceClient, "42").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	n.Cloud.Operators.Forward(2 * time.Minute) // the companion looks once a minute
	n.waitForCatalog(t, "after a manual deletion of an aggregate and a flavor", all)

	harness.Change(t, n.Cloud, claim(edited))
	n.waitForCatalog(t, "edited", map[string]string{
		"flavor c1-small": "1 64 0 0 0 public=true map[aggregate_instance_extra_specs:ssd:false]",
		"flavor tiny":     "1 64 0 0 0 public=true map[]",
		"aggregate east":  "az-east [] map[availability_zone:az-east rack:7]",
		"aggregate west":  "az-west [compute-cell1 compute-cell2] map[availability_zone:az-west]",
	})
	if err := n.DeleteServer(ctx, machine); err != nil {
		t.Fatal(err)
	}
	harness.Change(t, n.Cloud, claim("\n"))
	n.waitForCatalog(t, "with nothing left in the claim", map[string]string{"flavor tiny": "1 64 0 0 0 public=true map[]"})
}

// testRejected checks that Nova rejects removing a host from the zone of its server, and that the error is reported.
func (n Nova) testRejected(t *testing.T) {
	t.Helper()
	edit := func(hosts ...string) {
		t.Helper()
		c := n.offer(t)
		for i, g := range c.Spec.Aggregates {
			if g.Name == "west" {
				c.Spec.Aggregates[i].Hosts = hosts
			}
		}
		c.Generation++
		if err := n.Cloud.Cluster.Client.Update(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	message := func(reason string) (message string) {
		t.Helper()
		err := n.Cloud.Cluster.Wait(context.Background(), time.Minute, "the companion's word", func(context.Context) (bool, error) {
			c := n.offer(t)
			is := apimeta.FindStatusCondition(c.Status.Conditions, "Ready")
			if is == nil {
				is = &metav1.Condition{}
			}
			message = is.Message
			return is.Reason == reason && is.ObservedGeneration == c.Generation, nil
		})
		if err != nil {
			t.Fatalf("%v: it reports %q", err, message)
		}
		return message
	}
	before := n.offer(t).Spec.Aggregates[1].Hosts
	edit()
	if got := message("RejectedByNova"); !strings.HasPrefix(got, "cannot remove host compute-cell2 from aggregate west: Nova returned HTTP 409: ") {
		t.Error(got)
	} else {
		t.Log(got)
	}
	edit(before...)
	message("HostsMissing")
}

// offer returns the ComputeCatalog.
func (n Nova) offer(t *testing.T) *openstackv1.ComputeCatalog {
	t.Helper()
	c := &openstackv1.ComputeCatalog{}
	if err := n.Cloud.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: n.Cloud.Namespace, Name: "nova"}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// createIn creates a server in a zone, and waits until it runs.
func (n Nova) createIn(t *testing.T, flavor, zone string) (id string) {
	t.Helper()
	ctx := context.Background()
	for _, f := range n.flavors(t) {
		if f.Name != flavor {
			continue
		}
		s, err := servers.Create(ctx, n.ServiceClient, servers.CreateOpts{
			Name: "in-" + zone, FlavorRef: f.ID, ImageRef: n.Image, Networks: "none", AvailabilityZone: zone,
		}, nil).Extract()
		if err != nil {
			t.Fatal(err)
		}
		if err := n.WaitForServer(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		return s.ID
	}
	t.Fatalf("there is no flavor %s", flavor)
	return ""
}

func (n Nova) flavors(t *testing.T) []flavors.Flavor {
	t.Helper()
	page, err := flavors.ListDetail(n.ServiceClient, flavors.ListOpts{AccessType: flavors.AllAccess}).AllPages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, err := flavors.ExtractFlavors(page)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// waitForCatalog waits until Nova has exactly these flavors and aggregates.
func (n Nova) waitForCatalog(t *testing.T, when string, want map[string]string) {
	t.Helper()
	var got map[string]string
	err := n.Cloud.Cluster.Wait(context.Background(), time.Minute, "flavors and aggregates", func(context.Context) (bool, error) {
		got = map[string]string{}
		for _, f := range n.flavors(t) {
			text := fmt.Sprintf("%d %d %d %d %d public=%t %v", f.VCPUs, f.RAM, f.Disk, f.Ephemeral, f.Swap, f.IsPublic, f.ExtraSpecs)
			if f.Description != "" {
				text += " " + f.Description
			}
			if !f.IsPublic {
				text += " " + n.letIn(t, f.ID)
			}
			got["flavor "+f.Name] = text
		}
		for _, g := range n.Aggregates(t) {
			slices.Sort(g.Hosts)
			got["aggregate "+g.Name] = fmt.Sprintf("%s %v %v", g.AvailabilityZone, g.Hosts, g.Metadata)
		}
		return cmp.Equal(want, got), nil
	})
	if err != nil {
		t.Errorf("%s: %v (-want +got):\n%s", when, err, cmp.Diff(want, got))
	}
}

// letIn returns the projects that may use a flavor; none if it was deleted meanwhile.
func (n Nova) letIn(t *testing.T, id string) string {
	t.Helper()
	page, err := flavors.ListAccesses(n.ServiceClient, id).AllPages(context.Background())
	if gophercloud.ResponseCodeIs(err, 404) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := flavors.ExtractAccesses(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, access := range all {
		out = append(out, access.TenantID)
	}
	return fmt.Sprint(out)
}
