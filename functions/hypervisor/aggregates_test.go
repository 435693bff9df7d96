package hypervisor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestAggregates verifies the aggregates of nodes, and that an entry is removed in Nova after it is removed from the claim.
func TestAggregates(t *testing.T) {
	w := newCluster(more("availabilityZone: north, aggregates: [ssd], slices: [{name: s, nodeSelector: {rack: s}, availabilityZone: south}, "+
		"{name: t, nodeSelector: {rack: t}, aggregates: [south-west, north]}]"), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	get := func() (c openstackv1.ComputeCatalog) {
		t.Helper()
		if err := makeReady(w); err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(kind.Desired(t, w)[aggregatesComponent], &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	got := get()
	nodes := func(set common.ObjectName, aggregates ...string) openstackv1.ComputeNodes {
		return openstackv1.ComputeNodes{Namespace: common.NamespaceName(got.Name), DaemonSet: set, Aggregates: aggregates}
	}
	login := common.CloudCredentialsReference{SecretName: "nova-clouds", CloudName: "nova"}
	want := openstackv1.ComputeCatalogSpec{
		CloudCredentialsRef: login,
		Aggregates: []common.HostAggregate{
			{Name: "north", AvailabilityZone: "north"}, {Name: "south", AvailabilityZone: "south"}, {Name: "south-west"}, {Name: "ssd"},
		},
		Nodes: []openstackv1.ComputeNodes{
			nodes("nova-compute", "north", "ssd"), nodes("nova-compute-slice-s", "south", "ssd"), nodes("nova-compute-slice-t", "north", "south-west"),
		},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" || got.Namespace != cloud {
		t.Errorf("of %s (-want +got):\n%s", got.Namespace, diff)
	}
	spec := w.XR.GetFields()["spec"].GetStructValue().GetFields()
	for _, field := range []string{"availabilityZone", "aggregates", "slices"} {
		delete(spec, field)
	}
	if diff := cmp.Diff(openstackv1.ComputeCatalogSpec{CloudCredentialsRef: login}, get().Spec); diff != "" {
		t.Errorf("with nothing any more (-want +got):\n%s", diff)
	}
}

// TestPoolWithoutAggregatesComposesNone verifies that a pool without aggregates has no such object.
func TestPoolWithoutAggregatesComposesNone(t *testing.T) {
	w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Observed[aggregatesComponent]; ok {
		t.Error("the object exists")
	}
}
