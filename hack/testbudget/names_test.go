package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	cases := map[string]struct {
		reason, filter string
		separator      byte
		want           []string
	}{
		"One":         {reason: "Without a separator, the result has one part.", filter: "TestA", separator: '|', want: []string{"TestA"}},
		"Two":         {reason: "Alternatives are split.", filter: "TestA|TestB", separator: '|', want: []string{"TestA", "TestB"}},
		"Parentheses": {reason: "An alternative in parentheses is part of one expression.", filter: "Test(A|B)|C", separator: '|', want: []string{"Test(A|B)", "C"}},
		"Brackets":    {reason: "In brackets, a separator and a parenthesis are characters.", filter: "Test[|(]A|B", separator: '|', want: []string{"Test[|(]A", "B"}},
		"Escaped":     {reason: "An escaped separator is a character.", filter: `A\|B/C`, separator: '|', want: []string{`A\|B/C`}},
		"Levels":      {reason: "Levels of subtests are split as well.", filter: "TestA/b/c", separator: '/', want: []string{"TestA", "b", "c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, split(tc.filter, tc.separator)); diff != "" {
				t.Errorf("\n%s\nsplit(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	dir := t.TempDir()
	text := "package a\n\nfunc TestMain(m *testing.M) {}\nfunc TestDelete(t *testing.T) {}\nfunc TestDeletePool(t *testing.T) {}\n" +
		"func TestReady(t *testing.T) {}\nfunc helper() {}\nfunc FuzzParse(f *testing.F) {}\nfunc (s suite) TestMethod(t *testing.T) {}\n"
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	packages := []goPackage{{ImportPath: "a", Dir: dir, XTestGoFiles: []string{"a_test.go"}}}
	cases := map[string]struct {
		reason, filter string
		want           []string
	}{
		"Empty":       {reason: "No filter selects all tests."},
		"Part":        {reason: "A filter matches a part of a name.", filter: "Delete"},
		"Exact":       {reason: "Anchors are respected.", filter: "^TestReady$"},
		"Subtest":     {reason: "Names of subtests are unknown before the test runs.", filter: "TestReady/small"},
		"Fuzz":        {reason: "A fuzz target runs its seeds as a test.", filter: "FuzzParse"},
		"Misspelled":  {reason: "The error names similar tests, the closest first.", filter: "TestRaedy", want: []string{`no test matches "TestRaedy"`, "similar names: TestReady,"}},
		"Contained":   {reason: "A name that contains the wanted one is close.", filter: "^TestPool", want: []string{"similar names: TestDeletePool,"}},
		"Alternative": {reason: "Each alternative must match.", filter: "TestReady|TestGone", want: []string{`no test matches "TestGone"`}},
		"Main":        {reason: "TestMain is no test.", filter: "TestMain", want: []string{`no test matches "TestMain"`}},
		"Method":      {reason: "A method is no test.", filter: "TestMethod", want: []string{`no test matches "TestMethod"`}},
		"Broken":      {reason: "An invalid expression is an error.", filter: "Test(", want: []string{`filter "Test("`, "missing closing )"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := match(tc.filter, packages)
			if len(tc.want) == 0 && err != nil {
				t.Errorf("\n%s\nmatch(): %v", tc.reason, err)
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("\n%s\nmatch(): got error %v, want %q in it", tc.reason, err, want)
				}
			}
		})
	}
}

// TestSelected checks that only packages with a selected test are compiled and run.
func TestSelected(t *testing.T) {
	var packages []goPackage
	for path, text := range map[string]string{
		"a": "package a\n\nfunc TestMain(m *testing.M) {}\nfunc TestKeystone(t *testing.T) {}\n",
		"b": "package b\n\nfunc TestMain(m *testing.M) {}\nfunc TestGlance(t *testing.T) {}\nfunc TestGlanceUpgrade(t *testing.T) {}\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, goPackage{ImportPath: path, Dir: dir, TestGoFiles: []string{"a_test.go"}})
	}
	slices.SortFunc(packages, func(a, b goPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	cases := map[string]struct {
		reason, filter string
		want           []string
	}{
		"One":          {reason: "A package without a selected test is left out.", filter: "(?i)^Testglance", want: []string{"b"}},
		"Subtest":      {reason: "Names of subtests are unknown before the test runs.", filter: "^TestKeystone$/2025.2", want: []string{"a"}},
		"Alternatives": {reason: "One alternative is sufficient.", filter: "TestKeystone|TestGlanceUpgrade/Next", want: []string{"a", "b"}},
		"Main":         {reason: "TestMain is no test.", filter: "TestMain"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := selected(tc.filter, packages)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, paths(got)); diff != "" {
				t.Errorf("\n%s\nselected(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
