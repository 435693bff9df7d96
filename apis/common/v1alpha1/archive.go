package v1alpha1

// Archive removes what was deleted from databases.
type Archive struct {
	// When it is removed.
	// +kubebuilder:default="30 3 * * *"
	// +optional
	Schedule Cron `json:"schedule,omitempty"`
	// How long ago it was deleted, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	AfterDays int32 `json:"afterDays,omitempty"`
	// Suspend removal.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}
