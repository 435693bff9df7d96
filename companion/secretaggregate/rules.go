package secretaggregate

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const aggregateKind = "SecretAggregate"

// next selects the next step.
func next(w *observation) controller.Decision {
	name := w.aggregate.Spec.TargetSecretName
	for _, s := range w.aggregate.Spec.Sources {
		if s.SecretKeyRef.Name == name {
			return w.wait("InvalidSpec", fmt.Sprintf("spec.sources[%s]: Secret %s is the target; use another Secret", s.Name, name))
		}
	}
	templates, err := parsed(&w.aggregate.Spec)
	if err != nil {
		return w.wait("InvalidSpec", err.Error())
	}
	if w.protectedSecrets != "" { // Permissions are not watched.
		s := w.wait("Forbidden", fmt.Sprintf("the companion has no permission to read Secret %s: it may read Secrets that "+
			"the service's own objects reference, and the Role may not have been created yet", w.protectedSecrets))
		s.RequeueAfter = controller.Poll
		return s
	}
	if secretOwner := w.foreign(); secretOwner != "" {
		return w.wait("SecretNotOwned", fmt.Sprintf("Secret %s is not modified: %s", name, secretOwner))
	}
	if len(w.missing) > 0 {
		return w.wait("SourceMissing", "waiting for sources: "+strings.Join(w.missing, "; "))
	}
	data, err := rendered(templates, w.aggregate.Spec.Sources, w.values)
	if err != nil {
		return w.wait("InvalidSpec", err.Error())
	}
	desired := w.desiredSecret(data)
	switch {
	case w.target == nil:
		return controller.Decision{Name: "SecretCreated", Action: w.write(desired), Note: fmt.Sprintf("created Secret %s", name)}
	case !equality.Semantic.DeepEqual(desired, w.target):
		return controller.Decision{Name: "SecretUpdated", Action: w.write(desired), Note: fmt.Sprintf(
			"updated Secret %s: a source, a template or the Secret itself changed", name)}
	}
	return w.report(condition.True("Written", fmt.Sprintf(
		"Secret %s contains %d keys from %d sources", name, len(data), len(w.values))))
}

func (obs *observation) wait(reason, message string) controller.Decision {
	return obs.report(condition.False(reason, message))
}

// report returns a step that only sets the status. All Secrets are watched.
func (obs *observation) report(s condition.State) controller.Decision {
	return controller.Decision{RequeueAfter: controller.ResyncInterval, Status: func() {
		obs.observed()
		condition.Set(&obs.aggregate.Status.Conditions, conditionReady, obs.aggregate.Generation, obs.now, s)
	}}
}

// observed sets the observed generation and the hash of the Secret's content.
func (obs *observation) observed() {
	status := &obs.aggregate.Status
	status.ObservedGeneration, status.ContentHash = obs.aggregate.Generation, ""
	if obs.target != nil && obs.foreign() == "" {
		status.ContentHash = contentHash(obs.target)
	}
}

// write creates the Secret, or updates exactly the version that was read.
func (obs *observation) write(desired *corev1.Secret) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		err := env.Write(ctx, desired)
		if reason := apierrors.ReasonForError(err); err != nil && !controller.IsConflict(err) && reason != metav1.StatusReasonUnknown {
			obs.observed()
			// The message of the API server is omitted: an admission webhook may quote the content.
			message := fmt.Sprintf("the API server rejected Secret %s: %s", desired.Name, reason)
			return &controller.TerminalError{Reason: "WriteFailed", Message: message, Cause: err}
		}
		if err == nil {
			writes.WithLabelValues(obs.aggregate.Namespace, obs.aggregate.Name).Inc()
		}
		return err
	}
}
