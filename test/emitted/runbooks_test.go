package emitted

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

const runbooks = "../../docs/runbooks"

// runbookSections are the headings of each runbook of an alert, and of a condition with its own page.
var runbookSections = []string{"Meaning", "Impact", "Diagnosis", "Remedy", "Verification"}

// sharedRunbooks are pages with a section for each of several conditions.
var sharedRunbooks = []string{"ClaimConditions", "CompanionConditions"}

// maxRunbookWords is the maximum number of words of a runbook, or of a section of a shared one.
const maxRunbookWords = 400

// readRunbooks returns the text of each page by its name.
func readRunbooks(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".md")] = string(text)
	}
	return out
}

// rareAlerts returns a PrometheusRule with the alerts on relays and snapshots of OVN, which no example has.
func rareAlerts(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../functions/ovn/testdata/large/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRunbooksOfAlerts checks that the annotation of each alert leads to a page with its severity, and that each page with a severity is
// the runbook of an alert.
func TestRunbooksOfAlerts(t *testing.T) {
	severity := regexp.MustCompile(`(?m)^Severity: ([a-z]+)\.`)
	want := map[string]string{}
	for name, text := range readRunbooks(t) {
		if m := severity.FindStringSubmatch(text); m != nil {
			want[name] = m[1]
		}
	}
	got := map[string]string{}
	alerts := alertsOf(watched(t)...)
	maps.Copy(alerts, rulesOf(rareAlerts(t)))
	for name, rules := range alerts {
		for _, r := range rules {
			page, ok := strings.CutPrefix(r.Runbook, monitoring.Runbooks)
			if !ok || !strings.HasSuffix(page, ".md") {
				t.Errorf("alert %s has the runbook %q", name, r.Runbook)
			}
			got[strings.TrimSuffix(page, ".md")] = r.Severity
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runbooks and alerts (-docs/runbooks, +examples):\n%s", diff)
	}
}

// TestRunbooksOfConditions checks that docs/troubleshooting/conditions.md has a runbook for each condition of a composite resource and of an
// object of the companion.
func TestRunbooksOfConditions(t *testing.T) {
	want := map[string]bool{"Current": true, "Ready": true, "SpecValid": true, "Composed": true, "<Component>Ready": true}
	constant := regexp.MustCompile(`\b([A-Za-z]\w*) += "([A-Z]\w+)"`)
	advisory := regexp.MustCompile(`\{Type: ([^,{}]+), (?:Former: [^,{}]+, )?Verdict:`)
	constants, types := map[string]string{}, []string{}
	for _, folder := range []string{"apis", "companion", "functions"} {
		err := filepath.WalkDir("../../"+folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range constant.FindAllStringSubmatch(string(text), -1) {
				constants[m[1]] = m[2]
				if folder == "companion" && strings.HasPrefix(m[1], "condition") {
					want[m[2]] = true
				}
			}
			for _, m := range advisory.FindAllStringSubmatch(string(text), -1) {
				types = append(types, m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, typ := range types {
		name := typ[strings.LastIndex(typ, ".")+1:]
		switch {
		case name == "Type": // A condition of a service, which is in the list with its own name.
		case strings.HasPrefix(name, `"`):
			want[strings.Trim(name, `"`)] = true
		case constants[name] == "":
			t.Errorf("condition %s is no constant", typ)
		default:
			want[constants[name]] = true
		}
	}
	if len(types) < 10 {
		t.Errorf("found the conditions %v only", types)
	}
	page, err := os.ReadFile("../../docs/troubleshooting/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| Object | Condition | Runbook |")
	table, _, _ = strings.Cut(table, "\n## ")
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| \\[(\\w+)\\]\\(\\.\\./runbooks/")
	got, linked := map[string]bool{}, map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		got[m[1]], linked[m[2]] = true, true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-code, +docs/troubleshooting/conditions.md):\n%s", diff)
	}
	for name, text := range readRunbooks(t) {
		if !strings.Contains(text, "\nSeverity: ") && !linked[name] {
			t.Errorf("docs/runbooks/%s.md is the runbook of no alert and of no condition", name)
		}
	}
}

// TestRunbooksHaveRequiredSections checks the sections and the length of each runbook.
func TestRunbooksHaveRequiredSections(t *testing.T) {
	pages := readRunbooks(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		title, rest, _ := strings.Cut(pages[name], "\n")
		parts := strings.Split(rest, "\n## ")
		if slices.Contains(sharedRunbooks, name) {
			for _, part := range parts[1:] {
				condition, text, _ := strings.Cut(part, "\n")
				if n := len(strings.Fields(text)); n > maxRunbookWords {
					t.Errorf("%s: %s has %d words", name, condition, n)
				}
				for _, section := range runbookSections {
					if !strings.Contains(text, "**"+section+".** ") {
						t.Errorf("%s: %s has no paragraph %s", name, condition, section)
					}
				}
			}
			continue
		}
		if title != "# "+name {
			t.Errorf("%s has the title %q", name, title)
		}
		if n := len(strings.Fields(pages[name])); n > maxRunbookWords {
			t.Errorf("%s has %d words", name, n)
		}
		var sections []string
		for _, part := range parts[1:] {
			section, text, _ := strings.Cut(part, "\n")
			sections = append(sections, section)
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s is empty", name, section)
			}
		}
		if diff := cmp.Diff(runbookSections, sections); diff != "" {
			t.Errorf("%s: sections (-want +got):\n%s", name, diff)
		}
	}
}
