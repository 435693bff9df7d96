package hypervisor

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// checkLimits refuses nodes that the platform does not leave to pools of this namespace, and taints that they may not tolerate. Pods here
// have what the node has: who says which nodes has those.
func (m *model) checkLimits() error {
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	labels := terms(m.spec.NodeSelector)
	errs := []error{m.allowed(limits, "spec.nodeSelector", "hypervisorNodes", labels,
		func(l *platformv1.Limit) []string { return limit.Texts(l.HypervisorNodes) })}
	for _, t := range m.spec.Tolerations {
		term := limit.TolerationTerm(t.Key, t.Operator, t.Value, t.Effect)
		errs = append(errs, m.allowed(limits, "spec.tolerations", "tolerations", []string{term},
			func(l *platformv1.Limit) []string { return limit.Texts(l.Tolerations) }))
	}
	return errors.Join(errs...)
}

// allowed holds that each limit that has a list, and at least one has, allows one of some terms: a node has all labels that a pool names,
// so that one of them says enough.
func (m *model) allowed(
	limits []platformv1.Limit, field, name string, terms []string, list func(*platformv1.Limit) []string,
) error {
	said := false
	for i := range limits {
		entries := list(&limits[i])
		if entries == nil {
			continue
		}
		said = true
		if !slices.ContainsFunc(terms, func(term string) bool {
			return slices.ContainsFunc(entries, func(entry string) bool { return limit.Term(limit.Expand(entry, m.claim.Namespace), term) })
		}) {
			return invalid.Field(field, "%q is not in the %s that the platform's limit %q allows: %s; choose from these",
				strings.Join(terms, ", "), name, limits[i].Name, cmp.Or(strings.Join(entries, ", "), "none"))
		}
	}
	if said {
		return nil
	}
	return invalid.Field(field, "no limit of the platform allows %q in namespace %q; ask the platform team to allow it in the %s of a limit",
		strings.Join(terms, ", "), m.claim.Namespace, name)
}

// terms are labels as <key>=<value>.
func terms(labels map[string]common.LabelValue) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+string(labels[k]))
	}
	return out
}
