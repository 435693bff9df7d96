package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Crossplane holds the settings of a composite resource for Crossplane. Crossplane adds these fields to every definition
// (https://docs.crossplane.io/latest/composition/composite-resources/), so the definitions of this project omit them.
type Crossplane struct {
	// Labels of the revisions of the Composition that may compose it. Defaults to the newest revision.
	// +optional
	CompositionRevisionSelector *metav1.LabelSelector `json:"compositionRevisionSelector,omitempty"`
}
