package network

import (
	"encoding/json"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Answer reads what a comparison of Neutron with OVN found from a field of an observed status: nil if there is none, or nobody can read it.
func Answer(requested map[string]any) *common.OVNSyncAnswer {
	if requested == nil {
		return nil
	}
	text, err := json.Marshal(requested)
	if err != nil {
		return nil
	}
	out := &common.OVNSyncAnswer{}
	if json.Unmarshal(text, out) != nil || out.Request == "" {
		return nil
	}
	return out
}
