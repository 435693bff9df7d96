package plans

import (
	"encoding/json"
	"fmt"
	"os"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"
)

// Edit is a row of testdata/edits.yaml.
type Edit struct {
	Name, Reason string

	// Patch is a JSON merge patch of the claim.
	Patch map[string]any
}

// Edits returns the table of edits.
func Edits() ([]Edit, error) {
	data, err := os.ReadFile("testdata/edits.yaml")
	if err != nil {
		return nil, err
	}
	var out []Edit
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return nil, fmt.Errorf("cannot read the table of edits: %w", err)
	}
	return out, nil
}

// Apply returns the edited claim.
func (e Edit) Apply(claim []byte) ([]byte, error) {
	before, err := yaml.YAMLToJSON(claim)
	if err != nil {
		return nil, fmt.Errorf("cannot read the claim: %w", err)
	}
	patch, err := json.Marshal(e.Patch)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the patch of %q: %w", e.Name, err)
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, fmt.Errorf("cannot apply the edit %q: %w", e.Name, err)
	}
	return after, nil
}
