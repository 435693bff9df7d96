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

// TestImportsReferOnlyToImports verifies that imported objects refer to imported objects only, and that the objects for users of services
// always exist.
func TestImportsReferOnlyToImports(t *testing.T) {
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
			reason: "Users belong to a domain.", spec: catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Users}},
			entries: []string{"domain-default", "user-admin"},
		},
		"Projects": {
			reason: "Projects belong to a domain.", spec: catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Projects}},
			entries: []string{"domain-default", "project-admin", "project-service"},
		},
		"Catalog": {
			reason: "Its endpoints have regions.", spec: catalogv1.IdentityCatalogSpec{BootstrapResources: groups{catalogv1.Domains, catalogv1.Entries}},
			entries: []string{"domain-default", "service-keystone", "endpoint-keystone-public", "endpoint-keystone-internal"},
			beyond:  []string{"region-of-endpoint-keystone-public", "region-of-endpoint-keystone-internal"},
		},
		"Administrator": {
			reason: "The administrator has a role once both exist.",
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
			reason: "An external Keystone has an entry for this region, and objects of other owners are not changed.",
			spec: catalogv1.IdentityCatalogSpec{
				Services: true, Shared: &catalogv1.SharedKeystone{As: "cloud", URL: "https://identity.example.com/v3"},
			},
			entries: []string{
				"domain-default", "project-service", "role-admin", "role-service", "service-keystone", "endpoint-keystone-public", "endpoint-keystone-internal",
			},
			beyond: []string{"region-of-endpoint-keystone-public", "region-of-endpoint-keystone-internal"},
		},
		"Directories": {
			reason: "Their domains are always created, except the domain of bootstrap.",
			spec:   catalogv1.IdentityCatalogSpec{Domains: []catalogv1.DomainName{"employees", "DEFAULT"}}, entries: []string{"domain-employees"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(t, tc.spec, catalogv1.IdentityCatalogStatus{}, nil)
			var entries, beyond []string
			for _, e := range m.desired {
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
	if all := bootstrapEntries("admin", "service"); len(m.desired) != len(all) {
		t.Errorf("%d of %d entries are imported, want all", len(m.desired), len(all))
	}
}

// TestShared verifies that objects which K-ORC creates in an external Keystone have this control plane's name, and that all others are only
// imported.
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

// TestDomainIDs verifies that an ID is reported as long as its domain is desired. Pods of Keystone are replaced when the ID changes.
func TestDomainIDs(t *testing.T) {
	type ids = map[string]keystonev1.DomainID
	domain := func(id string) map[string]string { return map[string]string{"domain-employees": id} }
	for name, tc := range map[string]struct {
		reason   string
		observed map[string]string
		previous ids
		want     ids
	}{
		"None":      {reason: "No object exists yet."},
		"NotFound":  {reason: "K-ORC has not made it yet.", observed: domain("")},
		"There":     {reason: "K-ORC reports it.", observed: domain("d1"), want: ids{"employees": "d1"}},
		"Another":   {reason: "It was deleted in Keystone, and created again.", observed: domain("d2"), previous: ids{"employees": "d1"}, want: ids{"employees": "d2"}},
		"OutOfView": {reason: "The object was deleted; the domain stays.", previous: ids{"employees": "d1", "former": "d0"}, want: ids{"employees": "d1"}},
		"Taken":     {reason: "The object is made again, and K-ORC has not found the domain yet.", observed: domain(""), previous: ids{"employees": "d1"}, want: ids{"employees": "d1"}},
		"TooLong":   {reason: "Keystone's composite resource would not be taken.", observed: domain(string(make([]byte, 129)))},
	} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(t, catalogv1.IdentityCatalogSpec{Domains: []catalogv1.DomainName{"employees"}}, catalogv1.IdentityCatalogStatus{DomainIDs: tc.previous}, tc.observed)
			if len(tc.want) == 0 {
				tc.want = ids{}
			}
			if diff := cmp.Diff(tc.want, m.domainIDs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// modelOf returns the model of a spec and its previous status, with observed domains that have these IDs.
func modelOf(t *testing.T, spec catalogv1.IdentityCatalogSpec, previous catalogv1.IdentityCatalogStatus, domains map[string]string) *model {
	t.Helper()
	objects := map[string]encoded.Struct{}
	for resource, id := range domains {
		o, err := structpb.NewStruct(map[string]any{
			"apiVersion": "openstack.k-orc.cloud/v1alpha1", "kind": "Domain", "status": map[string]any{"id": id},
		})
		if err != nil {
			t.Fatal(err)
		}
		objects[resource] = encoded.Of(o)
	}
	observed, err := observe.New(objects)
	if err != nil {
		t.Fatal(err)
	}
	in := function.Input[catalogv1.IdentityCatalog]{XR: catalogv1.IdentityCatalog{Spec: spec, Status: previous}, Observed: observed}
	function.SetDefaults(&in.XR)
	m, err := derive(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDomainObject verifies that each domain has its own object with a valid name, which does not change once it is used.
func TestDomainObject(t *testing.T) {
	var observed []string
	for domain, want := range map[string]string{
		"employees": "employees", "a-b": "a-b", "0": "0",
		"Employees": "employees-" + names.Hash(5, "Employees"), "a_b": "a-b-" + names.Hash(5, "a_b"), "A_b": "a-b-" + names.Hash(5, "A_b"),
		"x-": "x-" + names.Hash(5, "x-"), "X__": "x-" + names.Hash(5, "X__"),
	} {
		got := domainObject(domain)
		if errs := validation.IsDNS1123Subdomain(got); got != want || len(errs) > 0 || slices.Contains(observed, got) {
			t.Errorf("domain %s is object %s, want %s: %v, seen %v", domain, got, want, errs, observed)
		}
		observed = append(observed, got)
	}
}
