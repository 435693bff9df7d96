package guide

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Suites that run commands.
const (
	// Platform is TestGuidesRunAsWritten of test/platform, with a real API server and a real Crossplane.
	Platform = "platform"
	// OpenStack is TestGuidesRunAsWritten of test/openstack/guides, with the real services.
	OpenStack = "openstack"
	// Offline is cmd/cobaltcore, whose tests run the commands of all pages that need no cluster.
	Offline = "offline"
	// None is no suite, for the given reason.
	None = "none"
)

//go:embed table.yaml
var table []byte

// Entry assigns commands to a suite.
type Entry struct {
	// In is the suite.
	In string `json:"in"`
	// Why is the reason of None: a name in the reasons of the table, or a text.
	Why string `json:"why,omitempty"`
	// Starts is the start of the commands; empty: all other commands of the page.
	Starts string `json:"starts,omitempty"`
}

// Table lists the suites of the commands of each page.
type Table struct {
	// Reasons are texts by name.
	Reasons map[string]string `json:"reasons"`
	// Pages are the entries of each page: the first one that fits.
	Pages map[string][]Entry `json:"pages"`

	used map[string]bool
}

// ReadTable returns the table of this project.
func ReadTable() (*Table, error) {
	t := &Table{}
	return t, yaml.UnmarshalStrict(table, t)
}

// offline matches the commands of the command line that need no cluster.
var offline = regexp.MustCompile(`^(?:cobaltcore|go run \./cmd/cobaltcore) (?:preview|plan|validate|images|explain|completion|version)\b`)

// Entry returns the entry of a command.
func (t *Table) Entry(c Command) (Entry, error) {
	entries := t.Pages[c.Page]
	for i, e := range entries {
		if !strings.HasPrefix(c.Text, e.Starts) {
			continue
		}
		if t.used == nil {
			t.used = map[string]bool{}
		}
		t.used[fmt.Sprint(c.Page, i)] = true
		if text, ok := t.Reasons[e.Why]; ok {
			t.used[e.Why] = true
			e.Why = text
		}
		switch known := slices.Contains([]string{Platform, OpenStack, Offline, None}, e.In); {
		case !known:
			return e, fmt.Errorf("%s: %q is no suite", c.Page, e.In)
		case e.In == None && (e.Why == "" || e.Starts == ""):
			return e, fmt.Errorf("%s: an entry with the suite %s requires the start of a command, and a reason", c.Page, e.In)
		case e.In == Offline && !offline.MatchString(c.Text):
			return e, fmt.Errorf("%s:%d: cmd/cobaltcore does not run %q", c.Page, c.Line, c.Text)
		}
		return e, nil
	}
	if offline.MatchString(c.Text) {
		return Entry{In: Offline}, nil
	}
	return Entry{}, fmt.Errorf("%s:%d: no entry of test/internal/guide/table.yaml has the command %q; run it in a suite, or give a reason",
		c.Page, c.Line, c.Text)
}

// Of returns the commands of pages that a suite runs.
func (t *Table) Of(pages []Page, suite string) []Command {
	var out []Command
	for _, p := range pages {
		for _, b := range p.Blocks {
			for _, c := range p.Commands(b) {
				if e, err := t.Entry(c); err == nil && e.In == suite {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// Unused returns the entries and reasons that no command had.
func (t *Table) Unused() []string {
	var out []string
	for _, page := range slices.Sorted(maps.Keys(t.Pages)) {
		for i, e := range t.Pages[page] {
			if !t.used[fmt.Sprint(page, i)] {
				out = append(out, fmt.Sprintf("%s: no command is left for the entry %q", page, e.Starts))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Reasons)) {
		if !t.used[name] {
			out = append(out, "no entry has the reason "+name)
		}
	}
	return out
}
