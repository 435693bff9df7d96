package pages

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the project.
const root = "../.."

var (
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	fenced  = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
)

// readPages returns the text of the README and of each page of the documentation by its path.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	read := func(path string) error {
		data, err := os.ReadFile(filepath.Join(root, path))
		out[path] = string(data)
		return err
	}
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		return read(path)
	})
	if err == nil {
		err = read("README.md")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("found %d pages only", len(out))
	}
	return out
}

// guides returns the how-to guides in the navigation of the site: all pages of the section except the lists of tasks, and the manuals of
// services.
func guides(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n- How-to guides:\n")
	section, _, ok := strings.Cut(section, "\n  - Services:\n")
	if !ok {
		t.Fatal("mkdocs.yml has no how-to guides before the manuals of services")
	}
	lists := []string{"hypervisors.md", "storage.md", "operations.md"}
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^ +- (?:.*: )?(\S+\.md)$`).FindAllStringSubmatch(section, -1) {
		if !slices.Contains(lists, m[1]) {
			out = append(out, "docs/"+m[1])
		}
	}
	return out
}

// guideParts are the parts of a guide, in order. A part is a heading, or a paragraph that begins with the name in bold type.
var guideParts = []string{"Prerequisites", "Steps", "Verify", "Undo"}

// part matches the beginning of a part.
var part = regexp.MustCompile(`(?m)^(?:#+ |\*\*)(` + strings.Join(guideParts, "|") + `)\b`)

// formErrors returns the deviations of a guide from the form: prerequisites at the beginning, and steps, verification and undo of each task.
func formErrors(text string) []string {
	var out, parts []string
	for _, m := range part.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		parts = append(parts, m[1])
	}
	if len(parts) == 0 || parts[0] != "Prerequisites" {
		out = append(out, "does not begin with Prerequisites")
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "Prerequisites" })
	if len(parts) == 0 {
		out = append(out, "has no Steps")
	}
	for i, p := range parts {
		want := guideParts[1+i%3]
		if p != want {
			return append(out, "has "+p+" where "+want+" is expected, in "+strings.Join(parts, ", "))
		}
	}
	if len(parts)%3 != 0 {
		out = append(out, "has no "+guideParts[1+len(parts)%3]+" at the end")
	}
	return out
}

// TestGuidesHaveForm checks that each how-to guide has prerequisites, and each of its tasks has steps, a verification and an undo.
func TestGuidesHaveForm(t *testing.T) {
	pages, listed := readPages(t), guides(t)
	for _, page := range listed {
		for _, problem := range formErrors(pages[page]) {
			t.Errorf("%s %s", page, problem)
		}
	}
	for page := range pages {
		if strings.HasPrefix(page, "docs/how-to/") && !slices.Contains(listed, page) {
			t.Errorf("%s is no how-to guide in mkdocs.yml", page)
		}
	}
}

func TestFormErrors(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Headings":   {reason: "Parts are headings.", text: "# G\n## Prerequisites\n## Steps\n## Verify\n## Undo\n"},
		"Paragraphs": {reason: "Parts are paragraphs of several tasks.", text: "**Prerequisites.** A\n## T\n**Steps.** B\n\n**Verify.** C\n\n**Undo.** D\n## U\n### Steps\n**Verify.** E\n### Undo\n"},
		"Code":       {reason: "Code has no parts.", text: "**Prerequisites.**\n```\n# Undo\n```\n**Steps.**\n**Verify.**\n**Undo.**\n"},
		"None":       {reason: "Another page.", text: "# X\n", want: []string{"does not begin with Prerequisites", "has no Steps"}},
		"NoUndo":     {reason: "The last part is missing.", text: "## Prerequisites\n## Steps\n## Verify\n", want: []string{"has no Undo at the end"}},
		"Order": {
			reason: "A task has no verification.", text: "## Prerequisites\n## Steps\n## Undo\n",
			want: []string{"has Undo where Verify is expected, in Steps, Undo"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := formErrors(tc.text); !slices.Equal(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReasonsHaveRunbooks checks that the index of reasons has each reason in the list of messages of conditions.
func TestReasonsHaveRunbooks(t *testing.T) {
	pages := readPages(t)
	_, index, ok := strings.Cut(pages["docs/troubleshooting/conditions.md"], "\n## Reasons\n")
	if !ok {
		t.Fatal("docs/troubleshooting/conditions.md has no list of reasons")
	}
	reasons := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:[A-Z]\w+: )*([A-Z]\w+): `).FindAllStringSubmatch(pages["docs/reference/messages/conditions.md"], -1) {
		reasons[m[1]] = true
	}
	if len(reasons) < 50 {
		t.Fatalf("found %d reasons only", len(reasons))
	}
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		if !strings.Contains(index, "`"+r+"`") {
			t.Errorf("reason %s has no row in docs/troubleshooting/conditions.md#reasons", r)
		}
	}
}
