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

// Names that stand in a file without ambiguity: they neither begin a comment, a section or a continuation line, nor end
// before the line's first `=`. A group may be named by an operator, so it may hold a colon.
var (
	groupName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*$`)
	optionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// Value is a string as it stands behind an option's `=`, so that the service sees it as it is. It is for what Render does
// not have: a secret that takes the place of a placeholder in a rendered file, where the placeholder, a Template, is all that
// the option holds. The error says that the string does not fit on one line.
func Value(text string) (string, error) {
	if err := checkSingleLine(text); err != nil {
		return "", err
	}
	return quote(escape(text)), nil
}

// lines returns the text of an option's value: one line, or one for each value of a Multi. Quotes are not set yet.
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
		return nil, errors.New("it has no value: give it one, or leave the option out")
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
			return nil, errors.New("an option that is repeated cannot be empty: give it a value, or leave it out")
		}
		out := make([]string, len(v))
		for i := range v {
			out[i] = escape(v[i])
		}
		return out, nil
	}
	return nil, fmt.Errorf("it is of type %T: give a string, a boolean, a number or a list", value)
}

// join writes a list. oslo.config splits it at commas, strips the items and drops empty ones at the end.
func join(items []string) (string, error) {
	out := make([]string, len(items))
	for i, item := range items {
		if item == "" || item != strings.TrimSpace(item) || strings.Contains(item, ",") {
			return "", fmt.Errorf("item %q of the list cannot be told from its neighbours: "+
				"no item may be empty, hold a comma, or begin or end with a space", item)
		}
		out[i] = escape(item)
	}
	return strings.Join(out, ","), nil
}

// escape keeps oslo.config from substituting. It reads $$ as a dollar sign, and so it does \$: a backslash that stands before
// a dollar sign has to be followed by \$, which takes the dollar sign and leaves the backslash alone.
var escape = strings.NewReplacer(`\$`, `\\$`, `$`, `$$`).Replace

// checkSingleLine reports whether a text stays on one line, in a file that Python reads as UTF-8. Of all control characters only line breaks
// would be harmful; none is ever meant.
func checkSingleLine(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("its value is not valid UTF-8")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("its value holds a control character, such as a line break or a tab: write it on one line, with spaces")
	}
	return nil
}

// quote sets a value into quotes if it needs them: oslo.config strips outer spaces and then one pair of equal quotes. A
// value that begins with a quote gets the other kind around it, and an empty one gets a pair, for ini.v1, to which
// backquotes and three quotes in a row are special and an empty value is none.
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

// unquote is what oslo.config makes of a value.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n > 1 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		return s[1 : n-1]
	}
	return s
}
