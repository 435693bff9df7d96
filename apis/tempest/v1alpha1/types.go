package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Tempest runs integration tests against one control plane, again and again. A ControlPlaneCluster makes it and fills in every field, so
// that it looks nothing up.
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
	// Settings for Crossplane. Its fields are those that Crossplane adds to every definition.
	// +optional
	Crossplane *common.Crossplane `json:"crossplane,omitempty"`
	// OpenStack release.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	OpenStackRelease string `json:"openStackRelease"`
	// Where the tests run.
	// +optional
	Target common.Target `json:"target,omitempty"`
	// Container image. Absent: the image of the release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Where images come from.
	// +optional
	Images common.Images `json:"images,omitempty"`
	// Region of the catalog.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
	// The Keystone that it has a user in, who is an administrator.
	Identity Identity `json:"identity"`
	// Services that there are, Keystone among them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Services []Service `json:"services"`
	// When tests run.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Which tests run.
	// +optional
	Tests Tests `json:"tests,omitempty"`
	// What Keystone asks of passwords. Absent: nothing.
	// +optional
	Passwords *Passwords `json:"passwords,omitempty"`
	// Options of the services that decide which tests can pass, and that their APIs do not report.
	// +optional
	Features Features `json:"features,omitempty"`
	// Resources of the pod that runs the tests.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring common.Monitoring `json:"monitoring,omitempty"`
	// What happens to the generated secret when it is deleted. Its user, and whatever that has made, goes in any case.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// Identity is the Keystone that tests log in at.
type Identity struct {
	common.KeystoneReference `json:",inline"`
	// What the administrator logs in by, for what K-ORC cannot do.
	AdminCloudRef common.CloudCredentialsReference `json:"adminCloudRef"`
	// What K-ORC logs in by.
	KORCCloudRef common.CloudCredentialsReference `json:"korcCloudRef"`
}

// Service is one that there is.
type Service struct {
	// What Tempest calls it.
	Type Type `json:"type"`
	// Address inside the cluster, at which it is tested.
	InternalURL common.URL `json:"internalURL"`
}

// Type is what Tempest calls a service.
// +kubebuilder:validation:Enum=identity;image;placement;compute;network;volume;key-manager;orchestration
type Type string

// Tests says which tests run.
type Tests struct {
	// Services that are tested. Absent: those that are enabled.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Services []TestedService `json:"services,omitempty"`
	// Tests that run at the same time.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +kubebuilder:default=2
	// +optional
	Concurrency int32 `json:"concurrency,omitempty"`
	// Regular expression (Python's) of the names of tests that run. Absent: smoke tests.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	IncludeRegex string `json:"includeRegex,omitempty"`
	// Regular expression of the names of tests that do not run.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ExcludeRegex string `json:"excludeRegex,omitempty"`
}

// TestedService is a service, as Tempest calls it.
// +kubebuilder:validation:Enum=identity;image;compute;network;volume;key-manager;orchestration
type TestedService string

// Passwords is what Keystone asks of them.
type Passwords struct {
	// Logins with a wrong password after which a user is locked out. 0: none is.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LockoutAttempts int32 `json:"lockoutAttempts,omitempty"`
	// Seconds that a user is locked out.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LockoutSeconds int32 `json:"lockoutSeconds,omitempty"`
	// Last passwords that a new one has to differ from.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Remembered int32 `json:"remembered,omitempty"`
}

// Features are options of the services that decide which tests can pass, and that their APIs do not report.
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
	// Largest packet between nodes, in bytes. Defaults to 1500.
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9216
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
	// Whether servers have screens by VNC.
	// +optional
	VNC bool `json:"vnc,omitempty"`
	// Whether Glance caches images.
	// +optional
	ImageCache bool `json:"imageCache,omitempty"`
	// Format that Glance converts images to when they are imported. Absent: it converts none.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	ConvertTo string `json:"convertTo,omitempty"`
}

// TempestStatus is the observed state of a Tempest.
type TempestStatus struct {
	common.CompositionStatus `json:",inline"`
	// Generation that the phase is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase of it.
	// +kubebuilder:validation:Enum=Creating;Ready;Updating
	// +optional
	Phase string `json:"phase,omitempty"`
	// The last run that has ended.
	// +optional
	Tests *common.TestStatus `json:"tests,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
}
