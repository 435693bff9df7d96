package composed

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fieldRow lists the programs that depend on some fields. Both are patterns.
type fieldRow struct {
	fields, programs []string
}

const (
	// ineffective replaces the programs of fields that no composed object depends on.
	ineffective = "none"
	// fixed replaces the programs of fields that cannot have another value.
	fixed = "fixed"
)

// is reports whether the row has ineffective or fixed fields.
func (r fieldRow) is(effect string) bool { return len(r.programs) == 1 && r.programs[0] == effect }

// parseFieldTable returns the rows of a table. A section begins with its reason in a comment; a row has patterns of fields and, indented
// below them, programs.
func parseFieldTable(text string) ([]fieldRow, error) {
	var out []fieldRow
	section := false
	for n, line := range strings.Split(text, "\n") {
		last := len(out) - 1
		entries := strings.Fields(line)
		switch {
		case len(entries) == 0:
			section = false
		case entries[0] == "#":
			section = section || len(entries) > 1
		case !section:
			return nil, fmt.Errorf("line %d: the section has no reason", n+1)
		case strings.HasPrefix(line, " ") && last < 0:
			return nil, fmt.Errorf("line %d: programs without fields", n+1)
		case strings.HasPrefix(line, " "):
			out[last].programs = append(out[last].programs, entries...)
		case last >= 0 && len(out[last].programs) == 0:
			out[last].fields = append(out[last].fields, entries...)
		default:
			out = append(out, fieldRow{fields: entries})
		}
	}
	for _, r := range out {
		if len(r.programs) == 0 {
			return nil, fmt.Errorf("%s: the row has no programs", strings.Join(r.fields, " "))
		}
	}
	return out, nil
}

// readFieldTable returns the rows of a table. The rows of the sections of services are in functions/<service>/fields.txt.
func readFieldTable(t *testing.T, name string) []fieldRow {
	t.Helper()
	files := []string{"testdata/fields/" + name + ".txt"}
	if name == "ControlPlaneCluster" {
		services, err := filepath.Glob("../../functions/*/fields.txt")
		if err != nil || len(services) == 0 {
			t.Fatalf("functions: no folder has a fields.txt (%v)", err)
		}
		files = append(files, services...)
	}
	var out []fieldRow
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := parseFieldTable(string(data))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, rows...)
	}
	return out
}

// patterns holds compiled patterns.
var patterns = map[string]*regexp.Regexp{}

// matches reports whether a name matches a pattern, in which * stands for any text.
func matches(pattern, name string) bool {
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	}
	return patterns[pattern].MatchString(name)
}

// specificity returns the length of the longest pattern that a name matches, 0 if it matches none.
func specificity(patterns []string, name string) int {
	out := 0
	for _, p := range patterns {
		if len(p) > out && matches(p, name) {
			out = len(p)
		}
	}
	return out
}

// rowOf returns the row with the longest pattern that a field matches. It is false if no row has it, and if two rows have it.
func rowOf(rows []fieldRow, path string) (out fieldRow, ok bool) {
	longest := 0
	for _, r := range rows {
		switch n := specificity(r.fields, path); {
		case n > longest:
			out, ok, longest = r, true, n
		case n == longest && n > 0:
			ok = false
		}
	}
	return out, ok
}
