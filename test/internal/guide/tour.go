package guide

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// AnyCode accepts every exit code.
const AnyCode = -1

// Tour is the preparation of a reader for a page: replacements of its names, and the steps that the page describes in words.
type Tour struct {
	// Page is the name of the page.
	Page string
	// Replace are pairs of texts of the page and their replacements, in commands, files and printed lines.
	Replace []string
	// Write are the files of manifests by their number on the page, from 0, in addition to those that the page names.
	Write map[int]string
	// Merge are the files that manifests are added to, by their number on the page.
	Merge map[int]string
	// Append are the files that manifests are appended to, as text.
	Append map[int]string
	// Before are steps before the first command with a start. The empty start is the start of the page.
	Before map[string]func() error
	// After is a step at the end.
	After func() error
	// Codes are the expected exit codes of the commands with a start, in order, if they are not all 0. Further commands have the last code.
	Codes map[string][]int
	// RetryTimeout limits repetitions of the last command of a block until it prints the lines of the page.
	RetryTimeout time.Duration
	// Shown is the reason why the printed lines of the page are not compared.
	Shown string
}

// Report receives the result of a command: its output, and an error if it failed or printed other lines than the page.
type Report func(command Command, output string, err error)

// Take runs the commands of a page that the table assigns to a suite.
func (s *Session) Take(ctx context.Context, p Page, t *Table, suite string, tour Tour, report Report) error {
	replace := strings.NewReplacer(tour.Replace...).Replace
	var (
		manifests int
		printed   strings.Builder // by the last shell block
		complete  bool            // all commands of the last shell block ran
		last      Command
		passed    = map[string]bool{}
		codes     = map[string]int{} // commands with a start that ran
	)
	if err := tour.before("", passed); err != nil {
		return err
	}
	for _, b := range p.Blocks {
		switch b.Language {
		case YAML:
			if err := s.file(b, tour, manifests, replace(b.Code)); err != nil {
				return fmt.Errorf("%s:%d: %w", p.Name, b.Line, err)
			}
			manifests++
		case Shell:
			printed.Reset()
			complete = true
			for _, c := range p.Commands(b) {
				e, err := t.Entry(c)
				if err != nil {
					return err
				}
				if e.In != suite {
					complete = false
					continue
				}
				if err := tour.before(c.Text, passed); err != nil {
					return fmt.Errorf("%s:%d: before %s: %w", p.Name, c.Line, c.Text, err)
				}
				want := tour.code(c.Text, codes)
				c.Text = replace(c.Text)
				output, code, err := s.Run(ctx, c.Text)
				if err == nil && code != want && want != AnyCode {
					err = fmt.Errorf("exit code %d, want %d", code, want)
				}
				report(c, output, err)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				printed.WriteString(output)
				last = c
			}
		case Output, Text:
			if !complete || tour.Shown != "" {
				continue
			}
			missing := Missing(replace(b.Code), printed.String())
			for began := time.Now(); missing != "" && time.Since(began) < tour.RetryTimeout; time.Sleep(time.Second) {
				output, _, err := s.Run(ctx, last.Text)
				if err != nil {
					return err
				}
				printed.WriteString(output)
				missing = Missing(replace(b.Code), printed.String())
			}
			if missing != "" {
				report(last, printed.String(), fmt.Errorf("%s:%d: the commands do not print %q there", p.Name, b.Line, missing))
			}
		}
	}
	for start := range tour.Before {
		if !passed[start] {
			return fmt.Errorf("%s: no command starts with %q", p.Name, start)
		}
	}
	if tour.After == nil {
		return nil
	}
	return tour.After()
}

// before runs the steps before a command.
func (t Tour) before(command string, passed map[string]bool) error {
	for start, step := range t.Before {
		if passed[start] || (start == "") != (command == "") || !strings.HasPrefix(command, start) {
			continue
		}
		passed[start] = true
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// code returns the expected exit code of a command.
func (t Tour) code(command string, ran map[string]int) int {
	for start, codes := range t.Codes {
		if strings.HasPrefix(command, start) {
			ran[start]++
			return codes[min(ran[start], len(codes))-1]
		}
	}
	return 0
}

// file writes a manifest of a page to its file, if it has one.
func (s *Session) file(b Block, tour Tour, number int, content string) error {
	if name, ok := tour.Append[number]; ok {
		existing, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			return err
		}
		return s.Write(name, string(existing)+content)
	}
	if name, ok := tour.Merge[number]; ok {
		return s.Merge(name, content)
	}
	if name, ok := tour.Write[number]; ok {
		return s.Write(name, content)
	}
	if b.File == "" {
		return nil
	}
	return s.Write(b.File, content)
}

// Write writes a file into the working directory.
func (s *Session) Write(name, content string) error {
	return os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600)
}

// Merge adds a manifest to a file in the working directory.
func (s *Session) Merge(name, content string) error {
	var base, more map[string]any
	existing, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(existing, &base); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := yaml.Unmarshal([]byte(content), &more); err != nil {
		return err
	}
	all, err := yaml.Marshal(merged(base, more))
	if err != nil {
		return err
	}
	return s.Write(name, string(all))
}

// merged adds a manifest to another one, as a reader does: items of lists have names.
func merged(base, more any) any {
	switch m := more.(type) {
	case map[string]any:
		b, ok := base.(map[string]any)
		if !ok {
			return more
		}
		for key, value := range m {
			b[key] = merged(b[key], value)
		}
		return b
	case []any:
		b, _ := base.([]any)
		for _, item := range m {
			i := slices.IndexFunc(b, func(existing any) bool { return nameOf(item) != "" && nameOf(existing) == nameOf(item) })
			if i < 0 {
				b = append(b, item)
			} else {
				b[i] = merged(b[i], item)
			}
		}
		return b
	}
	return more
}

// nameOf returns the name of an item of a list, or the item itself if it is no object.
func nameOf(item any) string {
	if m, ok := item.(map[string]any); ok {
		name, _ := m["name"].(string)
		return name
	}
	return fmt.Sprint(item)
}
