// Package override checks what a tenant changes in a service's configuration against what that service has in that
// release: its options and its access rules.
package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// largest is how many bytes all options together may have: a ConfigMap holds 1 MiB, of which rules and our own options need some.
const largest = 256 << 10

// Options returns the tenant's options as a configuration. The base is the path in the spec of the service whose config they are.
// Mistakes are invalid.Spec errors, all of them joined. An option that is not the tenant's is one of them, however it is written, and
// whatever else is allowed. The groups are those that the tenant has named elsewhere, such as stores.
func Options(service, release string, over common.Overrides, base string, groups ...registry.Group) (oslo.Config, error) {
	s := scope{service: service, release: release, tables: services[service], base: base, groups: groups}
	return s.options(over, func(group string) string { return invalid.Path(base, "config", name(group)) })
}

// Directory is Options for the options of one of Keystone's directories, whose path is the base.
func Directory(release string, in common.Options, allowUnknown bool, base string) (oslo.Config, error) {
	s := scope{service: "keystone", release: release, tables: services[directories], base: base}
	over := common.Overrides{Config: common.Config{"ldap": in}, AllowUnknown: allowUnknown}
	return s.options(over, func(string) string { return invalid.Path(base, "options") })
}

// A scope is whose options are checked, and against what.
type scope struct {
	service, release string
	tables           []table
	// base is the path of what the options belong to.
	base string
	// groups are those whose names are not the service's.
	groups []registry.Group
	// listed says that the tables list what is taken. Of what no release has they say nothing: it is a mistake, and no refusal.
	listed bool
}

func (s scope) options(over common.Overrides, path func(group string) string) (oslo.Config, error) {
	out := oslo.Config{}
	if len(over.Config) == 0 {
		return out, nil
	}
	known, err := registry.For(s.service, s.release)
	if err != nil {
		return nil, err
	}
	if known, err = known.With(s.groups...); err != nil {
		return nil, err
	}
	var errs []error
	var size int
	for _, group := range slices.Sorted(maps.Keys(over.Config)) {
		for _, option := range slices.Sorted(maps.Keys(over.Config[group])) {
			raw := over.Config[group][option].Raw
			if size += len(group) + len(option) + len(raw); size > largest {
				return nil, invalid.Field(path(group), "the options have more than %d KiB, which a ConfigMap cannot hold; leave some out", largest>>10)
			}
			err := s.check(known, group, option, raw, over.AllowUnknown)
			if err == nil {
				err = set(out, known, group, option, raw)
			}
			if err != nil {
				errs = append(errs, invalid.Field(invalid.Path(path(group), name(option)), "%s", err))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func (s scope) check(known *registry.Registry, group, option string, raw []byte, allowUnknown bool) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return errors.New("the value cannot be read")
	}
	options, err := s.followsReverseProxy(known, group, option)
	if err != nil {
		return err
	}
	o, owned := optionOwner(s.tables, s.names(group, option, options))
	if slices.ContainsFunc(options, func(o *registry.Option) bool { return o.Secret }) {
		o, owned = owner{field: o.field, why: "this option holds a secret, which must not stand in a claim"}, true
	}
	if owned && (!s.listed || len(options) > 0) {
		if err := o.refuse(s.base, value); err != nil {
			return err
		}
	}
	current := known.Lookup(group, option)
	if allowUnknown && len(current) == 0 {
		return nil
	}
	if !s.listed && len(current) == 1 {
		if err := checkReaders(known, current[0]); err != nil {
			return err
		}
	}
	if _, err = known.CheckOption(group, option, value); err != nil || allowUnknown {
		return err
	}
	return known.CheckClasses(group, option, value)
}

// set writes an option under its present name, whatever deprecated name or case of its group the tenant used: our own options
// stand there too, and a service that is told both takes one of them.
func set(out oslo.Config, known *registry.Registry, group, option string, raw []byte) error {
	options := known.Lookup(group, option)
	multi := slices.ContainsFunc(options, func(o *registry.Option) bool { return o.Multi })
	in := common.Config{group: {option: {Raw: raw}}}
	conf, err := oslo.FromSpec("", in, func(string, string) bool { return multi })
	if s := (*invalid.Spec)(nil); errors.As(err, &s) {
		return errors.New(s.Sentence)
	} else if err != nil {
		return err
	}
	to := registry.Name{Group: group, Option: option}
	if to.Group != oslo.DefaultGroup {
		to.Group = strings.ToLower(group)
	}
	if len(options) == 1 {
		to = registry.Name{Group: options[0].Group, Option: options[0].Name}
	}
	if out[to.Group] == nil {
		out[to.Group] = oslo.Options{}
	}
	if _, twice := out[to.Group][to.Option]; twice {
		return fmt.Errorf("this is the option %s, which is set already; set it once", to)
	}
	out[to.Group][to.Option] = conf[group][option]
	return nil
}

// Rules returns the tenant's access rules. The base is the path in the spec of the service whose policy they are.
func Rules(service, release string, over common.Overrides, base string) (map[string]string, error) {
	out := map[string]string{}
	if len(over.Policy) == 0 {
		return out, nil
	}
	known, err := registry.For(service, release)
	if err != nil {
		return nil, err
	}
	for rule, c := range over.Policy {
		out[rule] = string(c)
	}
	var errs []error
	for _, err := range known.CheckPolicies(out, over.AllowUnknown) {
		errs = append(errs, invalid.Field(invalid.Path(base, "policy"), "%s", err))
	}
	return out, errors.Join(errs...)
}

// ordinary is a name that needs no quotes in a field's path.
var ordinary = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// name is a tenant's name of a group or an option as a part of a field's path: quoted where it could be taken for more.
func name(s string) string {
	if ordinary.MatchString(s) {
		return s
	}
	const longest = 100
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strconv.QuoteToGraphic(s)
}
