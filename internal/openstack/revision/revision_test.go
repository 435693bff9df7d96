package revision

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestKnown compares with the facts about each service: the output of its own tool for databases that it has created.
func TestKnown(t *testing.T) {
	var all []string
	for _, r := range release.Releases() {
		all = append(all, string(r))
	}
	revisions := map[string][]expected.Revision{}
	for _, facts := range expected.Services(t) {
		maps.Copy(revisions, facts.Revisions)
	}
	for service, facts := range revisions {
		var want []openstackv1.SchemaRevision
		for _, r := range facts {
			want = append(want, openstackv1.SchemaRevision{Revision: r.Revision, Releases: r.Releases})
		}
		got, err := Known(service)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", service, diff)
		}
		for _, r := range all {
			if !slices.ContainsFunc(got, func(s openstackv1.SchemaRevision) bool { return slices.Contains(s.Releases, r) }) {
				t.Errorf("%s: no revision is of release %s", service, r)
			}
		}
	}
}

func TestServiceWithoutSchemaIsUnknown(t *testing.T) {
	if _, err := Known("cortex"); err == nil {
		t.Error("a service without a schema has one")
	}
}
