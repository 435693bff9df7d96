package v1alpha1

// Archive configures the removal of deleted rows from databases.
type Archive struct {
	// Schedule of the removal.
	// +kubebuilder:default="30 3 * * *"
	// +optional
	Schedule Cron `json:"schedule,omitempty"`
	// Minimum age of a deletion, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	AfterDays int32 `json:"afterDays,omitempty"`
	// Suspend the removal.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}
