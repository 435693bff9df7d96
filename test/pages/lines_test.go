package pages

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	// minLineLength is the minimum number of characters of a line that is not the last of its paragraph, if more words fit.
	minLineLength = 70
	// fullLineLength is the number of characters up to which words fit in any case.
	fullLineLength = 100
)

// shortLines returns the lines inside paragraphs that end early, which are left when a paragraph is edited and not joined again.
func shortLines(text string) []string {
	var out []string
	lines := strings.Split(fenced.ReplaceAllString(comment.ReplaceAllString(text, ""), "\n"), "\n")
	for i, line := range lines[:len(lines)-1] {
		next := strings.TrimSpace(lines[i+1])
		if !isParagraph(line) || !isParagraph(lines[i+1]) || item.MatchString(lines[i+1]) {
			continue
		}
		word, _, _ := strings.Cut(next, " ")
		if n := len([]rune(line)); n < minLineLength && n+1+len([]rune(word)) < fullLineLength && !strings.HasPrefix(next, "`") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// isParagraph reports whether a line is part of a paragraph or of an item of a list.
func isParagraph(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.ContainsAny(line[:1], "#|<!:")
}

// TestParagraphsAreFilled checks that no line of a paragraph ends early.
func TestParagraphsAreFilled(t *testing.T) {
	pages := readPages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		if strings.HasPrefix(pages[page], "<!-- Generated") {
			continue
		}
		for _, line := range shortLines(pages[page]) {
			t.Errorf("%s: the line %q ends early; join it with the next line", page, line)
		}
	}
}

func TestShortLines(t *testing.T) {
	long := strings.Repeat("long ", 16) + "line"
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"edited":    {reason: "The paragraph continues.", text: long + "\nfor\nexample " + long + "\n", want: []string{"for"}},
		"item":      {reason: "An item of a list is a paragraph.", text: "1. A step\n    of two lines.\n", want: []string{"1. A step"}},
		"last":      {reason: "The last line of a paragraph can be short.", text: long + "\nEnd.\n\nNext.\n"},
		"items":     {reason: "Items are separate.", text: "- One\n- Two\n"},
		"command":   {reason: "Code is not split.", text: "A command:\n`kubectl get pods`\n"},
		"code":      {reason: "Code has lines of any length.", text: "```sh\na\nb\n```\n"},
		"long word": {reason: "The next word does not fit.", text: "A\n" + strings.Repeat("x", 100) + "\n"},
		"table":     {reason: "Rows are separate.", text: "| a |\n|---|\n| b |\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, shortLines(tc.text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
