package composed

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// proposals is a folder for tables of what is composed now. No test reads them: each difference from testdata is to be reviewed, and written
// there with its reason.
var proposals = flag.String("propose", "", "write tables of what is composed now into this folder, to be reviewed and copied by hand")

// unreviewed is the reason of rows in a proposal that are new.
const unreviewed = "No reason yet."

// row is a fact of a table: of these objects, a name has a value.
type row struct {
	section     int
	name, value string
	// about are the objects, each with the cloud after an @ if the value is not that of all clouds.
	about []string
}

// table is a file of testdata: sections with a reason in a comment, facts ("name = value"), and below each, indented, the objects that it is
// true of.
type table struct {
	reasons []string
	rows    []row
}

func parseTable(text string) (table, error) {
	var out table
	for n, line := range strings.Split(text, "\n") {
		fail := func(why string) (table, error) { return table{}, fmt.Errorf("line %d: %s", n+1, why) }
		reason, comment := strings.CutPrefix(line, "# ")
		name, value, isFact := strings.Cut(line, " = ")
		switch {
		case line == "":
		case comment:
			if len(strings.Fields(reason)) == 0 || reason == unreviewed {
				return fail("the section has no reason")
			}
			out.reasons = append(out.reasons, reason)
		case strings.HasPrefix(line, "    "):
			if len(out.rows) == 0 {
				return fail("objects without a fact")
			}
			last := &out.rows[len(out.rows)-1]
			last.about = append(last.about, strings.Fields(line)...)
		case !isFact:
			return fail("neither a comment, nor a fact, nor objects")
		case len(out.reasons) == 0:
			return fail("the fact is in no section")
		default:
			out.rows = append(out.rows, row{section: len(out.reasons) - 1, name: name, value: value})
		}
	}
	for _, r := range out.rows {
		if len(r.about) == 0 {
			return table{}, fmt.Errorf("%s = %s is of no object", r.name, r.value)
		}
	}
	return out, nil
}

// short returns the name of a cloud in tables.
func short(c *cloud) string {
	folder, file, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(c.name), ".yaml")), "/")
	switch {
	case folder == "controlplane":
		return file
	case file == "control-plane":
		return folder
	}
	return file
}

// differences compares a table with the facts of clouds: rows that are not true, and facts without a row.
func (tb table) differences(clouds map[string]facts) []string {
	want := map[string]string{} // by "object@cloud name"
	of := map[string][]string{}
	for cloud, f := range clouds {
		for about := range f {
			of[about] = append(of[about], cloud)
		}
	}
	var out []string
	for _, r := range tb.rows {
		for _, about := range r.about {
			object, cloud, one := strings.Cut(about, "@")
			in := of[object]
			if one {
				in = []string{cloud}
			}
			if len(in) == 0 {
				out = append(out, fmt.Sprintf("%s: no claim has it any more; remove it from the row %s = %s", about, r.name, r.value))
			}
			for _, c := range in {
				key := object + "@" + c + " " + r.name
				if was, twice := want[key]; twice {
					out = append(out, fmt.Sprintf("%s has two rows: %s and %s", key, was, r.value))
				}
				want[key] = r.value
			}
		}
	}
	for cloud, f := range clouds {
		for about, values := range f {
			for name, got := range values {
				key := about + "@" + cloud + " " + name
				w, ok := want[key]
				switch {
				case !ok:
					out = append(out, fmt.Sprintf("%s = %s has no row", key, got))
				case w != got:
					out = append(out, fmt.Sprintf("%s is %s, want %s", key, got, w))
				}
				delete(want, key)
			}
		}
	}
	for key, value := range want {
		out = append(out, fmt.Sprintf("%s is not set, want %s", key, value))
	}
	slices.Sort(out)
	return out
}

// tables are the files of testdata, with what they hold.
var tables = map[string]func(*testing.T, *cloud) facts{"options": optionFacts, "processes": processFacts, "objects": objectFacts}

func readTable(t *testing.T, name string) table {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	tb, err := parseTable(string(data))
	if err != nil {
		t.Fatalf("testdata/%s.txt: %v", name, err)
	}
	return tb
}

// TestCloudsMatchTables holds whole clouds to tables written by hand. No flag rewrites a table: a value that changes is changed there by
// whoever has a reason for it.
func TestCloudsMatchTables(t *testing.T) {
	for name, get := range tables {
		t.Run(name, func(t *testing.T) {
			got := map[string]facts{}
			for _, c := range clouds(t) {
				got[short(c)] = get(t, c)
			}
			tb := readTable(t, name)
			if *proposals != "" {
				propose(t, filepath.Join(*proposals, name+".txt"), tb, got)
			}
			const most = 30
			found := tb.differences(got)
			for i, d := range found {
				if i == most {
					t.Errorf("and %d more", len(found)-most)
					break
				}
				t.Errorf("testdata/%s.txt: %s", name, d)
			}
			if len(found) > 0 {
				t.Errorf("if this is intended, change the rows of testdata/%s.txt by hand; -propose DIR writes a table to copy from", name)
			}
		})
	}
}

