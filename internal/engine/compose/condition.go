package compose

import (
	"slices"
	"strings"
)

// initialisms lists words of component names that are in upper case in a condition type.
var initialisms = []string{"api", "dns", "ovn", "ovs", "rpc", "tls", "vnc"}

// ConditionType returns the default condition type of a component: TrustFlushReady for trust-flush, APIReady for api.
func ConditionType(component string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(component, "-") {
		if slices.Contains(initialisms, word) {
			word = strings.ToUpper(word)
		}
		out.WriteString(upperFirst(word))
	}
	return out.String() + "Ready"
}

// upperFirst returns word with its first letter in upper case.
func upperFirst(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// formerConditionType returns the condition type that a component had before initialisms were in upper case.
func formerConditionType(component string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(component, "-") {
		out.WriteString(upperFirst(word))
	}
	return out.String() + "Ready"
}

func (c Component[M]) conditionType() string { return named(c.Condition, c.Name) }

// ConditionType returns the type of the condition on the component.
func (p ComponentStatus) ConditionType() string { return named(p.Condition, p.Name) }

// named returns condition, or the default condition type of the component if it is empty.
func named(condition, component string) string {
	if condition != "" {
		return condition
	}
	return ConditionType(component)
}

// ConditionTypes returns the condition types of all components, enabled or not.
func (g Graph[M]) ConditionTypes() []string {
	out := make([]string, len(g))
	for i, c := range g {
		out[i] = c.conditionType()
	}
	return out
}

// disabledConditions returns the condition types that a composite resource may have and that no part of its plan uses: types of disabled
// components, and former types.
func (g Graph[M]) disabledConditions(parts []ComponentStatus) []string {
	current := make([]string, len(parts))
	for i, p := range parts {
		current[i] = p.ConditionType()
	}
	var out []string
	for _, c := range g {
		for _, t := range []string{c.conditionType(), c.former} {
			if t != "" && !slices.Contains(current, t) && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}
