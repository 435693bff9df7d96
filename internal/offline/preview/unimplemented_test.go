package preview

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
)

// TestRejectsUnimplementedFieldsWithReason sets each field that is not implemented. Its parents must exist, the field must not, and the
// error must contain the reason and the remedy. docs/seeds.md must list the field.
func TestRejectsUnimplementedFieldsWithReason(t *testing.T) {
	seeds, err := os.ReadFile("../../../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind, fields := range unimplemented {
		v, err := definition.Validator("crossplane.c5c3.io/v1alpha1", kind)
		if err != nil {
			t.Fatal(err)
		}
		for path, reason := range fields {
			t.Run(kind+"/"+path, func(t *testing.T) {
				object := map[string]any{
					"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": kind, "metadata": map[string]any{"namespace": "a", "name": "b"},
				}
				parents := strings.Split(path, ".")
				last := len(parents) - 1
				inner := object
				for _, name := range parents[:last] {
					next := map[string]any{}
					inner[name], inner = next, next
				}
				inner[parents[last]] = map[string]any{"enabled": true}
				doc, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				rejected := newSchemaErrors(v, doc, kind+" b", v.Validate(object))
				want := fmt.Sprintf("%s b: %s: Forbidden: unknown field; not implemented: %s", kind, path, reason)
				if got := strings.Split(rejected.Error(), "\n"); !slices.Contains(got, want) {
					t.Errorf("got:\n%s\nwant one of the errors:\n%s", strings.Join(got, "\n"), want)
				}
				if why, remedy, _ := strings.Cut(reason, "; "); why == "" || remedy == "" {
					t.Errorf("%q is not a reason and a remedy", reason)
				}
				if row := fmt.Sprintf("| %s | `%s` |", kind, strings.TrimPrefix(path, "spec.")); !strings.Contains(string(seeds), row) {
					t.Errorf("docs/seeds.md does not contain the row %s", row)
				}
			})
		}
	}
}
