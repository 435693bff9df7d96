package compose

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// DataPolicy is what would become of data if a composite resource were deleted now.
type DataPolicy int

const (
	// DataKept says that there is no data, or that it stays.
	DataKept DataPolicy = iota
	// Unknown says that a nested composite resource does not report.
	Unknown
	// Deleted says that data goes with the composite resource.
	Deleted
)

// Fate of the data of everything that is observed: the worst of all. What it says is what is in force: functions do not run while their
// composite resource is being deleted, so that what is desired by then and not applied counts for nothing.
func (p Plan) Fate() DataPolicy {
	worst := DataKept
	for _, part := range p.Parts {
		worst = max(worst, worstOf(part.Items))
	}
	return max(worst, worstOf(p.RetainedRevisions))
}

func worstOf(items []Item) DataPolicy {
	worst := DataKept
	for i := range items {
		worst = max(worst, items[i].DataPolicy)
	}
	return worst
}

// dataPolicy of the data in an observed object.
func dataPolicy(i Item, seen *observe.Object) DataPolicy {
	switch {
	case i.Rule.Composite:
		return nestedDataPolicy(seen)
	case !i.Retain:
		return DataKept
	}
	// Only an Object lets go of what it is around, and only if it may not delete it.
	if !seen.Wrapper().OrphansOnDelete() {
		return Deleted
	}
	return DataKept
}

// nestedDataPolicy is what a nested composite resource says in its status, and its deletion policy. One whose function never ran has composed
// nothing.
func nestedDataPolicy(seen *observe.Object) DataPolicy {
	_, ran := seen.Int("status", "observedGeneration")
	requested := seen.String("status", "deletionPolicy")
	switch {
	case requested == common.DeletionPolicyDelete, seen.String("spec", "deletionPolicy") == common.DeletionPolicyDelete:
		return Deleted
	case requested == "" && ran:
		return Unknown
	}
	return DataKept
}
