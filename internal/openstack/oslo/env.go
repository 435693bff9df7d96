package oslo

import (
	"fmt"
	"regexp"
	"strings"
)

// exportable matches names that are valid in the name of an environment variable. Hyphens in option names are replaced by _
// first.
var exportable = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// EnvName returns the environment variable that sets an option: OS_<GROUP>__<OPTION>. It overrides files, and arguments
// override it (https://docs.openstack.org/oslo.config/latest/reference/drivers.html).
//
// An environment variable cannot set a repeated option: oslo.config splits its text into characters. Only the current name
// of the option works, not a deprecated one.
//
// It returns an error for a group that cannot be set this way: oslo.config uses the name of the group unchanged, and a
// hyphen cannot be part of a variable name.
func EnvName(group, option string) (string, error) {
	if !exportable.MatchString(group) {
		return "", fmt.Errorf("group %q cannot be set by an environment variable: name it with letters, digits and _ only", group)
	}
	// oslo.config treats option foo-bar as foo_bar.
	option = strings.ReplaceAll(option, "-", "_")
	if !exportable.MatchString(option) {
		return "", fmt.Errorf("option %q cannot be set by an environment variable: its name holds more than letters, digits, _ and -", option)
	}
	return strings.ToUpper("OS_" + group + "__" + option), nil
}

// MustEnvName is like EnvName, but panics if the name is not valid.
func MustEnvName(group, option string) string {
	name, err := EnvName(group, option)
	if err != nil {
		panic(err)
	}
	return name
}

// EnvValue returns the `value` of a container's environment variable with which the service reads exactly this text.
//
// Dollar signs are interpreted twice: Kubernetes replaces $(NAME) with another variable and $$ with $, once
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/), and then
// oslo.config substitutes. A URL with a password is EnvValue(before) + "$(PASSWORD)" + EnvValue(after). The value that
// Kubernetes inserts is not escaped for oslo.config: a `$` in the password would be interpreted. Unlike a file, an
// environment variable needs no quotes.
func EnvValue(text string) string { return strings.ReplaceAll(escape(text), "$", "$$") }
