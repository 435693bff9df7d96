package service

import (
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// StartupInput is a resource whose content pods read only as they start.
type StartupInput struct {
	// Resource that reports its content at a path, by a text or a whole number.
	Resource string
	Path     []string
	// Annotation of the pods that says which content they started with. Where it changes, the pods are replaced one after the other, which
	// loses no request.
	Annotation string
}

// AnnotateStartupInputs annotates the API's pods with the content that a resource reports, or with that which they have while it reports nothing.
// What neither knows is left out.
func (s *Service) AnnotateStartupInputs(observed observe.State, reads ...StartupInput) {
	for annotation, value := range StartupAnnotations(observed, s.pods(), reads...) {
		s.Annotate(annotation, value)
	}
}

// StartupAnnotations are such annotations of the pods of a workload, which is a resource.
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

// Annotate the API's pods.
func (s *Service) Annotate(name, value string) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[name] = value
}

// statusValue is a text or a whole number of a status.
func statusValue(o *observe.Object, path []string) string {
	if n, ok := o.Int(path...); ok {
		return fmt.Sprint(n)
	}
	return o.String(path...)
}
