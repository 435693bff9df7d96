package compose

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// keepObservedVersion keeps the last desired version of an observed object while a component in RolloutAfter is not ready, and reports
// it in the readiness.
//
// It keeps only the version, and only of a workload that serves, to prevent deadlocks: a component that fails is repaired regardless of
// its predecessors, and one whose pods occupy the resources of others is scaled down at once.
func (p *planner) keepObservedVersion(item *Item, desired encoded.Struct, observed *observe.Object) error {
	roll := item.Rule.Rollout
	if len(p.rolloutAfter) == 0 || roll == nil || !observed.Exists() || !roll.Serving(observed) {
		return nil
	}
	last, err := p.withoutServerFields(observed)
	if err != nil {
		return err
	}
	if !roll.NewVersion(last, desired) {
		return nil
	}
	full, previous := desired.Map(), last.Map()
	for _, field := range roll.Fields {
		unstructured.RemoveNestedField(full, field...)
		if value, ok, _ := unstructured.NestedFieldNoCopy(previous, field...); ok {
			if err := unstructured.SetNestedField(full, value, field...); err != nil {
				return err
			}
		}
	}
	body, err := encode.Struct(full)
	if err != nil {
		return err
	}
	item.Body = withHash(body, body.Hash())
	if item.Readiness.Ready || item.Readiness.Reason == outdated {
		item.Readiness = ready.Wait("WaitingForRollout", "its new version waits for the roll-out of %s", strings.Join(p.rolloutAfter, ", "))
	}
	return nil
}

// withHash returns the object with the annotation HashAnnotation.
func withHash(body encoded.Struct, hash string) encoded.Struct {
	return body.With(encoded.Text(hash), "metadata", "annotations", HashAnnotation)
}
