// Package serveroption validates options of third-party servers that a claim sets.
//
// Each server has a table of the options that a tenant may set, with the values that it accepts. The table omits options that the functions
// derive from the claim (memory, connections, certificates), that schemas depend on, and that write files without a limit.
package serveroption

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

// A Table has the options of one server by name.
type Table struct {
	// Options are the options that a claim may set.
	Options map[string]Option
	// Rejected are options that a claim cannot set, each with the reason and the remedy.
	Rejected map[string]string
}

// An Option describes the values that an option accepts.
type Option interface {
	// format returns a value of the claim as the server reads it. The error states which values are accepted.
	format(value any) (string, error)
	// Accepts describes the accepted values for documentation and errors: a whole number from 1 to 64.
	Accepts() string
}

// Number is an option with a whole number from Min to Max.
type Number struct{ Min, Max int64 }

// Size is an option with a number of bytes from Min to Max. The suffixes K, M and G stand for powers of 1,024.
type Size struct{ Min, Max int64 }

// Choice is an option with one of several words.
type Choice []string

// Switch is a boolean option, with its two values as the server reads them.
type Switch struct{ Off, On string }

// Format returns the options of a claim as the server reads them, by name. The path is the path of the claim's field. Errors are
// invalid.Spec errors, joined, one for each wrong option.
func (t Table) Format(options common.Options, path string) (map[string]common.ServerOption, error) {
	if len(options) == 0 {
		return nil, nil
	}
	var errs []error
	out := map[string]common.ServerOption{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		value, err := t.value(name, options[name].Raw)
		if err != nil {
			errs = append(errs, invalid.Field(invalid.Path(path, name), "%s", err))
			continue
		}
		out[name] = common.ServerOption(value)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func (t Table) value(name string, raw []byte) (string, error) {
	if remedy, ok := t.Rejected[name]; ok {
		return "", fmt.Errorf("cannot be set: %s", remedy)
	}
	option, ok := t.Options[name]
	if !ok {
		if closest := suggest.Closest(name, maps.Keys(t.Options)); closest != "" {
			return "", errors.New("is not an option that a claim can set; did you mean " + closest + "?")
		}
		return "", errors.New("is not an option that a claim can set; remove it, or choose one of docs/reference/server-options.md")
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return "", errors.New("must be a string, a number or a boolean")
	}
	return option.format(value)
}

func (n Number) format(value any) (string, error) {
	text, err := scalar(value)
	if err != nil {
		return "", err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < n.Min || v > n.Max {
		return "", errors.New("must be " + n.Accepts())
	}
	return strconv.FormatInt(v, 10), nil
}

// Accepts describes the range.
func (n Number) Accepts() string { return fmt.Sprintf("a whole number from %d to %d", n.Min, n.Max) }

func (s Size) format(value any) (string, error) {
	text, err := scalar(value)
	if err != nil {
		return "", err
	}
	unit := int64(1)
	digits := strings.TrimRight(text, "KMG")
	switch strings.TrimPrefix(text, digits) {
	case "":
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	default:
		digits = ""
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v > s.Max/unit || v*unit < s.Min {
		return "", errors.New("must be " + s.Accepts() + "; K, M and G are accepted: 64M")
	}
	return strconv.FormatInt(v*unit, 10), nil
}

// Accepts describes the range.
func (s Size) Accepts() string {
	return "a number of bytes from " + bytes(s.Min) + " to " + bytes(s.Max)
}

// bytes returns a number of bytes with the largest suffix that keeps it whole.
func bytes(n int64) string {
	for _, u := range []struct {
		suffix string
		size   int64
	}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

func (c Choice) format(value any) (string, error) {
	text, err := scalar(value)
	if err != nil || !slices.Contains(c, text) {
		return "", errors.New("must be " + c.Accepts())
	}
	return text, nil
}

// Accepts lists the words.
func (c Choice) Accepts() string { return "one of " + strings.Join(c, ", ") }

func (s Switch) format(value any) (string, error) {
	switch value {
	case false, s.Off:
		return s.Off, nil
	case true, s.On:
		return s.On, nil
	}
	return "", errors.New("must be " + s.Accepts())
}

// Accepts names the two values.
func (Switch) Accepts() string { return "true or false" }

// scalar returns the text of a string or a number.
func scalar(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", errors.New("must be a string or a number")
}
