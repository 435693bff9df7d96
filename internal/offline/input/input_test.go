package input_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
)

// object contains the compared properties of a document: the line of its first field, and the name.
type object struct {
	Line int
	Name string
}

func objects(t *testing.T, docs []input.Document) []object {
	t.Helper()
	var out []object
	for _, d := range docs {
		var root yaml.Node
		named := struct{ Name string }{}
		if yaml.Unmarshal(d.Data, &root) != nil || root.Decode(&named) != nil || len(root.Content) == 0 {
			out = append(out, object{Name: strings.TrimSpace(string(d.Data))})
			continue
		}
		out = append(out, object{root.Content[0].Line, named.Name})
	}
	return out
}

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, in string
		want       []object
	}{
		"One":             {"The usual file.", "name: a\n", []object{{1, "a"}}},
		"Several":         {"Each document keeps its lines.", "name: a\n---\nname: b\n--- # note\n\nname: c\n", []object{{1, "a"}, {3, "b"}, {6, "c"}}},
		"ContentOnMarker": {"Content may follow the marker.", "--- {name: a}\n--- {name: b}\n", []object{{1, "a"}, {2, "b"}}},
		"Carriage":        {"Files of Windows have other line ends.", "name: a\r\n---\r\nname: b\r\n", []object{{1, "a"}, {3, "b"}}},
		"NoContent":       {"Comments are no document.", "---\n# note\n---\nname: a\n---\n", []object{{4, "a"}}},
		"Empty":           {"The error for an empty file needs a document.", "# note\n", []object{{0, "# note"}}},
		"Invalid":         {"Invalid YAML is reported with its line, and hides no other document.", "a: [\n---\nname: b\n", []object{{0, "a: ["}, {3, "b"}}},
		"MarkerInText":    {"A line of dashes is no marker.", "text: |\n  ---\n------: 1\nname: a\n", []object{{1, "a"}}},
		"List":            {"kubectl get prints a List.", "kind: List\nitems:\n- name: a\n- {name: b}\n", []object{{3, "a"}, {4, "b"}}},
		"JSONList":        {"kubectl get -o json prints a List.", "{\"kind\": \"List\", \"items\": [\n{\"name\": \"a\"},\n{\"name\": \"b\"}]}", []object{{2, "a"}, {3, "b"}}},
		"TypedList":       {"The API server returns such a List.", "kind: WidgetList\nitems:\n- name: a\n", []object{{3, "a"}}},
		"EmptyList":       {"A List without items is rejected later.", "kind: List\nname: l\nitems: []\n", []object{{1, "l"}}},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := input.Read([]string{input.Standard}, strings.NewReader(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, objects(t, docs)); diff != "" {
				t.Errorf("%s\nRead(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadSortsFilesOfFolder(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"b.yaml": "name: b\n---\nname: c\n", "a.json": `{"name": "a"}`, "d.yml": "name: d\n", "notes.txt": "name: e\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	docs, err := input.Read([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]object{{1, "a"}, {1, "b"}, {3, "c"}, {1, "d"}}, objects(t, docs)); diff != "" {
		t.Errorf("Read(folder): -want, +got:\n%s", diff)
	}
	for name, path := range map[string]string{"NoObjects": filepath.Join(dir, "sub.yaml"), "Missing": filepath.Join(dir, "none.yaml")} {
		if _, err := input.Read([]string{path}, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that names the path", name, err)
		}
	}
}

// FuzzRead checks that each line of a document is a line of the file.
func FuzzRead(f *testing.F) {
	f.Add("a: b\n---\nc: d\n")
	f.Add("kind: List\nitems: [{a: b}]\n")
	f.Fuzz(func(t *testing.T, in string) {
		docs, err := input.Read([]string{input.Standard}, strings.NewReader(in))
		if err != nil || len(docs) == 0 {
			t.Fatalf("Read(%q) = %d documents, %v", in, len(docs), err)
		}
		for _, d := range docs {
			if n, limit := strings.Count(string(d.Data), "\n"), strings.Count(in, "\n"); n > limit && !strings.Contains(in, "items") {
				t.Errorf("Read(%q): a document has %d lines of %d", in, n, limit)
			}
		}
	})
}
