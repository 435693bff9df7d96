package limit

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// List is a list of a limit that must be set in at least one limit, because its values select a node or give access to one.
type List struct {
	// Name of the list.
	Name string
	// Of returns the list in a limit.
	Of func(*platformv1.Limit) []string
	// Allows reports whether an entry allows a value.
	Allows func(entry, value string) bool
}

// Tolerations are the taints that pods may tolerate.
var Tolerations = List{Name: "tolerations", Of: func(l *platformv1.Limit) []string { return Texts(l.Tolerations) }, Allows: Term}

// MonitoringLabels are the labels with which a Prometheus selects its scrape targets and alerts.
var MonitoringLabels = List{
	Name: "monitoringLabels", Of: func(l *platformv1.Limit) []string { return Texts(l.MonitoringLabels) }, Allows: Term,
}

// CheckAny returns an error unless at least one limit has the list, and each limit that has it allows at least one value of
// a field. One value is sufficient, because a node must have all labels of a claim. limits are the limits of the claim's
// namespace.
func (l List) CheckAny(limits []platformv1.Limit, namespace, field string, values []string) error {
	requested := false
	for i := range limits {
		entries := l.Of(&limits[i])
		if entries == nil {
			continue
		}
		requested = true
		if !slices.ContainsFunc(values, func(value string) bool {
			return slices.ContainsFunc(entries, func(entry string) bool { return l.Allows(Expand(entry, namespace), value) })
		}) {
			return invalid.Field(field, "%q is not in the %s that the platform's limit %q allows: %s; choose from these",
				strings.Join(values, ", "), l.Name, limits[i].Name, cmp.Or(strings.Join(entries, ", "), "none"))
		}
	}
	if requested {
		return nil
	}
	return invalid.Field(field, "no limit of the platform allows %q in namespace %q; ask the platform team to allow it in the %s of a limit",
		strings.Join(values, ", "), namespace, l.Name)
}

// LabelTerms returns labels as <key>=<value>, sorted.
func LabelTerms[V ~string](labels map[string]V) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+string(labels[k]))
	}
	return out
}
