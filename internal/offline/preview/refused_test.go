package preview

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

func TestLocate(t *testing.T) {
	const doc = `# a comment
kind: A
metadata:
  annotations: {a.b/c: x, "d": 5}
spec:
  list:
  - name: one
  - name: "2025.2"
    inner: {a.b: 1, a: {b: 2}}
  base: &base
    field: 7
  other: *base
`
	cases := map[string]struct {
		reason, path string
		want         located
	}{
		"Top":        {reason: "A field of the object.", path: "kind", want: located{line: 2, text: "A"}},
		"Element":    {reason: "An element of a list, by its number.", path: "spec.list[1].name", want: located{line: 8, text: "2025.2", quoted: true}},
		"Key":        {reason: "A key in brackets, as of annotations.", path: "metadata.annotations[a.b/c]", want: located{line: 4, text: "x"}},
		"Quoted":     {reason: "A key in quotes, as of options.", path: `metadata.annotations."d"`, want: located{line: 4, text: "5"}},
		"Dots":       {reason: "Of a.b, the field of that name comes before b in a.", path: "spec.list[1].inner.a.b", want: located{line: 9, text: "1"}},
		"Alias":      {reason: "The target of an alias.", path: "spec.other.field", want: located{line: 11, text: "7"}},
		"Missing":    {reason: "For a missing field, the line of its parent.", path: "spec.list[0].size", want: located{line: 7}},
		"MissingTop": {reason: "The same for the whole object.", path: "apiVersion", want: located{line: 2}},
		"Beyond":     {reason: "A number that the list does not have.", path: "spec.list[2]", want: located{line: 6}},
		"Negative":   {reason: "No number.", path: "spec.list[-1]", want: located{line: 6}},
		"Mapping":    {reason: "Only scalars have a text.", path: "spec.list", want: located{line: 6}},
		"Object":     {reason: "The name of the whole object in errors is no field.", path: "object", want: located{line: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, newLocator([]byte(doc)).locate(tc.path), cmp.AllowUnexported(located{})); diff != "" {
				t.Errorf("%s\nlocate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	for _, bad := range []string{"", "a: [", "\t", "- 1\n- 2\n"} {
		if got := newLocator([]byte(bad)).locate("a.b"); got.text != "" {
			t.Errorf("locate(%q): %v", bad, got)
		}
	}
}

// TestErrorCostIsLinear tests that an input is parsed once for all of its errors: four times the errors cost four times the work.
func TestErrorCostIsLinear(t *testing.T) {
	cost := func(n int) float64 {
		doc, sentences := manyErrors(n)
		return testing.AllocsPerRun(1, func() { newFieldErrors(doc, "the claim", sentences...) })
	}
	if few, many := cost(100), cost(400); many > 5*few {
		t.Errorf("400 errors: %.0f allocations, 100 errors: %.0f; want at most 5 times as many", many, few)
	}
}

func BenchmarkManyErrors(b *testing.B) {
	for _, n := range []int{600, 2400, 9600} {
		doc, sentences := manyErrors(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				newFieldErrors(doc, "the claim", sentences...)
			}
		})
	}
}

// manyErrors returns an input with many fields in one mapping, and an error for each.
func manyErrors(n int) (doc []byte, sentences []string) {
	doc = []byte("spec:\n")
	for i := range n {
		doc = fmt.Appendf(doc, "  field%d: 1\n", i)
		sentences = append(sentences, fmt.Sprintf("spec.field%d: unknown field", i))
	}
	return doc, sentences
}

// TestRunEdit tests that an edit is rejected by transition rules, by the function, and if the claims differ.
func TestRunEdit(t *testing.T) {
	edited := strings.Replace(claim, "2025.2", "2026.1", 1)
	shrunk := strings.Replace(claim, `spec: {`, `spec: {infrastructure: {mariadb: {storageSize: 1Gi}}, `, 1)
	large := strings.Replace(shrunk, "1Gi", "2Gi", 1)
	cases := map[string]struct {
		reason       string
		old, claim   string
		refuseEdited error
		want         *ValidationErrors
	}{
		"Accepted": {reason: "An edit like any other.", old: claim, claim: edited},
		"Schema": {
			reason: "A rule of the schema compares the two.", old: large, claim: shrunk,
			want: &ValidationErrors{
				Source: SourceClaim, Input: "ControlPlaneCluster b",
				Sentences: []string{"spec.infrastructure.mariadb: Invalid value: storageSize cannot shrink"},
			},
		},
		"Function": {
			reason: "The function refuses it.", old: claim, claim: edited, refuseEdited: invalid.Field("spec.openStackRelease", "not that one"),
			want: &ValidationErrors{Source: SourceClaim, Input: "ControlPlaneCluster b", Sentences: []string{"spec.openStackRelease: not that one"}},
		},
		"OldRefused": {
			reason: "The old claim is at fault.", old: strings.Replace(claim, "2025.2", "1999.1", 1), claim: claim,
			want: &ValidationErrors{
				Source: SourceOldClaim, Input: "ControlPlaneCluster b",
				Sentences: []string{`spec.openStackRelease: Unsupported value: "1999.1": supported values: "2025.1", "2025.2", "2026.1", "2026.2"`},
			},
		},
		"Other": {
			reason: "They are versions of two claims.", old: strings.Replace(claim, "namespace: a", "namespace: z", 1), claim: claim,
			want: &ValidationErrors{
				Source: SourceOldClaim, Input: "the old claim",
				Sentences: []string{"metadata: is ControlPlaneCluster b in namespace z, but the new claim is ControlPlaneCluster b in a; pass two versions of one claim"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runners := toyThat(func(spec map[string]any) error {
				if spec["openStackRelease"] == "2026.1" {
					return tc.refuseEdited
				}
				return nil
			})
			_, err := RunEdit([]byte(tc.old), []byte(tc.claim), []byte(platform), runners)
			got := (*ValidationErrors)(nil)
			if err != nil && !errors.As(err, &got) {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(ValidationErrors{})); diff != "" {
				t.Errorf("%s\nRunEdit(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFiles tests that two objects with the same kind, name and component, such as a namespace in two clusters, have separate files.
func TestFiles(t *testing.T) {
	r := Result{Objects: []Object{
		{Stage: 1, Component: "namespace", Resource: "namespace", Kind: "Namespace", Name: "a"},
		{Stage: 1, Component: "namespace", Resource: "workload-namespace", Kind: "Namespace", Name: "a"},
		{Stage: 2, Component: "namespace", Resource: "other", Kind: "Namespace", Name: "a"},
	}}
	var got []string
	for name := range r.files() {
		got = append(got, filepath.ToSlash(name))
	}
	want := []string{
		"01-namespace/namespace-a.yaml", "01-namespace/namespace-a-workload-namespace.yaml", "02-namespace/namespace-a.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
}

// TestSchemaErrorsHaveLineAndHint tests that errors of a schema have a line and a hint.
func TestSchemaErrorsHaveLineAndHint(t *testing.T) {
	with := func(spec string) string {
		return "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: ControlPlaneCluster\nmetadata:\n  namespace: a\n  name: b\nspec:\n  openStackRelease: \"2025.2\"\n" + spec
	}
	cases := map[string]struct {
		reason, claim string
		want          []ValidationError
	}{
		"Unknown": {
			reason: "A field that is written wrongly, in the spec and deeper.",
			claim:  with("  siz: small\n  infrastructure:\n    mariadb:\n      storagesize: 1Gi\n"),
			want: []ValidationError{
				{Message: "spec.infrastructure.mariadb.storagesize: Forbidden: unknown field", Hint: "did you mean storageSize?", Line: 11},
				{Message: "spec.siz: Forbidden: unknown field", Hint: "did you mean size?", Line: 8},
			},
		},
		"UnknownTop": {
			reason: "A field of the object itself.", claim: with("") + "metadatum: {}\n",
			want: []ValidationError{{Message: "metadatum: Forbidden: unknown field", Hint: "did you mean metadata?", Line: 8}},
		},
		"Nothing": {
			reason: "Nothing is like it, and nothing is guessed.", claim: with("  somethingElse: small\n"),
			want: []ValidationError{{Message: "spec.somethingElse: Forbidden: unknown field", Line: 8}},
		},
		"Number": {
			reason: "YAML reads a number where a text is meant.", claim: strings.Replace(with(""), `"2025.2"`, "2025.2", 1),
			want: []ValidationError{{Message: `spec.openStackRelease: Invalid value: "number": must be of type string: "number"`, Hint: `quote it: "2025.2"`, Line: 7}},
		},
		"List": {
			reason: "The hint on quotes is only for scalars.", claim: strings.Replace(with(""), `"2025.2"`, "[]", 1),
			want: []ValidationError{{Message: `spec.openStackRelease: Invalid value: "array": must be of type string: "array"`, Line: 7}},
		},
		"Text": {
			reason: "Nor is anything where a number is meant.", claim: with("  services:\n    keystone:\n      replicas: many\n"),
			want: []ValidationError{{Message: `spec.services.keystone.replicas: Invalid value: "string": must be of type integer: "string"`, Line: 10}},
		},
		"Pattern": {
			reason: "A regular expression in words.", claim: with("  infrastructure: {mariadb: {storageSize: 0Gi}}\n"),
			want: []ValidationError{{
				Message: "spec.infrastructure.mariadb.storageSize: Invalid value: \"0Gi\": should match '^[1-9][0-9]*(Mi|Gi|Ti)$'",
				Hint:    "expected: size with its unit, such as 100Gi", Line: 8,
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Run([]byte(tc.claim), []byte(platform), toy(nil))
			rejected := (*ValidationErrors)(nil)
			if !errors.As(err, &rejected) {
				t.Fatalf("%s\nRun(...): %v, want a refusal", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, rejected.List(), cmpopts.IgnoreFields(ValidationError{}, "Field")); diff != "" {
				t.Errorf("%s\nMistakes(): -want, +got:\n%s", tc.reason, diff)
			}
			for _, m := range rejected.List() {
				if m.Field == "" || !strings.HasPrefix(m.Message, m.Field+": ") {
					t.Errorf("%s\nfield %q of the message %s", tc.reason, m.Field, m.Message)
				}
			}
			if rejected.Source != SourceClaim || rejected.Input != "ControlPlaneCluster b" {
				t.Errorf("%s\nit is input %d that is refused, %q", tc.reason, rejected.Source, rejected.Input)
			}
		})
	}
}

// TestReportsSourceOfErrors tests the source of errors, and unreadable inputs.
func TestReportsSourceOfErrors(t *testing.T) {
	cases := map[string]struct {
		reason, claim, platform string
		want                    ValidationErrors
		line                    int
		hint                    string
	}{
		"Platform": {
			reason: "The platform has a field that there is not.", claim: claim, platform: strings.Replace(platform, "domain:", "domian: b, domain:", 1),
			want: ValidationErrors{Source: SourcePlatform, Input: "PlatformConfig default", Sentences: []string{"spec.domian: Forbidden: unknown field"}},
			line: 1, hint: "did you mean domain?",
		},
		"PlatformKind": {
			reason: "Something else is given for it.", claim: claim, platform: claim,
			want: ValidationErrors{Source: SourcePlatform, Input: "the PlatformConfig", Sentences: []string{
				`kind: must be PlatformConfig with apiVersion crossplane.c5c3.io/v1alpha1, not "ControlPlaneCluster" with "crossplane.c5c3.io/v1alpha1"`,
			}},
		},
		"PlatformVersion": {
			reason: "Or another version.", claim: claim, platform: strings.Replace(platform, "v1alpha1", "v1", 1),
			want: ValidationErrors{Source: SourcePlatform, Input: "the PlatformConfig", Sentences: []string{
				`kind: must be PlatformConfig with apiVersion crossplane.c5c3.io/v1alpha1, not "PlatformConfig" with "crossplane.c5c3.io/v1"`,
			}},
		},
		"PlatformName": {
			reason: "Or another one.", claim: claim, platform: strings.Replace(platform, "default", "other", 1),
			want: ValidationErrors{Source: SourcePlatform, Input: "PlatformConfig other", Sentences: []string{"metadata.name: must be default"}},
		},
		"Kind": {
			reason: "A kind that has no function.", claim: strings.Replace(claim, "ControlPlaneCluster", "StorageCluster", 1), platform: platform,
			want: ValidationErrors{Input: "StorageCluster b", Sentences: []string{
				`kind: must be a claim, not "StorageCluster" with apiVersion "crossplane.c5c3.io/v1alpha1"; use one of ControlPlaneCluster (crossplane.c5c3.io/v1alpha1), or its namespaced form of group m.crossplane.c5c3.io`,
			}},
		},
		"Namespace": {
			reason: "A preview does not set a namespace.", claim: strings.Replace(claim, "namespace: a, ", "", 1), platform: platform,
			want: ValidationErrors{Input: "ControlPlaneCluster b", Sentences: []string{"metadata.namespace: Required value: the names of composed objects are derived from it"}},
		},
		"Name": {
			reason: "Nor a name.", claim: strings.Replace(claim, "name: b", `name: ""`, 1), platform: platform,
			want: ValidationErrors{Input: "ControlPlaneCluster", Sentences: []string{"metadata.name: Required value: the names of composed objects are derived from it"}},
		},
		"Metadata": {
			reason: "Nor all of it.", claim: strings.Replace(claim, "metadata: {namespace: a, name: b}, ", "", 1), platform: platform,
			want: ValidationErrors{Input: "ControlPlaneCluster", Sentences: []string{"metadata.namespace: Required value: the names of composed objects are derived from it"}},
		},
		"MetadataList": {
			reason: "The schema rejects metadata of another type.", claim: strings.Replace(claim, "{namespace: a, name: b}", "[]", 1), platform: platform,
			want: ValidationErrors{Input: "ControlPlaneCluster", Sentences: []string{`metadata: Invalid value: "array": must be of type object: "array"`}}, line: 1,
		},
		"Empty": {
			reason: "The document is empty.", claim: "# nothing\n", platform: platform,
			want: ValidationErrors{Input: "the claim", Sentences: []string{"the file is empty; provide an object with apiVersion, kind, metadata and spec"}},
		},
		"NoObject": {
			reason: "There is something else.", claim: "[]", platform: platform,
			want: ValidationErrors{Input: "the claim", Sentences: []string{"must be an object with apiVersion, kind, metadata and spec"}},
		},
		"Several": {
			reason: "There is more than one.", claim: claim + "\n---\n" + claim, platform: platform,
			want: ValidationErrors{Input: "the claim", Sentences: []string{"the file contains more than one document; pass each document in its own file"}},
		},
		"Tab": {
			reason: "A tab is invisible.", claim: "a: 1\nspec:\n  \tb: 1\n", platform: platform,
			want: ValidationErrors{Input: "the claim", Sentences: []string{"invalid YAML: line 3: found character that cannot start any token"}},
			line: 3, hint: "a line starts with a tab: indent with spaces",
		},
		"Template": {
			reason: "A template was not rendered.", claim: "a: 1\nb: {{ .Values.b }}\n", platform: platform,
			want: ValidationErrors{Input: "the claim", Sentences: []string{"invalid YAML: field names must not be mappings or lists"}},
			hint: "it contains a template, {{ … }}: render it first",
		},
		"Broken": {
			reason: "It is broken in some other way.", claim: "a: 1\nb: c: d\n", platform: platform,
			want: ValidationErrors{Input: "the claim", Sentences: []string{"invalid YAML: line 2: mapping values are not allowed in this context"}},
			line: 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := NewCluster([]byte(tc.claim), []byte(tc.platform), toy(nil))
			rejected := (*ValidationErrors)(nil)
			if !errors.As(err, &rejected) {
				t.Fatalf("%s\nWorld(...): %v, want a refusal", tc.reason, err)
			}
			if diff := cmp.Diff(&tc.want, rejected, cmpopts.IgnoreUnexported(ValidationErrors{})); diff != "" {
				t.Errorf("%s\nWorld(...): -want, +got:\n%s", tc.reason, diff)
			}
			if got := rejected.List()[0]; got.Line != tc.line || got.Hint != tc.hint {
				t.Errorf("%s\nline %d, hint %q, want line %d, hint %q", tc.reason, got.Line, got.Hint, tc.line, tc.hint)
			}
		})
	}
	if _, err := NewCluster([]byte("---\n"+claim+"\n---\n# the end\n"), []byte(platform), toy(nil)); err != nil {
		t.Errorf("an empty document is counted: %v", err)
	}
}
