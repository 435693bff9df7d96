// Command language counts words and phrases of a private vocabulary in Go identifiers, comments, strings and documentation.
//
//	go run ./hack/language [-update] [-show PATH]
//
// It fails if a file has more hits than baseline.txt allows; a file without a line there may have three per 1,000 words. -update lowers the
// numbers of the baseline to the present ones, and -show prints the hits of the files whose names begin with PATH.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const baselineFile = "hack/language/baseline.txt"

var (
	// phrases are private in all text but identifiers: an expression for whole words, and a better example.
	//
	//go:embed phrases.txt
	phrases string
	// identifiers are words that are clear in prose, but name nothing as a part of an identifier.
	//
	//go:embed identifiers.txt
	identifiers string
	// correct matches phrases that look private and are not: a question, and the existence of an object.
	correct = regexp.MustCompile(`(?i)\b(whatever|what)(\s*\?| (if|kind|type|version|happens|to do)\b)|` +
		`\b(is|are|was|were) there (an?|any|no)\b`)
	// emptyComment matches doc comments such as "told is what Nova was told".
	emptyComment = regexp.MustCompile(`(?im)^//\s*\w+(?:\.\w+)? (is|are|was|were|says|does|has) ` +
		`(what|those|that|the same|one|how|where|who|whether|why|all that|whose|by what|of what|as)\b`)
	directive  = regexp.MustCompile(`^//(go:|nolint| \+)`)
	codeOrLink = regexp.MustCompile("(?s)```.*?```|<!--.*?-->|`[^`\n]*`|\\]\\([^)]*\\)")
	word       = regexp.MustCompile(`[A-Za-z][A-Za-z'’-]*`)
	namePart   = regexp.MustCompile(`[A-Z]?[a-z]+`)
)

// A section is one class of text of one file.
type section struct {
	words int // For identifiers: distinct identifiers.
	hits  []string
}

// allowed returns the number of hits of a section that is not in the baseline: three per 1,000 words, and one in a shorter text.
func (s section) allowed() int { return max(1, s.words*3/1000) }

func main() {
	update := flag.Bool("update", false, "lower the baseline to the present hits")
	show := flag.String("show", "", "print the hits of the files whose names begin with this path")
	flag.Parse()
	if err := run(*update, *show); err != nil {
		fmt.Fprintln(os.Stderr, "language:", err)
		os.Exit(1)
	}
}

func run(update bool, show string) error {
	sections, err := readTree(".")
	if err != nil {
		return err
	}
	baseline, err := readBaseline()
	if err != nil {
		return err
	}
	var lowered strings.Builder
	var failures []error
	words, hits := map[string]int{}, map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		s, class := sections[name], name[strings.LastIndex(name, " ")+1:]
		words[class], hits[class] = words[class]+s.words, hits[class]+len(s.hits)
		if show != "" && strings.HasPrefix(name, show) && len(s.hits) > 0 {
			fmt.Printf("%s: %s\n", name, strings.Join(s.hits, ", "))
		}
		most := max(baseline[name], s.allowed())
		if len(s.hits) > most {
			failures = append(failures, fmt.Errorf("%s: %d hits, %d allowed", name, len(s.hits), most))
		}
		if n := min(len(s.hits), most); n > s.allowed() {
			fmt.Fprintln(&lowered, name, n)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(words)) {
		rate := 1000 * float64(hits[class]) / float64(words[class])
		fmt.Printf("%-12s%6d hits in%8d words:%6.1f per 1,000\n", class, hits[class], words[class], rate)
	}
	if update {
		return os.WriteFile(baselineFile, []byte(lowered.String()), 0o644)
	}
	if len(failures) > 0 {
		failures = append(failures, errors.New("print the private words with -show PATH, and replace them as hack/language/phrases.txt shows"))
	}
	return errors.Join(failures...)
}

// readBaseline returns the allowed hits by file and class.
func readBaseline() (map[string]int, error) {
	data, err := os.ReadFile(baselineFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the baseline: %w", err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var file, class string
		var hits int
		if _, err := fmt.Sscan(line, &file, &class, &hits); err != nil {
			return nil, fmt.Errorf("%s: %q must be a file, a class and a number: %w", baselineFile, line, err)
		}
		out[file+" "+class] = hits
	}
	return out, nil
}

// readTree returns the sections of all Go and Markdown files below a folder by file and class, without test data and generated files.
func readTree(root string) (map[string]section, error) {
	out := map[string]section{}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "testdata", "out", "bin", "language"}, d.Name()) {
			return fs.SkipDir
		}
		goFile := strings.HasSuffix(path, ".go") && !strings.HasPrefix(d.Name(), "zz_")
		if d.IsDir() || !goFile && !strings.HasSuffix(path, ".md") {
			return nil
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return fmt.Errorf("cannot read a file of the tree: %w", err)
		}
		if !goFile {
			out[path+" docs"] = prose(codeOrLink.ReplaceAllString(string(data), " "))
			return nil
		}
		names, comments, literals := split(data)
		out[path+" identifiers"], out[path+" strings"] = identifierSection(names), prose(literals)
		s := prose(comments)
		s.hits = append(s.hits, emptyComment.FindAllString(comments, -1)...)
		out[path+" comments"] = s
		return nil
	})
	return out, err
}

// split returns the distinct identifiers of a Go file, its comments without directives, and its string literals that have a space.
func split(src []byte) (names map[string]bool, comments, literals string) {
	names = map[string]bool{}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, scanner.ScanComments)
	for {
		switch _, tok, lit := s.Scan(); {
		case tok == token.EOF:
			return names, comments, literals
		case tok == token.IDENT:
			names[lit] = true
		case tok == token.COMMENT && !directive.MatchString(lit):
			comments += lit + "\n"
		case tok == token.STRING && strings.Contains(lit, " "):
			literals += lit + "\n"
		}
	}
}

// private matches all phrases.
var private = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for line := range strings.Lines(phrases) {
		if expression, _, ok := strings.Cut(line, " # "); ok {
			all = append(all, strings.TrimSpace(expression))
		}
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(all, "|") + `)\b`)
})

func prose(text string) section {
	return section{len(word.FindAllString(text, -1)), private().FindAllString(correct.ReplaceAllString(text, ""), -1)}
}

func identifierSection(names map[string]bool) section {
	s, private := section{words: len(names)}, strings.Fields(identifiers)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		parts := namePart.FindAllString(n, -1)
		if slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(private, strings.ToLower(p)) }) {
			s.hits = append(s.hits, n)
		}
	}
	return s
}
