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

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
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

// walk is the state of a tour.
type walk struct {
	*Session
	Tour

	page    Page
	table   *Table
	suite   string
	report  Report
	replace func(string) string
	// manifests is the number of manifests so far; passed are the steps that ran, and codes the commands with a start.
	manifests int
	passed    map[string]bool
	codes     map[string]int
	// printed is the output of the last block of commands, complete whether all of its commands ran, and last the last one.
	printed  string
	complete bool
	last     Command
}

// Take runs the commands of a page that the table assigns to a suite.
func (s *Session) Take(ctx context.Context, p Page, t *Table, suite string, tour Tour, report Report) error {
	w := &walk{
		Session: s, Tour: tour, page: p, table: t, suite: suite, report: report, replace: strings.NewReplacer(tour.Replace...).Replace,
		passed: map[string]bool{}, codes: map[string]int{},
	}
	if err := w.before(""); err != nil {
		return err
	}
	for _, b := range p.Blocks {
		if err := w.block(ctx, b); err != nil {
			return fmt.Errorf("%s:%d: %w", p.Name, b.Line, err)
		}
	}
	for start := range tour.Before {
		if !w.passed[start] {
			return fmt.Errorf("%s: no command starts with %q", p.Name, start)
		}
	}
	if tour.After == nil {
		return nil
	}
	return tour.After()
}

// block writes a manifest, runs commands, or compares their output.
func (w *walk) block(ctx context.Context, b Block) error {
	switch b.Language {
	case YAML:
		w.manifests++
		return w.file(b, w.manifests-1)
	case Shell:
		w.printed, w.complete = "", true
		for _, c := range w.page.Commands(b) {
			e, err := w.table.Entry(c)
			if err != nil {
				return err
			}
			if e.In != w.suite {
				w.complete = false
				continue
			}
			if err := w.run(ctx, c); err != nil {
				return err
			}
		}
	case Output, Text:
		if w.complete && w.Shown == "" {
			return w.compare(ctx, b)
		}
	}
	return nil
}

// run runs a command, after the steps before it.
func (w *walk) run(ctx context.Context, c Command) error {
	if err := w.before(c.Text); err != nil {
		return fmt.Errorf("before %s: %w", c.Text, err)
	}
	want := w.code(c.Text)
	c.Text = w.replace(c.Text)
	output, code, err := w.Run(ctx, c.Text)
	if err == nil && code != want && want != AnyCode {
		err = fmt.Errorf("exit code %d, want %d", code, want)
	}
	w.report(c, output, err)
	w.printed += output
	w.last = c
	return ctx.Err()
}

// compare compares the output of the last block of commands with the page.
func (w *walk) compare(ctx context.Context, b Block) error {
	missing := Missing(w.replace(b.Code), w.printed)
	for began := time.Now(); missing != "" && stopwatch.Since(began) < w.RetryTimeout; time.Sleep(time.Second) {
		output, _, err := w.Run(ctx, w.last.Text)
		if err != nil {
			return err
		}
		w.printed += output
		missing = Missing(w.replace(b.Code), w.printed)
	}
	if missing != "" {
		w.report(w.last, w.printed, fmt.Errorf("%s:%d: the commands do not print %q there", w.page.Name, b.Line, missing))
	}
	return nil
}

// before runs the steps before a command.
func (w *walk) before(command string) error {
	for start, step := range w.Before {
		if w.passed[start] || (start == "") != (command == "") || !strings.HasPrefix(command, start) {
			continue
		}
		w.passed[start] = true
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// code returns the expected exit code of a command.
func (w *walk) code(command string) int {
	for start, codes := range w.Codes {
		if strings.HasPrefix(command, start) {
			w.codes[start]++
			return codes[min(w.codes[start], len(codes))-1]
		}
	}
	return 0
}

// file writes a manifest of a page to its file, if it has one.
func (w *walk) file(b Block, number int) error {
	content := w.replace(b.Code)
	if name, ok := w.Append[number]; ok {
		existing, err := os.ReadFile(filepath.Join(w.Dir, name))
		if err != nil {
			return err
		}
		return w.Session.Write(name, string(existing)+content)
	}
	if name, ok := w.Tour.Merge[number]; ok {
		return w.Session.Merge(name, content)
	}
	if name, ok := w.Tour.Write[number]; ok {
		return w.Session.Write(name, content)
	}
	if b.File == "" {
		return nil
	}
	return w.Session.Write(b.File, content)
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
