package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// What happens to a role assignment in Keystone when its object is deleted.
const (
	OnDeleteDelete = "delete"
	OnDeleteDetach = "detach"
)

// A RoleAssignment gives a user or a group a role in a project, in a domain or on the system. It has the shape that K-ORC's main branch
// has for it, and stands in for it until K-ORC releases the kind.
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
type RoleAssignmentSpec struct {
	// How Keystone is reached, as an administrator.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// When to do what.
	// +kubebuilder:default={}
	// +optional
	ManagedOptions ManagedOptions `json:"managedOptions,omitempty"`
	// Who gets which role where.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="resource cannot be changed: make another RoleAssignment"
	Resource RoleAssignmentResource `json:"resource"`
}

// ManagedOptions say when to do what.
type ManagedOptions struct {
	// What happens to it in Keystone when the object is deleted: delete removes the role, for which Keystone has to answer; detach keeps it.
	// +kubebuilder:validation:Enum=delete;detach
	// +kubebuilder:default=delete
	// +optional
	OnDelete string `json:"onDelete,omitempty"`
}

// RoleAssignmentResource names objects of K-ORC in the same namespace.
// +kubebuilder:validation:XValidation:rule="has(self.userRef) != has(self.groupRef)",message="give the role to either a user (userRef) or a group (groupRef)"
// +kubebuilder:validation:XValidation:rule="[has(self.projectRef), has(self.domainRef), has(self.system)].filter(x, x).size() == 1",message="give the role in one place: a project (projectRef), a domain (domainRef) or the system (system: all)"
type RoleAssignmentResource struct {
	// The Role.
	RoleRef common.ObjectName `json:"roleRef"`
	// The User who gets it.
	// +optional
	UserRef common.ObjectName `json:"userRef,omitempty"`
	// The Group whose members get it.
	// +optional
	GroupRef common.ObjectName `json:"groupRef,omitempty"`
	// The Project in which it is given.
	// +optional
	ProjectRef common.ObjectName `json:"projectRef,omitempty"`
	// The Domain in which it is given.
	// +optional
	DomainRef common.ObjectName `json:"domainRef,omitempty"`
	// all: it is given on the system. (K-ORC has no such field.)
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
	// Path of the assignment in Keystone's API. It is recorded before the role is assigned, so that what was assigned is removed.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ID string `json:"id,omitempty"`
	// Whose assignment it is, by the IDs in Keystone.
	// +optional
	Resource *RoleAssignmentIDs `json:"resource,omitempty"`
}

// RoleAssignmentIDs are the IDs in Keystone of what a role assignment refers to.
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
