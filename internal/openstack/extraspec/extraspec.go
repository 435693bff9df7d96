// Package extraspec validates names and values of the extra specs of flavors with the rules of Nova's API.
// hack/registry/extraspecs.py extracts the rules from each release.
package extraspec

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

//go:embed data/*.json.gz
var data embed.FS

// spec is the rule for an extra spec, or for a family of them.
type spec struct {
	Name    string   `json:"name"`    // for messages: {…} where names differ
	Names   string   `json:"names"`   // regular expression for all names of a family
	Type    string   `json:"type"`    // string, integer or boolean
	Enum    []string `json:"enum"`    // all values of a string
	Pattern string   `json:"pattern"` // regular expression for the values of a string
	Min     *int64   `json:"min"`
	Max     *int64   `json:"max"`

	names, pattern *regexp.Regexp
}

// rules are the rules of one release.
type rules struct {
	Release    string   `json:"release"`
	Specs      []*spec  `json:"specs"`
	Namespaces []string `json:"namespaces"` // regular expressions

	byName     map[string]*spec
	namespaces []*regexp.Regexp
}

// all returns the rules of every release.
var all = sync.OnceValues(func() (map[string]*rules, error) {
	out := map[string]*rules{}
	files, _ := data.ReadDir("data") // The folder is embedded in the binary.
	for _, file := range files {
		raw, err := data.ReadFile("data/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("cannot read the extra specs of Nova: %w", err)
		}
		text, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("cannot unpack %s: %w", file.Name(), err)
		}
		r := &rules{byName: map[string]*spec{}}
		if err := json.NewDecoder(text).Decode(r); err != nil {
			return nil, fmt.Errorf("cannot decode %s: %w", file.Name(), err)
		}
		if err := r.compile(); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		out[r.Release] = r
	}
	return out, nil
})

// compile compiles the regular expressions. Nova matches the complete text.
func (r *rules) compile() error {
	var errs []error
	full := func(text string) *regexp.Regexp {
		e, err := regexp.Compile("^(?:" + text + ")$")
		errs = append(errs, err)
		return e
	}
	for _, s := range r.Specs {
		r.byName[s.Name] = s
		if s.Names != "" {
			s.names = full(s.Names)
		}
		if s.Pattern != "" {
			s.pattern = full(s.Pattern)
		}
	}
	for _, n := range r.Namespaces {
		r.namespaces = append(r.namespaces, full(n))
	}
	return errors.Join(errs...)
}

// Check returns an error if Nova's API rejects an extra spec in a release, such as 2025.2. The text continues a sentence
// about the extra spec and lists the valid values. Nova accepts any name in a namespace that is not its own, because
// filters of the platform may read it.
func Check(release, name, value string) error {
	known, err := all()
	if err != nil {
		return err
	}
	r := known[release]
	if r == nil {
		return fmt.Errorf("the extra specs of Nova are not known in release %q", release)
	}
	s := r.find(name)
	if s == nil {
		return r.unknown(name)
	}
	return s.check(value)
}

// find returns the rule for a name, or nil if none exists.
func (r *rules) find(name string) *spec {
	if s := r.byName[name]; s != nil {
		return s
	}
	at := slices.IndexFunc(r.Specs, func(s *spec) bool { return s.names != nil && s.names.MatchString(name) })
	if at < 0 {
		return nil
	}
	return r.Specs[at]
}

// unknown returns an error for a name without a rule, or nil if its namespace is not one of Nova's.
func (r *rules) unknown(name string) error {
	namespace, _, found := strings.Cut(name, ":")
	if !found || !slices.ContainsFunc(r.namespaces, func(e *regexp.Regexp) bool { return e.MatchString(namespace) }) {
		return nil
	}
	remedy := "correct or remove it"
	if closest := suggest.Closest(name, slices.Values(r.names())); closest != "" {
		remedy = fmt.Sprintf("did you mean %q?", closest)
	}
	return fmt.Errorf("is not an extra spec of Nova %s; %s", r.Release, remedy)
}

// names returns the names to suggest. For families, it omits the part that may be empty.
func (r *rules) names() []string {
	var out []string
	for _, s := range r.Specs {
		if name := strings.Replace(s.Name, "{group}", "", 1); !strings.Contains(name, "{") {
			out = append(out, name)
		}
	}
	return out
}

// check returns an error for a value that Nova rejects.
func (s *spec) check(value string) error {
	switch s.Type {
	case "integer":
		return s.checkInteger(value)
	case "boolean":
		if _, ok := oslo.Boolean(value); !ok {
			return fmt.Errorf("%q is no boolean; set true or false", value)
		}
	default:
		if s.pattern != nil && !s.pattern.MatchString(value) {
			return fmt.Errorf("%q does not match the expression %s of Nova; correct it", value, s.Pattern)
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
			return fmt.Errorf("%q is none of its values; set one of %s", value, strings.Join(s.Enum, ", "))
		}
	}
	return nil
}

func (s *spec) checkInteger(value string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	switch {
	case err != nil:
		return fmt.Errorf("%q is no integer; set one", value)
	case s.Min != nil && n < *s.Min:
		return fmt.Errorf("%d is too small; set %d or more", n, *s.Min)
	case s.Max != nil && n > *s.Max:
		return fmt.Errorf("%d is too large; set %d or less", n, *s.Max)
	// nova.objects.request_spec.RequestGroup.add_resource.
	case n < 0 && strings.HasPrefix(s.Name, "resources"):
		return fmt.Errorf("%d is negative: Nova's API takes it, and the scheduler ignores it; set 0 or more", n)
	}
	return nil
}
