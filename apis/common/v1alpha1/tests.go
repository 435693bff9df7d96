package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TestStatus is the result of a run of Tempest.
type TestStatus struct {
	// Time when it started.
	// +optional
	LastRun *metav1.Time `json:"lastRun,omitempty"`
	// Duration, in seconds.
	// +optional
	LastDurationSeconds int32 `json:"lastDurationSeconds,omitempty"`
	// Tests that passed.
	// +optional
	Passed int32 `json:"passed,omitempty"`
	// Tests that failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Tests that were skipped.
	// +optional
	Skipped int32 `json:"skipped,omitempty"`
}
