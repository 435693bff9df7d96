package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// Reasons of objects that are rejected or do not exist.
const (
	reasonInvalidSpec = "InvalidSpec"
	reasonMissing     = "Missing"
	reasonNotObserved = "NotCreated"
)

// rejectedCause returns the cause of a composite resource or a claim that its function or Crossplane does not reconcile.
func rejectedCause(chain []Ref, self Ref, o object) (Cause, bool) {
	for _, typ := range []string{"SpecValid", "Composed", "Synced"} {
		c, ok := o.Condition(typ)
		if !ok || c.Status != "False" {
			continue
		}
		switch typ {
		case "SpecValid":
			return Cause{
				Object: self, Chain: chain, Reason: cmp.Or(c.Reason, reasonInvalidSpec), Message: message(c.Message), Runbook: typ, rank: rankInvalid,
				Next: append([]string{edit(self), "cobaltcore explain SpecValid"}, absentSteps(c.Message)...),
			}, true
		case "Composed":
			return notComposedCause(chain, self, c), true
		}
		return refusedCause(chain, self, c, self), true
	}
	return Cause{}, false
}

// noPlatform is the beginning of the functions' message about a PlatformConfig that does not exist.
const noPlatform = "there is no PlatformConfig named " + platformv1.DefaultName

// notComposedCause returns the cause for a condition Composed that is False: often the PlatformConfig.
func notComposedCause(chain []Ref, self Ref, c observe.Condition) Cause {
	kind := platformv1.GroupVersionKind
	platform := Ref{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: platformv1.DefaultName}
	cause := Cause{
		Object: self, Chain: chain, Reason: cmp.Or(c.Reason, "NotComposed"), Message: message(c.Message), Runbook: "Composed", rank: rankInvalid,
		Next: []string{describe(self), get(platform) + " -o yaml"},
	}
	if strings.Contains(c.Message, noPlatform) {
		cause.Object, cause.Chain, cause.Reason = platform, appended(chain, self), reasonMissing
		cause.Next = []string{get(platform), "helm get values cobaltcore" + ofCrossplane}
	}
	return cause
}

// inUseLabel is the label of objects that a Usage protects.
// https://docs.crossplane.io/latest/managed-resources/usages/
const inUseLabel = "crossplane.io/in-use"

// blockDeletion returns the causes that block the deletion of a composite resource: of those for its composed objects, the ones for objects
// that exist, or else the objects that are in use, or else its finalizers.
func (w *walk) blockDeletion(ctx context.Context, chain, refs []Ref, o object, causes []Cause) []Cause {
	causes = slices.DeleteFunc(causes, func(c Cause) bool { return c.Reason == reasonMissing || c.Reason == reasonNotObserved })
	for i, c := range causes {
		if c.Reason == reasonTerminating {
			causes[i].rank = rankNotReady // It waits for the other objects.
		}
	}
	if len(causes) > 0 {
		slices.SortStableFunc(causes, func(a, b Cause) int { return a.rank - b.rank })
		return causes
	}
	for _, r := range refs {
		u, err := w.get(ctx, r.GroupVersionKind(), r.Namespace, r.Name)
		if err != nil || u.GetLabels()[inUseLabel] != "true" || u.GetDeletionTimestamp() != nil {
			continue
		}
		causes = append(causes, Cause{
			Object: r, Chain: chain, Reason: "InUse", Message: "it is not deleted while a Usage protects it for another object", rank: rankFailed,
			Next: []string{"kubectl get usages.protection.crossplane.io,clusterusages.protection.crossplane.io -A | grep " + word(r.Name)},
		})
	}
	if len(causes) == 0 {
		causes = []Cause{notReadyCause(chain[:len(chain)-1], o.ref(), o.check())}
	}
	return causes
}

// refusedCause returns the cause for a condition Synced that is False. of is the object in the message, which can be in another cluster.
func refusedCause(chain []Ref, self Ref, c observe.Condition, of Ref) Cause {
	if c.Reason == "ReconcilePaused" {
		return pausedCause(chain, self)
	}
	reason, next := classify(c.Message, of)
	return Cause{
		Object: self, Chain: chain, Reason: cmp.Or(reason, c.Reason, "NotSynced"), Message: message(c.Message), rank: rankInvalid,
		Next: append([]string{describe(self)}, next...),
	}
}

// unsynced is the beginning of Crossplane's message about composed resources that it cannot apply. Only an Event has the error.
const unsynced = "Unsynced resources:"

// withEvent returns a cause with the error of the last Event of its composite resource, if its message names composed resources only.
func (w *walk) withEvent(ctx context.Context, c Cause) Cause {
	if !strings.HasPrefix(c.Message, unsynced) {
		return c
	}
	self := c.Object
	namespace := cmp.Or(self.Namespace, metav1.NamespaceDefault) // Events of cluster-scoped objects
	text := w.event(ctx, namespace, func(e *corev1.Event) bool {
		return e.InvolvedObject.Kind == self.Kind && e.InvolvedObject.Name == self.Name && strings.Contains(e.Message, "composed resource")
	})
	if text == "" {
		c.Next = append(c.Next, "kubectl get events -n "+word(namespace)+" --field-selector type=Warning,involvedObject.name="+word(self.Name))
		return c
	}
	reason, next := classify(text, self)
	c.Reason, c.Message, c.Next = cmp.Or(reason, c.Reason), message(text), append(c.Next, next...)
	return c
}

func pausedCause(chain []Ref, self Ref) Cause {
	return Cause{
		Object: self, Chain: chain, Reason: "Paused", Message: "it is paused by its annotation " + pausedAnnotation, rank: rankBlocking,
		Next: []string{"kubectl annotate " + target(self) + " " + pausedAnnotation + "-"},
	}
}

func outdatedCause(chain []Ref, self Ref) Cause {
	return Cause{
		Object: self, Chain: chain, Reason: "NotReconciled", Message: "Crossplane has not reconciled the last edit", rank: rankNotReady,
		Next: []string{describe(self), crossplaneLogs},
	}
}

func missingCause(chain []Ref, r Ref) Cause {
	next := []string{get(r)}
	if len(chain) > 0 {
		next = append(next, describe(chain[len(chain)-1]))
	}
	return Cause{
		Object: r, Chain: chain, Reason: reasonMissing, Message: "it does not exist: Crossplane has not created it yet, or it was deleted",
		rank: rankMissing, Next: next,
	}
}

func notReadyCause(chain []Ref, r Ref, result ready.Result) Cause {
	c := Cause{
		Object: r, Chain: chain, Reason: result.Reason, Message: message(result.Message), rank: rankNotReady, Next: []string{describe(r)},
	}
	switch {
	case result.Reason == reasonTerminating && r.groupKind() == namespaceKind.GroupKind():
		c.rank = rankBlocking
		return c // Its message contains those of other objects.
	case result.Failed, result.Reason == reasonDeleting:
		c.rank = rankFailed
	}
	if reason, next := classify(result.Message, r); reason != "" {
		c.Reason, c.rank, c.Next = reason, rankSpecific, append(c.Next, next...)
	}
	return c
}

// appended returns a chain with another object.
func appended(chain []Ref, r Ref) []Ref { return append(chain[:len(chain):len(chain)], r) }
