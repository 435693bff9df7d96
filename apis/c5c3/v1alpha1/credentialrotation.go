package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A CredentialRotation replaces a credential regularly: it creates a new credential, waits until every consumer uses it, then revokes the
// old one. The credential is not deleted with the CredentialRotation.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Next rotation",type=string,JSONPath=`.status.nextRotation`
type CredentialRotation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec CredentialRotationSpec `json:"spec"`
	// Observed state.
	// +optional
	Status CredentialRotationStatus `json:"status,omitempty"`
}

// CredentialRotationSpec is the desired state of a rotation.
// +kubebuilder:validation:XValidation:rule="self.preRotationDays < self.intervalDays",message="preRotationDays must be smaller than intervalDays: a new credential would be due before the last one is in use"
// +kubebuilder:validation:XValidation:rule="self.target == 'QueueUser' ? has(self.queue) : !has(self.queue)",message="queue is required when target is QueueUser and must be omitted otherwise"
// +kubebuilder:validation:XValidation:rule="self.target == 'QueueUser' ? !has(self.userName) && !has(self.cloudCredentialsRef) : has(self.userName) && has(self.cloudCredentialsRef)",message="userName and cloudCredentialsRef are required for ApplicationCredential and Password and must be omitted for QueueUser"
// +kubebuilder:validation:XValidation:rule="self.target == 'ApplicationCredential' || !has(self.consumers) || !self.consumers.exists(c, c.kind == 'SecretAggregate')",message="a SecretAggregate can be a consumer only when target is ApplicationCredential: its copy of a password would be late, and clients with an open connection to a queue do not read it again"
// +kubebuilder:validation:XValidation:rule="self.target == 'ApplicationCredential' || !has(self.roles)",message="roles can be set only when target is ApplicationCredential"
// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target && self.secretName == oldSelf.secretName && has(self.userName) == has(oldSelf.userName) && (!has(self.userName) || self.userName == oldSelf.userName)",message="target, userName and secretName are immutable; create another CredentialRotation"
type CredentialRotationSpec struct {
	// Kind of credential. ApplicationCredential: the old one is valid until every consumer has the new one. Password: Keystone accepts one
	// password for each user, so consumers cannot log in between the change of the password and the end of their rollout. QueueUser: a user
	// of message queues, with its password; RabbitMQ accepts one password for each user, so a new user replaces the old one, which is kept
	// until every consumer has the new one.
	// +kubebuilder:validation:Enum=ApplicationCredential;Password;QueueUser
	Target string `json:"target"`
	// Keystone user of the credential.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	UserName string `json:"userName,omitempty"`
	// Credentials of that user for Keystone. An application credential belongs to the cloud's project and is created with the cloud's
	// password, because Keystone lets only the user create one. For a password, only the address and the user's domain are used.
	// +optional
	CloudCredentialsRef *common.CloudCredentialsReference `json:"cloudCredentialsRef,omitempty"`
	// Queues and permissions of a QueueUser.
	// +optional
	Queue *QueueUser `json:"queue,omitempty"`
	// Names of the roles that an application credential has in the cloud's project, in addition to implied roles. The credential is created
	// when the user has all of them, and is replaced, as in a rotation, when the list changes. Defaults to the roles of the user at creation.
	// If the user loses a role, so does the credential, until the role is assigned again.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	Roles []string `json:"roles,omitempty"`
	// Secret that consumers read. ApplicationCredential: it is created, with the keys application_credential_id and
	// application_credential_secret. Password: it must exist, with the current password in its key password. QueueUser: it is created, with
	// the keys username and password. It is not deleted with the CredentialRotation.
	SecretName common.ObjectName `json:"secretName"`
	// Lifetime of a credential, in days. Credentials do not expire: the old one is revoked when no consumer uses it any more.
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
	// Time that the old application credential, or queue user, is kept after every consumer has switched to the new one, in days.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=1
	// +optional
	GracePeriodDays *int32 `json:"gracePeriodDays,omitempty"`
	// Consumers of the credential. Pods of workloads are restarted during the rollout of a new credential; a SecretAggregate copies it to a
	// Secret that is read for each login. Consumers in other namespaces and clusters create a RemoteConsumer.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Consumers []Consumer `json:"consumers,omitempty"`
	// Suspend the rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// QueueUser is a user of message queues. It has a random name. Objects of RabbitMQ's messaging topology operator create it on every queue
// of a permission.
type QueueUser struct {
	// Virtual hosts in which the user has all permissions; it has none in others. A change of the list updates the current user, and replaces
	// no credential.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Permissions []QueuePermission `json:"permissions"`
	// Policy for the users when the CredentialRotation is deleted. Retain: they are kept, with the Secret, for a CredentialRotation that is
	// created again. Delete: they are deleted with it.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// QueuePermission grants all permissions in a virtual host.
// +kubebuilder:validation:XValidation:rule="has(self.rabbitMQRef) != has(self.connectionSecretRef)",message="set exactly one of rabbitMQRef and connectionSecretRef"
type QueuePermission struct {
	common.Broker `json:",inline"`
	// Name of the virtual host. The credential is not ready until it exists.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Vhost string `json:"vhost"`
}

// Consumer is a user of a credential.
type Consumer struct {
	// Kind of the consumer.
	// +kubebuilder:validation:Enum=Deployment;StatefulSet;DaemonSet;SecretAggregate
	Kind string `json:"kind"`
	// Name of the consumer.
	Name common.ObjectName `json:"name"`
}

// CredentialRotationStatus is the observed state of a rotation.
type CredentialRotationStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready, Distributed (every consumer has the current credential), Revoked (no other credential is valid).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Current activity of the controller. Minting and Grace: written by a former companion.
	// +kubebuilder:validation:Enum=Idle;CreatingCredential;Distributing;GracePeriod;Revoking;Minting;Grace
	// +optional
	Phase string `json:"phase,omitempty"`
	// Identity of the current credential. It does not reveal the secret.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CurrentID string `json:"currentID,omitempty"`
	// Identity of the credential that will be revoked.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	PreviousID string `json:"previousID,omitempty"`
	// Time of the last rotation.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`
	// Time of the next rotation.
	// +optional
	NextRotation *metav1.Time `json:"nextRotation,omitempty"`
}

// CredentialRotationList is a list of CredentialRotations.
// +kubebuilder:object:root=true
type CredentialRotationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CredentialRotation `json:"items"`
}
