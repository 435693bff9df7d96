package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

const directories = `{identityBackends: [
  {domain: employees, ldap: {url: "ldaps://ldap.example.com", suffix: "dc=x", userTreeDN: "dc=x"}},
  {domain: Partners_, ldap: {url: "ldaps://ldap.example.com", suffix: "dc=y", userTreeDN: "dc=y"}}]}`

// TestCatalog checks that the catalog gets all settings of the claim.
func TestCatalog(t *testing.T) {
	const adminCloud, korcCloud = "{secretName: keystone-clouds, cloudName: admin}", "{secretName: keystone-korc-clouds, cloudName: korc}"
	for name, tc := range map[string]struct{ reason, spec, platform, want string }{
		"Default": {
			reason: "All bootstrap resources, in the claim's region.", spec: "{}", platform: bare,
			want: "{target: {providerConfig: in-cluster}, region: RegionOne, adminUser: admin, bootstrapResources: [domains, projects, roles, users, catalog]}",
		},
		"Nothing": {
			reason: "An empty list is not the default.", spec: "{korc: {bootstrapResources: []}, global: {region: eu-de-1}}", platform: bare,
			want: "{target: {providerConfig: in-cluster}, region: eu-de-1, adminUser: admin, bootstrapResources: []}",
		},
		"Whole": {
			reason: "Directories need domains, and services need users.",
			spec: "{cluster: {ref: {name: east}}, korc: {bootstrapResources: [roles]}, " +
				"services: {placement: {enabled: true}, keystone: {bootstrap: {adminUser: root}, " + directories[1:] + "}}",
			platform: "{domain: example.com, secretStore: {name: store}, clusters: [{name: east, providerConfig: east, allowedNamespaces: ['*']}], " +
				"limits: [" + limittest.Everything + "]}",
			want: "{target: {providerConfig: east, remote: true}, region: RegionOne, adminUser: root, bootstrapResources: [roles], services: true, " +
				"domains: [employees, Partners_]}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := desired(t, readyCluster(t, tc.spec, tc.platform))["catalog"].Map()
			want := fields(t, tc.want)
			want["adminCloudRef"], want["korcCloudRef"] = fields(t, adminCloud), fields(t, korcCloud)
			if diff := cmp.Diff(any(want), at(got, "spec")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got["kind"] != "IdentityCatalog" || at(got, "metadata", "namespace") != instance {
				t.Errorf("%s %v", got["kind"], got["metadata"])
			}
		})
	}
}

// TestDomainIDs checks that Keystone's pods are replaced when a domain appears, and for no other reason.
func TestDomainIDs(t *testing.T) {
	catalog := func(ids map[string]any) map[string]map[string]any {
		return map[string]map[string]any{"catalog": {
			"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "IdentityCatalog", "status": map[string]any{"domainIDs": ids},
		}}
	}
	previous := map[string]any{"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone", "spec": map[string]any{
		"domainIDs": map[string]any{"employees": "d1", "former": "d0"},
	}}
	for name, tc := range map[string]struct {
		reason   string
		observed map[string]map[string]any
		want     map[string]keystonev1.DomainID
	}{
		"None":     {reason: "Nothing is observed."},
		"NotFound": {reason: "K-ORC has not created it yet.", observed: catalog(nil)},
		"There": {
			reason: "The catalog reports the ID.", observed: catalog(map[string]any{"employees": "d1", "former": "d0"}),
			want: map[string]keystonev1.DomainID{"employees": "d1"},
		},
		"OutOfView": {
			reason: "The catalog is being re-created; the domain is kept.", observed: map[string]map[string]any{"keystone": previous},
			want: map[string]keystonev1.DomainID{"employees": "d1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{}
			for name, o := range tc.observed {
				observed[name] = structOf(t, o)
			}
			m, err := derive(input(t, "{services: {keystone: "+directories+"}}", bare, observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.existingDomains()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
