package oslo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DefaultGroup is the group of options without a group. Its name is only valid in upper case.
const DefaultGroup = "DEFAULT"

// Config is the content of a configuration file: group → options.
type Config map[string]Options

// Options are the options of one group: name → value. A value is one of
//
//   - string: the service reads exactly this string
//   - bool, int, int32, int64, float64. Durations are not supported: the unit differs from option to option
//   - []string: one option that contains a list (ListOpt)
//   - Multi: an option that is repeated (MultiOpt, MultiStrOpt)
//   - Template: a string that refers to other options
type Options map[string]any

// Multi are the values of a repeated option, which is written once for each value.
type Multi []string

// Template is a string in which $option and ${group.option} are replaced by the values of other options; $$ is a dollar
// sign.
type Template string

// Merge returns c, overridden option by option by other configurations, of which later ones take precedence. It does not
// change its inputs.
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

// Render returns the text of the file. Groups without options are omitted.
//
// The error lists, as [group] option, all content that a file cannot represent: a name or a value with a control character,
// a list with items that contain commas, a type that Options does not support, two groups that differ only in case.
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

// file converts values to text.
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
