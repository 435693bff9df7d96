package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A TestReport reports the result of the last Job of a CronJob that runs tests, and keeps it after the Job is deleted.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Passed",type=integer,JSONPath=`.status.tests.passed`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.tests.failed`
// +kubebuilder:printcolumn:name="Skipped",type=integer,JSONPath=`.status.tests.skipped`
// +kubebuilder:printcolumn:name="Last Run",type=date,JSONPath=`.status.tests.lastRun`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='TestsPassed')].message`,priority=1
type TestReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec TestReportSpec `json:"spec"`
	// Observed state.
	// +optional
	Status TestReportStatus `json:"status,omitempty"`
}

// TestReportSpec is the desired state of a report.
type TestReportSpec struct {
	// CronJob whose Jobs run the tests. The termination message of the first container of a Job's pod is a JSON object with the numbers
	// passed, failed and skipped, the names of failures, and a problem if there are no results.
	CronJobName common.ObjectName `json:"cronJobName"`
}

// TestReportStatus is the observed state of a report.
type TestReportStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: TestsPassed (all tests of the last run have passed). There is none before the end of the first run.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Last completed run.
	// +optional
	Tests *common.TestStatus `json:"tests,omitempty"`
	// UID of its Job.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	JobUID string `json:"jobUID,omitempty"`
}

// TestReportList is a list of TestReports.
// +kubebuilder:object:root=true
type TestReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TestReport `json:"items"`
}
