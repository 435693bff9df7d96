package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Policies for a role assignment in Keystone when its object is deleted.
const (
	OnDeleteDelete = "delete"
	OnDeleteDetach = "detach"
)

// A RoleAssignment assigns a role to a user or a group in a project, in a domain or on the system. It has the schema of K-ORC's main
// branch, and replaces the kind until K-ORC releases it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.resource.roleRef`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.resource.userRef`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.resource.projectRef`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=='Available')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Available')].message`,priority=1
type RoleAssignment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec RoleAssignmentSpec `json:"spec"`
	// Observed state.
	// +optional
	Status RoleAssignmentStatus `json:"status,omitempty"`
}

// RoleAssignmentSpec is the desired state of a role assignment.
// +kubebuilder:validation:XValidation:rule="!has(self.exemptUser) || !self.exemptUser || has(self.resource.userRef)",message="exemptUser applies to a user; set resource.userRef, or remove exemptUser",fieldPath=".exemptUser"
type RoleAssignmentSpec struct {
	// Credentials of an administrator for Keystone.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// Policies for the assignment.
	// +kubebuilder:default={}
	// +optional
	ManagedOptions ManagedOptions `json:"managedOptions,omitempty"`
	// Role, user or group, and scope of the assignment.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="resource is immutable; create another RoleAssignment"
	Resource RoleAssignmentResource `json:"resource"`
	// The user is of a service, and exempt from the rules for people in [security_compliance]: lockout, inactivity, passwords that expire, and
	// the password change at the first login. Defaults to false. The user remains exempt when the object is deleted. (K-ORC has no such
	// field.)
	// +optional
	ExemptUser bool `json:"exemptUser,omitempty"`
}

// ManagedOptions are the policies for the assignment.
type ManagedOptions struct {
	// Policy for the assignment in Keystone when the object is deleted: delete removes the role, which requires that Keystone responds;
	// detach keeps it.
	// +kubebuilder:validation:Enum=delete;detach
	// +kubebuilder:default=delete
	// +optional
	OnDelete string `json:"onDelete,omitempty"`
}

// RoleAssignmentResource names objects of K-ORC in the same namespace.
// +kubebuilder:validation:XValidation:rule="has(self.userRef) != has(self.groupRef)",message="set exactly one of userRef and groupRef"
// +kubebuilder:validation:XValidation:rule="[has(self.projectRef), has(self.domainRef), has(self.system)].filter(x, x).size() == 1",message="set exactly one of projectRef, domainRef and system: all"
type RoleAssignmentResource struct {
	// Role.
	RoleRef common.ObjectName `json:"roleRef"`
	// User to whom the role is assigned.
	// +optional
	UserRef common.ObjectName `json:"userRef,omitempty"`
	// Group to whose members the role is assigned.
	// +optional
	GroupRef common.ObjectName `json:"groupRef,omitempty"`
	// Project in which the role is assigned.
	// +optional
	ProjectRef common.ObjectName `json:"projectRef,omitempty"`
	// Domain in which the role is assigned.
	// +optional
	DomainRef common.ObjectName `json:"domainRef,omitempty"`
	// all: the role is assigned on the system. (K-ORC has no such field.)
	// +kubebuilder:validation:Enum=all
	// +optional
	System string `json:"system,omitempty"`
}

// RoleAssignmentStatus is the observed state of a role assignment.
type RoleAssignmentStatus struct {
	// Conditions: Available.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Path of the assignment in Keystone's API. It is recorded before the role is assigned, so that the assignment can be removed.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ID string `json:"id,omitempty"`
	// IDs in Keystone of the assignment's role, user or group, and scope.
	// +optional
	Resource *RoleAssignmentIDs `json:"resource,omitempty"`
}

// RoleAssignmentIDs are the IDs in Keystone of the objects of a role assignment.
type RoleAssignmentIDs struct {
	// The role.
	// +kubebuilder:validation:MaxLength=128
	RoleID string `json:"roleID"`
	// The user.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	UserID string `json:"userID,omitempty"`
	// The group.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	GroupID string `json:"groupID,omitempty"`
	// The project.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ProjectID string `json:"projectID,omitempty"`
	// The domain.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	DomainID string `json:"domainID,omitempty"`
	// all: the system.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	System string `json:"system,omitempty"`
}

// RoleAssignmentList is a list of RoleAssignments.
// +kubebuilder:object:root=true
type RoleAssignmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RoleAssignment `json:"items"`
}
