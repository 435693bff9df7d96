// Package override validates a tenant's changes to the configuration of a service, which are options and policy rules, for
// a release of the service.
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

// largest is the maximum size of all options together in bytes. A ConfigMap holds 1 MiB, part of which is needed for rules
// and computed options.
const largest = 256 << 10

// Options returns the tenant's options as a configuration. base is the path of the service's spec. Errors are joined
// invalid.Spec errors. Options that the tenant does not own are errors, in any notation and even with allowUnknown. groups
// are groups whose names the tenant has chosen, such as stores.
func Options(service, release string, over common.Overrides, base string, groups ...registry.Group) (oslo.Config, error) {
	s := scope{service: service, release: release, tables: services[service], base: base, groups: groups}
	return s.options(over, func(group string) string { return invalid.Path(base, "config", name(group)) })
}

// Directory is like Options for the options of an LDAP directory of Keystone. base is the path of the directory.
func Directory(release string, in common.Options, allowUnknown bool, base string) (oslo.Config, error) {
	s := scope{service: "keystone", release: release, tables: services[directories], base: base}
	over := common.Overrides{Config: common.Config{"ldap": in}, AllowUnknown: allowUnknown}
	return s.options(over, func(string) string { return invalid.Path(base, "options") })
}

// scope contains the tables and paths for the validation of options.
type scope struct {
	service, release string
	tables           []table
	// base is the path of the object to which the options belong.
	base string
	// groups have names that the service does not define.
	groups []registry.Group
	// listed is true if the tables list the accepted options. An option that no release has is then reported as unknown,
	// not as rejected.
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
				return nil, invalid.Field(path(group), "the options exceed %d KiB, the maximum in a ConfigMap; remove some", largest>>10)
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
	errs = append(errs, checkValues(logRules, known, out, path)...)
	if !over.AllowUnknown {
		errs = append(errs, checkValues(valueRules[s.service], known, out, path)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func (s scope) check(known *registry.Registry, group, option string, raw []byte, allowUnknown bool) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return errors.New("the value is not valid JSON")
	}
	options, err := s.optionsNamed(known, group, option)
	if err != nil {
		return err
	}
	o, owned := optionOwner(s.tables, s.names(group, option, options))
	if slices.ContainsFunc(options, func(o *registry.Option) bool { return o.Secret }) {
		o, owned = owner{field: o.field, why: "it is a secret, which a claim must not contain"}, true
	}
	if owned && (!s.listed || len(options) > 0) {
		if err := o.rejection(s.base, value); err != nil {
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

// set writes an option with its current name, even if the tenant used a deprecated name or another case of its group: the
// computed options use this name, and a service that reads both uses only one of them.
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
	if _, exists := out[to.Group][to.Option]; exists {
		return fmt.Errorf("this is the option %s, which is set already; set it once", to)
	}
	out[to.Group][to.Option] = conf[group][option]
	return nil
}

// Rules returns the tenant's policy rules. base is the path of the service's spec.
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

// ordinary matches names that need no quotes in the path of a field.
var ordinary = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// name returns the name of a group or an option for the path of a field. It is quoted if it would be ambiguous.
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
