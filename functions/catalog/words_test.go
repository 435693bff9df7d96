package catalog

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestWords: what K-ORC and the companion are asked for, each word of it: what Keystone begins with is taken over, and never changed; the
// rest is made, and stays when it is let go of. The cloud that they log in by is the same in each.
func TestWords(t *testing.T) {
	want := map[string]map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(`
domain-default: {managementPolicy: unmanaged, import: {filter: {name: Default}}}
domain-employees: {managementPolicy: managed, managedOptions: {onDelete: detach}, resource: {name: employees, description: Users of a directory}}
domain-partners-5aa9f: {managementPolicy: managed, managedOptions: {onDelete: detach}, resource: {name: Partners_, description: Users of a directory}}
project-admin: {managementPolicy: unmanaged, import: {filter: {name: admin, domainRef: default}}}
project-service:
  managementPolicy: managed
  managedOptions: {onDelete: detach}
  resource: {name: service, domainRef: default, description: Users of the OpenStack services}
role-admin: {managementPolicy: unmanaged, import: {filter: {name: admin}}}
role-manager: {managementPolicy: unmanaged, import: {filter: {name: manager}}}
role-member: {managementPolicy: unmanaged, import: {filter: {name: member}}}
role-reader: {managementPolicy: unmanaged, import: {filter: {name: reader}}}
role-service: {managementPolicy: unmanaged, import: {filter: {name: service}}}
user-admin: {managementPolicy: unmanaged, import: {filter: {name: root, domainRef: default}}}
service-keystone: {managementPolicy: unmanaged, import: {filter: {name: keystone, type: identity}}}
endpoint-keystone-public: {managementPolicy: unmanaged, import: {filter: {interface: public, serviceRef: keystone}}}
endpoint-keystone-internal: {managementPolicy: unmanaged, import: {filter: {interface: internal, serviceRef: keystone}}}
region-of-endpoint-keystone-public: {endpointRef: keystone-public, region: eu-de-1}
region-of-endpoint-keystone-internal: {endpointRef: keystone-internal, region: eu-de-1}
role-assignment-admin-in-admin: {managedOptions: {onDelete: detach}, resource: {roleRef: admin, userRef: admin, projectRef: admin}}
role-assignment-admin-on-system: {managedOptions: {onDelete: detach}, resource: {roleRef: admin, userRef: admin, system: all}}
`), &want); err != nil {
		t.Fatal(err)
	}
	w, steps := kind.Ready(t, "everything")
	got := map[string]map[string]any{}
	for name, o := range kind.Desired(t, w) {
		spec, _ := o["spec"].(map[string]any)
		cloud := map[string]any{"secretName": "keystone-korc-clouds", "cloudName": "korc"}
		if o["apiVersion"] == "openstack.c5c3.io/v1alpha1" {
			cloud = map[string]any{"secretName": "keystone-clouds", "cloudName": "admin"}
		}
		if diff := cmp.Diff(any(cloud), spec["cloudCredentialsRef"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		delete(spec, "cloudCredentialsRef")
		got[name] = spec
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if made := slices.Sorted(slices.Values(slices.Concat(steps...))); !slices.Equal(made, slices.Sorted(maps.Keys(want))) {
		t.Errorf("made on the way: %v", made)
	}
}
