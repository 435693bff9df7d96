package compose

import (
	"cmp"
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
		out.WriteString(capital(word))
	}
	return out.String() + "Ready"
}

// capital is a word with a capital letter.
func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// formerConditionType is the type that a condition on a component had before initialisms were in capitals.
func formerConditionType(component string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(component, "-") {
		out.WriteString(capital(word))
	}
	return out.String() + "Ready"
}

func (c Component[M]) conditionType() string { return cmp.Or(c.Condition, ConditionType(c.Name)) }

// ConditionType is the type of the condition on the component.
func (p Part) ConditionType() string { return cmp.Or(p.Condition, ConditionType(p.Name)) }

// ConditionTypes are the types of the conditions on all components, enabled or not.
func (g Graph[M]) ConditionTypes() []string {
	out := make([]string, len(g))
	for i, c := range g {
		out[i] = c.conditionType()
	}
	return out
}

// retired are the types of conditions that a composite resource may have and that no part of its plan has: those on components that are
// switched off, and former names.
func (g Graph[M]) retired(parts []Part) []string {
	current := make([]string, len(parts))
	for i, p := range parts {
		current[i] = p.ConditionType()
	}
	var out []string
	for _, c := range g {
		for _, t := range []string{c.conditionType(), formerConditionType(c.Name)} {
			if !slices.Contains(current, t) {
				out = union(out, []string{t})
			}
		}
	}
	return out
}
