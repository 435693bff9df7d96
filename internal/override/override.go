// Package override checks what a tenant changes in a service's configuration against what that service has in that
// release: its options and its access rules.
package override

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/registry"
)

// Options gives the tenant's options as a configuration. The field is the path of the options in the spec. Mistakes are
// invalid.Spec errors, all of them joined.
func Options(service, release string, over common.Overrides, field string) (oslo.Config, error) {
	if len(over.Config) == 0 {
		return oslo.Config{}, nil
	}
	known, err := registry.For(service, release)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, group := range slices.Sorted(maps.Keys(over.Config)) {
		for _, option := range slices.Sorted(maps.Keys(over.Config[group])) {
			if err := check(known, group, option, over.Config[group][option].Raw, over.AllowUnknown); err != nil {
				errs = append(errs, invalid.Field(invalid.Path(field, group, option), "%s", err))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return oslo.FromSpec(field, over.Config, func(group, option string) bool {
		return slices.ContainsFunc(known.Lookup(group, option), func(o *registry.Option) bool { return o.Multi })
	})
}

func check(known *registry.Registry, group, option string, raw []byte, allowUnknown bool) error {
	options := known.Lookup(group, option)
	switch {
	case len(options) == 0 && allowUnknown:
		return nil
	case slices.ContainsFunc(options, func(o *registry.Option) bool { return o.Secret }):
		return errors.New("this option holds a secret, which must not stand in a claim; it is set from a generated Secret already")
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return errors.New("the value cannot be read")
	}
	_, err := known.CheckOption(group, option, value)
	return err
}

// Rules gives the tenant's access rules. The field is the path of the rules in the spec.
func Rules(service, release string, over common.Overrides, field string) (map[string]string, error) {
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
	if over.AllowUnknown {
		return out, nil
	}
	var errs []error
	for _, err := range known.CheckPolicies(out) {
		errs = append(errs, invalid.Field(field, "%s", err))
	}
	return out, errors.Join(errs...)
}
