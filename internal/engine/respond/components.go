package respond

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// maxReason and maxMessage are the limits in the schema of a component. With a longer value the API server rejects the whole status.
const maxReason, maxMessage = 63, 1024

// Components returns the state of each component of a plan, for a status. The previous status determines whether a component is being
// updated (it was ready before) or created.
func Components(plan compose.Plan, previous []common.ComponentStatus) []common.ComponentStatus {
	previousPhase := map[string]string{}
	for _, c := range previous {
		previousPhase[c.Name] = c.Phase
	}
	out := make([]common.ComponentStatus, 0, len(plan.Parts))
	for _, p := range plan.Parts {
		c := common.ComponentStatus{
			Name:    p.Name,
			Phase:   phase(p, previousPhase[p.Name]),
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

// Message returns s shortened to the limit of a status message.
func Message(s string) string { return shorten(s, maxMessage) }

// shorten cuts a text to limit bytes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}

func phase(p compose.ComponentStatus, previous string) string {
	_, failed := p.Failed()
	switch {
	case p.IsReady():
		return common.ComponentReady
	case failed:
		return common.ComponentFailed
	case len(p.Items) == 0:
		return common.ComponentWaiting
	case previous == common.ComponentReady || previous == common.ComponentUpdating:
		return common.ComponentUpdating
	}
	return common.ComponentCreating
}

// since returns the time of the newest condition change of the component's objects.
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
