package keystone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

// TestPodTemplatesMatchGoldens verifies pod templates: a change replaces the pods of every running Keystone, and runs its Jobs again. An
// intended change updates the golden file (-update) and explains it in the commit.
func TestPodTemplatesMatchGoldens(t *testing.T) {
	const golden = "testdata/templates.golden"
	var got bytes.Buffer
	for _, file := range servicetest.Specs(t) {
		objects := desired(t, ready(t, xr(t, file)))
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			for _, at := range podTemplates(objects[name]) {
				text, err := json.Marshal(at)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "%s %s %s\n", file, name, names.Hash(20, string(text)))
			}
		}
	}
	if *update {
		write(t, golden, got.String())
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("every Keystone would be rolled out again (-want +got):\n%s", diff)
	}
}

// podTemplates are the pod templates of an object, however deep.
func podTemplates(v any) []any {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	var out []any
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if inner, _ := m[key].(map[string]any); key == "template" && inner["spec"] != nil {
			out = append(out, inner)
			continue
		}
		out = append(out, podTemplates(m[key])...)
	}
	return out
}
