package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// everyKind reads all definitions.
func everyKind(t *testing.T) []kind {
	t.Helper()
	var all []kind
	for _, folder := range apis.Folders() {
		data, err := apis.Definition(folder)
		if err != nil {
			t.Fatal(err)
		}
		kinds, err := parse(data)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		all = append(all, kinds...)
	}
	return all
}

// each visits every schema below one.
func each(p props, visit func(name string, p props)) {
	for name, child := range p.Properties {
		visit(name, child)
		each(child, visit)
	}
	if inner, ok := member(p); ok {
		visit("", inner)
		each(inner, visit)
	}
}

// TestPagesComplete checks that a page mentions every field, every description and every rule.
func TestPagesComplete(t *testing.T) {
	for _, k := range everyKind(t) {
		text := string(page(k))
		for _, part := range []string{"spec", "status"} {
			p := k.schema.Properties[part]
			delete(p.Properties, "conditions") // They have the Kubernetes type.
			visit := func(name string, p props) {
				if name != "" && !strings.Contains(text, name+"`") {
					t.Errorf("%s: field %s is missing", k.name, name)
				}
				if name != "" && !strings.Contains(text, cell(p.Description)) {
					t.Errorf("%s: the description of %s is missing: %s", k.name, name, p.Description)
				}
				for _, r := range p.XValidations {
					if !strings.Contains(text, r.Message) {
						t.Errorf("%s: rule is missing: %s", k.name, r.Message)
					}
				}
			}
			visit("", p)
			each(p, visit)
		}
	}
}

// TestLinksResolve holds that every link inside a page leads to one of its headings.
func TestLinksResolve(t *testing.T) {
	for _, k := range everyKind(t) {
		text := string(page(k))
		anchors := map[string]bool{}
		for line := range strings.Lines(text) {
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				a := anchor(strings.TrimSpace(heading))
				if anchors[a] {
					t.Errorf("%s: two headings %q", k.name, strings.TrimSpace(heading))
				}
				anchors[a] = true
			}
		}
		for _, link := range strings.Split(text, "](#")[1:] {
			to, _, _ := strings.Cut(link, ")")
			if !anchors[to] {
				t.Errorf("%s: the target #%s of a link does not exist", k.name, to)
			}
		}
	}
}

// TestTablesAreInUse holds that the names of patterns and pieces have not been left behind by a change of the types.
func TestTablesAreInUse(t *testing.T) {
	observed := map[string]bool{}
	for _, k := range everyKind(t) {
		each(k.schema, func(_ string, p props) {
			observed[p.Pattern] = true
			observed[strings.Join(slices.Sorted(maps.Keys(p.Properties)), ",")] = true
		})
	}
	for pattern := range schema.Patterns {
		if !observed[pattern] {
			t.Errorf("no field has the pattern %s", pattern)
		}
	}
	for fields, name := range definitionNames {
		if !observed[fields] {
			t.Errorf("nothing has the fields of %s: %s", name, fields)
		}
	}
	if !observed[quantity] {
		t.Errorf("no field is a quantity: has controller-gen another pattern for them?")
	}
}

func TestGenerateIdempotent(t *testing.T) {
	if !effort.Long() {
		t.Skip("make verify-generated compares a run with the one before; make test-long makes two")
	}
	a, b := generated(t), generated(t)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	for _, file := range []string{"README.md", "docs/graph.md", "docs/images/preview.svg", "docs/reference/README.md", "docs/reference/sizes.md", "docs/reference/versions.md"} {
		if a[file] == "" {
			t.Errorf("%s is missing or empty", file)
		}
	}
}

// generated runs the generator on a folder that has only the pages with marked blocks, and returns every file in it.
func generated(t *testing.T) map[string]string {
	t.Helper()
	root := t.TempDir()
	for _, page := range []string{"README.md", "docs/graph.md"} {
		data, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, page)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := generate(os.DirFS("../.."), root); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMessages(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	f := func(x float64) *float64 { return &x }
	type want struct{ kind, allowed string }
	cases := map[string]struct {
		reason string
		schema props
		want   want
	}{
		"Enum": {
			reason: "The values are listed in their original form.",
			schema: props{Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"b"`)}}},
			want:   want{"string", "`a`, `b`"},
		},
		"Range": {
			reason: "Numbers have two ends.",
			schema: props{Type: "integer", Minimum: f(1), Maximum: f(9)},
			want:   want{"integer", "1 to 9"},
		},
		"UnknownPattern": {
			reason: "A pattern without a name is shown, and its bars do not end the cell.",
			schema: props{Type: "string", Pattern: "^(a|b)$", MaxLength: n(1)},
			want:   want{"string", "`^(a\\|b)$`"},
		},
		"List": {
			reason: "Bounds of the list, then of its members.",
			schema: props{Type: "array", MinItems: n(1), MaxItems: n(4), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &props{Type: "string", MaxLength: n(8)}}},
			want:   want{"list of strings", "1 to 4 entries: up to 8 characters"},
		},
		"Quantity": {
			reason: "The pattern of a quantity is omitted.",
			schema: props{XIntOrString: true, Pattern: quantity, MaxLength: n(20)},
			want:   want{"quantity", ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := want{typeOf(tc.schema), allowed(tc.schema)}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
