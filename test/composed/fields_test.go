package composed

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// onlyFields selects the fields that TestFieldsChangePrograms changes.
var onlyFields = flag.String("fields", "", `change only fields that match these patterns, as in "ControlPlaneCluster:services.nova.*"`)

// agentsSuffix ends the names of tables for clouds whose networks are made by agents. These tables list only fields with other programs
// there.
const agentsSuffix = "-agents"

// fieldTables lists the tables of testdata/fields, with the number of trials in make test.
var fieldTables = []struct {
	name   string
	trials int
}{
	{"StorageCluster", 2}, {"ControlPlaneCluster", 3}, {"HypervisorCluster", 1},
	{"ControlPlaneCluster" + agentsSuffix, 1}, {"HypervisorCluster" + agentsSuffix, 1},
}

// kindOf returns the kind of the claims of a table.
func kindOf(table string) string { return strings.TrimSuffix(table, agentsSuffix) }

// TestFieldsHaveRows requires one row for each field of each kind of claims, and a field for each pattern.
func TestFieldsHaveRows(t *testing.T) {
	for _, table := range fieldTables {
		fields, rows := claimFields(t, kindOf(table.name)), readFieldTable(t, table.name)
		for _, f := range fields {
			if _, ok := rowOf(rows, f.path); !ok && table.name == kindOf(table.name) {
				t.Errorf("testdata/fields/%s.txt: spec.%s must have one row here or in functions/<service>/fields.txt; "+
					"add the programs that depend on it, or none with a reason", table.name, f.path)
			}
		}
		for _, r := range rows {
			for _, p := range r.fields {
				if !slices.ContainsFunc(fields, func(f claimField) bool { return matches(p, f.path) }) {
					t.Errorf("testdata/fields/%s.txt: no field matches %s; remove it", table.name, p)
				}
			}
		}
	}
}

// TestFieldsChangePrograms changes fields of claims, and requires other content of each program that depends on them. make test changes as
// many fields as possible in a few trials; make test-long changes each field alone, in a release of OpenStack that changes daily.
func TestFieldsChangePrograms(t *testing.T) {
	claims := readFieldClaims(t)
	releases := release.Releases()
	r := releases[effort.Of(1, time.Now().YearDay())%len(releases)]
	second := claims.composeSecond(t)
	bases, changed := map[bool]*baseline{}, 0
	for _, table := range fieldTables {
		kind, agents := kindOf(table.name), table.name != kindOf(table.name)
		if bases[agents] == nil {
			bases[agents] = newBaseline(t, claims, claims.specsFor(agents, r))
		}
		base := bases[agents]
		base.existing = second
		rows := readFieldTable(t, table.name)
		var trials []*trial
		for _, f := range claimFields(t, kind) {
			row, ok := rowOf(rows, f.path)
			if ok && (*onlyFields == "" || specificity(strings.Fields(*onlyFields), table.name+":"+f.path) > 0) {
				trials = base.plan(trials, table.name, f, row)
			}
		}
		// The first trials have the most fields.
		slices.SortStableFunc(trials, func(a, b *trial) int { return len(b.fields) - len(a.fields) })
		if !effort.Long() && *onlyFields == "" {
			trials = trials[:min(len(trials), table.trials)]
		}
		for _, tr := range trials {
			changed += len(tr.fields)
			for _, problem := range base.run(t, tr) {
				t.Errorf("testdata/fields/%s.txt: %s", table.name, problem)
			}
		}
	}
	t.Logf("%d fields were changed in %s", changed, r)
}

// changes holds, for a claim and each claim that refers to it, whether the content of each program changes.
type changes []map[string]bool

// changesOf compares the programs of claims before and after a change.
func changesOf(before, after []map[string]string) changes {
	var out changes
	for i := range before {
		changed := map[string]bool{}
		for _, names := range []map[string]string{before[i], after[i]} {
			for name := range names {
				changed[name] = before[i][name] != after[i][name]
			}
		}
		out = append(out, changed)
	}
	return out
}

// matching returns the programs of the first claim that has any which match a pattern, and the index of the claim.
func (c changes) matching(pattern string) (names []string, claim int) {
	for i, programs := range c {
		for _, name := range slices.Sorted(maps.Keys(programs)) {
			if matches(pattern, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return names, i
		}
	}
	return nil, 0
}

// check returns the differences of a row from the changes by a change of a field.
func (r fieldRow) check(path string, c changes) []string {
	var out, changed []string
	for _, programs := range c {
		for _, name := range slices.Sorted(maps.Keys(programs)) {
			if programs[name] {
				changed = append(changed, name)
			}
		}
	}
	all := strings.Join(changed, " ")
	if r.is(ineffective) {
		if len(changed) > 0 {
			out = append(out, fmt.Sprintf("spec.%s must change nothing, and changes %s", path, all))
		}
		return out
	}
	for _, p := range r.programs {
		names, claim := c.matching(p)
		if len(names) == 0 {
			out = append(out, fmt.Sprintf("spec.%s: no program is %s; it changes %s", path, p, all))
		}
		for _, name := range names {
			if !c[claim][name] {
				out = append(out, fmt.Sprintf("spec.%s must change %s, and changes only: %s", path, name, all))
			}
		}
	}
	return out
}

// TestFieldRowsNotice shows that a program without a change, and a program that does not exist, do not go unnoticed.
func TestFieldRowsNotice(t *testing.T) {
	c := changesOf(
		[]map[string]string{{"Deployment/nova": "a", "Deployment/horizon": "a"}, {"DaemonSet/nova-compute": "a"}},
		[]map[string]string{{"Deployment/nova": "b", "Deployment/horizon": "a", "Job/new": "a"}, {"DaemonSet/nova-compute": "b"}},
	)
	const all = "Deployment/nova Job/new DaemonSet/nova-compute"
	for name, tc := range map[string]struct{ reason, programs, want string }{
		"changed":   {"All programs of the row have other content.", "Deployment/nova Job/* DaemonSet/*", ""},
		"unchanged": {"One program has the same content.", "Deployment/*", "spec.f must change Deployment/horizon, and changes only: " + all},
		"unknown":   {"One program does not exist.", "StatefulSet/nova", "spec.f: no program is StatefulSet/nova; it changes " + all},
		"effective": {"The row has no programs.", ineffective, "spec.f must change nothing, and changes " + all},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(fieldRow{programs: strings.Fields(tc.programs)}.check("f", c), "; "); got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	for _, text := range []string{"a\n    b\n", "# R.\n    b\n", "# R.\na\n", "# R.\na\n    b\n\nc\n    d\n"} {
		if _, err := parseFieldTable(text); err == nil {
			t.Errorf("%q is a table", text)
		}
	}
}
