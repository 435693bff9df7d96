package compose

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// DataPolicy describes the consequence for data if a composite resource were deleted now.
type DataPolicy int

const (
	// DataKept means that no data exists, or that it is retained.
	DataKept DataPolicy = iota
	// Unknown means that a nested composite resource does not report its policy.
	Unknown
	// Deleted means that data is deleted with the composite resource.
	Deleted
)

// DataPolicy returns the worst data policy of all observed objects. It is based on the observed state because functions do not run while
// their composite resource is deleted: desired changes that are not applied by then have no effect.
func (p Plan) DataPolicy() DataPolicy {
	worst := DataKept
	for _, part := range p.Parts {
		worst = max(worst, worstOf(part.Items))
	}
	return max(worst, worstOf(p.RetainedRevisions))
}

// worstOf returns the worst data policy of items.
func worstOf(items []Item) DataPolicy {
	worst := DataKept
	for i := range items {
		worst = max(worst, items[i].DataPolicy)
	}
	return worst
}

// dataPolicy returns the policy for the data in an observed object.
func dataPolicy(i Item, observed *observe.Object) DataPolicy {
	switch {
	case i.Rule.Composite:
		return nestedDataPolicy(observed)
	case !i.Retain:
		return DataKept
	}
	// Only an Object can orphan the object inside, and only if it may not delete it.
	if !observed.Wrapper().OrphansOnDelete() {
		return Deleted
	}
	return DataKept
}

// nestedDataPolicy returns the policy in the status of a nested composite resource and in its spec. A composite resource whose function
// never ran has composed no objects.
func nestedDataPolicy(observed *observe.Object) DataPolicy {
	_, ran := observed.Int("status", "observedGeneration")
	requested := observed.String("status", "deletionPolicy")
	switch {
	case requested == common.DeletionPolicyDelete, observed.String("spec", "deletionPolicy") == common.DeletionPolicyDelete:
		return Deleted
	case requested == "" && ran:
		return Unknown
	}
	return DataKept
}
