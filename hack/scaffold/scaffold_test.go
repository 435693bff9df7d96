package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestTemplateIsPlacement tests that the templates render Placement as it is, so that no replacement changes more than a name.
func TestTemplateIsPlacement(t *testing.T) {
	files, err := render(os.DirFS(root), placement)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(templates) {
		t.Fatalf("%d files, want %d", len(files), len(templates))
	}
	for i, f := range files {
		want, err := os.ReadFile(filepath.Join(root, templates[i].from))
		if err != nil {
			t.Fatal(err)
		}
		if templates[i].part != nil {
			_, body, _ := strings.Cut(string(f.data), "common/v1alpha1\"\n\n")
			if body == "" || !strings.Contains(string(want), body) {
				t.Errorf("%s is not a part of %s:\n%s", f.path, templates[i].from, f.data)
			}
			continue
		}
		if f.path != templates[i].from || f.existing != (len(templates[i].rows) > 0) {
			t.Errorf("path %s (exists: %t), want %s", f.path, f.existing, templates[i].from)
		}
		for _, row := range templates[i].rows { // Each row exists twice, except for imports.
			f.data = bytes.Replace(f.data, []byte(row+row), []byte(row), 1)
		}
		if diff := cmp.Diff(string(want), string(f.data)); diff != "" {
			t.Errorf("%s: -Placement, +rendered:\n%s", f.path, diff)
		}
	}
}

var designate = service{name: "designate", serviceType: "dns", module: "designate.api.wsgi:application", port: 9001}

// TestRender tests that the files of another service do not mention Placement, and have the properties of the service.
func TestRender(t *testing.T) {
	files, err := render(os.DirFS(root), designate)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	content := map[string]string{}
	for _, f := range files {
		if f.existing {
			continue // TestRenderAddsRowsToExistingFiles tests them.
		}
		paths = append(paths, f.path)
		text := string(f.data)
		content[f.path] = text
		for _, words := range []string{"placement", "8778", "\x00"} {
			if strings.Contains(strings.ToLower(text), words) {
				t.Errorf("%s contains %q:\n%s", f.path, words, text)
			}
		}
		if strings.HasSuffix(f.path, ".yaml") {
			if err := yaml.Unmarshal(f.data, new(any)); err != nil {
				t.Errorf("%s: %v", f.path, err)
			}
		}
	}
	slices.Sort(paths)
	want := []string{
		"apis/controlplane/v1alpha1/designate.go", "apis/designate/testdata/rules.yaml", "apis/designate/v1alpha1/doc.go",
		"apis/designate/v1alpha1/names.go", "apis/designate/v1alpha1/types.go", "functions/controlplane/designate/designate.go",
		"functions/designate/designate.go", "functions/designate/designate_test.go", "functions/designate/expected.yaml",
		"functions/designate/fields.txt", "functions/designate/owner_test.go",
		"functions/designate/testdata/medium.yaml", "functions/designate/testdata/small.yaml", "internal/openstack/override/designate.go",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths: -want, +got:\n%s", diff)
	}
	for path, words := range map[string][]string{
		"apis/designate/v1alpha1/names.go":         {`ServiceName = "designate"`, `ServiceType = "dns"`, "Port = 9001", `WithKind("Designate")`},
		"apis/controlplane/v1alpha1/designate.go":  {"// Designate is TODO.", "type Designate struct {"},
		"functions/designate/designate.go":         {`Module:      "designate.api.wsgi:application"`, `Outage:      "TODO"`, `Group: "designate_database"`},
		"functions/designate/testdata/medium.yaml": {"config:\n  {} # TODO\n", "https://designate.cloud.svc:9001"},
	} {
		for _, w := range words {
			if !strings.Contains(content[path], w) {
				t.Errorf("%s does not contain %q:\n%s", path, w, content[path])
			}
		}
	}
}

