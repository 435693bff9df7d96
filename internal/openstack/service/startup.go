package service

import (
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// StartupInput is a resource whose content pods read only when they start.
type StartupInput struct {
	// Resource that reports its content at Path, as a string or an integer.
	Resource string
	Path     []string
	// Annotation of the pods with the content that they started with. When it changes, the pods are replaced one after the
	// other, without losing requests.
	Annotation string
}

// StartupAnnotations returns annotations of the API's pods with the content that resources report or, while a resource reports
// none, with the current annotation. Without either, the annotation is not set.
func (b *Base) StartupAnnotations(observed observe.State, reads ...StartupInput) map[string]string {
	return StartupAnnotations(observed, b.pods(), reads...)
}

// StartupAnnotations returns these annotations for the pods of the workload of a resource.
func StartupAnnotations(observed observe.State, workload string, reads ...StartupInput) map[string]string {
	out := map[string]string{}
	pods, running := observed.Get(workload)
	for _, r := range reads {
		value := ""
		if o, ok := observed.Get(r.Resource); ok {
			value = statusValue(o, r.Path)
		}
		if value == "" && running {
			value = pods.String("spec", "template", "metadata", "annotations", r.Annotation)
		}
		if value != "" {
			out[r.Annotation] = value
		}
	}
	return out
}

// statusValue returns the string or the integer at a path of an object.
func statusValue(o *observe.Object, path []string) string {
	if n, ok := o.Int(path...); ok {
		return fmt.Sprint(n)
	}
	return o.String(path...)
}
