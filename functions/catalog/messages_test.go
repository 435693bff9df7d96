package catalog

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"
)

// prefixes are the name prefixes of resources.
var prefixes = map[string]string{
	"Domain": "domain-", "Project": "project-", "Role": "role-", "User": "user-", "Service": "service-", "Endpoint": "endpoint-",
	"EndpointRegion": "region-of-endpoint-", "RoleAssignment": "role-assignment-",
}

// TestObjectsHaveAllFields verifies all fields of the objects for K-ORC and the companion: objects of Keystone's bootstrap are imported and
// not changed; others are created, and retained on deletion. All use the same credentials.
func TestObjectsHaveAllFields(t *testing.T) {
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
		meta, _ := o["metadata"].(map[string]any)
		if prefix := prefixes[fmt.Sprint(o["kind"])]; prefix+fmt.Sprint(meta["name"]) != name || meta["namespace"] != "cloud" {
			t.Errorf("%s is %v %v in %v", name, o["kind"], meta["name"], meta["namespace"])
		}
		delete(spec, "cloudCredentialsRef")
		got[name] = spec
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	step := func(name string) int {
		return slices.IndexFunc(steps, func(s []string) bool { return slices.Contains(s, name) })
	}
	if step("project-service") <= step("domain-default") {
		t.Errorf("a project comes before its domain: %v", steps)
	}
	if created := slices.Sorted(slices.Values(slices.Concat(steps...))); !slices.Equal(created, slices.Sorted(maps.Keys(want))) {
		t.Errorf("made on the way: %v", created)
	}
}

// TestStatus verifies the status that the control plane reads.
func TestStatus(t *testing.T) {
	w, _ := kind.Ready(t, "everything")
	w.XR.GetFields()["metadata"].GetStructValue().Fields["generation"] = structpb.NewNumberValue(7)
	rsp, _, err := kind.Explain(w.Request())
	if err != nil {
		t.Fatal(err)
	}
	status := rsp.Composite.Object.At("status").Map()
	if status["phase"] != "Ready" || fmt.Sprint(status["observedGeneration"]) != "7" {
		t.Errorf("phase %v of generation %v", status["phase"], status["observedGeneration"])
	}
	components, _ := status["components"].([]any)
	if len(components) != 1 || components[0].(map[string]any)["ready"] != "18/18" {
		t.Errorf("components %v", components)
	}
	if ids, _ := status["domainIDs"].(map[string]any); len(ids) != 2 {
		t.Errorf("domains %v", ids)
	}
}
