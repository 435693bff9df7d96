package oslo

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names that are unambiguous in a file: they neither begin a comment, a section or a continuation line, nor end before the
// line's first `=`. Group names may contain a colon, because operators choose the names of some groups.
var (
	groupName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*$`)
	optionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// Value returns a string as it must be written after an option's `=`, so that the service reads exactly this string. It is
// used to replace a placeholder in a rendered file with a secret; the placeholder, a Template, must be the complete value
// of the option. It returns an error for a string that does not fit on one line.
func Value(text string) (string, error) {
	if err := checkSingleLine(text); err != nil {
		return "", err
	}
	return quote(escape(text)), nil
}

// lines returns the text of an option's value, without quotes: one line, or one line for each value of a Multi.
func lines(group, option string, value any) ([]string, error) {
	switch {
	case !groupName.MatchString(group):
		return nil, fmt.Errorf("the group's name %q may hold letters, digits and _ . : - only, and begins with a letter, a digit or _", group)
	case group != DefaultGroup && strings.EqualFold(group, DefaultGroup):
		return nil, errors.New("oslo.config ignores this group: write DEFAULT in upper case")
	case !optionName.MatchString(option):
		return nil, fmt.Errorf("the option's name %q may hold letters, digits and _ . - only, and begins with a letter, a digit or _", option)
	}
	out, err := texts(value)
	for _, line := range out {
		if err := checkSingleLine(line); err != nil {
			return nil, err
		}
	}
	return out, err
}

func texts(value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, errors.New("it has no value: set one, or remove the option")
	case string:
		return []string{escape(v)}, nil
	case Template:
		return []string{string(v)}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case int, int32, int64:
		return []string{fmt.Sprint(v)}, nil
	case float64:
		return []string{strconv.FormatFloat(v, 'g', -1, 64)}, nil
	case []string:
		list, err := join(v)
		return []string{list}, err
	case Multi:
		if len(v) == 0 {
			return nil, errors.New("a repeated option cannot be empty: set a value, or remove the option")
		}
		out := make([]string, len(v))
		for i := range v {
			out[i] = escape(v[i])
		}
		return out, nil
	}
	return nil, fmt.Errorf("it is of type %T: give a string, a boolean, a number or a list", value)
}

// join writes a list. oslo.config splits it at commas, trims the items and drops empty items at the end.
func join(items []string) (string, error) {
	out := make([]string, len(items))
	for i, item := range items {
		if item == "" || item != strings.TrimSpace(item) || strings.Contains(item, ",") {
			return "", fmt.Errorf("item %q of the list is ambiguous: "+
				"no item may be empty, hold a comma, or begin or end with a space", item)
		}
		out[i] = escape(item)
	}
	return strings.Join(out, ","), nil
}

// escape prevents substitution by oslo.config, which reads both $$ and \$ as a dollar sign. A backslash before a dollar
// sign must be followed by \$, which results in the dollar sign and keeps the backslash.
var escape = strings.NewReplacer(`\$`, `\\$`, `$`, `$$`).Replace

// checkSingleLine returns an error unless a text fits on one line of a file that Python reads as UTF-8. Only line breaks
// would be harmful, but all control characters are rejected, because they are never intended.
func checkSingleLine(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("its value is not valid UTF-8")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("its value holds a control character, such as a line break or a tab: write it on one line, with spaces")
	}
	return nil
}

// quote adds quotes if a value needs them: oslo.config trims spaces and then removes one pair of equal quotes. A value that
// begins with a quote gets the other kind of quotes. An empty value gets quotes because of ini.v1, which reads an empty
// value as a missing one and treats backquotes and three quotes in a row as special.
func quote(s string) string {
	if s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s[:1], "\"'`") {
		return s
	}
	q := `"`
	if strings.HasPrefix(s, q) {
		q = `'`
	}
	return q + s + q
}

// unquote returns the value that oslo.config reads.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n > 1 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		return s[1 : n-1]
	}
	return s
}
