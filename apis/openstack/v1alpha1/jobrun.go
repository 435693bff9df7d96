package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Results of a JobRun. Lost: its Job was gone before its end was recorded, so it may have completed.
const (
	JobRunSucceeded = "Succeeded"
	JobRunFailed    = "Failed"
	JobRunLost      = "Lost"
)

// JobRun is the record of one Job. It is written before the Job runs.
type JobRun struct {
	// Number of the run, counted from 1.
	Number int64 `json:"number"`
	// Generation of the spec for which it was created.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// UID of its Job.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	JobUID string `json:"jobUID,omitempty"`
	// Time when it was recorded.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// Time when its end was recorded.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`
	// Result of the run. Unset: it runs, or may run.
	// +kubebuilder:validation:Enum=Succeeded;Failed;Lost
	// +optional
	Result string `json:"result,omitempty"`
	// Exit code, if there is one.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Last lines of output of a failed run, with secrets removed.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Log string `json:"log,omitempty"`
	// Number of consecutive failed runs, including this one. The success of a run that only prepares another one does not reset it.
	// +optional
	Failures int32 `json:"failures,omitempty"`
}
