// Package python writes Python modules that hold settings and nothing else: names, and literals as their values. Whatever a text says, it
// stays a text: no value of a tenant's becomes code.
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

// Setting gives a name a value: nil, a bool, an int, an int32, a string, or a value of this package's types.
type Setting struct {
	Name  string
	Value any
}

// List holds values.
type List []any

// Tuple holds values.
type Tuple []any

// Dict is written in the order of its keys.
type Dict map[string]any

// FileText is the text of a file that is read when the module is: for what must not stand in it.
type FileText string

// settingName is what Django takes for a setting (https://docs.djangoproject.com/en/5.2/topics/settings/#creating-your-own-settings).
var settingName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// Render writes the module. It refuses a name that is none of a setting, one that stands there twice, and a value of another type.
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

// literal is a value in Python. What spans several lines is indented deeper than where it begins.
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

// quote is a text as a literal in ASCII. Go and Python read the escapes of this form alike, but for bytes that are no characters
// (https://docs.python.org/3/reference/lexical_analysis.html#escape-sequences).
func quote(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("a text has to be UTF-8")
	}
	return strconv.QuoteToASCII(text), nil
}

const step = "    "

// sequence ends each value with a comma, without which a tuple of one would be none.
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
