package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Group is an option group whose name an administrator chooses, such as the name of a store or a backend.
type Group struct {
	// Name is the group's name.
	Name string
	// Template is the template that the group instantiates: the driver of a Glance store, such as rbd.
	Template string
}

// With returns the registry with further groups, each of which has the options of its template. It returns an error for a
// name that the service itself uses in any release, because the two groups could not be distinguished.
func (r *Registry) With(groups ...Group) (*Registry, error) {
	if len(groups) == 0 {
		return r, nil
	}
	out := *r
	out.groups, out.renamed, out.named = maps.Clone(r.groups), maps.Clone(r.renamed), slices.Concat(r.named, groups)
	for _, g := range groups {
		template, ok := r.templates[g.Template]
		if !ok {
			return nil, fmt.Errorf("%s %s has no options of %q; known templates are %s", r.Service, r.Release, g.Template, sortedKeys(r.templates))
		}
		name := strings.ToLower(g.Name)
		if err := out.free(name); err != nil {
			return nil, err
		}
		out.groups[name] = make(map[string]*Option, len(template))
		instances := make([]Option, 0, len(template))
		var renamed []*Option
		for option, of := range template {
			instances = append(instances, *of)
			instance := &instances[len(instances)-1]
			instance.Group = name
			instance.Deprecated = nil
			for _, old := range of.Deprecated {
				if old.Group == g.Template { // A name in another group would apply to all instances.
					instance.Deprecated = append(instance.Deprecated, Name{Group: name, Option: old.Option})
				}
			}
			out.groups[name][option] = instance
			if len(instance.Deprecated) > 0 {
				renamed = append(renamed, instance)
			}
		}
		slices.SortFunc(renamed, func(a, b *Option) int { return strings.Compare(a.Name, b.Name) })
		for _, instance := range renamed {
			out.rename(instance)
		}
	}
	return &out, nil
}

// free returns an error if a group with this name exists.
func (r *Registry) free(name string) error {
	if r.groups[name] != nil {
		return fmt.Errorf("%s has a group [%s] already: choose another name", r.Service, name)
	}
	for _, other := range All(r.Service) {
		if name == strings.ToLower(defaultGroup) || other.groups[name] != nil || other.renamed[name] != nil {
			return fmt.Errorf("%s uses group [%s] itself: choose another name", r.Service, name)
		}
	}
	return nil
}

// Templates returns the names of the templates, sorted.
func (r *Registry) Templates() []string { return slices.Sorted(maps.Keys(r.templates)) }

// TemplateOptions returns the options of a template, sorted by name, or an empty list if the template does not exist. They
// must not be changed.
func (r *Registry) TemplateOptions(template string) []*Option { return sorted(r.templates[template]) }
