package service

import (
	"encoding/json"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Tests returns the result of a Tempest run from a field of an observed status. It returns nil if there was no run or if
// the field cannot be parsed.
func Tests(requested map[string]any) *common.TestStatus {
	if requested == nil {
		return nil
	}
	text, err := json.Marshal(requested)
	if err != nil {
		return nil
	}
	out := &common.TestStatus{}
	if json.Unmarshal(text, out) != nil || out.LastRun == nil {
		return nil
	}
	return out
}
