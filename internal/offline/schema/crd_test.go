package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

func TestCheckCRD(t *testing.T) {
	cases := map[string]struct {
		reason string
		mutate func(crd *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.JSONSchemaProps)
		want   string
	}{
		"Good": {
			reason: "An API server accepts it.",
			mutate: func(*apiextensionsv1.CustomResourceDefinition, *apiextensionsv1.JSONSchemaProps) {},
		},
		"Status": {
			reason: "The status is not part of a creation.",
			mutate: func(crd *apiextensionsv1.CustomResourceDefinition, _ *apiextensionsv1.JSONSchemaProps) {
				crd.Status.StoredVersions = []string{"v9"}
				crd.Status.AcceptedNames.Plural = "No name"
			},
		},
		"Name": {
			reason: "The name is made of the plural and the group.",
			mutate: func(crd *apiextensionsv1.CustomResourceDefinition, _ *apiextensionsv1.JSONSchemaProps) {
				crd.Name = "widgets"
			},
			want: `must be spec.names.plural+"."+spec.group`,
		},
		"NotStructural": {
			reason: "Every property has a type.",
			mutate: func(_ *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.JSONSchemaProps) {
				spec.Properties["any"] = apiextensionsv1.JSONSchemaProps{}
			},
			want: "spec.validation.openAPIV3Schema.properties[spec].properties[any].type: Required value",
		},
		"Default": {
			reason: "A default must be valid.",
			mutate: func(_ *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.JSONSchemaProps) {
				spec.Properties["color"] = withDefault(spec.Properties["color"], `"blue"`)
			},
			want: `default: Unsupported value: "blue"`,
		},
		"Compile": {
			reason: "A rule must compile.",
			mutate: func(_ *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.JSONSchemaProps) {
				spec.XValidations = append(spec.XValidations, apiextensionsv1.ValidationRule{Rule: "self.nope == 1"})
			},
			want: "undefined field 'nope'",
		},
		"Cost": {
			reason: "A rule over an unbounded list of unbounded strings costs too much.",
			mutate: func(_ *apiextensionsv1.CustomResourceDefinition, spec *apiextensionsv1.JSONSchemaProps) {
				spec.XValidations = append(spec.XValidations, apiextensionsv1.ValidationRule{
					Rule: "self.names.all(a, self.names.exists_one(b, a.contains(b)))",
				})
				spec.Properties["names"] = apiextensionsv1.JSONSchemaProps{
					Type:  "array",
					Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
				}
			},
			want: "estimated rule cost exceeds budget",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			crd := readCRD(t, "widget.yaml")
			spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			tc.mutate(crd, &spec)
			crd.Spec.Versions = crd.Spec.Versions[:1]
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec

			err := schema.CheckCRD(crd)
			if tc.want == "" && err != nil {
				t.Errorf("%s\nCheckCRD(...): %v", tc.reason, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\nCheckCRD(...): want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func withDefault(props apiextensionsv1.JSONSchemaProps, json string) apiextensionsv1.JSONSchemaProps {
	props.Default = &apiextensionsv1.JSON{Raw: []byte(json)}
	return props
}

func TestXRDYieldsClaimAndCompositeCRDs(t *testing.T) {
	type crdOf = func(*testing.T, string) *apiextensionsv1.CustomResourceDefinition
	composite := func(t *testing.T, file string) *apiextensionsv1.CustomResourceDefinition {
		xrd, err := schema.ParseXRD(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		crd, err := schema.CompositeCRD(xrd)
		if err != nil {
			t.Fatal(err)
		}
		return crd
	}
	claim := func(t *testing.T, file string) *apiextensionsv1.CustomResourceDefinition {
		xrd, err := schema.ParseXRD(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		crd, err := schema.ClaimCRD(xrd)
		if err != nil {
			t.Fatal(err)
		}
		return crd
	}

	cases := map[string]struct {
		reason string
		crd    crdOf
		file   string
		obj    map[string]any
		want   []string
	}{
		"Claim": {
			reason: "A claim has Crossplane's own fields and lives in a namespace.",
			crd:    claim, file: "xrd-legacy.yaml",
			obj: object("Cloud", "c", map[string]any{"size": "small", "compositionUpdatePolicy": "Automatic", "compositeDeletePolicy": "Foreground"}),
		},
		"ClaimWrong": {
			reason: "The root's rules reach the claim; the XR's machinery does not.",
			crd:    claim, file: "xrd-legacy.yaml",
			obj: object("Cloud", "a-long-name", map[string]any{"size": "small", "claimRef": map[string]any{}}),
			want: []string{
				"object: Invalid value: cloud names are at most 8 characters long",
				"spec.claimRef: Forbidden: unknown field",
			},
		},
		"Legacy": {
			reason: "A legacy composite has its machinery in the spec and a reference to its claim.",
			crd:    composite, file: "xrd-legacy.yaml",
			obj: object("XCloud", "c", map[string]any{"size": "small", "claimRef": map[string]any{
				"apiVersion": "test.example.org/v1alpha1", "kind": "Cloud", "namespace": "n", "name": "c"}}),
		},
		"Namespaced": {
			reason: "A v2 composite is namespaced and has its machinery in spec.crossplane.",
			crd:    composite, file: "xrd-namespaced.yaml",
			obj: object("Room", "r", map[string]any{"seats": 0, "crossplane": map[string]any{"compositionRef": map[string]any{"name": "c"}}, "compositionRef": map[string]any{}}),
			want: []string{
				"spec.compositionRef: Forbidden: unknown field",
				"spec.seats: Invalid value: 0: should be greater than or equal to 1",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			crd := tc.crd(t, tc.file)
			if err := schema.CheckCRD(crd); err != nil {
				t.Fatal(err)
			}
			// It can be applied without changes: it has a kind and no owner.
			if crd.APIVersion != "apiextensions.k8s.io/v1" || crd.Kind != "CustomResourceDefinition" || crd.OwnerReferences != nil {
				t.Errorf("the CRD is a %s of %s, owned by %v", crd.Kind, crd.APIVersion, crd.OwnerReferences)
			}
			v, err := schema.New(crd, "v1alpha1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, sentences(v.Validate(tc.obj))); diff != "" {
				t.Errorf("%s\nValidate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	if got := claim(t, "xrd-legacy.yaml").Spec.Scope; got != apiextensionsv1.NamespaceScoped {
		t.Errorf("ClaimCRD(...): want a namespaced CRD, got %s", got)
	}
	defaulted := claim(t, "xrd-legacy.yaml").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["compositeDeletePolicy"].Default
	if defaulted == nil || string(defaulted.Raw) != `"Foreground"` {
		t.Errorf("ClaimCRD(...): want the XRD's delete policy as the claim's default, got %v", defaulted)
	}
	if got := composite(t, "xrd-legacy.yaml").Spec.Scope; got != apiextensionsv1.ClusterScoped {
		t.Errorf("CompositeCRD(legacy): want a cluster-scoped CRD, got %s", got)
	}
	if got := composite(t, "xrd-namespaced.yaml").Spec.Scope; got != apiextensionsv1.NamespaceScoped {
		t.Errorf("CompositeCRD(v2): want a namespaced CRD, got %s", got)
	}

	unclaimed, err := schema.ParseXRD(read(t, "xrd-namespaced.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.ClaimCRD(unclaimed); err == nil {
		t.Error("ClaimCRD of an XRD without claimNames: want an error")
	}
}

func TestParseXRD(t *testing.T) {
	const named = "kind: CompositeResourceDefinition\nmetadata: {name: x}\n"
	cases := map[string]struct{ reason, data string }{
		"Empty":        {"Nothing is no XRD.", ""},
		"Syntax":       {"It must be YAML.", "{"},
		"Kind":         {"Another kind is refused.", "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition"},
		"Version":      {"Only v1 and v2 exist.", named + "apiVersion: apiextensions.crossplane.io/v3"},
		"Unknown":      {"A misspelt field is refused.", named + "apiVersion: apiextensions.crossplane.io/v2\nspec: {grup: a}"},
		"ClaimInV2":    {"v2 has no claims.", named + "apiVersion: apiextensions.crossplane.io/v2\nspec: {claimNames: {kind: A, plural: as}}"},
		"LegacyInV2":   {"v2 has no legacy scope.", named + "apiVersion: apiextensions.crossplane.io/v2\nspec: {scope: LegacyCluster}"},
		"DuplicateKey": {"A key stands once.", named + "kind: CompositeResourceDefinition\napiVersion: apiextensions.crossplane.io/v2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if xrd, err := schema.ParseXRD([]byte(tc.data)); err == nil {
				t.Errorf("%s\nParseXRD(...): want an error, got %v", tc.reason, xrd)
			}
		})
	}
}

// TestParseXRDDefaults tests the defaults of an API server.
func TestParseXRDDefaults(t *testing.T) {
	type policies struct{ scope, update, deletion string }
	text := func(xrd string) policies {
		t.Helper()
		got, err := schema.ParseXRD([]byte("kind: CompositeResourceDefinition\nmetadata: {name: x}\n" + xrd))
		if err != nil {
			t.Fatal(err)
		}
		p := policies{scope: string(*got.Spec.Scope), update: string(*got.Spec.DefaultCompositionUpdatePolicy)}
		if got.Spec.DefaultCompositeDeletePolicy != nil {
			p.deletion = string(*got.Spec.DefaultCompositeDeletePolicy)
		}
		return p
	}
	for xrd, want := range map[string]policies{
		"apiVersion: apiextensions.crossplane.io/v1": {"LegacyCluster", "Automatic", "Background"},
		"apiVersion: apiextensions.crossplane.io/v2": {"Namespaced", "Automatic", ""},
		"apiVersion: apiextensions.crossplane.io/v1\nspec: {scope: Cluster, defaultCompositeDeletePolicy: Foreground, defaultCompositionUpdatePolicy: Manual}": {
			"Cluster", "Manual", "Foreground",
		},
	} {
		if got := text(xrd); got != want {
			t.Errorf("%s\nis %v, want %v", xrd, got, want)
		}
	}
}

func object(kind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "test.example.org/v1alpha1", "kind": kind,
		"metadata": map[string]any{"name": name}, "spec": spec,
	}
}
