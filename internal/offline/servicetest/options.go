package servicetest

import (
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// Options returns all options of a service in a release.
func Options(r *registry.Registry) []*registry.Option {
	var out []*registry.Option
	for _, group := range r.Groups() {
		out = append(out, r.Options(group)...)
	}
	return out
}

// Names returns all current and former names of an option, and some similar ones.
func Names(o *registry.Option) []registry.Name {
	names := append([]registry.Name{
		{Group: o.Group, Option: o.Name},
		{Group: strings.ToUpper(o.Group), Option: o.Name},
		{Group: o.Group, Option: strings.ReplaceAll(o.Name, "_", "-")},
	}, o.Deprecated...)
	slices.SortFunc(names, func(a, b registry.Name) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(names)
}

// Values returns values of which most options accept at least one.
func Values(o *registry.Option) []any {
	switch {
	case len(o.Choices) > 0:
		return []any{o.Choices[0], o.Choices[len(o.Choices)-1]}
	case o.Kind == "boolean":
		return []any{true, false}
	case o.Kind == "integer" || o.Kind == "float" || o.Kind == "port":
		return []any{7.0, 1.0}
	case o.Kind == "list":
		return []any{[]any{"password", "token", "application_credential", "openid", "mapped", "x"}, []any{"token"}}
	case o.Kind == "uri":
		return []any{"https://other.example.com"}
	}
	return []any{"/tmp/x", "x"}
}
