// Package quantity reads quantities that API fields contain as text, such as sizes of volumes.
package quantity

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// Check returns an error for a text that is not a quantity. An empty text means the default of the field and is valid. The schema of an API
// server rejects other texts, too; a spec that is rendered without an API server is validated only here.
func Check(field, text string) error {
	if text == "" {
		return nil
	}
	_, err := Parse(field, text, "10Gi")
	return err
}

// Parse returns a quantity that a field contains. The error names the field and an example.
func Parse(field, text, example string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, invalid.Field(field, "%q is not a quantity; set one such as %s", text, example)
	}
	return q, nil
}

// Bytes returns a size in bytes, 0 for an empty one. It panics for a text that Check rejects, which the caller must have checked: a size of
// 0 instead would allow changes that lose data.
func Bytes(text string) int64 {
	if text == "" {
		return 0
	}
	q := resource.MustParse(text)
	return q.Value()
}
