package pages

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Limits of pages. The sentences of design decisions and of the reference are only part of the mean of all pages, and the reference has
// pages of any length.
const (
	maxPageLength        = 2500
	maxCellLength        = 30
	maxMeanSentence      = 18.0
	maxMeanSentenceOfOne = 20.0
)

// figures are the sizes of a page, without code.
type figures struct {
	length    int   // in words
	sentences []int // words of each
	cells     []int // words of each
}

var (
	target    = regexp.MustCompile(`\]\([^)]*\)`)
	separator = regexp.MustCompile(`^\s*\|[\s:|-]+\|$`)
	item      = regexp.MustCompile(`^\s*(?:[-*>]|\d+\.) `)
	end       = regexp.MustCompile(`[.!?:]\s+`)
)

// measure returns the figures of a page.
func measure(text string) figures {
	text = fenced.ReplaceAllString(comment.ReplaceAllString(text, ""), "\n")
	var out figures
	var paragraph []string
	flush := func() {
		for _, s := range end.Split(strings.Join(paragraph, " ")+" ", -1) {
			if n := len(strings.Fields(s)); n > 2 {
				out.sentences = append(out.sentences, n)
			}
		}
		paragraph = nil
	}
	for line := range strings.Lines(target.ReplaceAllString(text, "]")) {
		line = strings.TrimSpace(line)
		switch {
		case separator.MatchString(line):
		case strings.HasPrefix(line, "|"):
			flush()
			for cell := range strings.SplitSeq(strings.Trim(strings.ReplaceAll(line, `\|`, " "), "|"), "|") {
				n := len(strings.Fields(cell))
				out.cells, out.length = append(out.cells, n), out.length+n
			}
		default:
			out.length += len(strings.Fields(line))
			if line == "" || strings.HasPrefix(line, "#") || item.MatchString(line) {
				flush()
			}
			if !strings.HasPrefix(line, "#") {
				paragraph = append(paragraph, item.ReplaceAllString(line, ""))
			}
		}
	}
	flush()
	return out
}

// mean returns the mean of numbers.
func mean(numbers []int) float64 {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	return float64(sum) / float64(max(1, len(numbers)))
}

// TestPagesAreShort checks the number of words of each page, the mean length of sentences, and the number of words of cells.
func TestPagesAreShort(t *testing.T) {
	pages := readPages(t)
	var all []int
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		f := measure(pages[page])
		all = append(all, f.sentences...)
		reference := strings.HasPrefix(page, "docs/reference/")
		if !reference && f.length > maxPageLength {
			t.Errorf("%s has %d words, and at most %d are allowed; split it", page, f.length, maxPageLength)
		}
		if m := mean(f.sentences); !reference && !strings.HasPrefix(page, "docs/design/") && m > maxMeanSentenceOfOne {
			t.Errorf("%s: sentences have %.1f words on average, and at most %.0f are allowed", page, m, maxMeanSentenceOfOne)
		}
		for _, n := range f.cells {
			if n > maxCellLength {
				t.Errorf("%s has a cell of %d words, and at most %d are allowed; use a list", page, n, maxCellLength)
			}
		}
	}
	if m := mean(all); m > maxMeanSentence {
		t.Errorf("sentences have %.1f words on average, and at most %.0f are allowed", m, maxMeanSentence)
	}
}

func TestCountsLengthOfSentencesAndCells(t *testing.T) {
	got := measure("<!-- no words\n-->\n# A heading\n\nOne two three. Four five\nsix seven: [eight nine](ten.md) eleven.\n\n1. An item of five words.\n\n" +
		"```sh\ncode is not counted\n```\n\n| Head | Cell |\n|---|---|\n| one two | [three](x.md) |\n")
	want := figures{length: 24, sentences: []int{3, 4, 3, 5}, cells: []int{1, 1, 2, 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(figures{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
