package oslo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DefaultGroup is the group of options that belong to no other. Its name is in upper case, and only so.
const DefaultGroup = "DEFAULT"

// Config is what a configuration file says: group → options.
type Config map[string]Options

// Options are the options of one group: name → value. A value is one of
//
//   - string: the service sees it as it is
//   - bool, int, int32, int64, float64. There are no durations: the unit differs from option to option
//   - []string: one option that holds a list (ListOpt)
//   - Multi: an option that is repeated (MultiOpt, MultiStrOpt)
//   - Template: a string that refers to other options
type Options map[string]any

// Multi are the values of an option that is written once for each of them.
type Multi []string

// Template is a string in which $option and ${group.option} stand for the values of other options; $$ is a dollar sign.
type Template string

// Merge lays other configurations over c, the later the stronger, option by option. It changes none of them.
func (c Config) Merge(over ...Config) Config {
	out := Config{}
	for _, layer := range append([]Config{c}, over...) {
		for group, options := range layer {
			if out[group] == nil {
				out[group] = Options{}
			}
			maps.Copy(out[group], options)
		}
	}
	return out
}

// Render returns the file. A group without options is left out.
//
// The error names, as [group] option, everything that a file cannot hold: a name or a value with a control character, a
// list whose items hold commas, a type that Options does not know, two groups that differ in case only.
func (c Config) Render() (string, error) {
	file, err := c.file()
	if err != nil {
		return "", err
	}
	text := file.write()
	if err := verify(text, file); err != nil {
		return "", err
	}
	return text, nil
}

// file turns values into text.
func (c Config) file() (File, error) {
	var errs []error
	file := File{}
	byFold := map[string]string{}
	for _, group := range slices.Sorted(maps.Keys(c)) {
		fold := strings.ToLower(group)
		if other, used := byFold[fold]; used {
			errs = append(errs, fmt.Errorf("[%s] and [%s] are one group to oslo.config: keep one of them", other, group))
		}
		byFold[fold] = group
		for _, option := range slices.Sorted(maps.Keys(c[group])) {
			lines, err := lines(group, option, c[group][option])
			if err != nil {
				errs = append(errs, fmt.Errorf("[%s] %s: %w", group, option, err))
				continue
			}
			if file[group] == nil {
				file[group] = map[string][]string{}
			}
			file[group][option] = lines
		}
	}
	return file, errors.Join(errs...)
}
