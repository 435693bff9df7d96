package preview

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// shown is a result with two owners, a Secret to provide, and objects of each sort.
func shown(t *testing.T) *Result {
	t.Helper()
	manifest := func(kind string) *structpb.Struct {
		m, err := structpb.NewStruct(map[string]any{"kind": kind, "data": map[string]any{"a<b": "1 & 2"}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	return &Result{
		Kind: "ControlPlaneCluster", Namespace: "a", Name: "b", Instance: "a-b", Stages: 3,
		Status:  map[string]any{"instance": "a-b"},
		Secrets: []Secret{{Namespace: "a", Name: "s3", Keys: []string{"id", "key"}}},
		Components: []Component{
			{Owner: "b", Name: "first"}, {Owner: "b", Name: "second", After: []string{"first"}}, {Owner: "c", Name: "third", After: []string{"fourth"}}, {Owner: "c", Name: "fourth"},
		},
		Objects: []Object{
			{Stage: 1, Component: "first", Owner: "b", Resource: "config", APIVersion: "v1", Kind: "ConfigMap", Name: "c", Namespace: "n", Manifest: manifest("ConfigMap")},
			{Stage: 1, Component: "first", Owner: "b", Resource: "other", APIVersion: "v1", Kind: "ConfigMap", Name: "d", Namespace: "n", Manifest: manifest("ConfigMap")},
			{Stage: 1, Component: "first", Owner: "b", Resource: "role", APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Name: "e", Manifest: manifest("Role")},
			{Stage: 2, Component: "first", Owner: "b", Resource: "later", APIVersion: "v1", Kind: "ConfigMap", Name: "f", Manifest: manifest("ConfigMap")},
			{Stage: 3, Component: "c-third", Owner: "c", Resource: "space", APIVersion: "v1", Kind: "Namespace", Name: "g", Cluster: "here", Wrapped: true, Retained: true, Manifest: manifest("Object")},
		},
	}
}

func printed(t *testing.T, r *Result, format string) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.Print(&out, format); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPrintsTreeOfStages(t *testing.T) {
	want := `ControlPlaneCluster a/b → namespace a-b
├─ 01 first     3  ConfigMap c d, Role e
├─ 02 first     1  ConfigMap f
└─ 03 c-third   1  Namespace g†
5 objects in 3 stages; 1 retained when the claim is deleted (†), 1 composed as Objects
needs Secret s3 with keys id, key in namespace a
`
	if diff := cmp.Diff(want, printed(t, shown(t), "tree")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tree", "yaml", "json", "dot"}, Formats); diff != "" {
		t.Errorf("Formats, the default first (-want +got):\n%s", diff)
	}
}

func TestYAMLContainsStageComments(t *testing.T) {
	r := shown(t).Until(1)
	r.Objects = r.Objects[1:]
	want := `---
# stage 01, first
kind: ConfigMap
data:
  "a<b": "1 & 2"
---
# stage 01, first
kind: Role
data:
  "a<b": "1 & 2"
`
	if diff := cmp.Diff(want, printed(t, r, "yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPrintJSON tests that all fields are in the JSON output, and that empty lists are included.
func TestPrintJSON(t *testing.T) {
	object := func(stage float64, component, owner, resource, apiVersion, kind, name, manifest string, more map[string]any) map[string]any {
		out := map[string]any{
			"stage": stage, "component": component, "owner": owner, "resource": resource, "apiVersion": apiVersion, "kind": kind, "name": name,
			"wrapped": false, "retained": false, "manifest": map[string]any{"kind": manifest, "data": map[string]any{"a<b": "1 & 2"}},
		}
		maps.Copy(out, more)
		return out
	}
	want := map[string]any{
		"apiVersion": "preview.cobaltcore.c5c3.io/v1", "instance": "a-b", "stages": 3.0, "status": map[string]any{"instance": "a-b"},
		"totals": map[string]any{"pods": 0.0, "nodePods": 0.0, "cpu": "0", "memory": "0", "storage": "0"},
		"claim":  map[string]any{"kind": "ControlPlaneCluster", "namespace": "a", "name": "b"},
		"objects": []any{
			object(1, "first", "b", "config", "v1", "ConfigMap", "c", "ConfigMap", map[string]any{"namespace": "n"}),
			object(1, "first", "b", "other", "v1", "ConfigMap", "d", "ConfigMap", map[string]any{"namespace": "n"}),
			object(1, "first", "b", "role", "rbac.authorization.k8s.io/v1", "Role", "e", "Role", nil),
			object(2, "first", "b", "later", "v1", "ConfigMap", "f", "ConfigMap", nil),
			object(3, "c-third", "c", "space", "v1", "Namespace", "g", "Object", map[string]any{"cluster": "here", "wrapped": true, "retained": true}),
		},
		"components": []any{
			map[string]any{"owner": "b", "name": "first"}, map[string]any{"owner": "b", "name": "second", "after": []any{"first"}},
			map[string]any{"owner": "c", "name": "third", "after": []any{"fourth"}}, map[string]any{"owner": "c", "name": "fourth"},
		},
		"secrets": []any{map[string]any{"namespace": "a", "name": "s3", "keys": []any{"id", "key"}}},
	}
	text := printed(t, shown(t), "json")
	got := map[string]any{}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "\n      \"manifest\": {\n") || !strings.Contains(text, `"a<b": "1 & 2"`) {
		t.Errorf("it is not indented, or escaped as HTML is:\n%s", text)
	}

	got = map[string]any{}
	if err := json.Unmarshal([]byte(printed(t, &Result{}, "json")), &got); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"objects", "components", "secrets"} {
		if diff := cmp.Diff([]any{}, got[list]); diff != "" {
			t.Errorf("%s of nothing (-want +got):\n%s", list, diff)
		}
	}
}

// TestDotGroupsComponentsByOwner tests that each component is a node in the subgraph of its owner, with edges from its predecessors.
func TestDotGroupsComponentsByOwner(t *testing.T) {
	want := `digraph "b" {
  rankdir=LR;
  node [shape=box, fontname="sans-serif"];
  subgraph "cluster_b" {
    label="b";
    "b/first" [label="first"];
    "b/second" [label="second"];
  }
  subgraph "cluster_c" {
    label="c";
    "c/third" [label="third"];
    "c/fourth" [label="fourth"];
  }
  "b/first" -> "b/second";
  "c/fourth" -> "c/third";
}
`
	if diff := cmp.Diff(want, printed(t, shown(t), "dot")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidationErrorsJSON(t *testing.T) {
	rejected := &ValidationErrors{File: "claim.yaml", Input: "ControlPlaneCluster b", Sentences: []string{"spec.a: no", "spec.b: <no>"}, hints: []string{"yes"}, lines: []int{3}}
	var out bytes.Buffer
	if err := PrintErrors(&out, []*ValidationErrors{rejected}); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "preview.cobaltcore.c5c3.io/v1", "refused": []any{
		map[string]any{"file": "claim.yaml", "line": 3.0, "input": "ControlPlaneCluster b", "field": "spec.a", "message": "spec.a: no", "hint": "yes"},
		map[string]any{"file": "claim.yaml", "input": "ControlPlaneCluster b", "field": "spec.b", "message": "spec.b: <no>"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "claim.yaml:3: ControlPlaneCluster b: spec.a: no; yes\nclaim.yaml: ControlPlaneCluster b: spec.b: <no>"; rejected.Error() != want {
		t.Errorf("the error is\n%s\nwant\n%s", rejected, want)
	}
}

// TestWrite tests that each object has a file, that files of an earlier preview are removed, and that other directories are not changed.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	if err := shown(t).Write(dir); err != nil {
		t.Fatal(err)
	}
	want := []string{
		".cobaltcore-preview", "01-first/configmap-c.yaml", "01-first/configmap-d.yaml", "01-first/role-e.yaml", "02-first/configmap-f.yaml", "03-c-third/namespace-g.yaml",
	}
	if diff := cmp.Diff(want, filesIn(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "01-first", "role-e.yaml")); err != nil || string(text) != "kind: Role\ndata:\n  \"a<b\": \"1 & 2\"\n" {
		t.Errorf("a file holds %q (%v)", text, err)
	}
	// Other users may read the files, as far as the umask of the process allows.
	reference := t.TempDir()
	if err := os.Mkdir(filepath.Join(reference, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(reference, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, like := range map[string]string{
		dir: "dir", filepath.Join(dir, "01-first"): "dir", filepath.Join(dir, marker): "file", filepath.Join(dir, "01-first", "role-e.yaml"): "file",
	} {
		got, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		as, err := os.Stat(filepath.Join(reference, like))
		if err != nil || got.Mode() != as.Mode() {
			t.Errorf("%s has mode %s, want %s (%v)", path, got.Mode(), as.Mode(), err)
		}
	}

	for _, mine := range []string{"notes", "0x-notes", "x0-notes", "00_notes", "00-"} {
		if err := os.WriteFile(filepath.Join(dir, mine), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "99-old"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "00-a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := shown(t).Until(1).Write(dir); err != nil {
		t.Fatal(err)
	}
	want = []string{
		".cobaltcore-preview", "00-", "00_notes", "01-first/configmap-c.yaml", "01-first/configmap-d.yaml", "01-first/role-e.yaml", "0x-notes", "notes", "x0-notes",
	}
	if diff := cmp.Diff(want, filesIn(t, dir)); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
	for _, old := range []string{"99-old", "00-a", "02-first"} {
		if _, err := os.Stat(filepath.Join(dir, old)); err == nil {
			t.Errorf("%s of an earlier preview is still there", old)
		}
	}

	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "01-mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shown(t).Write(foreign); err == nil || !strings.Contains(err.Error(), "contains files that the preview did not write") {
		t.Errorf("a directory with other files: %v", err)
	}
	if diff := cmp.Diff([]string{"01-mine"}, filesIn(t, foreign)); diff != "" {
		t.Errorf("the directory with other files (-want +got):\n%s", diff)
	}
	if err := shown(t).Write(t.TempDir()); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	if err := shown(t).Write(filepath.Join(foreign, "01-mine")); err == nil {
		t.Error("a file is a directory")
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, relErr := filepath.Rel(dir, path)
			out, err = append(out, filepath.ToSlash(name)), relErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
