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

// Registry contains the options and policy rules of one release of a service. It is immutable and safe for concurrent use.
type Registry struct {
	// Service is the name of the service, such as keystone.
	Service string
	// Release is the OpenStack release, such as 2025.2.
	Release string
	// Version is the version of the service's package from which the data were extracted, such as 28.1.0.
	Version string

	groups map[string]map[string]*Option
	// templates are the options of groups whose names an administrator chooses: template → name → option.
	templates map[string]map[string]*Option
	// named are the groups added by With.
	named []Group
	// renamed are the options with a deprecated name: group → name → options, more than one if the old option was split.
	renamed  map[string]map[string][]*Option
	policies map[string]policy
	// renamedPolicies are the deprecated names of policy rules.
	renamedPolicies map[string]bool
}

// Option is an option of a service.
type Option struct {
	// Group is the option's group: in lower case, or DEFAULT.
	Group string `json:"-"`
	// Name is the option's name in a configuration file.
	Name string `json:"-"`
	// Type is the type of its value, or of each value if the option is Multi.
	Type
	// Multi is true if the option is repeated, once for each of its values.
	Multi bool `json:"multi"`
	// Default is the service's default, or an example of it; nil if the option has none or a long one.
	Default any `json:"default"`
	// Mutable is true if the service applies a new value without a restart.
	Mutable bool `json:"mutable"`
	// Required is true if the service does not start without a value.
	Required bool `json:"required"`
	// Secret is true if the value must not be shown.
	Secret bool `json:"secret"`
	// Removal is set if the option is deprecated without a replacement.
	Removal *Removal `json:"removal"`
	// Deprecated are former names of the option that the service still reads.
	Deprecated []Name `json:"deprecated"`
	// Classes are the classes of the service's package that the value may contain. Empty: the value contains no class, or
	// the classes are unknown.
	Classes []string `json:"classes"`
}

// Name identifies an option in a configuration file.
type Name struct {
	Group  string `json:"group"`
	Option string `json:"name"`
}

// String returns the name as shown in errors: [group] option.
func (n Name) String() string { return "[" + n.Group + "] " + n.Option }

// Removal describes the deprecation of an option without a replacement.
type Removal struct {
	// Since is the release that announced it, in the service's format. May be empty.
	Since string `json:"since"`
	// Reason may be empty.
	Reason string `json:"reason"`
}

func (o *Option) name() Name { return Name{Group: o.Group, Option: o.Name} }

// policy is a policy rule.
type policy struct {
	Check string `json:"check"`
	// Deprecated is the former name of the rule, which can still be overridden.
	Deprecated string `json:"deprecated"`
}

// registries maps service → release → a function that decodes the file at its first call.
var registries = index()

func index() map[string]map[string]func() (*Registry, error) {
	out := map[string]map[string]func() (*Registry, error){}
	files, _ := data.ReadDir("data") // The folder is embedded in the binary.
	for _, file := range files {
		service, release := subject(file.Name())
		if out[service] == nil {
			out[service] = map[string]func() (*Registry, error){}
		}
		out[service][release] = sync.OnceValues(func() (*Registry, error) { return decode(path.Join("data", file.Name())) })
	}
	return out
}

// subject returns the service and the release of a file. The name of a service may contain a hyphen, a release does not.
func subject(file string) (service, release string) {
	name := strings.TrimSuffix(file, ".json.gz")
	at := strings.LastIndex(name, "-")
	return name[:at], name[at+1:]
}

// For returns the registry of a service in an OpenStack release, such as 2025.2. It returns an error for an unknown service
// or release.
func For(service, release string) (*Registry, error) {
	releases, ok := registries[service]
	if !ok {
		return nil, fmt.Errorf("the options of service %q are unknown; known services are %s", service, sortedKeys(registries))
	}
	load, ok := releases[release]
	if !ok {
		return nil, fmt.Errorf("the options of %s are unknown in release %q; known releases are %s", service, release, sortedKeys(releases))
	}
	return load()
}

// All returns the registries of a service in all releases, the oldest first, or nil for an unknown service.
func All(service string) []*Registry {
	var out []*Registry
	for _, release := range slices.Sorted(maps.Keys(registries[service])) {
		if r, err := For(service, release); err == nil { // For cannot fail: the files are embedded, and a test reads each.
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

// rename registers an option with its former names.
func (r *Registry) rename(option *Option) {
	for _, old := range option.Deprecated {
		if r.renamed[old.Group] == nil {
			r.renamed[old.Group] = map[string][]*Option{}
		}
		r.renamed[old.Group][old.Option] = append(r.renamed[old.Group][old.Option], option)
	}
}

// Groups returns the option groups, sorted.
func (r *Registry) Groups() []string { return slices.Sorted(maps.Keys(r.groups)) }

// Options returns the options of a group, sorted by name, or an empty list if the group does not exist. They must not be
// changed.
func (r *Registry) Options(group string) []*Option { return sorted(r.groups[normal(group)]) }

// Rules returns the names of all policy rules, sorted.
func (r *Registry) Rules() []string { return slices.Sorted(maps.Keys(r.policies)) }

func sorted(options map[string]*Option) []*Option {
	out := make([]*Option, 0, len(options))
	for _, name := range slices.Sorted(maps.Keys(options)) {
		out = append(out, options[name])
	}
	return out
}

// Lookup returns the options with a current or deprecated name: none if the name is unknown, several if a deprecated option
// was split. They must not be changed.
func (r *Registry) Lookup(group, option string) []*Option {
	if current, ok := r.groups[normal(group)][option]; ok {
		return []*Option{current}
	}
	return r.renamed[normal(group)][option]
}

// otherReleases returns the other releases of the service that contain an item, as the end of a sentence about an item that
// this release does not contain. It returns an empty string if no release contains it.
func (r *Registry) otherReleases(known func(*Registry) bool) string {
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
	return "it is only in " + strings.Join(append(earlier, later...), ", ")
}
