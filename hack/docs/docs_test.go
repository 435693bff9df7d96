package main

import (
	"io/fs"
	"os"
	"path/filepath"
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

// comments reads the comments of types.
func comments(t *testing.T) map[string]string {
	t.Helper()
	docs, err := typeComments(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	return docs
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

// TestPagesContainAllFieldsAndRules checks that a page mentions every field, every description and every rule.
func TestPagesContainAllFieldsAndRules(t *testing.T) {
	docs := comments(t)
	for _, k := range everyKind(t) {
		text := string(page(k, docs))
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

// TestLinksInsidePagesResolve holds that every link inside a page leads to one of its headings.
func TestLinksInsidePagesResolve(t *testing.T) {
	docs := comments(t)
	for _, k := range everyKind(t) {
		text := string(page(k, docs))
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

// TestTablesAreInUse checks that a field has each named pattern.
func TestTablesAreInUse(t *testing.T) {
	observed := map[string]bool{}
	for _, k := range everyKind(t) {
		each(k.schema, func(_ string, p props) {
			observed[p.Pattern] = true
		})
	}
	for pattern := range schema.Patterns {
		if !observed[pattern] {
			t.Errorf("no field has the pattern %s", pattern)
		}
	}
	if !observed[quantity] {
		t.Errorf("no field is a quantity: has controller-gen another pattern for them?")
	}
}

// TestSharedParts checks that a shared section has the name and the comment of its Go type, also if two types have equal fields.
func TestSharedParts(t *testing.T) {
	text := props{Type: "string"}
	object := func(id string, rules ...apiextensionsv1.ValidationRule) props {
		return props{Type: "object", ID: id, XValidations: rules, Properties: map[string]props{"a": text, "b": text, "c": text}}
	}
	ruled := object("m/apis/x/v1/Image", apiextensionsv1.ValidationRule{Rule: "has(self.a)", Message: "a is required"})
	schema := props{Properties: map[string]props{"spec": {Type: "object", Properties: map[string]props{
		"one": object("m/apis/x/v1/Image"), "two": object("m/apis/x/v1/Image"),
		"three": object("m/apis/x/v1/Account"), "four": object("m/apis/x/v1/Account"),
		"other": object("m/apis/y/v1/Image"), "same": object("m/apis/y/v1/Image"),
		"ruled": {Type: "object", Properties: map[string]props{"first": ruled, "second": ruled}},
		"once":  object("m/apis/x/v1/Once"),
	}}}}
	got := map[string]string{}
	for _, s := range sharedParts(schema).sections(map[string]string{"m/apis/x/v1/Image": "An image.", "m/apis/x/v1/Account": "An account."}) {
		got[s.heading] = s.text
	}
	want := map[string]string{"Account": "An account.", "Image": "An image.", "Image (y)": "", "Image of ruled": "An image."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSharedPartsHaveText checks that each shared type of this project has a comment, which its section shows.
func TestSharedPartsHaveText(t *testing.T) {
	docs := comments(t)
	for _, k := range everyKind(t) {
		for _, p := range sharedParts(k.schema).parts {
			if strings.HasPrefix(p.schema.ID, module) && docs[p.schema.ID] == "" {
				t.Errorf("%s: type %s has no comment", k.name, p.schema.ID)
			}
		}
	}
}

// TestRulesNameFields checks that a rule has the fields that it reads in front.
func TestRulesNameFields(t *testing.T) {
	text := props{Type: "string"}
	p := props{Properties: map[string]props{"a": {Properties: map[string]props{"b": text, "c": text}}, "list": {Type: "array"}, "namespace": text}}
	cases := map[string]struct{ reason, path, rule, want string }{
		"Fields":   {reason: "All fields, sorted.", rule: "!has(self.a.c) || self.a.b == 'x'", want: "`a.b`, `a.c`: m."},
		"Holder":   {reason: "An object is omitted if one of its fields is named.", rule: "has(self.a) && has(self.a.b)", want: "`a.b`: m."},
		"Method":   {reason: "A function is not a field.", rule: "self.list.all(x, x.size() > 0)", want: "`list`: m."},
		"Optional": {reason: "Optional fields.", rule: "self.?a.?b.orValue('') != oldSelf.?a.?c.orValue('')", want: "`a.b`, `a.c`: m."},
		"Escaped":  {reason: "CEL escapes its own words.", rule: "has(self.__namespace__)", want: "`namespace`: m."},
		"Below":    {reason: "The path of the object is in front.", path: "x[]", rule: "has(self.a)", want: "`x[].a`: m."},
		"Whole":    {reason: "A rule of a value names the field of the value.", path: "x", rule: "self == oldSelf", want: "`x`: m."},
		"Top":      {reason: "The heading names the object.", rule: "self == oldSelf", want: "m."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := p
			p.XValidations = apiextensionsv1.ValidationRules{{Rule: tc.rule, Message: "m"}}
			if diff := cmp.Diff([]string{tc.want}, rules(tc.path, p)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGenerationIsIdempotent(t *testing.T) {
	if !effort.Long() {
		t.Skip("make verify-generated compares a run with the one before; make test-long makes two")
	}
	a, b := generated(t), generated(t)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	for _, file := range []string{"README.md", "docs/graph.md", notesPage, "docs/images/preview.svg", "docs/reference/README.md", "docs/reference/sizes.md", "docs/reference/versions.md"} {
		if a[file] == "" {
			t.Errorf("%s is missing or empty", file)
		}
	}
}

// generated runs the generator on a folder that has only the pages with marked blocks, and returns every file in it.
func generated(t *testing.T) map[string]string {
	t.Helper()
	root := t.TempDir()
	for _, page := range []string{"README.md", "docs/graph.md", notesPage} {
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

func TestDescribesKindsAndAllowedValues(t *testing.T) {
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
