package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuaranteesHaveTests checks that every test in the table of docs/contributing/guarantees-and-tests.md exists in the stated package.
func TestGuaranteesHaveTests(t *testing.T) {
	doc, err := os.ReadFile("../../docs/contributing/guarantees-and-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## Which test fails without it")
	section, _, _ = strings.Cut(section, "\n## ")
	quoted := regexp.MustCompile("`([^`]+)`")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[3], "`Test") {
			continue
		}
		rows++
		folder := quoted.FindStringSubmatch(cells[4])[1]
		files, err := filepath.Glob("../../" + folder + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var source strings.Builder
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if !strings.Contains(source.String(), "func "+name[1]+"(t *testing.T)") {
				t.Errorf("there is no %s in %s", name[1], folder)
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d promises", rows)
	}
}
