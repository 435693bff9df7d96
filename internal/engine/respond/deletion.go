package respond

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// DeletionPolicy returns the effective policy: Delete if any data may be deleted, by the observed state or by the desired state, which is
// applied before a status is written; Retain if all data is certain to be kept; "" if it is unknown.
func DeletionPolicy(plan compose.Plan, place Target) string {
	policy := plan.DataPolicy()
	switch {
	case place.DeleteData || policy == compose.Deleted:
		return common.DeletionPolicyDelete
	case policy == compose.Unknown:
		return ""
	}
	return common.DeletionPolicyRetain
}
