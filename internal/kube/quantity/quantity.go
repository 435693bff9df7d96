// Package quantity reads sizes of volumes, which API fields contain as text, such as 10Gi.
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
	if _, err := resource.ParseQuantity(text); err != nil {
		return invalid.Field(field, "%q is not a quantity; set one such as 10Gi", text)
	}
	return nil
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
