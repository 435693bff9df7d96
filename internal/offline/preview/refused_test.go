package preview

import (
	"errors"
	"path/filepath"
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
		"Alias":      {reason: "What an alias stands for.", path: "spec.other.field", want: located{line: 11, text: "7"}},
		"Missing":    {reason: "A field that is required is not there: the line of what it is missing in.", path: "spec.list[0].size", want: located{line: 7}},
		"MissingTop": {reason: "The same of the whole object.", path: "apiVersion", want: located{line: 2}},
		"Beyond":     {reason: "A number that the list does not have.", path: "spec.list[2]", want: located{line: 6}},
		"Negative":   {reason: "No number.", path: "spec.list[-1]", want: located{line: 6}},
		"Mapping":    {reason: "What is no scalar has no text.", path: "spec.list", want: located{line: 6}},
		"Object":     {reason: "The name of the whole object in errors is no field.", path: "object", want: located{line: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, locate([]byte(doc), tc.path), cmp.AllowUnexported(located{})); diff != "" {
				t.Errorf("%s\nlocate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	for _, bad := range []string{"", "a: [", "\t", "- 1\n- 2\n"} {
		if got := locate([]byte(bad), "a.b"); got.text != "" {
			t.Errorf("locate(%q): %v", bad, got)
		}
	}
}

// TestRunEdit: an edit is refused where the schema has a rule about it, where the function refuses it, and where it is no edit.
func TestRunEdit(t *testing.T) {
	edited := strings.Replace(claim, "2025.2", "2026.1", 1)
	shrunk := strings.Replace(claim, `spec: {`, `spec: {infrastructure: {mariadb: {storageSize: 1Gi}}, `, 1)
	large := strings.Replace(shrunk, "1Gi", "2Gi", 1)
	cases := map[string]struct {
		reason       string
		old, claim   string
		refuseEdited error
		want         *Refused
	}{
		"Accepted": {reason: "An edit like any other.", old: claim, claim: edited},
		"Schema": {
			reason: "A rule of the schema compares the two.", old: large, claim: shrunk,
			want: &Refused{
				Source: SourceClaim, Input: "ControlPlaneCluster b",
				Sentences: []string{"spec.infrastructure.mariadb: Invalid value: storageSize cannot shrink"},
			},
		},
		"Function": {
			reason: "The function refuses it.", old: claim, claim: edited, refuseEdited: invalid.Field("spec.openStackRelease", "not that one"),
			want: &Refused{Source: SourceClaim, Input: "ControlPlaneCluster b", Sentences: []string{"spec.openStackRelease: not that one"}},
		},
		"OldRefused": {
			reason: "The old claim is at fault.", old: strings.Replace(claim, "2025.2", "1999.1", 1), claim: claim,
			want: &Refused{
				Source: SourceOldClaim, Input: "ControlPlaneCluster b",
				Sentences: []string{`spec.openStackRelease: Unsupported value: "1999.1": supported values: "2025.1", "2025.2", "2026.1", "2026.2"`},
			},
		},
		"Other": {
			reason: "They are versions of two claims.", old: strings.Replace(claim, "namespace: a", "namespace: z", 1), claim: claim,
			want: &Refused{
				Source: SourceOldClaim, Input: "the old claim",
				Sentences: []string{"metadata: it is ControlPlaneCluster b of namespace z, and the new one ControlPlaneCluster b of a; give two versions of one claim"},
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
			got := (*Refused)(nil)
			if err != nil && !errors.As(err, &got) {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Refused{})); diff != "" {
				t.Errorf("%s\nRunEdit(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFiles: two objects of one kind and name in one component, as of a namespace in two clusters, have a file each.
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
