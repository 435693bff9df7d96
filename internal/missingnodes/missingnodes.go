// Package missingnodes describes the nodes of a pool from which nova-compute does not report, for companion and claim. A message
// has the length of a few nodes, in a pool of any size.
package missingnodes

import (
	"fmt"
	"strings"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// Message names the first of count missing nodes of a pool, since when they are missing, and the revision that their pods run. It contains
// times and no ages, so that it changes only with the nodes. It is empty if no node is missing.
func Message(first []openstackv1.MissingNode, count, total int) string {
	if count == 0 {
		return ""
	}
	names := make([]string, len(first))
	for i, n := range first {
		names[i] = fmt.Sprintf("%s (since %s", n.Name, n.Since.UTC().Format(time.RFC3339))
		if n.Revision != "" {
			names[i] += ", revision " + n.Revision
		}
		names[i] += ")"
	}
	out := fmt.Sprintf("nova-compute does not report from %d of %d nodes: %s", count, total, strings.Join(names, ", "))
	if more := count - len(first); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
