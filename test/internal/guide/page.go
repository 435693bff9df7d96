// Package guide reads tutorials and how-to guides as a reader does: it takes the commands, the files and the printed output from the text
// of a page, runs the commands in one shell, and compares their output. Its table lists the suite of each command, or the reason why no
// suite runs it.
package guide

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Languages of the blocks of a page.
const (
	Shell  = "sh"
	YAML   = "yaml"
	Output = "" // Printed lines.
	Text   = "text"
)

// Block is a fenced block of a page.
type Block struct {
	// Line is the number of its first line of code, from 1.
	Line int
	// Language is the word after the fence.
	Language string
	// Code is the content without the indentation of the fence.
	Code string
	// File is the file that the reader writes the content to, if the sentence before the block names one.
	File string
}

// Command is a command of a page. It can have several lines.
type Command struct {
	// Page is the path of the page below docs, without its extension.
	Page string
	// Line is the number of its first line on the page.
	Line int
	// Text is the code.
	Text string
}

// Page is a tutorial or a how-to guide.
type Page struct {
	// Name is the path below docs, without its extension.
	Name string
	// Blocks are the fenced blocks in order.
	Blocks []Block
}

var (
	fence   = regexp.MustCompile("^( *)```+ *([a-z]*) *$")
	written = regexp.MustCompile("(?:[Ww]rites?|[Cc]reate a file)[^`]*`([a-z-]+\\.(?:yaml|json))`")
)

// Parse reads the fenced blocks of a page.
func Parse(name, text string) (Page, error) {
	p := Page{Name: name}
	lines := strings.Split(text, "\n")
	var before []string // the paragraph before a block
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if strings.TrimSpace(lines[i]) != "" {
				before = append(before, lines[i])
			} else if i+1 < len(lines) && !fence.MatchString(lines[i+1]) {
				before = nil
			}
			continue
		}
		b := Block{Line: i + 2, Language: m[2]}
		var code strings.Builder
		for i++; ; i++ {
			if i == len(lines) {
				return p, fmt.Errorf("%s:%d: the block has no end", name, b.Line)
			}
			if strings.TrimSpace(lines[i]) == "```" {
				break
			}
			code.WriteString(strings.TrimPrefix(lines[i], m[1]) + "\n")
		}
		b.Code = code.String()
		if f := written.FindStringSubmatch(strings.Join(before, " ")); f != nil && b.Language == YAML {
			b.File = f[1]
		}
		before = nil
		p.Blocks = append(p.Blocks, b)
	}
	return p, nil
}

// Commands returns the commands of a shell block.
func (p Page) Commands(b Block) []Command {
	if b.Language != Shell {
		return nil
	}
	out := split(b.Code)
	for i := range out {
		out[i].Page, out[i].Line = p.Name, out[i].Line+b.Line
	}
	return out
}

// Manifests returns the YAML blocks of a page.
func (p Page) Manifests() []string {
	var out []string
	for _, b := range p.Blocks {
		if b.Language == YAML {
			out = append(out, b.Code)
		}
	}
	return out
}

var (
	// hereDocument matches the operator of a here-document.
	hereDocument = regexp.MustCompile(`<<-?'?([A-Z]+)'?`)
	loopStart    = regexp.MustCompile(`(?:^|[;\s])do(?:$|\s)`)
	// continued matches the end of a line whose command continues on the next line.
	continued = regexp.MustCompile(`(?:\\|\||&&)$`)
	loopEnd   = regexp.MustCompile(`(?:^|[;\s])done(?:$|[;|\s])`)
)

// split splits shell code into commands: each ends with its line, unless a quote, a loop, a here-document or a line continuation is open.
// Lines are numbered from 0.
func split(code string) []Command {
	var (
		out     []Command
		current []string
		start   int
		depth   int    // open loops
		quote   byte   // of the open quote
		end     string // of the open here-document
	)
	for i, line := range strings.Split(strings.TrimSuffix(code, "\n"), "\n") {
		if len(current) == 0 {
			if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
				continue
			}
			start = i
		}
		current = append(current, line)
		if end != "" {
			if strings.TrimSpace(line) != end {
				continue
			}
			end = ""
		} else {
			var text string
			text, quote = unquoted(line, quote)
			depth += len(loopStart.FindAllString(text, -1)) - len(loopEnd.FindAllString(text, -1))
			if m := hereDocument.FindStringSubmatch(line); m != nil && quote == 0 && strings.Contains(text, "<<") && !strings.Contains(text, "<<<") {
				end = m[1]
			}
			text = strings.TrimSpace(text)
			if end != "" || quote != 0 || depth > 0 || continued.MatchString(text) {
				continue
			}
		}
		out = append(out, Command{Line: start, Text: strings.Join(current, "\n")})
		current = nil
	}
	if len(current) > 0 {
		out = append(out, Command{Line: start, Text: strings.Join(current, "\n")})
	}
	return out
}

// unquoted returns a line without the content of quotes and without its comment, and the quote that is open at its end.
func unquoted(line string, quote byte) (text string, open byte) {
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '"':
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' '):
			return out.String(), 0
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), quote
}

// Pages reads the tutorials and the how-to guides of a repository, in the order of the navigation of the site.
func Pages(root string) ([]Page, error) {
	data, err := os.ReadFile(filepath.Join(root, "mkdocs.yml"))
	if err != nil {
		return nil, err
	}
	_, nav, _ := strings.Cut(string(data), "\n- Tutorials:\n")
	nav, _, ok := strings.Cut(nav, "\n- Troubleshooting:\n")
	if !ok {
		return nil, fmt.Errorf("mkdocs.yml has no tutorials and how-to guides before the section on troubleshooting")
	}
	var out []Page
	for _, m := range regexp.MustCompile(`(?m)^ +- (?:.*: )?(\S+)\.md$`).FindAllStringSubmatch(nav, -1) {
		text, err := os.ReadFile(filepath.Join(root, "docs", m[1]+".md"))
		if err != nil {
			return nil, err
		}
		p, err := Parse(m[1], string(text))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Find returns a page by its name.
func Find(pages []Page, name string) (Page, error) {
	i := slices.IndexFunc(pages, func(p Page) bool { return p.Name == name })
	if i < 0 {
		return Page{}, fmt.Errorf("the site has no tutorial or how-to guide %s", name)
	}
	return pages[i], nil
}
