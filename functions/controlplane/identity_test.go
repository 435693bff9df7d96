package controlplane

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

const directories = `{identityBackends: [
  {domain: employees, ldap: {url: "ldaps://ldap.example.com", suffix: "dc=x", userTreeDN: "dc=x"}},
  {domain: Partners_, ldap: {url: "ldaps://ldap.example.com", suffix: "dc=y", userTreeDN: "dc=y"}}]}`

// TestDirectoryDomains: Keystone reads a directory's file only if its domain exists, so K-ORC makes it, whatever is imported; and
// Keystone gets its ID.
func TestDirectoryDomains(t *testing.T) {
	spec := "{korc: {bootstrapResources: []}, services: {keystone: " + directories + "}}"
	all := desired(t, ready(t, spec, bare))
	ids := map[string]any{}
	for _, domain := range []string{"employees", "Partners_"} {
		name := domainObject(domain)
		o := all["domain-"+name].Map()
		want := map[string]any{
			"managementPolicy": "managed", "managedOptions": map[string]any{"onDelete": "detach"},
			"cloudCredentialsRef": map[string]any{"secretName": "keystone-korc-clouds", "cloudName": "korc"},
			"resource":            map[string]any{"name": domain, "description": "Users of a directory"},
		}
		if diff := cmp.Diff(want, o["spec"]); diff != "" {
			t.Errorf("domain %s (-want +got):\n%s", domain, diff)
		}
		if all["domain-"+name+"-uses-keystone"] == nil {
			t.Errorf("domain %s does not hold Keystone, by which K-ORC lets go of it", domain)
		}
		ids[domain] = "id-of-" + name
	}
	if diff := cmp.Diff(ids, at(all["keystone"].Map(), "spec", "domainIDs")); diff != "" {
		t.Errorf("Keystone is told (-want +got):\n%s", diff)
	}
}

// TestDomainsThere: Keystone's pods are replaced when a domain appears, and for no other reason.
func TestDomainsThere(t *testing.T) {
	known := map[string]any{"apiVersion": "openstack.k-orc.cloud/v1alpha1", "kind": "Domain", "status": map[string]any{"id": "d1"}}
	told := map[string]any{"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone", "spec": map[string]any{
		"domainIDs": map[string]any{"employees": "d1", "former": "d0"},
	}}
	for name, tc := range map[string]struct {
		reason string
		seen   map[string]map[string]any
		want   map[string]keystonev1.DomainID
	}{
		"None":      {reason: "Nothing is there yet."},
		"NotFound":  {reason: "K-ORC has not made it yet.", seen: map[string]map[string]any{"domain-employees": {"apiVersion": "openstack.k-orc.cloud/v1alpha1", "kind": "Domain"}}},
		"There":     {reason: "K-ORC says what it is.", seen: map[string]map[string]any{"domain-employees": known}, want: map[string]keystonev1.DomainID{"employees": "d1"}},
		"OutOfView": {reason: "Someone deleted the object; the domain stays.", seen: map[string]map[string]any{"keystone": told}, want: map[string]keystonev1.DomainID{"employees": "d1"}},
	} {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{}
			for name, o := range tc.seen {
				observed[name] = structOf(t, o)
			}
			m, err := derive(input(t, "{services: {keystone: "+directories+"}}", bare, observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.domainIDs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDomainObject(t *testing.T) {
	seen := map[string]bool{}
	for _, domain := range []string{"employees", "Employees", "a_b", "a-b", "x-", "0", "A__"} {
		name := domainObject(domain)
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 || seen[name] {
			t.Errorf("domain %s is object %s: %v, seen %v", domain, name, errs, seen[name])
		}
		seen[name] = true
	}
	if got := domainObject("employees"); got != "employees" {
		t.Errorf("a plain name becomes %s", got)
	}
}

// TestBeyondKORC: the companion does what K-ORC cannot, for what is imported.
func TestBeyondKORC(t *testing.T) {
	for groups, want := range map[string][]string{
		"[]":                       nil,
		"[catalog]":                {"region-of-endpoint-keystone-public", "region-of-endpoint-keystone-internal"},
		"[roles, users]":           {"role-assignment-admin-on-system"},
		"[roles, users, projects]": {"role-assignment-admin-on-system", "role-assignment-admin-in-admin"},
		"[users, projects]":        nil,
	} {
		t.Run(groups, func(t *testing.T) {
			m := derived(t, "{global: {region: eu-de-1}, korc: {bootstrapResources: "+groups+"}}", bare)
			var got []string
			for _, r := range m.beyondKORC(m.wantedEntries()) {
				got = append(got, r.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	all := desired(t, ready(t, "{global: {region: eu-de-1}}", bare))
	clouds := map[string]any{"secretName": "keystone-clouds", "cloudName": "admin"}
	if diff := cmp.Diff(map[string]any{"cloudCredentialsRef": clouds, "endpointRef": "keystone-public", "region": "eu-de-1"},
		all["region-of-endpoint-keystone-public"].Map()["spec"]); diff != "" {
		t.Errorf("region (-want +got):\n%s", diff)
	}
	// What bootstrap gave stays when the claim goes, and with it K-ORC's way in.
	if diff := cmp.Diff(map[string]any{
		"cloudCredentialsRef": clouds, "managedOptions": map[string]any{"onDelete": "detach"},
		"resource": map[string]any{"roleRef": "admin", "userRef": "admin", "projectRef": "admin"},
	}, all["role-assignment-admin-in-admin"].Map()["spec"]); diff != "" {
		t.Errorf("role (-want +got):\n%s", diff)
	}
}
