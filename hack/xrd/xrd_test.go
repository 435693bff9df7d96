package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

func TestTitle(t *testing.T) {
	cases := map[string]string{
		"openStackRelease":          "OpenStack release",
		"replicas":                  "Replicas",
		"nodeSelector":              "Node selector",
		"caSecretRef":               "CA secret reference",
		"ref":                       "Reference",
		"metadataURL":               "Metadata URL",
		"clientID":                  "Client ID",
		"userTreeDN":                "User tree DN",
		"privateCA":                 "Private CA",
		"publicCIDRs":               "Public CIDRs",
		"osds":                      "OSDs",
		"mariaDBRef":                "MariaDB reference",
		"maxScale":                  "MaxScale",
		"s3":                        "S3",
		"ml2":                       "ML2",
		"uwsgi":                     "uWSGI",
		"novncproxy":                "noVNC proxy",
		"ephemeral-storage":         "Ephemeral storage",
		"allowExpiredWindowSeconds": "Allow expired window seconds",
		"x":                         "X",
	}
	for name, want := range cases {
		if got := title(name); got != want {
			t.Errorf("title(%q) = %q, want %q", name, got, want)
		}
	}
}

// crd is a small CRD as controller-gen makes it, with a change.
func crd(change func(spec, status *apiextensionsv1.JSONSchemaProps)) *apiextensionsv1.CustomResourceDefinition {
	spec := apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: "Wanted.", Required: []string{"size"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size": {Type: "string", Description: "How large."},
			"name": {Type: "string", Title: "My own title"},
		},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "true", Message: "never"}},
	}
	status := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"conditions"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"conditions": {Type: "array"}, "phase": {Type: "string"}},
	}
	if change != nil {
		change(&spec, &status)
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	out.Spec.Group = "example.org"
	out.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing", ListKind: "ThingList", Plural: "things", Singular: "thing"}
	out.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Description: "A Thing.",
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": {Type: "object"}, "spec": spec, "status": status,
			},
		}},
	}}
	return out
}

