package kindregistry

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// TestEveryFolderHasKind tests that every folder of apis/ with a definition has a kind, and the reverse.
func TestEveryFolderHasKind(t *testing.T) {
	var got []string
	for _, k := range All() {
		if _, err := apis.Definition(k.Folder); err != nil {
			t.Errorf("%s: %v", k.GroupKind(), err)
		}
		if k.Form != Namespaced {
			got = append(got, k.Folder)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(apis.Folders(), slices.Compact(got)); diff != "" {
		t.Errorf("folders: -apis, +registry:\n%s", diff)
	}
}

// TestEveryClaimHasNamespacedForm tests that the namespaced form of a claim has another group, and only that.
func TestEveryClaimHasNamespacedForm(t *testing.T) {
	var got, want []schema.GroupVersionKind
	for _, k := range WithForm(Namespaced) {
		got = append(got, k.GroupVersionKind)
	}
	for _, k := range WithForm(Claimed) {
		want = append(want, schema.GroupVersionKind{Group: "m." + k.Group, Version: k.Version, Kind: k.Kind})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, k := range WithForm(Namespaced) {
		if claim := k.Claim(); claim.Form != Claimed || claim.Kind != k.Kind || k.Folder != claim.Folder+"-namespaced" {
			t.Errorf("%s: the claim is %v", k.GroupKind(), claim)
		}
	}
}

// TestKindsHaveNamesOfTheirTypes tests that each kind has the name of its Go type, which is in its folder.
func TestKindsHaveNamesOfTheirTypes(t *testing.T) {
	for _, k := range All() {
		folder := k.Folder
		if k.Form == Namespaced {
			folder = k.Claim().Folder
		}
		if k.Type.Name() != k.Kind || !strings.HasSuffix(k.Type.PkgPath(), "/apis/"+folder+"/"+k.Version) {
			t.Errorf("%s of folder %s has the type %s", k.GroupVersionKind, k.Folder, k.Type)
		}
	}
}

// TestComposite tests that the composite resource of a claim has another kind.
func TestComposite(t *testing.T) {
	for _, k := range All() {
		want := k.GroupVersionKind
		if k.Form == Claimed {
			want.Kind = "X" + want.Kind
		}
		if diff := cmp.Diff(want, k.Composite()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", k.Kind, diff)
		}
	}
	composites, others := len(Composites()), len(WithForm(CustomResource, Namespaced))
	if composites == 0 || others == 0 || composites+others != len(All()) {
		t.Errorf("%d composites and %d other kinds of %d", composites, others, len(All()))
	}
}

// TestKindsHaveObservationTime tests that every kind of the companion, and every composite resource, has the time of its last observation
// in the status, in one form. OVNChassis has no controller: its status is the one of its RaftCluster.
func TestKindsHaveObservationTime(t *testing.T) {
	count := 0
	for _, k := range All() {
		if k.Form == CustomResource && !slices.Contains(OfCompanion(), k) {
			continue
		}
		count++
		status, ok := k.Type.FieldByName("Status")
		if !ok {
			t.Errorf("%s has no status", k.Kind)
			continue
		}
		at, ok := status.Type.FieldByName("LastObservationTime")
		if name, _, _ := strings.Cut(at.Tag.Get("json"), ","); !ok || name != freshness.Field || at.Type != reflect.TypeFor[*metav1.Time]() {
			t.Errorf("the status of %s has no field %s with a time", k.Kind, freshness.Field)
		}
	}
	if count < 30 {
		t.Errorf("%d kinds", count)
	}
}

// TestCustomResources tests that the kinds of a scheme are registered in the order of their definition, without lists and options.
func TestCustomResources(t *testing.T) {
	got := map[string][]string{}
	for _, k := range WithForm(CustomResource) {
		got[k.Folder] = append(got[k.Folder], k.Kind)
	}
	for folder, kinds := range got {
		if !slices.IsSorted(kinds) {
			t.Errorf("%s: %q are not in alphabetical order", folder, kinds)
		}
	}
	for folder, kinds := range map[string][]string{
		"openstack":  {"CellMapping", "RoleAssignment"},
		"ovnchassis": {"OVNChassis"},
		"c5c3":       {"ClusterCheck", "SecretAggregate"},
		"platform":   {"PlatformConfig"},
	} {
		for _, kind := range kinds {
			if !slices.Contains(got[folder], kind) {
				t.Errorf("%s: %q lack %s", folder, got[folder], kind)
			}
		}
	}
	for _, k := range OfCompanion() {
		if k.Form != CustomResource || k.Folder != "openstack" && k.Folder != "c5c3" {
			t.Errorf("the companion reconciles %s of the folder %s", k.Kind, k.Folder)
		}
	}
}
