package override

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// An owner is who decides what an option says. An option that others are computed from has one owner: were it set twice, the file, the
// keys and the probes would follow different values.
type owner struct {
	// field sets the option in the tenant's stead, and everything that follows from it: its path below the service's. Empty: there is none.
	field string
	// why is a reason, to stand before "; set … instead" or "; leave it out", or why the tenant owns what looks as if it were not theirs.
	why string
	// only are the values that a tenant may choose from. Empty: none.
	only []string
	// tenant says that it is the tenant's, though it names a file, an address or a piece of code.
	tenant bool
}

// use is an option that a field sets.
func use(field, why string) owner { return owner{field: field, why: why} }

// ours is an option that no field sets.
func ours(why string) owner { return owner{why: why} }

// tenantValues is an option of which some values are a tenant's to choose.
func tenantValues(why string, values ...string) owner { return owner{why: why, only: values} }

// tenantOption is an option that a tenant may set, and the reason why, where a reader would doubt it.
func tenantOption(why string) owner { return owner{why: why, tenant: true} }

// A table says who owns the options of a service: group → option → owner. An option * stands for every other one of its group, a group
// * for every group, and <driver> for every group that an administrator names and that has the options of this template. What is in no
// table is the tenant's.
type table map[string]map[string]owner

const every = "*"

// of returns the owner of an option by its present name.
func (t table) of(name registry.Name) (owner, bool) {
	for _, group := range []string{name.Group, every} {
		for _, option := range []string{name.Option, every} {
			if o, ok := t[group][option]; ok {
				return o, true
			}
		}
	}
	return owner{}, false
}

// template is a table's group for the options of a template.
func template(name string) string { return "<" + name + ">" }

// optionOwner is who owns an option, nobody in particular if it is the tenant's. The names are all that it has, or may have had: of a former one
// that was split, each part has to be the tenant's. The first table that knows a name decides on it.
func optionOwner(tables []table, names []registry.Name) (owner, bool) {
	for _, name := range names {
		for _, t := range tables {
			o, ok := t.of(name)
			if ok && !o.tenant {
				return o, true
			}
			if ok {
				break
			}
		}
	}
	return owner{}, false
}

// followsReverseProxy are the options behind a name that a tenant wrote, be it a former one, in another case, or of another release:
// allowUnknown lets each of them through to a file, and an image need not be what its tag says.
func (s scope) followsReverseProxy(known *registry.Registry, group, option string) ([]*registry.Option, error) {
	if options := known.Lookup(group, option); len(options) > 0 {
		return options, nil
	}
	var out []*registry.Option
	for _, r := range registry.All(known.Service) {
		r, err := r.With(s.groups...)
		if err != nil {
			return nil, err
		}
		out = append(out, r.Lookup(normalGroup(group), normalOption(option))...)
	}
	return out, nil
}

// names are those by which the tables may know what a tenant wrote.
func (s scope) names(group, option string, options []*registry.Option) []registry.Name {
	out := []registry.Name{{Group: s.kind(normalGroup(group)), Option: normalOption(option)}}
	for _, o := range options {
		out = append(out, registry.Name{Group: s.kind(o.Group), Option: o.Name})
	}
	return out
}

// kind is a table's name of a group.
func (s scope) kind(group string) string {
	for _, g := range s.groups {
		if normalGroup(g.Name) == group {
			return template(g.Template)
		}
	}
	return group
}

// normalGroup and normalOption are names as they stand in the tables, with which oslo.config agrees as far as it reads them at all.
func normalGroup(group string) string {
	if strings.EqualFold(group, "DEFAULT") {
		return "DEFAULT"
	}
	return strings.ToLower(group)
}

func normalOption(option string) string { return strings.ReplaceAll(strings.ToLower(option), "-", "_") }

// refuse is the sentence about a value of an option that is not the tenant's, and nil about one that may be chosen. The base is the path
// of what the option belongs to, a service's or a directory's.
func (o owner) refuse(base string, value any) error {
	switch {
	case len(o.only) > 0 && o.allows(value):
		return nil
	case len(o.only) > 0:
		return fmt.Errorf("%s; choose from %s", o.why, strings.Join(o.only, ", "))
	case o.field != "":
		return fmt.Errorf("%s; set %s.%s instead", o.why, base, o.field)
	}
	return fmt.Errorf("%s; leave it out", o.why)
}

// allows reports whether a value, or each of a list, is one to choose.
func (o owner) allows(value any) bool {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	return !slices.ContainsFunc(list, func(v any) bool { s, ok := v.(string); return !ok || !slices.Contains(o.only, s) })
}
