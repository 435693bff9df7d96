package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Crossplane holds the settings of a composite resource for Crossplane. Crossplane adds these fields to every definition itself
// (https://docs.crossplane.io/latest/composition/composite-resources/), so that no definition of ours has them.
type Crossplane struct {
	// Labels of the revisions of the Composition that may compose it. Absent: the newest.
	// +optional
	CompositionRevisionSelector *metav1.LabelSelector `json:"compositionRevisionSelector,omitempty"`
}