// TestTablesDetectChangedFacts shows that a table without one of its facts, and one with another value, does not go unnoticed.
func TestTablesDetectChangedFacts(t *testing.T) {
	tb, err := parseTable("# Seconds.\ngrace = 60\n    a b\ngrace = 75\n    c@x\ngrace = 90\n    c@y\n")
	if err != nil {
		t.Fatal(err)
	}
	grace := func(a, b, cx, cy string) map[string]facts {
		return map[string]facts{
			"x": {"a": {"grace": a}, "b": {"grace": b}, "c": {"grace": cx}}, "y": {"a": {"grace": a}, "c": {"grace": cy}},
		}
	}
	for name, tc := range map[string]struct {
		reason string
		got    map[string]facts
		want   string
	}{
		"Same":      {"Each fact has its row.", grace("60", "60", "75", "90"), ""},
		"Changed":   {"One value differs.", grace("60", "61", "75", "90"), "b@x grace is 61, want 60"},
		"Exchanged": {"The values of two clouds are exchanged.", grace("60", "60", "90", "75"), "c@x grace is 90, want 75; c@y grace is 75, want 90"},
		"More": {
			"A fact is new.", map[string]facts{"x": {"a": {"grace": "60", "n": "1"}, "b": {"grace": "60"}, "c": {"grace": "75"}}, "y": {"c": {"grace": "90"}}},
			"a@x n = 1 has no row",
		},
		"Fewer": {
			"A fact and an object are gone.", map[string]facts{"x": {"a": {}, "c": {"grace": "75"}}, "y": {"c": {"grace": "90"}}},
			"a@x grace is not set, want 60; b: no claim has it any more; remove it from the row grace = 60",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(tb.differences(tc.got), "; "); got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	for _, text := range []string{"grace = 60\n    a\n", "# " + unreviewed + "\ngrace = 60\n    a\n", "# R.\ngrace = 60\n", "# R.\n    a\n", "# R.\ngrace\n"} {
		if _, err := parseTable(text); err == nil {
			t.Errorf("%q is a table", text)
		}
	}
}

// propose writes the table of what is composed, with the sections of the table that there is. Facts that no section has come last.
func propose(t *testing.T, file string, tb table, clouds map[string]facts) {
	t.Helper()
	section := map[string]int{}
	for _, r := range tb.rows {
		section[r.name] = r.section
		for _, about := range r.about { // Fields of a kind are in its section.
			kind, _, _ := strings.Cut(about, "/")
			if _, ok := section[kind]; !ok {
				section[kind] = r.section
			}
		}
	}
	type fact struct {
		section     int
		name, value string
	}
	rows := map[fact][]string{}
	for about, names := range union(clouds) {
		for name, values := range names {
			kind, _, _ := strings.Cut(about, "/")
			in, ok := section[name]
			if filepath.Base(file) == "objects.txt" {
				in, ok = section[kind]
			}
			if !ok {
				in = len(tb.reasons)
			}
			distinct := slices.Compact(slices.Sorted(maps.Values(values)))
			for cloud, value := range values {
				label := about
				if len(distinct) > 1 || len(values) < countOf(clouds, about) {
					label += "@" + cloud
				}
				key := fact{in, name, value}
				if !slices.Contains(rows[key], label) {
					rows[key] = append(rows[key], label)
				}
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(rows), func(a, b fact) int {
		if a.section != b.section {
			return a.section - b.section
		}
		return strings.Compare(a.name+" = "+a.value, b.name+" = "+b.value)
	})
	var out strings.Builder
	for i, f := range order {
		if i == 0 || f.section != order[i-1].section {
			if i > 0 {
				out.WriteString("\n")
			}
			out.WriteString("# " + append(slices.Clone(tb.reasons), unreviewed)[f.section] + "\n")
		}
		out.WriteString(f.name + " = " + f.value + "\n" + folded(rows[f]))
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// folded writes objects in indented lines.
func folded(objects []string) string {
	const width = 150
	slices.Sort(objects)
	var out strings.Builder
	line := "   "
	for _, o := range objects {
		if len(line)+len(o) > width {
			out.WriteString(line + "\n")
			line = "   "
		}
		line += " " + o
	}
	return out.String() + line + "\n"
}

// union returns the values of each name of each object, by cloud.
func union(clouds map[string]facts) map[string]map[string]map[string]string {
	out := map[string]map[string]map[string]string{}
	for cloud, f := range clouds {
		for about, values := range f {
			for name, value := range values {
				if out[about] == nil {
					out[about] = map[string]map[string]string{}
				}
				if out[about][name] == nil {
					out[about][name] = map[string]string{}
				}
				out[about][name][cloud] = value
			}
		}
	}
	return out
}

func countOf(clouds map[string]facts, about string) int {
	n := 0
	for _, f := range clouds {
		if _, ok := f[about]; ok {
			n++
		}
	}
	return n
}
