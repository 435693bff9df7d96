package identitycheck

import (
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

const (
	// every is how often it logs in, soon how often after a failure: and no pass, whatever woke it, does so more often than that.
	every = time.Minute
	soon  = controller.Poll
	// rewrite is how often the time of the last token is written when nothing else changes: whatever is written wakes Crossplane.
	rewrite = 10 * time.Minute
	// failureThreshold is the number of consecutive failures after which Keystone is unreachable.
	failureThreshold = 3
)

var issued = condition.True("TokenIssued", "Keystone gives tokens")

// next reports, and says so if Keystone is reachable again.
func next(w *world) controller.Step {
	conditions := w.check.Status.Conditions
	switch {
	case w.limited > 0:
		return controller.Step{After: w.limited}
	case w.problem != "":
		return controller.Step{After: soon, Status: func() {
			w.set(conditionReachable, condition.False("NoCredentials", w.problem))
		}}
	case w.err != nil:
		return controller.Step{After: soon, Status: w.report}
	case len(conditions) > 0 && !meta.IsStatusConditionTrue(conditions, conditionReachable):
		return controller.Step{After: every, Status: w.report, Name: issued.Reason, Note: issued.Message}
	}
	return controller.Step{After: every, Status: w.report}
}

// report sets the status after a login.
func (w *world) report() {
	if w.err == nil && w.check.Spec.Exempt {
		w.set(conditionExempt, w.exempt)
	}
	w.check.Status.Authority = certificates(w.cloud.CA)
	w.reportPublic()
	w.set(conditionReachable, w.reachable())
}

// reachable counts failures, and is what the condition says then.
func (w *world) reachable() condition.State {
	s := &w.check.Status
	if w.err == nil {
		if s.Failures > 0 || s.APIVersion != w.version || s.LastToken == nil || w.now.Sub(s.LastToken.Time) >= rewrite {
			s.LastToken = &metav1.Time{Time: w.now.Truncate(time.Second)}
		}
		s.Failures, s.APIVersion = 0, w.version
		return issued
	}
	s.Failures = min(s.Failures+1, failureThreshold)
	if s.Failures < failureThreshold && meta.IsStatusConditionTrue(s.Conditions, conditionReachable) {
		return issued
	}
	if identity.IsRefused(w.err) {
		return condition.False("LoginRefused", w.err.Error())
	}
	return condition.False("KeystoneUnavailable", w.err.Error())
}

// reportPublic reports whether the public address answers. As with logins, it takes some failures in a row to say that it does not.
func (w *world) reportPublic() {
	s, url := &w.check.Status, w.check.Spec.PublicURL
	switch {
	case url == "":
		s.PublicFailures = 0
		meta.RemoveStatusCondition(&s.Conditions, conditionPublic)
		return
	case w.public == nil:
		s.PublicFailures = 0
		w.set(conditionPublic, condition.True("KeystoneAnswers", fmt.Sprintf("Keystone answers at %s", url)))
		return
	}
	s.PublicFailures = min(s.PublicFailures+1, failureThreshold)
	before := meta.FindStatusCondition(s.Conditions, conditionPublic)
	answered := before != nil && before.Status == metav1.ConditionTrue && before.ObservedGeneration == w.check.Generation
	if !answered || s.PublicFailures == failureThreshold {
		w.set(conditionPublic, condition.False(w.public.Reason, w.public.Message))
	}
}

func (w *world) set(name string, s condition.State) {
	condition.Set(&w.check.Status.Conditions, name, w.check.Generation, w.now, s)
}

// authorityLimit is the longest text that the status takes.
const authorityLimit = 65536

// certificates are the certificates in PEM, and nothing else that may stand between them: what is reported is public. None are reported
// if there are more than the status takes.
func certificates(in []byte) string {
	var out strings.Builder
	for {
		var block *pem.Block
		if block, in = pem.Decode(in); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
		}
	}
	if out.Len() > authorityLimit {
		return ""
	}
	return out.String()
}
