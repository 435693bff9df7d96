package network

import (
	"encoding/json"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Answer returns the result of a comparison of Neutron with OVN from a field of an observed status. It returns nil if there
// is none or if the field cannot be parsed.
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
