//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// testShapes checks that Nova, Placement and Neutron have the node's settings from the pool's claim
// (testdata/hypervisors.yaml), that a server can be created with them, and that it keeps the node in its zone.
func testShapes(t *testing.T, m *Machines) {
	ctx := context.Background()
	m.Cloud.Operators.Forward(2 * time.Minute) // the companion looks once a minute
	m.Until(t, "the node's zone and aggregates", "", func() error {
		return same(map[string]string{
			"north": "north [node-0] map[availability_zone:north]", "shapes": " [node-0] map[]",
		}, m.groups(t))
	})
	page, err := availabilityzones.ListDetail(m.ServiceClient).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	zones, err := availabilityzones.ExtractAvailabilityZones(page)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(zones, func(z availabilityzones.AvailabilityZone) bool {
		return z.ZoneName == "north" && z.ZoneState.Available && z.Hosts["node-0"]["nova-compute"].Available
	}) {
		t.Errorf("zones are %+v", zones)
	}
	testProvider(t, m)
	m.Until(t, "the zone of the node's gateway", "", func() error { return m.routerZone("north") })

	shaped := harness.Created(t, func() (*flavors.Flavor, error) {
		return flavors.Create(ctx, m.ServiceClient, flavors.CreateOpts{Name: "shaped", RAM: 64, VCPUs: 1, Disk: new(0)}).Extract()
	})
	if err := flavors.CreateExtraSpecs(ctx, m.ServiceClient, shaped.ID, flavors.ExtraSpecsOpts{"trait:CUSTOM_SHAPE": "required"}).Err; err != nil {
		t.Fatal(err)
	}
	s, err := servers.Create(ctx, m.ServiceClient, servers.CreateOpts{
		Name: "shaped", FlavorRef: shaped.ID, ImageRef: m.Image, AvailabilityZone: "north", Networks: "none",
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WaitForServer(ctx, s.ID); err != nil {
		t.Fatalf("%v\n%s", err, m.Logs(t, "nova-compute"))
	}
	testPinned(t, m)
	if err := m.DeleteServer(ctx, s.ID); err != nil {
		t.Error(err)
	}
}

// testProvider checks the resource provider of the node.
func testProvider(t *testing.T, m *Machines) {
	t.Helper()
	ctx := context.Background()
	provider, ends := harness.Administrator(t, m.Cloud)
	c, err := openstack.NewPlacementV1(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "1.39"
	page, err := resourceproviders.List(c, resourceproviders.ListOpts{Name: "node-0"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, err := resourceproviders.ExtractResourceProviders(page)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	traits, err := resourceproviders.GetTraits(ctx, c, found[0].UUID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(traits.Traits, "CUSTOM_SHAPE") {
		t.Errorf("traits are %v", traits.Traits)
	}
	inventories, err := resourceproviders.GetInventories(ctx, c, found[0].UUID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for class, i := range inventories.Inventories {
		got[class] = fmt.Sprintf("reserved %d, ratio %v", i.Reserved, i.AllocationRatio)
		if class != "MEMORY_MB" {
			got[class] = fmt.Sprintf("%d, ", i.Total) + got[class]
		}
	}
	delete(got, "DISK_GB")
	want := map[string]string{"VCPU": "1, reserved 0, ratio 8", "PCPU": "1, reserved 0, ratio 1", "MEMORY_MB": "reserved 256, ratio 1.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inventories (-want +got):\n%s", diff)
	}
}

// testPinned checks that a host stays in a zone while it runs a server that was created in this zone, and that the
// companion reports it.
func testPinned(t *testing.T, m *Machines) {
	t.Helper()
	ctx, key := context.Background(), client.ObjectKey{Namespace: m.Cloud.Namespace, Name: m.Cloud.Pool().Namespace}
	c := &openstackv1.ComputeCatalog{}
	message := func(reason string) (message string) {
		t.Helper()
		err := m.Cloud.Cluster.Wait(ctx, operators.Timeout, "the companion's word", func(context.Context) (bool, error) {
			if err := m.Cloud.Cluster.Client.Get(ctx, key, c); err != nil {
				return false, err
			}
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
	message("UpToDate")
	nodes := c.Spec.Nodes
	edit := func(nodes []openstackv1.ComputeNodes) {
		t.Helper()
		c.Spec.Nodes = nodes
		c.Generation++
		if err := m.Cloud.Cluster.Client.Update(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	edit(nil)
	if got := message("RejectedByNova"); !strings.HasPrefix(got, "cannot remove host node-0 from aggregate north: Nova returned HTTP 409: ") {
		t.Error(got)
	} else {
		t.Log(got)
	}
	edit(nodes)
	message("UpToDate")
	if err := same(map[string]string{
		"north": "north [node-0] map[availability_zone:north]", "shapes": " [node-0] map[]",
	}, m.groups(t)); err != nil {
		t.Error(err)
	}
}

// groups returns short descriptions of Nova's aggregates.
func (m *Machines) groups(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, g := range m.Aggregates(t) {
		out[g.Name] = fmt.Sprint(g.AvailabilityZone, " ", g.Hosts, " ", g.Metadata)
	}
	return out
}

// routerZone returns an error unless Neutron has an availability zone for routers.
func (m *Machines) routerZone(name string) error {
	var zones struct {
		All []struct{ Name, State, Resource string } `json:"availability_zones"`
	}
	_, err := m.Neutron.Get(context.Background(), m.Neutron.ServiceURL("availability_zones"), &zones, &gophercloud.RequestOpts{ //nolint:bodyclose // the client does
		OkCodes: []int{http.StatusOK},
	})
	if err != nil {
		return err
	}
	for _, z := range zones.All {
		if z.Name == name && z.State == "available" && z.Resource == "router" {
			return nil
		}
	}
	return fmt.Errorf("zones of Neutron are %+v", zones.All)
}

// same returns an error unless both are equal.
func same(want, got map[string]string) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("(-want +got):\n%s", diff)
	}
	return nil
}
