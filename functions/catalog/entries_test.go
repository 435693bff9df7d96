package catalog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

type groups = []catalogv1.BootstrapResource

// TestWanted: what is imported refers to nothing that is not, and what the users of services build on is there, whatever else is imported.
func TestWanted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		spec            catalogv1.IdentityCatalogSpec
		entries, beyond []string
	}{
		"Nothing": {reason: "It may be empty."},
		"Roles": {
			reason: "Roles lie nowhere.", spec: catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Roles}},
			entries: []string{"role-admin", "role-manager", "role-member", "role-reader", "role-service"},
		},
		"Users": {
			reason: "They lie in a domain.", spec: catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Users}},
			entries: []string{"domain-default", "user-admin"},
		},
		"Projects": {
			reason: "So do they.", spec: catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Projects}},
			entries: []string{"domain-default", "project-admin", "project-service"},
		},
		"Catalog": {
			reason: "Its endpoints have regions.", spec: catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Domains, catalogv1.Entries}},
			entries: []string{"domain-default", "service-keystone", "endpoint-keystone-public", "endpoint-keystone-internal"},
			beyond:  []string{"region-of-endpoint-keystone-public", "region-of-endpoint-keystone-internal"},
		},
		"Administrator": {
			reason: "The administrator has a role where both are known.",
			spec:   catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Roles, catalogv1.Users}},
			entries: []string{
				"domain-default", "role-admin", "role-manager", "role-member", "role-reader", "role-service", "user-admin",
			},
			beyond: []string{"role-assignment-admin-on-system"},
		},
		"Services": {
			reason: "Their users refer to these.", spec: catalogv1.IdentityCatalogSpec{Services: true},
			entries: []string{"domain-default", "project-service", "role-admin", "role-service"},
		},
		"Shared": {
			reason: "A Keystone of somebody else's has an entry for this region, and nothing there that others made is touched.",
			spec: catalogv1.IdentityCatalogSpec{
				Services: true, Shared: &catalogv1.SharedKeystone{As: "cloud", URL: "https://identity.example.com/v3"},
			},
			entries: []string{
				"domain-default", "project-service", "role-admin", "role-service", "service-keystone", "endpoint-keystone-public", "endpoint-keystone-internal",
			},
			beyond: []string{"region-of-endpoint-keystone-public", "region-of-endpoint-keystone-internal"},
		},
		"Directories": {
			reason: "Their domains are made whatever is imported, but for bootstrap's own.",
			spec:   catalogv1.IdentityCatalogSpec{Domains: []catalogv1.DomainName{"employees", "DEFAULT"}}, entries: []string{"domain-employees"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(t, tc.spec, catalogv1.IdentityCatalogStatus{}, nil)
			var entries, beyond []string
			for _, e := range m.wanted {
				entries = append(entries, e.resource)
			}
			for _, r := range m.companionEntries() {
				beyond = append(beyond, r.Name)
			}
			if diff := cmp.Diff([][]string{tc.entries, tc.beyond}, [][]string{entries, beyond}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	m := modelOf(t, catalogv1.IdentityCatalogSpec{BootstrapResources: catalogv1.BootstrapResources()}, catalogv1.IdentityCatalogStatus{}, nil)
	if all := bootstrapEntries("admin", "service"); len(m.wanted) != len(all) {
		t.Errorf("%d of %d entries are imported where all are asked for", len(m.wanted), len(all))
	}
}

// TestShared: what K-ORC makes in a Keystone of somebody else's bears this control plane's name, and all else is only imported.
func TestShared(t *testing.T) {
	m := modelOf(t, catalogv1.IdentityCatalogSpec{
		Services: true, Region: "two", Shared: &catalogv1.SharedKeystone{As: "cloud", URL: "https://identity.example.com/v3"},
	}, catalogv1.IdentityCatalogStatus{}, nil)
	stages, err := build(m)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, r := range stages[0] {
		u, _ := r.Object.(*unstructured.Unstructured)
		if created, _, _ := unstructured.NestedMap(u.Object, "spec", "resource"); created != nil {
			end, _, _ := unstructured.NestedString(u.Object, "spec", "managedOptions", "onDelete")
			delete(created, "description")
			got[r.Name] = []any{end, created}
		}
	}
	endpoint := func(of string) []any {
		return []any{"delete", map[string]any{"interface": of, "serviceRef": "keystone", "url": "https://identity.example.com/v3"}}
	}
	if diff := cmp.Diff(map[string]any{
		"project-service":            []any{"detach", map[string]any{"name": "cloud", "domainRef": "default"}},
		"service-keystone":           []any{"delete", map[string]any{"name": "keystone-cloud", "type": "identity"}},
		"endpoint-keystone-public":   endpoint("public"),
		"endpoint-keystone-internal": endpoint("internal"),
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, r := range stages[1] {
		if e, ok := r.Object.(*openstackv1.EndpointRegion); !ok || e.Spec.Region != "two" {
			t.Errorf("%s: %+v", r.Name, r.Object)
		}
	}
}

// TestDomainIDs: an ID is known as long as its domain is wanted; pods of Keystone are replaced when that changes.
func TestDomainIDs(t *testing.T) {
	type ids = map[string]keystonev1.DomainID
	domain := func(id string) map[string]string { return map[string]string{"domain-employees": id} }
	for name, tc := range map[string]struct {
		reason   string
		seen     map[string]string
		previous ids
		want     ids
	}{
		"None":      {reason: "Nothing is there yet."},
		"NotFound":  {reason: "K-ORC has not made it yet.", seen: domain("")},
		"There":     {reason: "K-ORC says what it is.", seen: domain("d1"), want: ids{"employees": "d1"}},
		"Another":   {reason: "Somebody deleted it in Keystone, and it was made again.", seen: domain("d2"), previous: ids{"employees": "d1"}, want: ids{"employees": "d2"}},
		"OutOfView": {reason: "Somebody deleted the object; the domain stays.", previous: ids{"employees": "d1", "former": "d0"}, want: ids{"employees": "d1"}},
		"Taken":     {reason: "The object is made again, and K-ORC has not found the domain yet.", seen: domain(""), previous: ids{"employees": "d1"}, want: ids{"employees": "d1"}},
		"TooLong":   {reason: "Keystone's composite resource would not be taken.", seen: domain(string(make([]byte, 129)))},
	} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(t, catalogv1.IdentityCatalogSpec{Domains: []catalogv1.DomainName{"employees"}}, catalogv1.IdentityCatalogStatus{DomainIDs: tc.previous}, tc.seen)
			if len(tc.want) == 0 {
				tc.want = ids{}
			}
			if diff := cmp.Diff(tc.want, m.domainIDs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// modelOf is the model of a spec and what was reported before, when domains with these IDs are observed.
func modelOf(t *testing.T, spec catalogv1.IdentityCatalogSpec, previous catalogv1.IdentityCatalogStatus, domains map[string]string) *model {
	t.Helper()
	observed := map[string]encoded.Struct{}
	for resource, id := range domains {
		o, err := structpb.NewStruct(map[string]any{
			"apiVersion": "openstack.k-orc.cloud/v1alpha1", "kind": "Domain", "status": map[string]any{"id": id},
		})
		if err != nil {
			t.Fatal(err)
		}
		observed[resource] = encoded.Of(o)
	}
	seen, err := observe.New(observed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := derive(function.Input[catalogv1.IdentityCatalog]{XR: catalogv1.IdentityCatalog{Spec: spec, Status: previous}, Observed: seen})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDomainObject: each domain has an object of its own, whose name Kubernetes takes. It never changes once it is in use.
func TestDomainObject(t *testing.T) {
	var seen []string
	for domain, want := range map[string]string{
		"employees": "employees", "a-b": "a-b", "0": "0",
		"Employees": "employees-" + names.Hash(5, "Employees"), "a_b": "a-b-" + names.Hash(5, "a_b"), "A_b": "a-b-" + names.Hash(5, "A_b"),
		"x-": "x-" + names.Hash(5, "x-"), "X__": "x-" + names.Hash(5, "X__"),
	} {
		got := domainObject(domain)
		if errs := validation.IsDNS1123Subdomain(got); got != want || len(errs) > 0 || slices.Contains(seen, got) {
			t.Errorf("domain %s is object %s, want %s: %v, seen %v", domain, got, want, errs, seen)
		}
		seen = append(seen, got)
	}
}
