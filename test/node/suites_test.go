package node

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSuitesRunTestsOnRequest verifies that the workflow of suites runs every test of this package that `make test-e2e` skips unless it is
// selected. No other run would notice that it fails.
func TestSuitesRunTestsOnRequest(t *testing.T) {
	workflow, err := os.ReadFile("../../.github/workflows/suites.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	selected := regexp.MustCompile(`!selected\("(\w+)"\)`)
	found := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range selected.FindAllStringSubmatch(string(text), -1) {
			found++
			if command := "make test-e2e RUN='^Test" + match[1] + "$$'"; !strings.Contains(string(workflow), command) {
				t.Errorf("%s skips Test%s unless it is selected: add %q to .github/workflows/suites.yaml", name, match[1], command)
			}
		}
	}
	if found == 0 {
		t.Error("no test is skipped unless it is selected; was selected renamed?")
	}
}
