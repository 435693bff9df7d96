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

	"github.com/google/go-cmp/cmp"
)

var (
	// testName matches the name of a test in a page.
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	// citation matches names of tests, each with its cases, and their folders.
	citation = regexp.MustCompile("((?:`(?:Test|Fuzz)[A-Z]\\w*`(?: \\([a-z]+\\))?(?: \\*\\w+…?\\*(?:, \\*\\w+…?\\*)*)?(?:, | and )?)+)" +
		"(?: \\((`[\\w./-]+`(?:, `[\\w./-]+`)*)| of ((?:`[\\w./-]+`(?: and |, )?)+))?")
	// testCase matches a case of a test in a page.
	testCase = regexp.MustCompile(`\*(\w+)\*`)
	quoted   = regexp.MustCompile("`([^`]+)`")
	// testFunction matches the declaration of a test.
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(\w+ \*testing\.[TF]\)`)
)

// testFolder is the tests of a folder.
type testFolder struct {
	text  string
	names map[string]bool
}

// newTestFolder returns the tests in a text.
func newTestFolder(text string) testFolder {
	out := testFolder{text, map[string]bool{}}
	for _, m := range testFunction.FindAllStringSubmatch(text, -1) {
		out.names[m[1]] = true
	}
	return out
}

// testSource is the tests of each folder.
type testSource map[string]testFolder

// folders returns the folders with a test.
func (s testSource) folders(name string) []string {
	var out []string
	for folder, tests := range s {
		if tests.names[name] {
			out = append(out, folder)
		}
	}
	return out
}

// missing returns the tests and cases that a page names and that do not exist in the stated folder, or in any folder if none is stated.
func (s testSource) missing(page string) []string {
	var out []string
	for _, m := range citation.FindAllStringSubmatch(page, -1) {
		var stated []string
		for _, folder := range quoted.FindAllStringSubmatch(m[2]+m[3], -1) {
			if filepath.Ext(folder[1]) == "" { // Otherwise it is a file that the test reads.
				stated = append(stated, folder[1])
			}
		}
		var texts strings.Builder
		for _, name := range testName.FindAllStringSubmatch(m[1], -1) {
			folders := s.folders(name[1])
			if len(stated) > 0 {
				folders = slices.DeleteFunc(folders, func(f string) bool { return !slices.Contains(stated, f) })
			}
			if len(folders) == 0 {
				out = append(out, name[1])
			}
			for _, f := range folders {
				texts.WriteString(s[f].text)
			}
		}
		for _, name := range testCase.FindAllStringSubmatch(m[1], -1) {
			if !regexp.MustCompile(`\b` + name[1] + `\b`).MatchString(texts.String()) {
				out = append(out, name[1])
			}
		}
	}
	return out
}

// readTests returns the text of all tests by folder.
func readTests(t *testing.T) testSource {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		texts[filepath.ToSlash(folder)] += string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := testSource{}
	for folder, text := range texts {
		out[folder] = newTestFolder(text)
	}
	return out
}

// TestNamedTestsExist checks that each test that a page names exists, in the folder that the page states, with the stated cases. A promise
// of a security page is only as good as its test.
func TestNamedTestsExist(t *testing.T) {
	tests, pages := readTests(t), readPages(t)
	named := 0
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		if strings.HasPrefix(page, "docs/release-notes/") || page == "docs/reference/test-evidence.md" {
			continue // They describe tests of their time, and of other projects.
		}
		named += len(testName.FindAllString(pages[page], -1))
		for _, name := range tests.missing(pages[page]) {
			t.Errorf("%s names %s, which is not a test, or not a case of it, in the stated folder", page, name)
		}
	}
	if named < 200 {
		t.Errorf("only %d names of tests", named)
	}
}

func TestFindsMissingTests(t *testing.T) {
	tests := testSource{
		"a":   newTestFolder("func TestOne(t *testing.T) {\n\"Case\"\n}\n"),
		"b/c": newTestFolder("func TestTwo(t *testing.T) {}\nfunc FuzzThree(f *testing.F) {}\n"),
		"d":   newTestFolder("func TestOneMore(t *testing.T) {}\n// TestFour(t *testing.T)\n"),
	}
	for name, tc := range map[string]struct {
		reason, page string
		want         []string
	}{
		"Exists":      {"Tests of any folder are found.", "`TestOne` *Case* and `FuzzThree`", nil},
		"Prefix":      {"The beginning of a name is not enough.", "`TestOneM`", []string{"TestOneM"}},
		"Comment":     {"A comment is not a test.", "`TestFour`", []string{"TestFour"}},
		"Folder":      {"A test is in the stated folder.", "`TestOne`, `TestTwo` (`b/c`)", []string{"TestOne"}},
		"FolderOf":    {"The folder can follow after of.", "`TestOne` of `b/c`; `TestTwo` of `a` and `b/c`", []string{"TestOne"}},
		"SeveralDirs": {"One of several folders is enough.", "`TestOne` (`b/c`, `a`)", nil},
		"Case":        {"A case is in the folder of the test.", "`TestOne` (mallory) *Case*, *Other*", []string{"Other"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tests.missing(tc.page)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
