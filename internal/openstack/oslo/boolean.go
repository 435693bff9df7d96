package oslo

import (
	"slices"
	"strings"
)

// Texts that oslo.utils takes for a boolean (bool_from_string, https://docs.openstack.org/oslo.utils/latest/reference/strutils.html).
// Those of oslo.config are among them.
var (
	trueTexts  = []string{"1", "t", "true", "on", "y", "yes"}
	falseTexts = []string{"0", "f", "false", "off", "n", "no"}
)

// Boolean returns the boolean that OpenStack reads from a text, and whether it reads one.
func Boolean(text string) (value, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	value = slices.Contains(trueTexts, text)
	return value, value || slices.Contains(falseTexts, text)
}
