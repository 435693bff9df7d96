package explain_test

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/docs"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/explain"
)

func TestField(t *testing.T) {
	for name, tc := range map[string]struct{ reason, kind, field, want, err string }{
		"Enum": {
			reason: "Values and default are what a user looks for.", kind: "ControlPlaneCluster", field: "spec.size",
			want: "ControlPlaneCluster.spec.size <string>\n  Size: default numbers of replicas, memory and volume sizes. Fields below override them.\n" +
				"  Default: \"small\"\n  Values: \"development\", \"small\", \"medium\", \"large\"\n",
		},
		"InList": {
			reason: "The index and the case of the kind do not matter.", kind: "controlplanecluster", field: "spec.services.nova.cells[0].name",
			want: "ControlPlaneCluster.spec.services.nova.cells.name <string>\n  Name of the cell.\n  Required: yes\n" +
				"  Range: at least 1 characters, at most 20 characters\n  Format: name of lower-case letters and digits, which begins with a letter\n" +
				"  Rule: cell0 and api are reserved, because the database of a cell is named nova_<cell>; choose another name\n",
		},
		"UnknownField": {
			reason: "A misspelled field has a suggestion.", kind: "ControlPlaneCluster", field: "spec.services.novaa",
			err: "ControlPlaneCluster.spec.services has no field novaa; did you mean nova?",
		},
		"NoFields": {reason: "A text has no fields.", kind: "ControlPlaneCluster", field: "spec.size.x", err: "ControlPlaneCluster.spec.size has no field x"},
		"UnknownName": {
			reason: "The name of an alert can be misspelled, too.", kind: "KeystoneDow", err: "KeystoneDow is not an alert, a condition, a reason or a kind; " +
				"the path of a field starts with spec, or with a kind: HypervisorCluster.spec; for another reason, explain its condition; did you mean KeystoneDown?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := explain.Field(tc.kind, tc.field)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.err}, []string{got, message}); diff != "" {
				t.Errorf("%s\nField(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	got, err := explain.Field("StorageCluster", "spec")
	if err != nil || !strings.Contains(got, "\nFields:\n") || !strings.Contains(got, "\n  nodes <[]object>\n      ") {
		t.Errorf("the fields of spec are not listed: %v, %s", err, got)
	}
}

func TestRunbook(t *testing.T) {
	pages, err := fs.Glob(docs.Runbooks, "runbooks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d runbooks, %v", len(pages), err)
	}
	for _, page := range pages {
		content, err := docs.Runbooks.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := explain.Runbook(strings.ToLower(strings.TrimSuffix(path.Base(page), ".md"))); err != nil || got != string(content) {
			t.Errorf("%s: %v, and another page", page, err)
		}
	}
	for name, tc := range map[string]struct{ reason, name, want string }{
		"General":   {"All claims have this condition.", "SpecValid", "## SpecValid\n"},
		"Companion": {"The heading also names the kind.", "LockoutExempt", "## LockoutExempt of an IdentityCheck\n"},
		"Component": {"Each component has such a condition.", "DatabaseReady", "## A component is not ready\n"},
		"Unknown":   {"A field has no runbook.", "spec.size", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := explain.Runbook(tc.name)
			if err != nil || !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") || strings.Count(got, "\n## ") > 0 {
				t.Errorf("%s\nRunbook(%s) = %.200q, %v; want %q", tc.reason, tc.name, got, err, tc.want)
			}
		})
	}
}

func TestReason(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, name string
		want         []string // parts of the result; nil: it is empty
	}{
		"Messages": {
			"The object's runbook is the next step.", "toomanyhosts",
			[]string{"TooManyHosts is a reason of", "\n  CellMapping\n    cobaltcore explain HostsNotMapped\n", "\n  HostsMapped: TooManyHosts: "},
		},
		"Objects": {
			"Several objects have the reason.", "RotationBlocked",
			[]string{"\n  KeyRepository\n", "\n  CredentialRotation\n", "    cobaltcore explain CredentialRotationOverdue\n"},
		},
		"Condition":   {"A condition is no reason.", "CordonedNodesEvacuated", nil},
		"Placeholder": {"A name in a message is no reason.", "{Cell}", nil},
		"Field":       {"A field is no reason.", "spec.size", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := explain.Reason(tc.name)
			if tc.want == nil && got != "" {
				t.Errorf("%s\nReason(%s) = %s", tc.reason, tc.name, got)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\nReason(%s) lacks %q:\n%s", tc.reason, tc.name, want, got)
				}
			}
		})
	}
}
