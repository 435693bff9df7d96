package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TestStatus is how a run of Tempest ended.
type TestStatus struct {
	// When it began.
	// +optional
	LastRun *metav1.Time `json:"lastRun,omitempty"`
	// How long it took, in seconds.
	// +optional
	LastDurationSeconds int32 `json:"lastDurationSeconds,omitempty"`
	// Tests that passed.
	// +optional
	Passed int32 `json:"passed,omitempty"`
	// Tests that failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Tests that were left out.
	// +optional
	Skipped int32 `json:"skipped,omitempty"`
}
