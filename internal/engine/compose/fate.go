package compose

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// Fate is what would become of data if a composite resource were deleted now.
type Fate int

const (
	// Kept says that there is no data, or that it stays.
	Kept Fate = iota
	// Unknown says that a nested composite resource does not report.
	Unknown
	// Deleted says that data goes with the composite resource.
	Deleted
)

// Fate of the data of everything that is observed: the worst of all. What it says is what is in force: functions do not run while their
// composite resource is being deleted, so that what is desired by then and not applied counts for nothing.
func (p Plan) Fate() Fate {
	worst := Kept
	for _, part := range p.Parts {
		worst = max(worst, worstOf(part.Items))
	}
	return max(worst, worstOf(p.Kept))
}

func worstOf(items []Item) Fate {
	worst := Kept
	for i := range items {
		worst = max(worst, items[i].Fate)
	}
	return worst
}

// fate of the data in an observed object.
func fate(i Item, seen *observe.Object) Fate {
	switch {
	case i.Rule.Composite:
		return nestedFate(seen)
	case !i.Retain:
		return Kept
	}
	// Only an Object lets go of what it is around, and only if it may not delete it.
	if !seen.Wrapper().Keeps() {
		return Deleted
	}
	return Kept
}

// nestedFate is what a nested composite resource says in its status, and its deletion policy. One whose function never ran has composed
// nothing.
func nestedFate(seen *observe.Object) Fate {
	_, ran := seen.Int("status", "observedGeneration")
	said := seen.String("status", "deletionPolicy")
	switch {
	case said == common.DeletionPolicyDelete, seen.String("spec", "deletionPolicy") == common.DeletionPolicyDelete:
		return Deleted
	case said == "" && ran:
		return Unknown
	}
	return Kept
}
