package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	quoted  = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// TestRelativeLinksHaveTargets holds that every relative link in a page of this repository leads to a file and, where it names one, to a
// heading.
func TestRelativeLinksHaveTargets(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "out", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".md"):
			return nil
		}
		data, err := os.ReadFile(path)
		pages[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 10 {
		t.Fatalf("found %d pages only", len(pages))
	}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		for _, broken := range brokenLinks(path, pages, exists) {
			t.Errorf("%s: %s", strings.TrimPrefix(path, root+string(filepath.Separator)), broken)
		}
	}
}

// brokenLinks returns the relative links of a page whose target does not exist.
func brokenLinks(path string, pages map[string]string, exists func(string) bool) []string {
	var out []string
	text := quoted.ReplaceAllString(fenced.ReplaceAllString(pages[path], ""), "")
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		target := match[1]
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		file, fragment, _ := strings.Cut(target, "#")
		to := path
		if file != "" {
			to = filepath.Join(filepath.Dir(path), file)
		}
		switch {
		case !exists(to):
			out = append(out, fmt.Sprintf("(%s) leads to no file", target))
		case fragment != "" && !headings(pages[to])[fragment]:
			out = append(out, fmt.Sprintf("(%s) leads to no heading", target))
		}
	}
	return out
}

// knownHeadings are the results of headings by page: hundreds of links lead to the longest pages.
var knownHeadings = map[string]map[string]bool{}

// headings are the fragments that GitHub gives to the headings of a page.
func headings(page string) map[string]bool {
	if known, ok := knownHeadings[page]; ok {
		return known
	}
	out := map[string]bool{}
	knownHeadings[page] = out
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(match[1]))
		fragment := slug
		for n := 1; out[fragment]; n++ {
			fragment = fmt.Sprintf("%s-%d", slug, n)
		}
		out[fragment] = true
	}
	return out
}

func TestBrokenLinks(t *testing.T) {
	pages := map[string]string{
		"a.md":   "# One\n## Two words, `code`\n",
		"d/b.md": "# Here\n",
	}
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"File":         {reason: "A link is relative to its page.", text: "[a](../a.md) [b](b.md)"},
		"NoFile":       {reason: "A file that is not there.", text: "[a](a.md)", want: []string{"(a.md) leads to no file"}},
		"Heading":      {reason: "Headings lose their signs.", text: "[a](../a.md#two-words-code) [here](#mine)\n# Mine\n"},
		"NoHeading":    {reason: "A heading that is not there.", text: "[a](../a.md#three)", want: []string{"(../a.md#three) leads to no heading"}},
		"Twice":        {reason: "GitHub numbers headings of the same words.", text: "[x](#x-1)\n# X\n# X\n"},
		"Elsewhere":    {reason: "Links to other sites are not checked.", text: "[x](https://example.org/x)"},
		"Code":         {reason: "Code contains no links.", text: "`[x](y)`\n```\n[x](y)\n# not a heading\n```\n"},
		"FencedNoHead": {reason: "A comment in code is no heading.", text: "[x](#x)\n```\n# X\n```\n", want: []string{"(#x) leads to no heading"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pages := maps.Clone(pages)
			pages["d/c.md"] = tc.text
			got := brokenLinks("d/c.md", pages, func(path string) bool { _, ok := pages[path]; return ok })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
