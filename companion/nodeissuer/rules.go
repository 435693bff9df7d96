package nodeissuer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// interval is the polling interval. A pod that starts waits for its certificate.
	interval = 5 * time.Second
	// limit is the maximum number of requests that are processed in a pass.
	limit = 50
)

// next processes pending requests.
func next(w *observation) controller.Decision {
	s := controller.Decision{RequeueAfter: interval, Status: w.report}
	if w.problem.Reason != "" || len(w.requests) == 0 {
		return s
	}
	w.addresses = w.valid()
	var decisions []decision
	var signed, denied []string
	for _, r := range w.chosen() {
		d := w.verify(r)
		decisions = append(decisions, d)
		if d.err != nil {
			denied = append(denied, fmt.Sprintf("%s of %s: %s", r.Name, r.Spec.Username, d.err))
		} else {
			signed = append(signed, d.subject.node)
		}
	}
	// The status, with the addresses, is written before: a certificate without a record would permit another node to get the same name.
	s.Action = func(ctx context.Context, env *controller.Env) error {
		var errs []error
		for _, d := range decisions {
			errs = append(errs, w.execute(ctx, env, d))
		}
		return errors.Join(errs...)
	}
	s.Name, s.Note = "Signed", "signed certificates of "+condition.JoinNames(signed)
	if len(denied) > 0 {
		s.Name, s.Note, s.Warning = "Denied", "denied requests: "+strings.Join(denied, "; "), true
	}
	return s
}

// chosen returns the requests of this pass: the oldest one of each creator and node, so that one node cannot delay the others.
func (obs *observation) chosen() []*certificatesv1.CertificateSigningRequest {
	var out []*certificatesv1.CertificateSigningRequest
	seen := map[string]bool{}
	for i := range obs.requests {
		r := &obs.requests[i]
		if creator := r.Spec.Username + " " + nodeOf(r); !seen[creator] && len(out) < limit {
			seen[creator], out = true, append(out, r)
		}
	}
	return out
}

// A decision is a request with the content of its certificate, or with the reason to deny it.
type decision struct {
	request *certificatesv1.CertificateSigningRequest
	subject subject
	err     error
}

// verify decides about a request, and records its addresses.
func (obs *observation) verify(r *certificatesv1.CertificateSigningRequest) decision {
	s, err := check(&obs.issuer.Spec, r)
	if err == nil {
		err = obs.claim(s)
	}
	return decision{r, s, err}
}

// execute denies a request, or approves and signs it.
func (obs *observation) execute(ctx context.Context, env *controller.Env, d decision) error {
	own := d.request.DeepCopy()
	switch {
	case d.err != nil && has(d.request, certificatesv1.CertificateApproved): // An approved request cannot be denied.
		obs.decide(own, certificatesv1.CertificateFailed, "Refused", d.err.Error())
		return env.Client.Status().Update(ctx, own)
	case d.err != nil:
		obs.decide(own, certificatesv1.CertificateDenied, "Refused", d.err.Error())
		return env.Client.SubResource("approval").Update(ctx, own)
	}
	if !has(d.request, certificatesv1.CertificateApproved) {
		obs.decide(own, certificatesv1.CertificateApproved, "Verified", "the request is for the node of its pod")
		if err := env.Client.SubResource("approval").Update(ctx, own); err != nil {
			return err
		}
	}
	certificate, err := obs.authority.sign(env.Random, d.subject, obs.now)
	if err != nil {
		return err
	}
	own.Status.Certificate = certificate
	return env.Client.Status().Update(ctx, own)
}

func (obs *observation) decide(
	r *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, reason, message string,
) {
	at := metav1.Time{Time: obs.now}
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: at, LastTransitionTime: at,
	})
}

func (obs *observation) report() {
	s := &obs.issuer.Status
	s.ObservedGeneration = obs.issuer.Generation
	if obs.addresses != nil {
		s.Addresses = obs.addresses
	}
	state := obs.problem
	if state.Reason == "" {
		state = condition.True("Signing", "requests of nodes are signed")
	}
	condition.Set(&s.Conditions, conditionReady, obs.issuer.Generation, obs.now, state)
}
