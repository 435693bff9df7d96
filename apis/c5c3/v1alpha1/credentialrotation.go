package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A CredentialRotation replaces a credential regularly: a new one is made, every consumer takes it, then the old one is
// revoked. The credential outlives it.
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
// +kubebuilder:validation:XValidation:rule="self.target == 'QueueUser' ? has(self.queue) : !has(self.queue)",message="queue says what a QueueUser may do: set it for that target, and for no other"
// +kubebuilder:validation:XValidation:rule="self.target == 'QueueUser' ? !has(self.userName) && !has(self.cloudCredentialsRef) : has(self.userName) && has(self.cloudCredentialsRef)",message="userName and cloudCredentialsRef say whose credential it is in Keystone: set both for an ApplicationCredential or a Password, and neither for a QueueUser"
// +kubebuilder:validation:XValidation:rule="self.target == 'ApplicationCredential' || !has(self.consumers) || !self.consumers.exists(c, c.kind == 'SecretAggregate')",message="a SecretAggregate can only be a consumer of an application credential: of a password its copy would be late, since Keystone knows one at a time, and who is connected to a queue does not read it again"
// +kubebuilder:validation:XValidation:rule="self.target == 'ApplicationCredential' || !has(self.roles)",message="roles are those of an application credential: a password has all that its user has, and a queue has none"
// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target && self.secretName == oldSelf.secretName && has(self.userName) == has(oldSelf.userName) && (!has(self.userName) || self.userName == oldSelf.userName)",message="target, userName and secretName cannot be changed: make another CredentialRotation"
type CredentialRotationSpec struct {
	// What is rotated. ApplicationCredential: one of the user's; the old one is valid until every consumer has the new one. Password: the
	// user's own; Keystone knows one password of a user, so consumers cannot log in between its change and the end of their roll-out.
	// QueueUser: a user of message queues, with its password; RabbitMQ knows one password of a user, so that another user takes its place,
	// and the old one is there until every consumer has the new one.
	// +kubebuilder:validation:Enum=ApplicationCredential;Password;QueueUser
	Target string `json:"target"`
	// User in Keystone whose credential it is.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	UserName string `json:"userName,omitempty"`
	// How Keystone is reached, as that user. An application credential is of the cloud's project, and made with the cloud's password:
	// Keystone lets nobody else make one. For a password, only the address and the user's domain are taken.
	// +optional
	CloudCredentialsRef *common.CloudCredentialsReference `json:"cloudCredentialsRef,omitempty"`
	// What a QueueUser may do, and where.
	// +optional
	Queue *QueueUser `json:"queue,omitempty"`
	// Names of the roles that an application credential has in the cloud's project, beside those that they imply. It is made when the user
	// has all of them, and replaced, as in a rotation, when they are other ones than it was made with. Absent: those that the user has when
	// it is made. A role that the user loses, the credential has no more either, until it is given again.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	Roles []string `json:"roles,omitempty"`
	// Secret that consumers read. ApplicationCredential: it is made, with the keys application_credential_id and
	// application_credential_secret. Password: it is there, with the present password in its key password. QueueUser: it is made, with the
	// keys username and password. It outlives the CredentialRotation.
	SecretName common.ObjectName `json:"secretName"`
	// How old a credential gets, in days. Nothing ends by itself: the old one is revoked when no consumer uses it any more.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=90
	// +optional
	IntervalDays int32 `json:"intervalDays,omitempty"`
	// How long before that it is replaced, in days: the time that its consumers have.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=7
	// +optional
	PreRotationDays *int32 `json:"preRotationDays,omitempty"`
	// How long the old application credential, or queue user, is kept after every consumer has taken the new one, in days.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=1
	// +optional
	GracePeriodDays *int32 `json:"gracePeriodDays,omitempty"`
	// What uses the credential. Pods of workloads are restarted in the course of a roll-out when it was replaced; a SecretAggregate puts it
	// into a Secret that is read for each login. What uses it in other namespaces and clusters says so itself, by a RemoteConsumer.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Consumers []Consumer `json:"consumers,omitempty"`
	// Suspend rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// QueueUser is a user of message queues. It has a random name, under which it is made on every queue that a permission names, by objects of
// RabbitMQ's messaging topology operator.
type QueueUser struct {
	// Virtual hosts in which the user may do everything; elsewhere it may do nothing. One that is added or left out changes the user in use,
	// and replaces nothing.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Permissions []QueuePermission `json:"permissions"`
	// What becomes of the users when the CredentialRotation is deleted. Retain: they stay, as does the Secret, for
	// whoever makes it again.
	// Delete: they are deleted with it.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// QueuePermission is everything in a virtual host.
// +kubebuilder:validation:XValidation:rule="has(self.rabbitMQRef) != has(self.connectionSecretRef)",message="a queue is a RabbitmqCluster, or one that somebody else runs; name one of rabbitMQRef and connectionSecretRef"
type QueuePermission struct {
	common.Broker `json:",inline"`
	// Name of the virtual host. It need not be there yet: the credential is not ready until it is.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Vhost string `json:"vhost"`
}

// Consumer is what uses a credential.
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
	// Conditions: Ready, Distributed (every consumer has the credential in use), Revoked (no other is valid).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// What the controller is doing.
	// +kubebuilder:validation:Enum=Idle;Minting;Distributing;Grace;Revoking
	// +optional
	Phase string `json:"phase,omitempty"`
	// Identity of the credential in use. It does not reveal the secret.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CurrentID string `json:"currentID,omitempty"`
	// Identity of the credential that is going to be revoked.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	PreviousID string `json:"previousID,omitempty"`
	// When the credential was replaced last.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`
	// When it is replaced next.
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
