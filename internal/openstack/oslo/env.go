package oslo

import (
	"fmt"
	"regexp"
	"strings"
)

// exportable are names that survive in the name of an environment variable; a hyphen in an option becomes _ first.
var exportable = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// EnvName is the environment variable that sets an option: OS_<GROUP>__<OPTION>. It beats files, and arguments beat it
// (https://docs.openstack.org/oslo.config/latest/reference/drivers.html).
//
// An environment variable cannot set a repeated option: oslo.config takes its text apart into characters. It is looked up
// by the option's present name only, never by a deprecated one.
//
// The error says that a group cannot be set so: oslo.config looks for its name as it is, and a hyphen cannot be exported.
func EnvName(group, option string) (string, error) {
	if !exportable.MatchString(group) {
		return "", fmt.Errorf("group %q cannot be set by an environment variable: name it with letters, digits and _ only", group)
	}
	// oslo.config knows an option foo-bar as foo_bar.
	option = strings.ReplaceAll(option, "-", "_")
	if !exportable.MatchString(option) {
		return "", fmt.Errorf("option %q cannot be set by an environment variable: its name holds more than letters, digits, _ and -", option)
	}
	return strings.ToUpper("OS_" + group + "__" + option), nil
}

// MustEnvName is EnvName of an option whose name is known to be exportable; it panics if it is not.
func MustEnvName(group, option string) string {
	name, err := EnvName(group, option)
	if err != nil {
		panic(err)
	}
	return name
}

// EnvValue is the `value` of a container's environment variable that makes the service see the text as it is.
//
// Two readers interpret dollar signs: Kubernetes replaces $(NAME) by another variable and $$ by $, once
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/), and then
// oslo.config substitutes. So a URL around a password is EnvValue(before) + "$(PASSWORD)" + EnvValue(after). What
// Kubernetes puts in is not escaped for oslo.config: a `$` in that password would be. Unlike a file, an environment variable
// needs no quotes.
func EnvValue(text string) string { return strings.ReplaceAll(escape(text), "$", "$$") }
