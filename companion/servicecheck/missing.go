package servicecheck

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// missingNodeLimit is the maximum number of missing nodes in the status.
const missingNodeLimit = 5

// missingNodes returns the nodes with a pod of this check from which nova-compute does not report, without the nodes of a cell whose
// database does not respond. The node that is missing longest is the first, so that the list in the status changes rarely. The time of a
// node in the status is kept while it is missing: the time in Nova changes when the service is disabled, too.
func (obs *observation) missingNodes() []openstackv1.MissingNode {
	since := map[string]time.Time{}
	for _, m := range obs.check.Status.MissingNodes {
		since[m.Name] = m.Since.Time
	}
	var out []openstackv1.MissingNode
	for name, pod := range obs.nodes.pods {
		s := obs.compute(name)
		if s != nil && (s.Up || s.Unknown) {
			continue
		}
		at := pod.CreatedAt
		if s != nil && !s.ReportedAt.IsZero() {
			at = s.ReportedAt
		}
		if before, known := since[name]; known && (at.IsZero() || before.Before(at)) {
			at = before
		}
		if at.IsZero() {
			at = obs.now
		}
		out = append(out, openstackv1.MissingNode{Name: name, Since: metav1.Time{Time: at.Truncate(time.Second)}, Revision: pod.Revision})
	}
	slices.SortFunc(out, func(a, b openstackv1.MissingNode) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), strings.Compare(a.Name, b.Name))
	})
	return out
}
