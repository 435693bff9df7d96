package emitted_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

// identity returns the objects of the example of identity as code, by the names of its files.
func identity(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	all := map[string][]*unstructured.Unstructured{}
	for _, file := range []string{"administrator", "externalsecret", "rights", "tenant"} {
		all[file] = example(t, "identity/"+file+".yaml")
	}
	return all
}

// example returns the objects of a file of the examples.
func example(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := examples.Files.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := d.Decode(u); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, u)
	}
}

// TestIdentityExampleIsValid validates every object of the example with the released operators' definitions.
func TestIdentityExampleIsValid(t *testing.T) {
	set := crds.Load(t)
	own, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range own {
		set.Add(crd)
	}
	for file, objects := range identity(t) {
		for _, o := range objects {
			for _, err := range set.Validate(o.Object) {
				t.Errorf("%s: %s %s: %s", file, o.GetKind(), o.GetName(), err)
			}
		}
	}
}

// TestNetworksExampleIsValid checks the example of networks: API servers accept every object, referenced objects exist, all objects
// log in as the project, and the rules of its security group are in an order that K-ORC handles correctly: rules with
// ports first (docs/networks-as-code.md).
func TestNetworksExampleIsValid(t *testing.T) {
	set, existing := crds.Load(t), map[string]bool{}
	objects := example(t, "networks/project.yaml")
	for _, o := range objects {
		existing[o.GetKind()+" "+o.GetName()] = true
	}
	for _, o := range objects {
		for _, err := range set.Validate(o.Object) {
			t.Errorf("%s %s: %s", o.GetKind(), o.GetName(), err)
		}
		if o.GetKind() == "Namespace" {
			continue
		}
		if login, found, _ := unstructured.NestedString(o.Object, "spec", "cloudCredentialsRef", "secretName"); found && login != "web" {
			t.Errorf("%s %s logs in by Secret %s", o.GetKind(), o.GetName(), login)
		}
		for _, named := range references(o.Object) {
			if !existing[named] {
				t.Errorf("%s %s names %s, which is not there", o.GetKind(), o.GetName(), named)
			}
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "resource", "rules")
		after := false
		for _, r := range rules {
			_, ports := r.(map[string]any)["portRange"]
			if ports && after {
				t.Errorf("%s %s has a rule with ports after one without", o.GetKind(), o.GetName())
			}
			after = after || !ports
		}
	}
}

// references returns the objects that an object of K-ORC refers to, at any depth: "Network web".
func references(value any) []string {
	kinds := map[string]string{
		"networkRef": "Network", "floatingNetworkRef": "Network", "subnetRef": "Subnet", "routerRef": "Router", "portRef": "Port",
		"securityGroupRefs": "SecurityGroup",
	}
	var out []string
	switch value := value.(type) {
	case map[string]any:
		for field, of := range value {
			kind := kinds[field]
			switch of := of.(type) {
			case string:
				if kind != "" {
					out = append(out, kind+" "+of)
				}
			case []any:
				for _, each := range of {
					if name, ok := each.(string); ok && kind != "" {
						out = append(out, kind+" "+name)
					}
				}
			}
			out = append(out, references(of)...)
		}
	case []any:
		for _, each := range value {
			out = append(out, references(each)...)
		}
	}
	return out
}

// TestFunctionAcceptsIdentityClaim checks that the functions accept the claim of the example's control plane.
func TestFunctionAcceptsIdentityClaim(t *testing.T) {
	claim, err := examples.Files.ReadFile("identity/claim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := preview.Run(claim, examples.Platform, kinds.Runners()); err != nil {
		t.Error(err)
	}
}

// kindOfRef is the kind that a field of K-ORC's, or of a RoleAssignment, names.
var kindOfRef = map[string]string{
	"domainRef": "Domain", "projectRef": "Project", "defaultProjectRef": "Project", "userRef": "User", "groupRef": "Group", "roleRef": "Role",
}

// TestIdentityReferencesExistInNamespace checks that referenced objects exist in the same namespace, and that no object uses a login of
// another namespace.
func TestIdentityReferencesExistInNamespace(t *testing.T) {
	logins := map[string]string{"acme-administration": "administrator", "acme-identity": "manager"}
	all := identity(t)
	existing := map[string]bool{}
	for _, objects := range all {
		for _, o := range objects {
			existing[o.GetNamespace()+" "+o.GetKind()+" "+o.GetName()] = true
		}
	}
	for _, file := range []string{"administrator", "tenant"} {
		for _, o := range all[file] {
			if o.GetKind() == "Namespace" {
				continue
			}
			login, _, _ := unstructured.NestedString(o.Object, "spec", "cloudCredentialsRef", "secretName")
			if want := logins[o.GetNamespace()]; login != want {
				t.Errorf("%s %s logs in by Secret %s, want %s", o.GetKind(), o.GetName(), login, want)
			}
			resource, _, _ := unstructured.NestedMap(o.Object, "spec", "resource")
			for field, value := range resource {
				if kind := kindOfRef[field]; kind != "" && !existing[o.GetNamespace()+" "+kind+" "+value.(string)] {
					t.Errorf("%s %s names %s %s, which is not in namespace %s", o.GetKind(), o.GetName(), kind, value, o.GetNamespace())
				}
			}
		}
	}
}

// TestIdentityRolesGrantRequiredRights checks that the users of the domain may create the objects of the example, in one namespace, and
// that a companion reads no Secret except the login.
func TestIdentityRolesGrantRequiredRights(t *testing.T) {
	all := identity(t)
	rules := map[string][]any{}
	for _, o := range all["rights"] {
		if o.GetKind() == "Role" {
			rules[o.GetNamespace()+" "+o.GetName()], _, _ = unstructured.NestedSlice(o.Object, "rules")
		}
		if strings.HasPrefix(o.GetKind(), "Cluster") {
			t.Errorf("%s %s reaches beyond a namespace", o.GetKind(), o.GetName())
		}
	}
	may := func(role, group, resource, verb string) (allowed bool, names []string) {
		for _, r := range rules[role] {
			has := func(field, value string) bool {
				values, _, _ := unstructured.NestedStringSlice(r.(map[string]any), field)
				return slices.Contains(values, value)
			}
			if has("apiGroups", group) && has("resources", resource) && has("verbs", verb) {
				names, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "resourceNames")
				return true, names
			}
		}
		return false, nil
	}
	for _, o := range all["tenant"] {
		if o.GetKind() == "Namespace" {
			continue
		}
		group, resource := o.GroupVersionKind().Group, strings.ToLower(o.GetKind())+"s"
		for role, verbs := range map[string][]string{
			"acme-identity identity":  {"get", "list", "watch", "create", "update", "patch", "delete"},
			"acme-identity companion": {"get"},
		} {
			for _, verb := range verbs {
				if ok, _ := may(role, group, resource, verb); !ok {
					t.Errorf("%s may not %s %s", role, verb, resource)
				}
			}
		}
	}
	if ok, _ := may("acme-administration identity", "openstack.k-orc.cloud", "domains", "get"); ok {
		t.Error("the domain's people have rights where the administrator's login is")
	}
	for namespace, login := range map[string]string{"acme-administration": "administrator", "acme-identity": "manager"} {
		ok, names := may(namespace+" companion", "", "secrets", "get")
		if !ok || !slices.Equal(names, []string{login}) {
			t.Errorf("the companion in %s reads the Secrets %v, want %s", namespace, names, login)
		}
	}
}
