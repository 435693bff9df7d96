package revision

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestKeystone: what the released packages' keystone-manage db_version printed of databases that their db_sync had made, but for the revision
// that 28.1.0 carries and does not find.
func TestKeystone(t *testing.T) {
	got, err := Known("keystone")
	if err != nil {
		t.Fatal(err)
	}
	want := []openstackv1.SchemaRevision{
		{Revision: "47147121", Releases: []string{"2025.1", "2025.2"}},
		{Revision: "e8725d6fa226", Releases: []string{"2026.1"}},
		{Revision: "742c857f1dfb", Releases: []string{"2026.1", "2026.2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	known := map[string]bool{}
	for _, r := range got {
		for _, name := range r.Releases {
			known[name] = true
		}
	}
	for _, r := range release.Releases() {
		if !known[string(r)] {
			t.Errorf("no revision is of release %s", r)
		}
	}
}

func TestUnknown(t *testing.T) {
	if _, err := Known("cortex"); err == nil {
		t.Error("a service without a schema has one")
	}
}
