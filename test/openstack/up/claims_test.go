//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// TestExampleClaimsAreAcceptedTogether checks that the claims of the example are accepted together by the test platform, and that its stack
// is booted.
func TestExampleClaimsAreAcceptedTogether(t *testing.T) {
	got, err := readClaims([]string{"../../../examples/complete"})
	if err != nil {
		t.Fatal(err)
	}
	stack := struct{ Parameters, Resources, Outputs map[string]any }{}
	if err := yaml.Unmarshal(got.stack, &stack); err != nil {
		t.Fatal(err)
	}
	for name := range stack.Parameters {
		if stack.Resources[name] != nil {
			t.Errorf("%s is a parameter and a resource, which Heat refuses", name)
		}
	}
	if stack.Parameters["image"] == nil || stack.Outputs["server"] == nil || stack.Outputs["address"] == nil || stack.Outputs["volume"] == nil {
		t.Errorf("boot.sh cannot use the stack %v", stack)
	}
	platform, err := os.ReadFile("../testdata/platform.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var existing []*structpb.Struct
	for _, claim := range [][]byte{got.storage, got.plane, got.pool} {
		result, err := preview.RunWithClaims(existing, claim, platform, kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		existing = append(existing, result.Existing...)
	}
}

// TestClaims checks that a cloud needs one control plane and accepts at most one pool, in files or in folders.
func TestClaims(t *testing.T) {
	const (
		plane = "# a comment\nkind: ControlPlaneCluster\nspec: {openStackRelease: \"2025.2\"}\n"
		pool  = "kind: HypervisorCluster\n"
		stack = "heat_template_version: 2021-04-16\n"
	)
	for name, tc := range map[string]struct {
		reason      string
		files       map[string]string
		paths       []string
		plane, pool bool
		err         string
	}{
		"One":        {"A control plane alone.", map[string]string{"a.yaml": plane}, []string{"a.yaml"}, true, false, ""},
		"Two":        {"Each in a file.", map[string]string{"a.yaml": plane, "b.yaml": pool}, []string{"a.yaml", "b.yaml"}, true, true, ""},
		"Folder":     {"All of a folder.", map[string]string{"a.yaml": pool, "b.yaml": plane, "c.txt": "?"}, []string{"."}, true, true, ""},
		"File":       {"Both in a file.", map[string]string{"a.yaml": pool + "---\n" + plane}, []string{"a.yaml"}, true, true, ""},
		"NoPlane":    {"A pool needs a control plane.", map[string]string{"a.yaml": pool}, []string{"a.yaml"}, false, true, "there is no ControlPlaneCluster"},
		"TwoPools":   {"Only one pool is supported.", map[string]string{"a.yaml": plane, "b.yaml": pool + "---\n" + pool}, []string{"."}, true, true, "a second HypervisorCluster"},
		"TwoStacks":  {"One is booted.", map[string]string{"a.yaml": plane, "b.yaml": stack + "---\n" + stack}, []string{"."}, true, false, "a second template of Heat"},
		"Other":      {"It is not composed.", map[string]string{"a.yaml": "kind: Pod\n"}, []string{"a.yaml"}, false, false, "it is a Pod"},
		"NotThere":   {"The file is missing.", nil, []string{"a.yaml"}, false, false, "cannot read the claim"},
		"EmptyThere": {"The file has no objects.", map[string]string{"a.yaml": "# nothing\n"}, []string{"a.yaml"}, false, false, "there is no ControlPlaneCluster"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var paths []string
			for _, p := range tc.paths {
				paths = append(paths, filepath.Join(dir, p))
			}
			got, err := readClaims(paths)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\nerror %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil || (got.plane != nil) != tc.plane || (got.pool != nil) != tc.pool || got.release != "2025.2" {
				t.Errorf("%s\ngot %+v, %v", tc.reason, got, err)
			}
		})
	}
}
