package secretaggregate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

const aggregateKind = "SecretAggregate"

// A step is what a pass comes to: a Secret to write, or a state to report.
type step struct {
	// write is the Secret as it has to be; nil: there is nothing to write.
	write *corev1.Secret
	// ready, reason and message are those of the condition Ready if there is nothing to write, reason and message else those of the event.
	ready           bool
	reason, message string
}

// next decides. salt is for a Secret that has none yet.
func next(w *world, salt string) step {
	name := w.aggregate.Spec.TargetSecretName
	for _, s := range w.aggregate.Spec.Sources {
		if s.SecretKeyRef.Name == name {
			return step{reason: "Refused", message: fmt.Sprintf(
				"spec.sources[%s] reads Secret %s, which is the one that is made: name another", s.Name, name)}
		}
	}
	templates, err := parsed(&w.aggregate.Spec)
	if err != nil {
		return step{reason: "Refused", message: err.Error()}
	}
	if w.forbidden != "" {
		return step{reason: "Forbidden", message: fmt.Sprintf("the companion has no right to read Secret %s: it reads those "+
			"that the service's own objects name, and the Role that says so may be on its way", w.forbidden)}
	}
	if whose := w.foreign(); whose != "" {
		return step{reason: "NotOurs", message: fmt.Sprintf("Secret %s is not touched: %s", name, whose)}
	}
	if len(w.missing) > 0 {
		return step{reason: "SourceMissing", message: "waits for its sources: " + w.missingSources()}
	}
	data, err := rendered(templates, w.aggregate.Spec.Sources, w.values)
	if err != nil {
		return step{reason: "Refused", message: err.Error()}
	}
	if w.target != nil && w.target.Annotations[saltAnnotation] != "" {
		salt = w.target.Annotations[saltAnnotation]
	}
	wanted := w.wanted(data, salt)
	switch {
	case w.target == nil:
		return step{write: wanted, reason: "SecretCreated", message: fmt.Sprintf("made Secret %s", name)}
	case !equality.Semantic.DeepEqual(wanted, w.target):
		return step{write: wanted, reason: "SecretUpdated", message: fmt.Sprintf(
			"wrote Secret %s anew: a source, a template or the Secret itself has changed", name)}
	}
	return step{ready: true, reason: "Written", message: fmt.Sprintf(
		"Secret %s holds %d keys made of %d sources", name, len(data), len(w.values))}
}
