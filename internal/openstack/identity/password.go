package identity

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// generatedPassword has the format of the passwords of services and of the administrator: 32 letters and digits
// (internal/kube/secret).
const generatedPassword = "aB3dEfGh1jKlMn0pQrStUv5wXyZaB7cD" //nolint:gosec // not in use

// checkPasswords returns an error for password rules that the users of services do not satisfy, or that contradict each
// other. Keystone applies them to every password that is set through the API (keystone/common/validation/validators.py), so
// services would not get a user.
func checkPasswords(base string, conf oslo.Config) error {
	options := conf["security_compliance"]
	field := func(name string) string { return base + ".config.security_compliance." + name }
	var errs []error
	if text, ok := options["password_regex"].(string); ok && text != "" {
		matches, err := matchPython(text, generatedPassword)
		switch {
		case err != nil:
			errs = append(errs, invalid.Field(field("password_regex"), "is not a regular expression: %s; correct it", err))
		case !matches:
			errs = append(errs, invalid.Field(field("password_regex"), "does not match the passwords of services, which are 32 letters and "+
				"digits, so that no service could log in; require only letters and digits, and at most 32 characters"))
		}
	}
	age, aged := days(options["minimum_password_age"])
	expires, limited := days(options["password_expires_days"])
	if aged && limited && age >= expires {
		errs = append(errs, invalid.Field(field("minimum_password_age"), "%d days are not less than password_expires_days (%d), so that "+
			"users could not change a password before it expires; lower it", age, expires))
	}
	return errors.Join(errs...)
}

// days returns the value of a numeric option. Claims may contain it as a string.
func days(value any) (n int64, ok bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// matchPython reports whether Python's re.match matches a text. Go's regular expressions, which run in linear time, have no
// lookahead, with which password rules are written: leading lookaheads are matched one by one. An expression that uses
// other Python syntax counts as matched. The error describes an invalid expression.
func matchPython(expression, text string) (bool, error) {
	rest := strings.TrimPrefix(expression, "^")
	for {
		inner, negative, after, found := lookahead(rest)
		if !found && (strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!")) {
			return false, errors.New("missing closing ): `" + rest + "`")
		}
		if !found {
			break
		}
		matched, known, err := matchStart(inner, text)
		if err != nil || !known {
			return err == nil, err
		}
		if matched == negative {
			return false, nil
		}
		rest = after
	}
	matched, known, err := matchStart(rest, text)
	return matched || !known, err
}

// lookahead splits an expression after its leading lookahead.
func lookahead(expression string) (inner string, negative bool, rest string, found bool) {
	inner, found = strings.CutPrefix(expression, "(?=")
	if !found {
		if inner, negative = strings.CutPrefix(expression, "(?!"); !negative {
			return "", false, expression, false
		}
	}
	depth, class := 1, false
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if strings.HasPrefix(inner[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(inner[i+1:], "]") { // It is literal there.
				i++
			}
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return inner[:i], negative, inner[i+1:], true
			}
		}
	}
	return "", false, expression, false
}

// matchStart matches an expression without a lookahead. known is false for an expression with Python syntax that Go does
// not support.
func matchStart(expression, text string) (matched, known bool, err error) {
	var e *regexp.Regexp
	if _, err = regexp.Compile(expression); err == nil { // compiled without the prefix, so that the error contains only the expression
		e, err = regexp.Compile("^(?:" + expression + ")")
	}
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		switch wrong.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrInvalidCharRange,
			syntax.ErrInvalidNamedCapture:
			return false, false, nil
		default:
			return false, false, errors.New(strings.TrimPrefix(wrong.Error(), "error parsing regexp: "))
		}
	}
	if err != nil {
		return false, false, err
	}
	return e.MatchString(text), true, nil
}
