package override

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// owner is the source of an option's value. An option from which other values are derived has exactly one source: if it
// were set twice, the file, the keys and the probes would use different values.
type owner struct {
	// field is the path, relative to the service, of the field that sets the option and the values derived from it. Empty:
	// there is no field.
	field string
	// why is the reason, which precedes "; set … instead" or "; remove it". For a tenant option, it explains why the tenant
	// may set it.
	why string
	// only are the values that a tenant may set. Empty: none.
	only []string
	// tenant is true if the tenant may set the option, although its name suggests a file, an address or code.
	tenant bool
}

// use returns the owner of an option that a field sets.
func use(field, why string) owner { return owner{field: field, why: why} }

// reserved returns the owner of an option that no field sets.
func reserved(why string) owner { return owner{why: why} }

// tenantValues returns the owner of an option for which a tenant may set some values.
func tenantValues(why string, values ...string) owner { return owner{why: why, only: values} }

// tenantOption returns the owner of an option that a tenant may set, with the reason.
func tenantOption(why string) owner { return owner{why: why, tenant: true} }

// table contains the owners of options: group → option → owner. Option * applies to all other options of its group, group *
// to all groups, and <driver> to all groups with names chosen by an administrator and with the options of this template.
// Options in no table belong to the tenant.
type table map[string]map[string]owner

const every = "*"

// of returns the owner of an option by its current name.
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

// template returns the group of a table for the options of a template.
func template(name string) string { return "<" + name + ">" }

// optionOwner returns the owner of an option. The result is false if the option belongs to the tenant. names are all
// current and former names of the option; if a former option was split, each part must belong to the tenant. The first
// table that contains a name is authoritative.
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

// optionsNamed returns the options with a name that a tenant has set, which may be a former name, in another case, or of
// another release: allowUnknown passes all of them to the file, and an image may contain another release than its tag
// indicates.
func (s scope) optionsNamed(known *registry.Registry, group, option string) ([]*registry.Option, error) {
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

// names returns the names under which the tables may contain an option.
func (s scope) names(group, option string, options []*registry.Option) []registry.Name {
	out := []registry.Name{{Group: s.kind(normalGroup(group)), Option: normalOption(option)}}
	for _, o := range options {
		out = append(out, registry.Name{Group: s.kind(o.Group), Option: o.Name})
	}
	return out
}

// kind returns the name of a group in the tables.
func (s scope) kind(group string) string {
	for _, g := range s.groups {
		if normalGroup(g.Name) == group {
			return template(g.Template)
		}
	}
	return group
}

// normalGroup and normalOption return names as used in the tables. oslo.config normalizes the names that it reads in the
// same way.
func normalGroup(group string) string {
	if strings.EqualFold(group, "DEFAULT") {
		return "DEFAULT"
	}
	return strings.ToLower(group)
}

func normalOption(option string) string { return strings.ReplaceAll(strings.ToLower(option), "-", "_") }

// rejection returns the error for a value of an option that the tenant does not own, or nil if the tenant may set this
// value. base is the path of the object to which the option belongs, a service or a directory.
func (o owner) rejection(base string, value any) error {
	switch {
	case len(o.only) > 0 && o.allows(value):
		return nil
	case len(o.only) > 0:
		return fmt.Errorf("%s; choose from %s", o.why, strings.Join(o.only, ", "))
	case o.field != "":
		return fmt.Errorf("%s; set %s.%s instead", o.why, base, o.field)
	}
	return fmt.Errorf("%s; remove it", o.why)
}

// allows reports whether a value, or each value of a list, may be set.
func (o owner) allows(value any) bool {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	return !slices.ContainsFunc(list, func(v any) bool { s, ok := v.(string); return !ok || !slices.Contains(o.only, s) })
}
