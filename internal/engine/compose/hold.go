package compose

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// keepObservedVersion keeps the version of an observed object as it was desired last, while a component that has to be rolled out first is not
// ready, and says so in the verdict.
//
// It keeps no more than that, and only of what serves, so that no mistake waits for itself: a component that fails is mended whatever the
// ones before it are like, and one whose pods take the room of others is scaled down at once.
func (p *planner) keepObservedVersion(item *Item, wanted encoded.Struct, seen *observe.Object) error {
	roll := item.Rule.Rollout
	if len(p.rolloutAfter) == 0 || roll == nil || !seen.Exists() || !roll.Serving(seen) {
		return nil
	}
	last, err := withoutServerFields(seen)
	if err != nil {
		return err
	}
	if !roll.NewVersion(last, wanted) {
		return nil
	}
	full, previous := wanted.Map(), last.Map()
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

// withHash is an object that says what it was when it was applied.
func withHash(body encoded.Struct, hash string) encoded.Struct {
	return body.With(encoded.Text(hash), "metadata", "annotations", HashAnnotation)
}
