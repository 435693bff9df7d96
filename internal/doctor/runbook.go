package doctor

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/c5c3/crossplane-cobaltcore/docs"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/explain"
)

// conditionRow matches a row of the table of conditions in the documentation: objects, condition, link to the runbook.
var conditionRow = regexp.MustCompile("(?m)^\\| ([^|`]+) \\| `([^`]+)` \\| \\[[^\\]]*\\]\\(\\.\\./runbooks/([^)#]+\\.md)")

// runbooks returns the runbook by kind and condition, "<kind>/<condition>", from the table in the documentation.
var runbooks = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, row := range conditionRow.FindAllStringSubmatch(docs.Conditions, -1) {
		page := strings.TrimSuffix(path.Base(row[3]), ".md")
		if strings.HasSuffix(page, "Conditions") {
			page = row[2] // A section of a page about several conditions.
		}
		for kind := range strings.SplitSeq(row[1], ",") {
			out[strings.TrimSpace(kind)+"/"+row[2]] = page
		}
	}
	return out
})

// runbook returns the runbook of a condition, or "". A composite resource of a claim has the runbooks of the claim.
func runbook(kind, condition string) string {
	for _, k := range []string{kind, strings.TrimPrefix(kind, "X"), "All claims and composite resources"} {
		if page := runbooks()[k+"/"+condition]; page != "" && hasRunbook(page) {
			return page
		}
	}
	return ""
}

// hasRunbook reports whether cobaltcore explain has a runbook with a name.
func hasRunbook(name string) bool {
	text, err := explain.Runbook(name)
	return err == nil && text != ""
}

// runbookOf returns the runbook of an object that is not ready: the runbook of its condition, or of the nearest object of its chain.
func runbookOf(c Cause) string {
	for i := len(c.Chain); i >= 0; i-- {
		r := c.Object
		if i < len(c.Chain) {
			r = c.Chain[i]
		}
		for _, condition := range []string{"Ready", "Available", "Reachable"} {
			if page := runbooks()[r.Kind+"/"+condition]; page != "" && hasRunbook(page) {
				return page
			}
		}
	}
	for _, r := range c.Chain {
		if form(r.groupKind()) == compositeForm && !IsClusterScoped(r.GroupVersionKind()) {
			return r.Kind + "Ready" // The condition of the component.
		}
	}
	return conditionCurrent
}
