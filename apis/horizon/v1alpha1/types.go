package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Horizon is the dashboard of one control plane. A ControlPlaneCluster creates it with every field set, so it reads no other object.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Horizon struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec HorizonSpec `json:"spec"`
	// Observed state.
	// +optional
	Status HorizonStatus `json:"status,omitempty"`
}

// HorizonSpec is the desired state of a Horizon.
type HorizonSpec struct {
	common.ServiceBase `json:",inline"`
	common.Workload    `json:",inline"`
	Settings           `json:",inline"`
	// Keystone for logins.
	Identity common.KeystoneReference `json:"identity"`
	// Services that the dashboard supports, including Keystone.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Services []Shown `json:"services,omitempty"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
}

// Shown is a service that the dashboard shows to users with the service in their catalog.
type Shown struct {
	// Type of the service in the catalog.
	Type Type `json:"type"`
	// Address inside the cluster.
	InternalURL common.URL `json:"internalURL"`
	// Access rules that override the defaults of the service: the dashboard offers the operations that they allow.
	// +optional
	Policy common.Policy `json:"policy,omitempty"`
	// Backups of volumes, which the dashboard offers with the type volume. Defaults to false.
	// +optional
	Backups bool `json:"backups,omitempty"`
}

// Type of a service.
// +kubebuilder:validation:Enum=identity;compute;image;network;placement;volume;orchestration
type Type string

// Settings are the configurable settings of the dashboard.
type Settings struct {
	// Title of pages. Defaults to OpenStack Dashboard.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]+$`
	// +kubebuilder:example="Example Cloud"
	// +optional
	Title string `json:"title,omitempty"`
	// Request a domain at login.
	// +optional
	MultiDomain bool `json:"multiDomain,omitempty"`
	// Idle time until logout, in seconds. A session also ends with its token.
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=86400
	// +kubebuilder:default=3600
	// +optional
	SessionSeconds int32 `json:"sessionSeconds,omitempty"`
	// Address of the link Help.
	// +optional
	HelpURL common.URL `json:"helpURL,omitempty"`
	// Let browsers store passwords.
	// +optional
	PasswordAutocomplete bool `json:"passwordAutocomplete,omitempty"`
	// Theme of new users.
	// +kubebuilder:validation:Enum=default;material
	// +optional
	DefaultTheme string `json:"defaultTheme,omitempty"`
	// Entries of a page. Defaults to 20.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=500
	// +optional
	PageSize int32 `json:"pageSize,omitempty"`
	// Preselect a new volume for servers. Defaults to true with Cinder.
	// +optional
	BootFromVolume *bool `json:"bootFromVolume,omitempty"`
	// Login through identity providers.
	// +optional
	WebSSO *WebSSO `json:"websso,omitempty"`
}

// WebSSO configures login methods in addition to a password.
// +kubebuilder:validation:XValidation:rule="!has(self.initialChoice) || self.initialChoice == 'credentials' || self.choices.exists(c, c.name == self.initialChoice)",message="initialChoice must be the name of an entry in choices, or credentials for a password",fieldPath=".initialChoice"
type WebSSO struct {
	// Login methods.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	Choices []WebSSOChoice `json:"choices"`
	// Name of the preselected login method. Defaults to a password.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	InitialChoice string `json:"initialChoice,omitempty"`
}

// WebSSOChoice is a login method.
// +kubebuilder:validation:XValidation:rule="self.name != 'credentials'",message="credentials is reserved for the login with a password; choose another name",fieldPath=".name"
type WebSSOChoice struct {
	// Name of the choice.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9_-]*$`
	// +kubebuilder:example="keycloak"
	Name string `json:"name"`
	// Label in the login form.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]+$`
	// +kubebuilder:example="Company account"
	Label string `json:"label"`
	// Identity provider in Keystone. Defaults to the provider in services.keystone.federation.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	// +optional
	Provider string `json:"provider,omitempty"`
}

// HorizonStatus is the observed state of a Horizon.
type HorizonStatus struct {
	common.ServiceStatus `json:",inline"`
}
