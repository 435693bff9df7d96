package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

// unknown returns the error for an option that this release does not have. It contains the releases that have the option,
// or a similar name.
func (r *Registry) unknown(group, option string) error {
	if group != defaultGroup && strings.EqualFold(group, defaultGroup) {
		return fmt.Errorf("%s ignores the group [%s]: write DEFAULT in upper case", r.Service, group)
	}
	subject := fmt.Sprintf("%s %s has no option %s in the group [%s]", r.Service, r.Release, displayName(option), displayName(group))
	options, ok := r.groups[normal(group)]
	if !ok {
		subject = fmt.Sprintf("%s %s has no group [%s]", r.Service, r.Release, displayName(group))
	}
	if where := r.otherReleases(func(other *Registry) bool {
		return other.groups[normal(group)][option] != nil || other.renamed[normal(group)][option] != nil
	}); where != "" {
		return fmt.Errorf("%s: %s", subject, where)
	}
	if underscored := strings.ReplaceAll(option, "-", "_"); options[underscored] != nil {
		return fmt.Errorf("%s: the configuration file uses %s", subject, underscored)
	}
	if closest := r.suggestion(group, option); closest != "" {
		return fmt.Errorf("%s: did you mean %s?", subject, closest)
	}
	return fmt.Errorf("%s: see the configuration reference of %s for its options", subject, r.Service)
}

// suggestion returns a similar option or group: the closest name in the group, the same name in another group, or the
// closest group.
func (r *Registry) suggestion(group, option string) string {
	if name := suggest.Closest(option, maps.Keys(r.groups[normal(group)])); name != "" {
		return Name{normal(group), name}.String()
	}
	var same []string
	for _, g := range r.Groups() {
		if r.groups[g][option] != nil {
			same = append(same, g)
		}
	}
	if g := suggest.Closest(normal(group), slices.Values(same)); g != "" {
		return Name{g, option}.String()
	}
	if len(same) == 1 {
		return Name{same[0], option}.String()
	}
	if r.groups[normal(group)] == nil {
		if g := suggest.Closest(normal(group), maps.Keys(r.groups)); g != "" {
			return "[" + g + "]"
		}
	}
	return ""
}

// displayName returns a name for a message. It is quoted if it is not a valid name.
func displayName(name string) string {
	if name != "" && len(name) <= 60 && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' }) {
		return name
	}
	return shorten(name)
}
