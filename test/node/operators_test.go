//go:build linux

package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// TestOperators checks that every operator has a program, manifests, and a separate namespace or one of its family.
func TestOperators(t *testing.T) {
	for _, o := range slices.Concat(ControlPlanes.operators, Storage.operators, []operator{crossplane}) {
		if (o.chart == "") == (o.kustomization == "") {
			t.Errorf("%s has a chart or a kustomization, and not both", o.name)
		}
		if o.namespace == "" || o.module == "" {
			t.Errorf("%s has no namespace or module", o.name)
		}
		if o.tool == "" {
			continue
		}
		mod, err := os.ReadFile(filepath.Join("..", "..", "hack", "tools", o.tool, "go.mod"))
		if err != nil || !strings.Contains(string(mod), o.module+" v") {
			t.Errorf("hack/tools/%s does not pin %s: %v", o.tool, o.module, err)
		}
	}
}

func TestReleased(t *testing.T) {
	cases := map[string]struct {
		reason, file, text string
		want               map[string]any
	}{
		"Placeholder": {
			"A release puts the version in.", "Chart.yaml", "{apiVersion: v2, name: a, version: 0.0.1, appVersion: 0.0.1}",
			map[string]any{"apiVersion": "v2", "name": "a", "version": "1.2.3", "appVersion": "1.2.3"},
		},
		"Letter": {
			"The name of the image follows from it.", "Chart.yaml", "{apiVersion: v2, name: a, version: 0.0.1, appVersion: v0.0.1}",
			map[string]any{"apiVersion": "v2", "name": "a", "version": "1.2.3", "appVersion": "v1.2.3"},
		},
		"Dependencies": {
			"They are not there.", "Chart.yaml", "{apiVersion: v2, name: a, dependencies: [{name: b}]}",
			map[string]any{"apiVersion": "v2", "name": "a", "version": "1.2.3", "appVersion": "1.2.3"},
		},
		"Template": {
			"As are the values that a release fills in.", "Chart.template.yaml", "{apiVersion: v2, name: a, annotations: {p: \"{{IS_PRERELEASE}}\"}}",
			map[string]any{"apiVersion": "v2", "name": "a", "version": "1.2.3", "appVersion": "1.2.3", "annotations": map[string]any{"p": "false"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chart := t.TempDir()
			if err := os.WriteFile(filepath.Join(chart, tc.file), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := released(chart, "1.2.3"); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			if err := yaml.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestImagesOf(t *testing.T) {
	objects, err := platform.Decode([]byte(`
kind: Deployment
spec: {template: {spec: {containers: [{image: "a:1", command: [/manager]}, {image: "b:1"}]}}}
---
kind: Deployment
spec: {template: {spec: {containers: [{image: "b:1"}]}}}
---
kind: ServiceAccount
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []requestedImage{{"a:1", "manager"}, {"b:1", ""}}
	if diff := cmp.Diff(want, imagesOf(objects), cmp.AllowUnexported(requestedImage{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
