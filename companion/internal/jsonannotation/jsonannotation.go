// Package jsonannotation stores the records of controllers as JSON in annotations.
package jsonannotation

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Read returns the record in an annotation; nil, without an error, if none exists.
func Read[R any](o metav1.Object, annotation string) (*R, error) {
	text, ok := o.GetAnnotations()[annotation]
	if !ok {
		return nil, nil
	}
	r := new(R)
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("annotation %s cannot be parsed: %w", annotation, err)
	}
	return r, nil
}

// Write stores a record in an annotation. A record of strings, numbers and times always has a JSON form.
func Write(o *metav1.ObjectMeta, annotation string, record any) {
	text, _ := json.Marshal(record) //nolint:errchkjson // See above.
	metav1.SetMetaDataAnnotation(o, annotation, string(text))
}
