package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/spelling"
)

// CheckClasses checks that the classes an option names are in the service's own package in this release: Nova's scheduler does not start
// with a filter that it does not find. An image may bring others. Whether the value is one at all is for CheckOption.
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

// named are the classes that a value names.
func (o *Option) named(value any) []string {
	var out []string
	items, isList := list(value)
	if !isList {
		items = []any{value}
	}
	for _, item := range items {
		text, err := o.text(item)
		if err != nil {
			continue // CheckOption says so.
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

// noClass is the error about a class that this release does not have.
func (r *Registry) noClass(o *Option, name string) error {
	subject := fmt.Sprintf("[%s] %s names %s, which %s %s does not have", o.Group, o.Name, plain(name), r.Service, r.Release)
	if where := r.elsewhere(func(other *Registry) bool {
		option := other.groups[o.Group][o.Name]
		return option != nil && slices.Contains(option.Classes, name)
	}); where != "" {
		return fmt.Errorf("%s: %s", subject, where)
	}
	if meant := spelling.Closest(name, slices.Values(o.Classes)); meant != "" {
		return fmt.Errorf("%s: did you mean %s?", subject, meant)
	}
	return fmt.Errorf("%s: it has %s; with an image that has more, set allowUnknown", subject, strings.Join(o.Classes, ", "))
}
