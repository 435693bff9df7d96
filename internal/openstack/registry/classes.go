package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

// CheckClasses returns an error for a class in an option's value that the service's package does not contain in this
// release: Nova's scheduler, for example, does not start if a filter is missing. An image may contain further classes.
// CheckOption validates the value itself.
func (r *Registry) CheckClasses(group, option string, value any) error {
	for _, target := range r.Lookup(group, option) {
		if len(target.Classes) == 0 {
			continue
		}
		for _, name := range target.named(value) {
			if !slices.Contains(target.Classes, name) {
				return r.noClass(target, name)
			}
		}
	}
	return nil
}

// named returns the classes in a value.
func (o *Option) named(value any) []string {
	var out []string
	items, isList := list(value)
	if !isList {
		items = []any{value}
	}
	for _, item := range items {
		text, err := o.text(item)
		if err != nil {
			continue // CheckOption reports the error.
		}
		if o.Kind != kindList {
			out = append(out, text)
			continue
		}
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// noClass returns the error for a class that this release does not have.
func (r *Registry) noClass(o *Option, name string) error {
	subject := fmt.Sprintf("[%s] %s names %s, which %s %s does not have", o.Group, o.Name, displayName(name), r.Service, r.Release)
	if where := r.otherReleases(func(other *Registry) bool {
		option := other.groups[o.Group][o.Name]
		return option != nil && slices.Contains(option.Classes, name)
	}); where != "" {
		return fmt.Errorf("%s: %s", subject, where)
	}
	if closest := suggest.Closest(name, slices.Values(o.Classes)); closest != "" {
		return fmt.Errorf("%s: did you mean %s?", subject, closest)
	}
	return fmt.Errorf("%s: it has %s; with an image that has more, set allowUnknown", subject, strings.Join(o.Classes, ", "))
}
