package v1alpha1

// Rotation says how often a credential in Keystone, or a user of a message queue, is replaced. The one before is revoked when nobody uses
// it any more.
// +kubebuilder:validation:XValidation:rule="self.preRotationDays < self.intervalDays",message="preRotationDays must be smaller than intervalDays: a new credential would be due before the last one is in use"
type Rotation struct {
	// How old a credential gets, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=90
	// +optional
	IntervalDays int32 `json:"intervalDays,omitempty"`
	// How long before that it is replaced, in days: the time that its users have.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=7
	// +optional
	PreRotationDays *int32 `json:"preRotationDays,omitempty"`
	// How long the old one is kept after all of them have taken the new one, in days.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=1
	// +optional
	GracePeriodDays *int32 `json:"gracePeriodDays,omitempty"`
	// Suspend replacement. A credential that is lost or revoked is replaced nevertheless.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}
