package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// An IdentityCheck logs in to Keystone every minute, as its clients do, and reports whether it got a token. The token is used for nothing
// but to keep the login itself working (exempt).
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
	// Where Keystone is, and who logs in.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// Exempt the user that logs in from lockout by failed logins of others, and from expiry and forced change of the password: the user
	// options ignore_lockout_failure_attempts, ignore_password_expiry and ignore_change_password_upon_first_use are set, and restored when
	// they are removed.
	// +optional
	Exempt bool `json:"exempt,omitempty"`
	// Address that clients outside use. It is asked for the version of the API, with the system's authorities and nobody's password. Absent:
	// there is none besides that of the credentials.
	// +optional
	PublicURL common.URL `json:"publicURL,omitempty"`
}

// IdentityCheckStatus is the observed state of a check.
type IdentityCheckStatus struct {
	// Conditions. Reachable becomes False when three logins in a row have failed. PublicReachable says the same of the public address, and
	// Exempt whether the user has its options; nothing waits for these two.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Version of Keystone's API, as it calls it: v3.14.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// When Keystone last issued a token. It is written every ten minutes at most, as long as nothing else changes.
	// +optional
	LastToken *metav1.Time `json:"lastToken,omitempty"`
	// Certificates of the authority by which Keystone's own is verified, in PEM: what a Gateway has to know of it. They are public.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Authority string `json:"authority,omitempty"`
	// Logins in a row that have failed, counted up to three.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// Visits to the public address in a row that have failed, counted up to three.
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
