package respond

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// maxReason and maxMessage are the longest that the schema of a component takes: a status that it does not take is not written,
// and nothing else either.
const maxReason, maxMessage = 63, 1024

// Components is the state of each component of a plan, for a status. The previous status reports what was ready before: a component that
// was is being updated, one that was not is being created.
func Components(plan compose.Plan, previous []common.ComponentStatus) []common.ComponentStatus {
	was := map[string]string{}
	for _, c := range previous {
		was[c.Name] = c.Phase
	}
	out := make([]common.ComponentStatus, 0, len(plan.Parts))
	for _, p := range plan.Parts {
		c := common.ComponentStatus{
			Name:    p.Name,
			Phase:   phase(p, was[p.Name]),
			Ready:   fmt.Sprintf("%d/%d", p.Ready, p.Total),
			Version: p.Version,
			Since:   since(p),
		}
		reason, message := p.Waiting()
		c.Reason, c.Message = shorten(reason, maxReason), Message(message)
		out = append(out, c)
	}
	return out
}

// Message is a message as long as a status takes it.
func Message(s string) string { return shorten(s, maxMessage) }

// shorten cuts a text to so many bytes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}

func phase(p compose.ComponentStatus, was string) string {
	_, failed := p.Failed()
	switch {
	case p.IsReady():
		return common.ComponentReady
	case failed:
		return common.ComponentFailed
	case len(p.Items) == 0:
		return common.ComponentWaiting
	case was == common.ComponentReady || was == common.ComponentUpdating:
		return common.ComponentUpdating
	}
	return common.ComponentCreating
}

// since is the newest change of a condition among the component's objects.
func since(p compose.ComponentStatus) *metav1.Time {
	newest := ""
	for _, i := range p.Items {
		newest = max(newest, i.Since)
	}
	t, err := time.Parse(time.RFC3339, newest)
	if err != nil {
		return nil
	}
	return &metav1.Time{Time: t.UTC()}
}
