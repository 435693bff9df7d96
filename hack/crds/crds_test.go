package crds

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const thing = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org, labels: {a: b}, annotations: {c: d}}
spec:
  group: example.org
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      additionalPrinterColumns: [{name: A, type: string, jsonPath: .a, description: d}]
      schema:
        openAPIV3Schema:
          type: object
          description: d
          properties:
            description: {type: string, description: d}
            list: {type: array, items: {type: string, description: d}, anyOf: [{minItems: 1, description: d}]}
            map: {type: object, additionalProperties: {type: string, description: d}, not: {required: [x], description: d}}
status: {storedVersions: [v1]}
`

func TestParse(t *testing.T) {
	found, err := Parse([]byte("# a comment\n---\nkind: Role\n---\n" + thing + "---\nkind: CustomResourceDefinition\napiVersion: v9\n"))
	if err != nil || len(found) != 1 {
		t.Fatalf("Parse(...): want one CRD and no error, got %d and %v", len(found), err)
	}
	got, err := Slim(found[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    c: d
  name: things.example.org
spec:
  group: example.org
  names:
    kind: Thing
    plural: things
  scope: Cluster
  versions:
  - additionalPrinterColumns:
    - jsonPath: .a
      name: A
      type: string
    name: v1
    schema:
      openAPIV3Schema:
        properties:
          description:
            type: string
          list:
            anyOf:
            - minItems: 1
            items:
              type: string
            type: array
          map:
            additionalProperties:
              type: string
            not:
              required:
              - x
            type: object
        type: object
    served: false
    storage: false
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Slim(...): -want, +got:\n%s", diff)
	}
	if _, err := Parse([]byte("kind: CustomResourceDefinition\nspec: [")); err == nil {
		t.Error("Parse of broken YAML: want an error")
	}
}

func TestParseModules(t *testing.T) {
	got, err := parseModules("# comment\n\nexample.org/a v1.0.0 h1:x= crds/*.yaml b.yaml # more\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []*module{{path: "example.org/a", version: "v1.0.0", sum: "h1:x=", globs: []string{"crds/*.yaml", "b.yaml"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(module{})); diff != "" {
		t.Errorf("parseModules(...): -want, +got:\n%s", diff)
	}
	for reason, line := range map[string]string{
		"no glob": "example.org/a v1.0.0 h1:x=",
		"no hash": "example.org/a v1.0.0 crds/*.yaml b.yaml",
	} {
		if _, err := parseModules(line); err == nil || !strings.Contains(err.Error(), "modules.txt:1") {
			t.Errorf("%s: want an error that names the line, got %v", reason, err)
		}
	}
}

func TestAddFrom(t *testing.T) {
	kind := schema.GroupKind{Group: "example.org", Kind: "Thing"}
	files := fstest.MapFS{"a.yaml": {Data: []byte(thing)}}
	crds := map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{}
	if err := addFrom(crds, files, []string{"*.yaml"}); err != nil || crds[kind] == nil {
		t.Fatalf("addFrom(...): want the CRD of %s, got %v and %v", kind, crds, err)
	}
	if err := addFrom(crds, files, []string{"*.yaml"}); err == nil {
		t.Error("addFrom of an existing kind: want an error")
	}
	if err := addFrom(crds, files, []string{"*.json"}); err == nil {
		t.Error("addFrom of a glob that matches nothing: want an error")
	}
}

func TestKey(t *testing.T) {
	keyOf := func(files fstest.MapFS) string {
		k, err := key(files)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a := keyOf(fstest.MapFS{"a": {Data: []byte("1")}, "b": {Data: []byte("2")}})
	if next := keyOf(fstest.MapFS{"b": {Data: []byte("2")}, "a": {Data: []byte("1")}}); next != a {
		t.Errorf("key(...): want %s for the same files, got %s", a, next)
	}
	for _, other := range []fstest.MapFS{
		{"a": {Data: []byte("1")}, "b": {Data: []byte("3")}},
		{"a": {Data: []byte("1")}, "c": {Data: []byte("2")}},
	} {
		if keyOf(other) == a {
			t.Errorf("key(%v): want another key than for other files", other)
		}
	}
}

func TestDownloadRefusesAnotherHash(t *testing.T) {
	// A module that the build needs anyway, so it is in the module cache.
	m := &module{path: "sigs.k8s.io/yaml", version: "v1.6.0", sum: "h1:wrong=", globs: []string{"*"}}
	if err := download(context.Background(), []*module{m}); err == nil || !strings.Contains(err.Error(), "want h1:wrong= from modules.txt") {
		t.Errorf("download(...): want an error about the hash, got %v", err)
	}
}

func TestFetchNeedsAWritableCache(t *testing.T) {
	t.Setenv("COBALTCORE_CACHE", "/dev/null/cache")
	if _, err := Fetch(context.Background()); err == nil || !strings.Contains(err.Error(), "COBALTCORE_CACHE") {
		t.Errorf("Fetch(...): want an error that names COBALTCORE_CACHE, got %v", err)
	}
}
