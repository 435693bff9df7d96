package doctor

import "testing"

func TestKindOf(t *testing.T) {
	for name, tc := range map[string]struct{ reason, name, want string }{
		"Singular":   {"kubectl accepts the singular.", "controlplanecluster", "crossplane.c5c3.io/v1alpha1, Kind=ControlPlaneCluster"},
		"Plural":     {"And the plural, in any case.", "ControlPlaneClusters", "crossplane.c5c3.io/v1alpha1, Kind=ControlPlaneCluster"},
		"Group":      {"And the group.", "storageclusters.crossplane.c5c3.io", "crossplane.c5c3.io/v1alpha1, Kind=StorageCluster"},
		"Composite":  {"The composite resource of a claim is another kind.", "xstoragecluster", "crossplane.c5c3.io/v1alpha1, Kind=XStorageCluster"},
		"Namespaced": {"The namespaced form has a status of its own.", "storageclusters.m.crossplane.c5c3.io", "/, Kind="},
		"NoForm":     {"A service has no other form.", "novas.m.nova.openstack.c5c3.io", "/, Kind="},
		"OtherGroup": {"A kind of another project.", "storageclusters.example.com", "/, Kind="},
	} {
		t.Run(name, func(t *testing.T) {
			kind, ok := KindOf(tc.name)
			if kind.String() != tc.want || ok != (kind.Kind != "") {
				t.Errorf("%s: KindOf(%q) = %s, %v, want %s", tc.reason, tc.name, kind, ok, tc.want)
			}
		})
	}
}

func TestIsClusterScoped(t *testing.T) {
	for name, want := range map[string]bool{"workloadcluster": true, "xstoragecluster": true, "storagecluster": false, "nova": false} {
		kind, ok := KindOf(name)
		if got := IsClusterScoped(kind); !ok || got != want {
			t.Errorf("IsClusterScoped(%s) = %t, want %t", kind, got, want)
		}
	}
}
