package registry

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed data/*.json.gz
var data embed.FS

// Registry is what one release of one service knows. It is never changed, so any number of goroutines may use it.
type Registry struct {
	// Service is the service's name, such as keystone.
	Service string
	// Release is the OpenStack release, such as 2025.2.
	Release string
	// Version is the version of the service's package that the data are of, such as 28.1.0.
	Version string

	groups map[string]map[string]*Option
	// templates are the options of groups whose names an administrator chooses: template → name → option.
	templates map[string]map[string]*Option
	// named are the groups of With.
	named []Group
	// renamed are the options behind a deprecated name: group → name → options, more than one if the old one was split.
	renamed  map[string]map[string][]*Option
	policies map[string]policy
	// renamedPolicies are the deprecated names of policy rules.
	renamedPolicies map[string]bool
}

// Option is one option of a service.
type Option struct {
	// Group is the option's group: in lower case, or DEFAULT.
	Group string `json:"-"`
	// Name is the option's name in a configuration file.
	Name string `json:"-"`
	// Type is what its value may be; that of each value, if the option is Multi.
	Type
	// Multi says that the option is repeated, once for each of its values.
	Multi bool `json:"multi"`
	// Default is the value that the service takes, or an example of it; nil if it has none or a long one.
	Default any `json:"default"`
	// Mutable says that the service takes a new value while it runs.
	Mutable bool `json:"mutable"`
	// Required says that the service does not start without a value.
	Required bool `json:"required"`
	// Secret says that the value is not to be shown.
	Secret bool `json:"secret"`
	// Removal is set if the option is deprecated and has no successor.
	Removal *Removal `json:"removal"`
	// Deprecated are the names that the option had before, and that the service still reads.
	Deprecated []Name `json:"deprecated"`
	// Classes are those of the service's own package that the value may name; empty: it names none, or nobody knows which there are.
	Classes []string `json:"classes"`
}

// Name is where an option stands in a configuration file.
type Name struct {
	Group  string `json:"group"`
	Option string `json:"name"`
}

// String is the name as errors show it: [group] option.
func (n Name) String() string { return "[" + n.Group + "] " + n.Option }

// Removal is what a service says of an option that is to go.
type Removal struct {
	// Since is the release that announced it, as the service writes it; it may be empty.
	Since string `json:"since"`
	// Reason may be empty.
	Reason string `json:"reason"`
}

func (o *Option) name() Name { return Name{Group: o.Group, Option: o.Name} }

// policy is what is known of a policy rule.
type policy struct {
	Check string `json:"check"`
	// Deprecated is the name that the rule had before; overriding that one still works.
	Deprecated string `json:"deprecated"`
}

// registries decode their files when they are first called: service → release → registry.
var registries = index()

func index() map[string]map[string]func() (*Registry, error) {
	out := map[string]map[string]func() (*Registry, error){}
	files, _ := data.ReadDir("data") // The folder is in the binary.
	for _, file := range files {
		service, release := subject(file.Name())
		if out[service] == nil {
			out[service] = map[string]func() (*Registry, error){}
		}
		out[service][release] = sync.OnceValues(func() (*Registry, error) { return decode(path.Join("data", file.Name())) })
	}
	return out
}

// subject is what a file is about. A service's name may have a hyphen, a release's has none.
func subject(file string) (service, release string) {
	name := strings.TrimSuffix(file, ".json.gz")
	at := strings.LastIndex(name, "-")
	return name[:at], name[at+1:]
}

// For returns the registry of a service in an OpenStack release, such as 2025.2. It fails for a pair that is not known.
func For(service, release string) (*Registry, error) {
	releases, ok := registries[service]
	if !ok {
		return nil, fmt.Errorf("the options of service %q are not known, only those of %s", service, sortedKeys(registries))
	}
	load, ok := releases[release]
	if !ok {
		return nil, fmt.Errorf("the options of %s are not known in release %q, only in %s", service, release, sortedKeys(releases))
	}
	return load()
}

// All returns the registries of a service in every release, the oldest first; none if the service is not known.
func All(service string) []*Registry {
	var out []*Registry
	for _, release := range slices.Sorted(maps.Keys(registries[service])) {
		if r, err := For(service, release); err == nil { // The files are in the binary, and a test reads each.
			out = append(out, r)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

func decode(file string) (*Registry, error) {
	raw, err := data.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the option registry: %w", err)
	}
	text, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack %s: %w", file, err)
	}
	var content struct {
		Service   string                        `json:"service"`
		Release   string                        `json:"release"`
		Version   string                        `json:"version"`
		Groups    map[string]map[string]*Option `json:"groups"`
		Templates map[string]map[string]*Option `json:"templates"`
		Policies  map[string]policy             `json:"policies"`
	}
	if err := json.NewDecoder(text).Decode(&content); err != nil {
		return nil, fmt.Errorf("cannot decode %s: %w", file, err)
	}
	r := &Registry{
		Service: content.Service, Release: content.Release, Version: content.Version,
		groups: content.Groups, templates: content.Templates, renamed: map[string]map[string][]*Option{},
		policies: content.Policies, renamedPolicies: map[string]bool{},
	}
	for _, group := range r.Groups() {
		for _, name := range slices.Sorted(maps.Keys(r.groups[group])) {
			option := r.groups[group][name]
			option.Group, option.Name = group, name
			r.rename(option)
		}
	}
	for _, options := range r.templates {
		for name, option := range options {
			option.Name = name
		}
	}
	for _, rule := range r.policies {
		if rule.Deprecated != "" {
			r.renamedPolicies[rule.Deprecated] = true
		}
	}
	return r, nil
}

// rename enters an option under its former names.
func (r *Registry) rename(option *Option) {
	for _, old := range option.Deprecated {
		if r.renamed[old.Group] == nil {
			r.renamed[old.Group] = map[string][]*Option{}
		}
		r.renamed[old.Group][old.Option] = append(r.renamed[old.Group][old.Option], option)
	}
}

// Groups are the groups of options, sorted.
func (r *Registry) Groups() []string { return slices.Sorted(maps.Keys(r.groups)) }

// Options are the options of a group, sorted by name; none if there is no such group. They are not to be changed.
func (r *Registry) Options(group string) []*Option { return sorted(r.groups[normal(group)]) }

// Rules returns the names of all access rules.
func (r *Registry) Rules() []string { return slices.Sorted(maps.Keys(r.policies)) }

func sorted(options map[string]*Option) []*Option {
	out := make([]*Option, 0, len(options))
	for _, name := range slices.Sorted(maps.Keys(options)) {
		out = append(out, options[name])
	}
	return out
}

// Lookup returns the options that a name stands for, current or deprecated: none if it is not known, several if a deprecated name was
// split. They are not to be changed.
func (r *Registry) Lookup(group, option string) []*Option {
	if current, ok := r.groups[normal(group)][option]; ok {
		return []*Option{current}
	}
	return r.renamed[normal(group)][option]
}

// elsewhere says in which other releases of the service something is known, as the end of a sentence about what is not
// known in this one; empty if it is in none.
func (r *Registry) elsewhere(known func(*Registry) bool) string {
	var earlier, later []string
	for _, release := range slices.Sorted(maps.Keys(registries[r.Service])) {
		other, err := For(r.Service, release)
		if err == nil {
			other, err = other.With(r.named...)
		}
		if err != nil || !known(other) {
			continue
		}
		// Releases are named YEAR.N, where N has one digit.
		if release < r.Release {
			earlier = append(earlier, release)
		} else {
			later = append(later, release)
		}
	}
	switch {
	case len(earlier)+len(later) == 0:
		return ""
	case len(later) == 0:
		return "it was removed after " + earlier[len(earlier)-1]
	case len(earlier) == 0:
		return "it is new in " + later[0]
	}
	return "it is known in " + strings.Join(append(earlier, later...), ", ") + " only"
}
