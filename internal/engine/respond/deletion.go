package respond

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// DeletionPolicy is the one that is in force: Delete as soon as any data may be deleted, by what is observed or by what is composed
// now, which is applied before a status is written; Retain when all is seen to be kept. It is empty where that is not known.
func DeletionPolicy(plan compose.Plan, place Target) string {
	fate := plan.Fate()
	switch {
	case place.DeleteData || fate == compose.Deleted:
		return common.DeletionPolicyDelete
	case fate == compose.Unknown:
		return ""
	}
	return common.DeletionPolicyRetain
}
