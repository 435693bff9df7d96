package registry

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// defaultGroup is the only group whose name must be in upper case.
const defaultGroup = "DEFAULT"

// Finding is information for the tenant about an accepted option.
type Finding struct {
	// Deprecated is true if the option, or the name with which it was set, is deprecated.
	Deprecated bool
	// Message describes the deprecation and the replacement, as a sentence. Empty: no finding.
	Message string
}

// CheckOption validates an option of a tenant: its names, and its value, which is a string, a boolean, a number or a list
// of these, as decoded from YAML or JSON. Strings are literal: dollar signs are not references.
//
// Group names are compared as oslo.config does in files, case-insensitively except for DEFAULT; option names are compared
// exactly. A deprecated name is accepted with a finding.
//
// The error is a sentence with group, option and the allowed values. It does not contain the value of a secret option.
func (r *Registry) CheckOption(group, option string, value any) (Finding, error) {
	targets := r.Lookup(group, option)
	if len(targets) == 0 {
		return Finding{}, r.unknown(group, option)
	}
	finding := Finding{}
	if (Name{normal(group), option}) != targets[0].name() {
		finding = outdated(group, option, targets)
	}
	for _, target := range targets {
		if err := target.check(value); err != nil {
			return Finding{}, fmt.Errorf("[%s] %s %w", group, option, err)
		}
		if target.Removal != nil && !finding.Deprecated {
			finding = Finding{Deprecated: true, Message: fmt.Sprintf("[%s] %s is %s", group, option, target.Removal)}
		}
	}
	return finding, nil
}

// normal returns the name with which oslo.config looks up a group.
func normal(group string) string {
	if group == defaultGroup {
		return group
	}
	return strings.ToLower(group)
}

func outdated(group, option string, targets []*Option) Finding {
	names := make([]string, len(targets))
	for i, target := range targets {
		names[i] = target.name().String()
	}
	return Finding{
		Deprecated: true,
		Message:    fmt.Sprintf("[%s] %s is a deprecated name: use %s instead", group, option, strings.Join(names, " and ")),
	}
}

// String returns the description of the deprecation, as the continuation of "is".
func (r *Removal) String() string {
	out := "deprecated and going to be removed"
	if r.Since != "" {
		out += ", as announced in " + r.Since
	}
	if r.Reason != "" {
		out += ": " + strings.TrimSuffix(r.Reason, ".")
	}
	return out
}

// check returns an error that continues a sentence that begins with the option's name.
func (o *Option) check(value any) error {
	items, isList := list(value)
	switch {
	case isList && o.Multi:
		if len(items) == 0 {
			return errors.New("cannot be an empty list: set a value, or remove the option")
		}
		for _, item := range items {
			if err := o.checkText(item); err != nil {
				return err
			}
		}
		return nil
	case isList:
		joined, err := o.join(items)
		if err != nil {
			return err
		}
		return o.checkText(joined)
	}
	return o.checkText(value)
}

// list returns the items of a list.
func list(value any) ([]any, bool) {
	switch v := value.(type) {
	case []any:
		return v, true
	case []string:
		items := make([]any, len(v))
		for i := range v {
			items[i] = v[i]
		}
		return items, true
	}
	return nil, false
}

// join joins the items as in a file. It returns an error for items that would not be read as written.
func (o *Option) join(items []any) (string, error) {
	if o.Kind != kindList && o.Kind != kindDict {
		return "", fmt.Errorf("must be %s, not a list", o.Allowed())
	}
	if o.Bounded {
		return "", fmt.Errorf("must be %s: write it as one string", o.Allowed())
	}
	texts := make([]string, len(items))
	for i, item := range items {
		s, err := o.item().text(item)
		switch {
		case err != nil:
			return "", fmt.Errorf("must be %s, but in item %d %w", o.Allowed(), i+1, err)
		case s == "" || s != strings.TrimSpace(s) || strings.Contains(s, ","):
			return "", fmt.Errorf("must be %s, and no item may be empty, hold a comma, or begin or end with a space: item %d does", o.Allowed(), i+1)
		}
		texts[i] = s
	}
	return strings.Join(texts, ","), nil
}

// checkText validates a single value.
func (o *Option) checkText(value any) error {
	s, err := o.text(value)
	if err != nil {
		return fmt.Errorf("must be %s, but %w", o.Allowed(), err)
	}
	bad, ok := o.accepts(s)
	switch {
	case ok:
		return nil
	case o.Secret:
		return fmt.Errorf("must be %s", o.Allowed())
	}
	return fmt.Errorf("must be %s, but %s is not", o.Allowed(), shorten(bad))
}

// exact is the largest integer up to which a float64, the type of decoded JSON numbers, represents every integer.
const exact = 1 << 53

// text returns a value as in a configuration file. The error continues a sentence after "but".
func (t *Type) text(value any) (string, error) {
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			return "", errors.New("it holds a control character, such as a line break or a tab")
		}
		return v, nil
	case bool:
		if t.Kind == kindString {
			return "", fmt.Errorf("it is the boolean %t: quote it if you mean a string", v)
		}
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return "", errors.New("it is not a finite number")
		case math.Trunc(v) != v && t.Kind == kindString:
			return "", errors.New("it is a fraction: quote it if you mean a string")
		case math.Trunc(v) != v:
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		case math.Abs(v) > exact:
			return "", errors.New("the number is too large to be represented exactly: quote it")
		}
		return strconv.FormatInt(int64(v), 10), nil
	case nil:
		return "", errors.New("it has no value: set one, or remove the option")
	}
	return "", errors.New("it is neither a string nor a boolean nor a number")
}

// shorten quotes a tenant's text and limits its length for messages.
func shorten(s string) string {
	const longest = 60
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest]) + "…"
	}
	return strconv.Quote(s)
}
