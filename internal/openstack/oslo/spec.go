package oslo

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// FromSpec converts a tenant's options to a configuration that can be rendered. Strings are literal: the service reads a
// `$` as a dollar sign, never as a reference to another option.
//
// field is the path of the options in the spec. multi reports which options are repeated, so that a list becomes a Multi;
// nil: none. The error joins one invalid.Spec error for each option that cannot be written.
func FromSpec(field string, spec common.Config, multi func(group, option string) bool) (Config, error) {
	var errs []error
	out := Config{}
	for _, group := range slices.Sorted(maps.Keys(spec)) {
		out[group] = Options{}
		for _, option := range slices.Sorted(maps.Keys(spec[group])) {
			value, err := fromJSON(spec[group][option].Raw)
			if list, ok := value.([]string); ok && multi != nil && multi(group, option) {
				value = Multi(list)
			}
			if err == nil {
				_, err = lines(group, option, value)
			}
			if err != nil {
				errs = append(errs, invalid.Field(invalid.Path(field, group, option), "%v", err))
				continue
			}
			out[group][option] = value
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if _, err := out.file(); err != nil {
		return nil, invalid.Field(field, "%v", err)
	}
	return out, nil
}

func fromJSON(raw []byte) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	switch v := v.(type) {
	case float64:
		return number(v)
	case []any:
		return list(v)
	case map[string]any:
		return nil, errors.New("it is an object: give a string, a boolean, a number or a list")
	}
	return v, nil
}

// exact is the largest integer up to which a float64, the type of JSON numbers in Crossplane's messages, represents every
// integer.
const exact = 1 << 53

// number returns integers as int64, because an integer option accepts 3600, but neither 3600.0 nor 3.6e+03.
func number(f float64) (any, error) {
	switch {
	case math.Trunc(f) != f:
		return f, nil
	case math.Abs(f) > exact:
		return nil, errors.New("the number is too large to be represented exactly: quote it")
	}
	return int64(f), nil
}

// list converts the items to strings as if they were single values.
func list(items []any) ([]string, error) {
	out := make([]string, len(items))
	for i, item := range items {
		switch v := item.(type) {
		case string:
			out[i] = v
		case bool:
			out[i] = fmt.Sprint(v)
		case float64:
			n, err := number(v)
			if err != nil {
				return nil, err
			}
			out[i] = fmt.Sprint(n)
		default:
			return nil, fmt.Errorf("item %d of the list is neither a string nor a boolean nor a number", i+1)
		}
	}
	return out, nil
}
