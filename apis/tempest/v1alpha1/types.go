package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Tempest runs integration tests against one control plane, on a schedule. A ControlPlaneCluster creates it with every field set, so it
// reads no other object.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Passed",type=string,JSONPath=`.status.conditions[?(@.type=='TestsPassed')].status`
// +kubebuilder:printcolumn:name="Last Run",type=date,JSONPath=`.status.tests.lastRun`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='TestsPassed')].message`
type Tempest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec TempestSpec `json:"spec"`
	// Observed state.
	// +optional
	Status TempestStatus `json:"status,omitempty"`
}

// TempestSpec is the desired state of a Tempest.
type TempestSpec struct {
	// Settings for Crossplane, which adds these fields to every definition.
	// +optional
	Crossplane *common.Crossplane `json:"crossplane,omitempty"`
	// OpenStack release.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	OpenStackRelease string `json:"openStackRelease"`
	// Cluster in which the tests run.
	// +optional
	Target common.Target `json:"target,omitempty"`
	// Container image. Defaults to the image of the release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Registry and pull secrets of images.
	// +optional
	Images common.Images `json:"images,omitempty"`
	// Region of the catalog.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
	// Keystone of the tests, in which they have an administrator.
	Identity Identity `json:"identity"`
	// Existing services, including Keystone.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Services []Service `json:"services"`
	// Schedule of the tests.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Selection of the tests.
	// +optional
	Tests Tests `json:"tests,omitempty"`
	// Password rules of Keystone. Defaults to none.
	// +optional
	Passwords *Passwords `json:"passwords,omitempty"`
	// Options of the services that determine which tests can pass, and that their APIs do not report.
	// +optional
	Features Features `json:"features,omitempty"`
	// Resources of the pod that runs the tests.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring common.Monitoring `json:"monitoring,omitempty"`
	// Policy for the generated secret when the Tempest is deleted. The user of the tests, and all objects of the user, are always deleted.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// Identity is the Keystone of the tests.
type Identity struct {
	common.KeystoneReference `json:",inline"`
	// Credentials of the administrator, for operations that K-ORC does not support.
	AdminCloudRef common.CloudCredentialsReference `json:"adminCloudRef"`
	// Credentials of K-ORC.
	KORCCloudRef common.CloudCredentialsReference `json:"korcCloudRef"`
}

// Service is an existing service.
type Service struct {
	// Type of the service in Tempest.
	Type Type `json:"type"`
	// Address inside the cluster, which the tests use.
	InternalURL common.URL `json:"internalURL"`
}

// Type is the name of a service in Tempest.
// +kubebuilder:validation:Enum=identity;image;placement;compute;network;volume;key-manager;orchestration
type Type string

// Tests selects the tests.
type Tests struct {
	// Services that are tested. Defaults to the enabled ones.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Services []TestedService `json:"services,omitempty"`
	// Number of tests that run concurrently.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +kubebuilder:default=2
	// +optional
	Concurrency int32 `json:"concurrency,omitempty"`
	// Regular expression (Python's) for the names of tests that run. Defaults to smoke tests.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	IncludeRegex string `json:"includeRegex,omitempty"`
	// Regular expression for the names of tests that do not run.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ExcludeRegex string `json:"excludeRegex,omitempty"`
}

// TestedService is the name of a service in Tempest.
// +kubebuilder:validation:Enum=identity;image;compute;network;volume;key-manager;orchestration
type TestedService string

// Passwords are the password rules of Keystone.
type Passwords struct {
	// Number of failed logins until a user is locked out. 0: unlimited.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LockoutAttempts int32 `json:"lockoutAttempts,omitempty"`
	// Duration of a lockout, in seconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LockoutSeconds int32 `json:"lockoutSeconds,omitempty"`
	// Number of previous passwords from which a new one must differ.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Remembered int32 `json:"remembered,omitempty"`
}

// Features are options of the services that determine which tests can pass, and that their APIs do not report.
type Features struct {
	// Types of networks that administrators can create.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=16
	// +listType=set
	// +optional
	NetworkTypes []string `json:"networkTypes,omitempty"`
	// Physical networks that have VLANs.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	VLANNetworks []string `json:"vlanNetworks,omitempty"`
	// MTU between nodes, in bytes. Defaults to 1500.
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9216
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
	// Servers have VNC consoles.
	// +optional
	VNC bool `json:"vnc,omitempty"`
	// Glance caches images.
	// +optional
	ImageCache bool `json:"imageCache,omitempty"`
	// Format to which Glance converts images during the import. Defaults to no conversion.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	ConvertTo string `json:"convertTo,omitempty"`
}

// TempestStatus is the observed state of a Tempest.
type TempestStatus struct {
	common.CompositionStatus `json:",inline"`
	// Generation that the phase refers to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase of the tests.
	// +kubebuilder:validation:Enum=Creating;Ready;Updating
	// +optional
	Phase string `json:"phase,omitempty"`
	// Last completed run.
	// +optional
	Tests *common.TestStatus `json:"tests,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
}