// TestRenderAddsRowsToExistingFiles tests that other files get rows of the service, and keep all others.
func TestRenderAddsRowsToExistingFiles(t *testing.T) {
	files, err := render(os.DirFS(root), designate)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, f := range files {
		if !f.existing {
			continue
		}
		before, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		rest := strings.Split(string(before), "\n")
		for line := range strings.SplitSeq(string(f.data), "\n") {
			if len(rest) > 0 && line == rest[0] {
				rest = rest[1:]
				continue
			}
			got[f.path] = append(got[f.path], strings.TrimSpace(line))
		}
		if len(rest) > 0 {
			t.Errorf("%s: lines were lost, from %q", f.path, rest[0])
		}
	}
	want := map[string][]string{
		"apis/controlplane/v1alpha1/types.go": {"// TODO.", "// +optional", "Designate *Designate `json:\"designate,omitempty\"`"},
		"internal/kindregistry/kindregistry.go": {
			`designatev1 "github.com/c5c3/crossplane-cobaltcore/apis/designate/v1alpha1"`,
			`of[designatev1.Designate]("designate", designatev1.GroupVersionKind, Composed),`,
		},
		"functions/kinds/kinds.go": {
			`"github.com/c5c3/crossplane-cobaltcore/functions/designate"`, `"designate":       designate.New,`,
		},
		"functions/controlplane/table.go": {
			`"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/designate"`, "designate.Service{},",
		},
		"hack/registry/services.toml": {
			"[designate]", `requires = ["TODO"]`,
			`versions = { "2025.1" = "TODO", "2025.2" = "TODO", "2026.1" = "TODO", "2026.2" = "TODO" }`,
			`options = ["designate.conf", "keystonemiddleware.auth_token", "oslo.log", "oslo.middleware", "oslo.policy"]`,
			`schemas = { designate = ["designate.TODO"] }`, "",
			"[designate.programs]", `"designate.wsgi.api" = {}`, "designate-manage = {}", "",
		},
		"images/images.yaml": {
			"- name: designate", "package: TODO", "requires: [PyMySQL, python-memcached, cryptography, uwsgi==2.0.31, setuptools<81]",
			"compile: [libssl-dev]", "runtime: [libssl3]", "",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestRenderChangedTemplate tests that a sentence that Placement no longer has is an error, and not copied unnoticed.
func TestRenderChangedTemplate(t *testing.T) {
	_, err := template{placeholders: []string{"an inventory"}}.replace("// Placement is a catalog.", designate)
	if err == nil || !strings.Contains(err.Error(), `it does not contain "an inventory" any more`) {
		t.Errorf("replace(...): %v", err)
	}
}

// TestRun tests that the files are written once and never replaced.
func TestRun(t *testing.T) {
	to := t.TempDir()
	for _, tmpl := range templates {
		data, err := os.ReadFile(filepath.Join(root, tmpl.from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, tmpl.from)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, tmpl.from), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-root", to, "designate"}
	var out bytes.Buffer
	if err := run(args, &out); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, tmpl := range templates {
		if len(tmpl.rows) > 0 {
			changed++
		}
	}
	if n := strings.Count(out.String(), "wrote "); n != len(templates)-changed {
		t.Errorf("%d files are reported as new, want %d:\n%s", n, len(templates)-changed, out.String())
	}
	if n := strings.Count(out.String(), "changed "); n != changed {
		t.Errorf("%d files are reported as changed, want %d:\n%s", n, changed, out.String())
	}
	_, next, _ := strings.Cut(out.String(), "Complete each TODO")
	for _, words := range []string{"  functions/designate/expected.yaml  ", "go test ./functions/designate -update"} {
		if !strings.Contains(next, words) {
			t.Errorf("the next steps do not contain %q:\n%s", words, next)
		}
	}
	data, err := os.ReadFile(filepath.Join(to, "functions/designate/designate.go"))
	if err != nil || !strings.Contains(string(data), `"designate.wsgi.api:application"`) {
		t.Errorf("designate.go (%v):\n%s", err, data)
	}
	if err := run(args, &out); err == nil || !strings.Contains(err.Error(), "it exists") {
		t.Errorf("the second run: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*service)
		want   string
	}{
		"valid":      {func(*service) {}, ""},
		"registered": {func(s *service) { s.name = "heat" }, "service: heat is registered already"},
		"no name":    {func(s *service) { s.name = "" }, "service: must be one word in lower case"},
		"path":       {func(s *service) { s.name = "../designate" }, "service: must be one word in lower case"},
		"no port":    {func(s *service) { s.port = 0 }, "-port: must be between 1 and 65535"},
		"large port": {func(s *service) { s.port = 65536 }, "-port: must be between 1 and 65535"},
		"no type":    {func(s *service) { s.serviceType = "" }, "-type: must be a service type"},
	} {
		t.Run(name, func(t *testing.T) {
			s := designate
			tc.change(&s)
			got := ""
			if err := s.check(); err != nil {
				got = fmt.Sprint(err)
			}
			if (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
				t.Errorf("check() = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFilesOutsideFolders tests that at most 8 files of a service are outside its folders, and that docs/adding-a-service.md lists them.
func TestFilesOutsideFolders(t *testing.T) {
	files, err := render(os.DirFS(root), designate)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		if !slices.ContainsFunc([]string{"apis/", "functions/", "functions/controlplane/"}, func(parent string) bool {
			return strings.HasPrefix(f.path, parent+designate.name+"/")
		}) {
			got = append(got, strings.ReplaceAll(f.path, designate.name, "<service>"))
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/adding-a-service.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Files outside the service's folders")
	table, _, _ := strings.Cut(section, "These files change only")
	var want []string
	for line := range strings.Lines(table) {
		if path, found := strings.CutPrefix(line, "| `"); found {
			path, _, _ = strings.Cut(path, "`")
			want = append(want, path)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(got) > 8 {
		t.Errorf("%d files, want at most 8: -page, +scaffold:\n%s", len(got), diff)
	}
	for _, row := range conditional {
		if _, err := os.Stat(filepath.Join(root, row[0])); err != nil {
			t.Errorf("the command lists a file that does not exist: %v", err)
		}
		if !strings.Contains(section, "`"+row[0]+"`") {
			t.Errorf("docs/adding-a-service.md does not list %s, which the command prints", row[0])
		}
	}
}