func TestClaimable(t *testing.T) {
	got, err := claimable("thing", crd(nil))
	if err != nil {
		t.Fatal(err)
	}
	o := got.(object)
	spec := o.Spec.(xrdSpec)
	if o.APIVersion != "apiextensions.crossplane.io/v1" || o.Metadata.Name != "xthings.example.org" || spec.Scope != "LegacyCluster" {
		t.Errorf("got %s %s of scope %s", o.APIVersion, o.Metadata.Name, spec.Scope)
	}
	if spec.Names.Kind != "XThing" || spec.ClaimNames.Kind != "Thing" || spec.EnforcedCompositionRef.Name != "thing" {
		t.Errorf("got kind %s, claim %s, composition %s", spec.Names.Kind, spec.ClaimNames.Kind, spec.EnforcedCompositionRef.Name)
	}
	want := &apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: "A Thing.", Required: []string{"spec"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {
				Type: "object", Description: "Wanted.", Required: []string{"size"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"size": {Type: "string", Title: "Size", Description: "How large."},
					"name": {Type: "string", Title: "My own title"},
				},
				XValidations: apiextensionsv1.ValidationRules{{Rule: "true", Message: "never"}},
			},
			"status": {
				Type: "object", Required: []string{},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"phase": {Type: "string"}},
			},
		},
	}
	if diff := cmp.Diff(want, spec.Versions[0].Schema.OpenAPIV3Schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestInvalidSchemasAreRejected(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(spec, status *apiextensionsv1.JSONSchemaProps)
		want   string
	}{
		"ReservedInSpec": {
			reason: "Crossplane's own field would replace ours without a word.",
			change: func(spec, _ *apiextensionsv1.JSONSchemaProps) {
				spec.Properties["resourceRef"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			},
			want: "spec.resourceRef is a field of Crossplane's own",
		},
		"ReservedInStatus": {
			reason: "The same in the status.",
			change: func(_, status *apiextensionsv1.JSONSchemaProps) {
				status.Properties["connectionDetails"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			},
			want: "status.connectionDetails is a field of Crossplane's own",
		},
		"DroppedAtSpec": {
			reason: "Crossplane does not take over a default of the spec itself.",
			change: func(spec, _ *apiextensionsv1.JSONSchemaProps) {
				spec.Default = &apiextensionsv1.JSON{Raw: []byte(`{}`)}
			},
			want: `a part of spec would be dropped by Crossplane: move {"default":{}} to a field below`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := claimable("thing", crd(tc.change))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot  %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
}

// TestFolders tests that registered kinds and generated CRDs must match.
func TestFolders(t *testing.T) {
	from := t.TempDir()
	add := func(file, group, kind string) {
		crd := crd(func(_, _ *apiextensionsv1.JSONSchemaProps) {})
		crd.Spec.Group, crd.Spec.Names.Kind = group, kind
		data, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := kindregistry.All()
	for _, k := range all[1:] {
		if k.Form == kindregistry.Namespaced {
			continue // Its definition is made from the claim's CRD.
		}
		add(k.Kind+".yaml", k.Group, k.Kind)
	}
	if _, err := folders(from); err == nil || !strings.Contains(err.Error(), "cannot find the CRD of "+all[0].GroupKind().String()) {
		t.Errorf("without the CRD of a registered kind: %v", err)
	}
	add("first.yaml", all[0].Group, all[0].Kind)
	got, err := folders(from)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range got {
		files[f.name] = f.file + " " + strings.Join(f.crds, " ")
	}
	for folder, want := range map[string]string{
		"controlplane": "definition.yaml first.yaml", "controlplane-namespaced": "definition.yaml first.yaml", "nova": "definition.yaml Nova.yaml", "platform": "crd.yaml PlatformConfig.yaml",
		"workloadcluster": "definition.yaml WorkloadCluster.yaml",
		"c5c3":            "crd.yaml ClusterCheck.yaml CredentialRotation.yaml NodeIssuer.yaml RaftCluster.yaml RemoteConsumer.yaml SecretAggregate.yaml",
	} {
		if files[folder] != want {
			t.Errorf("%s: %s, want %s", folder, files[folder], want)
		}
	}
	add("other.yaml", "example.org", "Other")
	if _, err := folders(from); err == nil || !strings.Contains(err.Error(), "other.yaml: the kind is not registered; add it to internal/kindregistry, or to AddToScheme of its package") {
		t.Errorf("with the CRD of a kind that is not registered: %v", err)
	}
}

func TestGenerate(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	f := folder{"c5c3", "c5c3", crdDocument, "crd.yaml", []string{"a.yaml", "a.yaml"}}
	if err := generate(f, from, to); err == nil {
		t.Error("a CRD that is not there must be an error")
	}
	in := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.org}\nspec: {group: example.org, names: {kind: Thing, plural: things}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
	if err := os.WriteFile(filepath.Join(from, "a.yaml"), []byte(in), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(to, "c5c3"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := generate(f, from, to); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(filepath.Join(to, "c5c3", "crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]int{"do not edit.\n---\n": 1, "\n---\n": 2, "name: things.example.org": 2, "status:": 0} {
		if got := strings.Count(string(out), want); got != n {
			t.Errorf("%d times %q, want %d, in:\n%s", got, want, n, out)
		}
	}
}

// TestCommittedCompositionsAreCurrent tests that the committed Compositions of composed kinds are generated.
func TestCommittedCompositionsAreCurrent(t *testing.T) {
	for _, k := range kindregistry.WithForm(kindregistry.Composed, kindregistry.Namespaced) {
		got, err := os.ReadFile("../../compositions/" + k.Folder + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(composition(k)), string(got)); diff != "" {
			t.Errorf("%s: -generated, +committed; run make generate:\n%s", k.Folder, diff)
		}
	}
}
