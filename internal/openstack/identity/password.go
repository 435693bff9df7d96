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

// generatedPassword is as the passwords of services and of the administrator are: 32 letters and digits (internal/kube/secret).
const generatedPassword = "aB3dEfGh1jKlMn0pQrStUv5wXyZaB7cD" //nolint:gosec // nobody has it

// checkPasswords returns an error for rules on passwords that the users of services do not meet, or that contradict each other. Keystone
// holds every password to them that the API sets (keystone/common/validation/validators.py), and services could not get a user.
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
			errs = append(errs, invalid.Field(field("password_regex"), "refuses the passwords of services, which are 32 letters and digits, so "+
				"that no service could log in; ask for nothing else than letters and digits, and for 32 characters at most"))
		}
	}
	age, aged := days(options["minimum_password_age"])
	expires, limited := days(options["password_expires_days"])
	if aged && limited && age >= expires {
		errs = append(errs, invalid.Field(field("minimum_password_age"), "%d days are not less than password_expires_days (%d), so that "+
			"nobody could change a password before it expires; lower it", age, expires))
	}
	return errors.Join(errs...)
}

// days returns the value of an option that is a number: claims may write it as a text.
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

// matchPython reports whether Python's re.match finds a text at its beginning. Go's expressions, which take time in proportion to the
// text, know no lookahead, by which rules on passwords are written: those at the beginning are matched one by one. An expression that
// needs more of Python counts as matched. An error says what is wrong.
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

// lookahead splits an expression behind the lookahead with which it begins.
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
			if strings.HasPrefix(inner[i+1:], "]") { // It is a member there.
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

// matchStart matches an expression without a lookahead. It is not known whether one matches that only Python has.
func matchStart(expression, text string) (matched, known bool, err error) {
	var e *regexp.Regexp
	if _, err = regexp.Compile(expression); err == nil { // for an error that has no more than the expression
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
