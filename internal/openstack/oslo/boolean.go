package oslo

import (
	"slices"
	"strings"
)

// Texts that oslo.utils parses as a boolean (bool_from_string,
// https://docs.openstack.org/oslo.utils/latest/reference/strutils.html). They include the texts that oslo.config accepts.
var (
	trueTexts  = []string{"1", "t", "true", "on", "y", "yes"}
	falseTexts = []string{"0", "f", "false", "off", "n", "no"}
)

// Boolean parses a text as OpenStack does. ok is false if the text is not a boolean.
func Boolean(text string) (value, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	value = slices.Contains(trueTexts, text)
	return value, value || slices.Contains(falseTexts, text)
}
