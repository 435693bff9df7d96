package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// An IdentityCheck logs in to Keystone every minute, in the same way as its clients, and reports whether Keystone issued a token. The
// token is used only to maintain the user's own options (exempt).
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=='Reachable')].status`
// +kubebuilder:printcolumn:name="Public",type=string,JSONPath=`.status.conditions[?(@.type=='PublicReachable')].status`
// +kubebuilder:printcolumn:name="API",type=string,JSONPath=`.status.apiVersion`
// +kubebuilder:printcolumn:name="Last token",type=date,JSONPath=`.status.lastToken`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Reachable')].message`,priority=1
type IdentityCheck struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec IdentityCheckSpec `json:"spec"`
	// Observed state.
	// +optional
	Status IdentityCheckStatus `json:"status,omitempty"`
}

// IdentityCheckSpec is the desired state of a check.
type IdentityCheckSpec struct {
	// Address of Keystone, and credentials of the user that logs in.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// Exempt the user from lockout by failed logins of others, and from expiry and forced change of the password: the user options
	// ignore_lockout_failure_attempts, ignore_password_expiry and ignore_change_password_upon_first_use are set, and set again when they are
	// removed.
	// +optional
	Exempt bool `json:"exempt,omitempty"`
	// Public address. The check requests the version of the API from it, with the authorities of the system and without a password. If unset,
	// only the address in the credentials is checked.
	// +optional
	PublicURL common.URL `json:"publicURL,omitempty"`
}

// IdentityCheckStatus is the observed state of a check.
type IdentityCheckStatus struct {
	// Conditions. Reachable becomes False after three consecutive failed logins. PublicReachable is the same for the public address;
	// LockoutExempt is True if the user has its options. Other objects do not wait for these two.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Version of Keystone's API, as reported by Keystone: v3.14.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Time when Keystone last issued a token. It is updated at most every ten minutes, unless something else changes.
	// +optional
	LastToken *metav1.Time `json:"lastToken,omitempty"`
	// Certificates of the authority that verifies Keystone's own certificate, in PEM, for use by a Gateway. They are public.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Authority string `json:"authority,omitempty"`
	// Consecutive failed logins, counted up to three.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// Consecutive failed requests to the public address, counted up to three.
	// +optional
	PublicFailures int32 `json:"publicFailures,omitempty"`
}

// IdentityCheckList is a list of IdentityChecks.
// +kubebuilder:object:root=true
type IdentityCheckList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IdentityCheck `json:"items"`
}
