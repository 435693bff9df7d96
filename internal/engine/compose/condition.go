package compose

import (
	"slices"
	"strings"
)

// initialisms are the words of components' names that a condition's type has in capitals.
var initialisms = []string{"api", "dns", "ovn", "ovs", "rpc", "tls", "vnc"}

// ConditionType is the type of a condition on a component that does not name one: trust-flush has TrustFlushReady, api has APIReady.
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

// upperFirst is a word with a capital letter.
func upperFirst(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// formerConditionType is the type that a condition on a component had before initialisms were in capitals.
func formerConditionType(component string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(component, "-") {
		out.WriteString(upperFirst(word))
	}
	return out.String() + "Ready"
}

func (c Component[M]) conditionType() string { return named(c.Condition, c.Name) }

// ConditionType is the type of the condition on the component.
func (p ComponentStatus) ConditionType() string { return named(p.Condition, p.Name) }

// named is a condition's type: its own, or else that of its component's name.
func named(condition, component string) string {
	if condition != "" {
		return condition
	}
	return ConditionType(component)
}

// ConditionTypes are the types of the conditions on all components, enabled or not.
func (g Graph[M]) ConditionTypes() []string {
	out := make([]string, len(g))
	for i, c := range g {
		out[i] = c.conditionType()
	}
	return out
}

// disabledConditions are the types of conditions that a composite resource may have and that no part of its plan has: those on components that are
// switched off, and former names.
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
