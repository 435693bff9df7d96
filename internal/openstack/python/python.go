// Package python writes Python modules that only contain settings: names with literals as values. A string is always
// written as a literal, so that no value of a tenant becomes code.
package python

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Module is a list of settings, in the order in which they are written.
type Module []Setting

// Setting is a name with a value: nil, a bool, an int, an int32, a string, or a value of a type of this package.
type Setting struct {
	Name  string
	Value any
}

// List is a Python list.
type List []any

// Tuple is a Python tuple.
type Tuple []any

// Dict is a Python dict, written in the order of its keys.
type Dict map[string]any

// FileText is the content of a file that is read when the module is loaded, for values that must not be part of the module.
type FileText string

// settingName matches the names that Django reads as settings
// (https://docs.djangoproject.com/en/5.2/topics/settings/#creating-your-own-settings).
var settingName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// Render returns the text of the module. It returns an error for an invalid or duplicate name, and for a value of another
// type.
func (m Module) Render() (string, error) {
	var out strings.Builder
	observed := map[string]bool{}
	for _, s := range m {
		if !settingName.MatchString(s.Name) || observed[s.Name] {
			return "", fmt.Errorf("%q is not the name of a setting, or stands there twice", s.Name)
		}
		observed[s.Name] = true
		value, err := literal(s.Value, "")
		if err != nil {
			return "", fmt.Errorf("cannot write %s: %w", s.Name, err)
		}
		fmt.Fprintf(&out, "%s = %s\n", s.Name, value)
	}
	return out.String(), nil
}

// literal returns a value as a Python literal. Further lines are indented deeper than the first one.
func literal(value any, indent string) (string, error) {
	switch v := value.(type) {
	case nil:
		return "None", nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case int:
		return strconv.Itoa(v), nil
	case int32:
		return strconv.Itoa(int(v)), nil
	case string:
		return quote(v)
	case FileText:
		path, err := quote(string(v))
		return "open(" + path + `, encoding="ascii").read()`, err
	case List:
		return sequence("[", v, "]", indent)
	case Tuple:
		return sequence("(", v, ")", indent)
	case Dict:
		return v.literal(indent)
	}
	return "", fmt.Errorf("a value of type %T has no literal", value)
}

// quote returns a text as an ASCII literal. Go and Python read the escapes of this form alike, except for bytes that are
// not valid UTF-8 (https://docs.python.org/3/reference/lexical_analysis.html#escape-sequences).
func quote(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("a text has to be UTF-8")
	}
	return strconv.QuoteToASCII(text), nil
}

const step = "    "

// sequence writes a comma after each value, because a tuple with one value requires it.
func sequence(start string, values []any, end, indent string) (string, error) {
	if len(values) == 0 {
		return start + end, nil
	}
	var out strings.Builder
	for _, v := range values {
		value, err := literal(v, indent+step)
		if err != nil {
			return "", err
		}
		out.WriteString("\n" + indent + step + value + ",")
	}
	return start + out.String() + "\n" + indent + end, nil
}

func (d Dict) literal(indent string) (string, error) {
	if len(d) == 0 {
		return "{}", nil
	}
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(d)) {
		key, err := quote(k)
		if err != nil {
			return "", err
		}
		value, err := literal(d[k], indent+step)
		if err != nil {
			return "", err
		}
		out.WriteString("\n" + indent + step + key + ": " + value + ",")
	}
	return "{" + out.String() + "\n" + indent + "}", nil
}
