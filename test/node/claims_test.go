//go:build linux

package node

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// completed are files that are no complete claim, with the reason.
var completed = map[string]string{
	"objectstore.yaml": "It contains other objects.",
	"storage.yaml":     "TestStorage adds the device.",
}

// TestClaimsAreValid checks the claims of the tests with the settings of the platform, which takes seconds instead of the start of a node.
func TestClaimsAreValid(t *testing.T) {
	values := map[string]map[string]any{}
	if err := yaml.Unmarshal([]byte(Platform), &values); err != nil {
		t.Fatal(err)
	}
	platform, err := yaml.Marshal(map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "PlatformConfig", "metadata": map[string]any{"name": "default"},
		"spec": values["platformConfig"]["spec"],
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no claims: %v", err)
	}
	for _, file := range files {
		if completed[filepath.Base(file)] != "" {
			continue
		}
		claim, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := preview.Run(claim, platform, kinds.Runners()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
