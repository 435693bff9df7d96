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

// next decides.
func next(w *world) controller.Step {
	name := w.aggregate.Spec.TargetSecretName
	for _, s := range w.aggregate.Spec.Sources {
		if s.SecretKeyRef.Name == name {
			return w.wait("Refused", fmt.Sprintf("spec.sources[%s] reads Secret %s, which is the one that is made: name another", s.Name, name))
		}
	}
	templates, err := parsed(&w.aggregate.Spec)
	if err != nil {
		return w.wait("Refused", err.Error())
	}
	if w.forbidden != "" { // A right is not watched.
		s := w.wait("Forbidden", fmt.Sprintf("the companion has no right to read Secret %s: it reads those "+
			"that the service's own objects name, and the Role that says so may be on its way", w.forbidden))
		s.After = controller.Poll
		return s
	}
	if whose := w.foreign(); whose != "" {
		return w.wait("NotOurs", fmt.Sprintf("Secret %s is not touched: %s", name, whose))
	}
	if len(w.missing) > 0 {
		return w.wait("SourceMissing", "waits for its sources: "+strings.Join(w.missing, "; "))
	}
	data, err := rendered(templates, w.aggregate.Spec.Sources, w.values)
	if err != nil {
		return w.wait("Refused", err.Error())
	}
	wanted := w.wanted(data)
	switch {
	case w.target == nil:
		return controller.Step{Name: "SecretCreated", Do: w.write(wanted), Note: fmt.Sprintf("made Secret %s", name)}
	case !equality.Semantic.DeepEqual(wanted, w.target):
		return controller.Step{Name: "SecretUpdated", Do: w.write(wanted), Note: fmt.Sprintf(
			"wrote Secret %s again: a source, a template or the Secret itself has changed", name)}
	}
	return w.report(condition.True("Written", fmt.Sprintf(
		"Secret %s holds %d keys made of %d sources", name, len(data), len(w.values))))
}

func (w *world) wait(reason, message string) controller.Step {
	return w.report(condition.False(reason, message))
}

// report is a step that does nothing. Every Secret is watched.
func (w *world) report(s condition.State) controller.Step {
	return controller.Step{After: controller.Longest, Status: func() {
		w.observed()
		condition.Set(&w.aggregate.Status.Conditions, conditionReady, w.aggregate.Generation, w.now, s)
	}}
}

// observed reports what was seen.
func (w *world) observed() {
	status := &w.aggregate.Status
	status.ObservedGeneration, status.ContentHash = w.aggregate.Generation, ""
	if w.target != nil && w.foreign() == "" {
		status.ContentHash = contentHash(w.target)
	}
}

// write makes the Secret, or writes it over exactly the version that was read.
func (w *world) write(wanted *corev1.Secret) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		err := env.Write(ctx, wanted)
		if reason := apierrors.ReasonForError(err); err != nil && !controller.IsConflict(err) && reason != metav1.StatusReasonUnknown {
			w.observed()
			// What the API server says is left out: nobody knows what an admission webhook quotes.
			message := fmt.Sprintf("the API server refuses Secret %s: %s", wanted.Name, reason)
			return &controller.Refusal{Reason: "WriteFailed", Message: message, Cause: err}
		}
		if err == nil {
			writes.WithLabelValues(w.aggregate.Namespace, w.aggregate.Name).Inc()
		}
		return err
	}
}
