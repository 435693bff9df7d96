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
	// pollInterval is the interval of logins. shortRequeueInterval is the interval after a failure, and the minimum interval
	// between two logins.
	pollInterval         = time.Minute
	shortRequeueInterval = controller.Poll
	// statusRefreshInterval is the interval for writing the time of the last token without other changes, because each write
	// triggers Crossplane.
	statusRefreshInterval = 10 * time.Minute
	// failureThreshold is the number of consecutive failures after which Keystone is unreachable.
	failureThreshold = 3
)

var tokenIssuedCondition = condition.True("TokenIssued", "Keystone issues tokens")

// next updates the status, and emits an event if Keystone is reachable again.
func next(w *observation) controller.Decision {
	conditions := w.check.Status.Conditions
	switch {
	case w.limited > 0:
		return controller.Decision{RequeueAfter: w.limited}
	case w.errorMessage != "":
		return controller.Decision{RequeueAfter: shortRequeueInterval, Status: func() {
			w.set(conditionReachable, condition.False("NoCredentials", w.errorMessage))
		}}
	case w.err != nil:
		return controller.Decision{RequeueAfter: shortRequeueInterval, Status: w.report}
	case len(conditions) > 0 && !meta.IsStatusConditionTrue(conditions, conditionReachable):
		return controller.Decision{RequeueAfter: pollInterval, Status: w.report, Name: tokenIssuedCondition.Reason,
			Note: tokenIssuedCondition.Message}
	}
	return controller.Decision{RequeueAfter: pollInterval, Status: w.report}
}

// report sets the status after a login.
func (obs *observation) report() {
	if obs.err == nil && obs.check.Spec.Exempt {
		obs.set(conditionLockoutExempt, obs.exempt)
	}
	obs.check.Status.Authority = certificates(obs.cloud.CA)
	obs.reportPublic()
	obs.set(conditionReachable, obs.reachable())
}

// reachable counts failures and returns the condition.
func (obs *observation) reachable() condition.State {
	s := &obs.check.Status
	if obs.err == nil {
		if s.Failures > 0 || s.APIVersion != obs.version || s.LastToken == nil || obs.now.Sub(s.LastToken.Time) >= statusRefreshInterval {
			s.LastToken = &metav1.Time{Time: obs.now.Truncate(time.Second)}
		}
		s.Failures, s.APIVersion = 0, obs.version
		return tokenIssuedCondition
	}
	s.Failures = min(s.Failures+1, failureThreshold)
	if s.Failures < failureThreshold && meta.IsStatusConditionTrue(s.Conditions, conditionReachable) {
		return tokenIssuedCondition
	}
	if identity.IsUnauthorized(obs.err) {
		return condition.False("LoginRejected", obs.err.Error())
	}
	return condition.False("KeystoneUnavailable", obs.err.Error())
}

// reportPublic sets the condition of the public address. As for logins, it becomes False only after several consecutive
// failures.
func (obs *observation) reportPublic() {
	s, url := &obs.check.Status, obs.check.Spec.PublicURL
	switch {
	case url == "":
		s.PublicFailures = 0
		meta.RemoveStatusCondition(&s.Conditions, conditionPublic)
		return
	case obs.public == nil:
		s.PublicFailures = 0
		obs.set(conditionPublic, condition.True("EndpointReachable", fmt.Sprintf("Keystone is reachable at %s", url)))
		return
	}
	s.PublicFailures = min(s.PublicFailures+1, failureThreshold)
	before := meta.FindStatusCondition(s.Conditions, conditionPublic)
	answered := before != nil && before.Status == metav1.ConditionTrue && before.ObservedGeneration == obs.check.Generation
	if !answered || s.PublicFailures == failureThreshold {
		obs.set(conditionPublic, condition.False(obs.public.Reason, obs.public.Message))
	}
}

func (obs *observation) set(name string, s condition.State) {
	condition.Set(&obs.check.Status.Conditions, name, obs.check.Generation, obs.now, s)
}

// authorityLimit is the maximum length in the status.
const authorityLimit = 65536

// certificates returns the PEM certificates without any other content, because the status is public; "" if they exceed
// authorityLimit.
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
