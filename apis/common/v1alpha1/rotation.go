package v1alpha1

// Rotation configures how often a credential in Keystone, or a user of a message queue, is replaced. The previous one is revoked when it
// is no longer used.
// +kubebuilder:validation:XValidation:rule="self.preRotationDays < self.intervalDays",message="preRotationDays must be smaller than intervalDays: a new credential would be due before the last one is in use"
type Rotation struct {
	// Lifetime of a credential, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=90
	// +optional
	IntervalDays int32 `json:"intervalDays,omitempty"`
	// Time before the end of the lifetime at which the credential is replaced, in days. Consumers must switch to the new one within this
	// time.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=7
	// +optional
	PreRotationDays *int32 `json:"preRotationDays,omitempty"`
	// Time that the previous credential is kept after all consumers have switched to the new one, in days.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=1
	// +optional
	GracePeriodDays *int32 `json:"gracePeriodDays,omitempty"`
	// Suspend regular replacement. A lost or revoked credential is still replaced.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}
