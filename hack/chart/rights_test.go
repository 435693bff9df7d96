package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// west is a cluster of the example PlatformConfig.
const west = "west"

// south is the WorkloadCluster of the examples.
const south = "south"

// keystoneServices are services of one's own, after the control plane that lets them in.
var keystoneServices = []string{"keystoneservice/control-plane.yaml", "keystoneservice/claim.yaml", "keystoneservice/agent.yaml"}

// sameCluster are claims that cannot be in another cluster: they are used from several clusters, belong to a claim in a cluster, or have
// Secrets that are not copied to another cluster. A WorkloadCluster is in none.
var sameCluster = append([]string{
	"storage/external.yaml", "storage/hypervisors.yaml", "storage/objects.yaml", "storage/objects-control-plane.yaml",
	"storage/mirrored.yaml", "workloadcluster/cluster.yaml",
}, keystoneServices...)

// previews runs every example, here and with its workloads in another cluster.
func previews(t *testing.T) map[string]*preview.Result {
	t.Helper()
	if previewed == nil {
		previewed = previewAll(t)
	}
	return previewed
}

// previewed holds the results of previewAll, which no test changes.
var previewed map[string]*preview.Result

// previewAll previews each claim once, because previews are the largest part of the cost of these tests.
func previewAll(t *testing.T) map[string]*preview.Result {
	t.Helper()
	var files []string
	for _, k := range kindregistry.Composites() {
		if slices.Contains([]string{"hypervisor", "keystoneservice"}, k.Folder) {
			continue // They follow below, with the claims that they refer to.
		}
		found, err := fs.Glob(examples.Files, k.Folder+"/*.yaml")
		if err != nil || len(found) == 0 && k.Form == kindregistry.Claimed {
			t.Fatalf("there are no examples in %s: %v", k.Folder, err)
		}
		files = append(files, found...)
	}
	files = append(files, keystoneServices...)
	out := map[string]*preview.Result{}
	var existing []*structpb.Struct // by the claims before, to which those of the same folder refer
	folder := ""
	for i, file := range files {
		if file == "nova/sixteen.yaml" && !effort.Long() {
			continue // Its cells have the kinds of the other examples, and take longer than all of them.
		}
		if path.Dir(file) != folder {
			folder, existing = path.Dir(file), nil
		}
		data, err := examples.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		remote := map[string]any{}
		if err := yaml.Unmarshal(data, &remote); err != nil {
			t.Fatal(err)
		}
		for _, spec := range specsWithCluster(remote) {
			spec["cluster"] = map[string]any{"ref": map[string]any{"name": west}}
		}
		other, err := yaml.Marshal(remote)
		if err != nil {
			t.Fatal(err)
		}
		claims := map[string][]byte{file: data, file + " remote": other}
		switch {
		case slices.Contains(sameCluster, file):
			delete(claims, file+" remote")
		case file == "storage/own-cluster.yaml":
			delete(claims, file) // It sets another cluster.
		}
		if !effort.Long() && len(claims) > 1 && !strings.HasPrefix(file, "storage/") && !strings.HasPrefix(file, "cloud/") && !strings.Contains(file, "external") && file != keystoneServices[0] {
			// In make test, one half of the examples is here, and the other half in another cluster.
			delete(claims, []string{file, file + " remote"}[i%2])
		}
		for name, claim := range claims {
			if out[name], err = preview.RunWithClaims(existing, claim, examples.Platform, kinds.Runners()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if file == "storage/claim.yaml" || file == "storage/control-plane.yaml" || file == keystoneServices[0] {
			existing = append(existing, out[file].Existing...)
		}
	}
	// A pool is in the cluster of its control plane, or in another cluster.
	for _, pair := range [][2]string{
		{"hypervisor/control-plane.yaml", "hypervisor/claim.yaml"}, {"hypervisor/exposed-control-plane.yaml", "hypervisor/own-cluster.yaml"},
		{"hypervisor/agents-control-plane.yaml", "hypervisor/agents.yaml"}, {"hypervisor/sriov-control-plane.yaml", "hypervisor/sriov.yaml"},
	} {
		for _, in := range []string{"", west} {
			existing = nil
			for _, file := range pair {
				data, err := examples.Files.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				name := file
				if file == "hypervisor/own-cluster.yaml" {
					name += " remote"
				}
				if in != "" && strings.HasPrefix(file, "hypervisor/c") {
					name, data = file+" remote", bytes.Replace(data, []byte("\nspec:\n"), []byte("\nspec:\n  cluster: {ref: {name: "+in+"}}\n"), 1)
				}
				if out[name], err = preview.RunWithClaims(existing, data, examples.Platform, kinds.Runners()); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				existing = out[name].Existing
			}
		}
	}
	return out
}

// specsWithCluster returns the specs of a claim that name a cluster: its spec, or the specs of the claims that an OpenStackCluster composes.
func specsWithCluster(claim map[string]any) []map[string]any {
	spec := claim["spec"].(map[string]any)
	if claim["kind"] != "OpenStackCluster" {
		return []map[string]any{spec}
	}
	out := []map[string]any{at(spec, "storage", "spec").(map[string]any), at(spec, "controlPlane", "spec").(map[string]any)}
	for _, pool := range spec["hypervisorPools"].([]any) {
		out = append(out, at(pool.(map[string]any), "spec").(map[string]any))
	}
	return out
}

// TestAppliersHaveRequiredRights checks that the applier of each object of the examples has the required permissions: Crossplane, the
// provider of the management cluster or the provider of another cluster.
func TestAppliersHaveRequiredRights(t *testing.T) {
	composeRules, objectRules, workloadRules := must(t, compose), must(t, objects), must(t, workloads)
	for name, result := range previews(t) {
		for _, o := range result.Objects {
			kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
			rules, who := composeRules, "Crossplane"
			if o.Wrapped {
				rules, who = objectRules, "the provider here"
				if config := configOf(o); config == west || config == south {
					rules, who = workloadRules, "the provider there"
				}
			} else if granted(kind) {
				continue
			}
			for _, verb := range change {
				want := verb != "delete" || !inManagement[kind] // Nothing deletes the access to a cluster.
				if got := allows(rules, kind.Group, plural(kind), verb); got != want {
					t.Errorf("%s: %s may %s %s: %t, want %t", name, who, verb, kind, got, want)
				}
			}
		}
	}
}

// TestRightsAreNeeded checks that kinds in inObjects are never composed directly, and that every kind is composed as listed in the tables.
func TestRightsAreNeeded(t *testing.T) {
	direct, wrapped := map[schema.GroupKind]bool{}, map[schema.GroupKind]bool{}
	for name, result := range previews(t) {
		for _, o := range result.Objects {
			kind := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
			if !o.Wrapped {
				direct[kind] = true
			} else if !strings.HasSuffix(name, " remote") && configOf(o) != south {
				wrapped[kind] = true
			}
		}
	}
	for kind := range inObjects {
		if direct[kind] || !wrapped[kind] {
			t.Errorf("%s: inObjects requires that it is always wrapped; directly: %v, wrapped: %v", kind, direct[kind], wrapped[kind])
		}
	}
	for kind := range both {
		if !direct[kind] || !wrapped[kind] {
			t.Errorf("%s: both requires that it is composed either way; directly: %v, wrapped: %v", kind, direct[kind], wrapped[kind])
		}
	}
	for kind := range wrapped {
		if !inObjects[kind] && !both[kind] {
			t.Errorf("%s is wrapped in its own cluster: add it to inObjects or both", kind)
		}
	}
}

// TestGrantedRolesAreHeld checks the permissions of creators of Roles: Kubernetes rejects a Role with permissions that its creator lacks.
func TestGrantedRolesAreHeld(t *testing.T) {
	held := must(t, companionRules)
	roles := 0
	for name, result := range previews(t) {
		for _, o := range result.Objects {
			if o.Kind != "Role" || o.APIVersion != "rbac.authorization.k8s.io/v1" {
				continue
			}
			roles++
			role := rbacv1.Role{}
			data, err := json.Marshal(inner(o))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &role); err != nil {
				t.Fatal(err)
			}
			for _, r := range role.Rules {
				for _, group := range r.APIGroups {
					for _, resource := range r.Resources {
						for _, verb := range r.Verbs {
							if !allows(held, group, resource, verb) {
								t.Errorf("%s: the Role %s grants %s on %s.%s, which its maker does not hold", name, o.Name, verb, resource, group)
							}
						}
					}
				}
			}
		}
	}
	if roles == 0 {
		t.Error("no example has a Role, so that nothing was checked")
	}
}

// TestPlurals compares the names of resources with the names in the real CRDs.
func TestPlurals(t *testing.T) {
	dir, err := crds.Fetch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, kind := range readiness.Rules.Kinds() {
		data, err := os.ReadFile(filepath.Join(dir, crds.FileName(kind)))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		checked++
		if got, want := plural(kind), crd.Spec.Names.Plural; got != want {
			t.Errorf("%s: the plural is %q, not %q", kind, want, got)
		}
	}
	if checked < 20 {
		t.Errorf("only %d kinds have a CRD", checked)
	}
}

func must(t *testing.T, f func() ([]rule, error)) []rule {
	t.Helper()
	rules, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func allows(rules []rule, group, resource, verb string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb)
	})
}

// configOf is the name of the provider config of an Object.
func configOf(o preview.Object) string {
	spec, _ := o.Manifest.AsMap()["spec"].(map[string]any)
	ref, _ := spec["providerConfigRef"].(map[string]any)
	name, _ := ref["name"].(string)
	return name
}

// inner is an object itself, wherever it is wrapped.
func inner(o preview.Object) map[string]any {
	m := o.Manifest.AsMap()
	if !o.Wrapped {
		return m
	}
	spec, _ := m["spec"].(map[string]any)
	provider, _ := spec["forProvider"].(map[string]any)
	manifest, _ := provider["manifest"].(map[string]any)
	return manifest
}
