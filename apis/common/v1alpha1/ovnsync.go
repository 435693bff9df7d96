package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OVNSyncMode is what a comparison of Neutron with OVN does about what it finds.
// +kubebuilder:validation:Enum=Log;Repair
type OVNSyncMode string

// Modes of a comparison. Log changes nothing; Repair makes OVN's northbound database what Neutron's says, and looks again.
const (
	OVNSyncLog    OVNSyncMode = "Log"
	OVNSyncRepair OVNSyncMode = "Repair"
)

// OVNSyncRequest asks once for a comparison of what Neutron's database says with what OVN has.
type OVNSyncRequest struct {
	// Any text, such as a date or a reason. Another text, and another mode, ask anew.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9 ._:-]*[A-Za-z0-9])?$`
	// +kubebuilder:example="2026-05-01 after the restore"
	Request string `json:"request"`
	// Log only looks. Repair makes OVN what Neutron's database says: it adds what is missing and removes what Neutron does not know. What the
	// API makes at the same moment may be removed by it, so let nobody change networks meanwhile.
	// +kubebuilder:default=Log
	// +optional
	Mode OVNSyncMode `json:"mode,omitempty"`
}

// OVNSyncAnswer is what the last comparison found.
type OVNSyncAnswer struct {
	// Request that it answers.
	// +kubebuilder:validation:MaxLength=63
	Request string `json:"request"`
	// Mode of it.
	// +optional
	Mode OVNSyncMode `json:"mode,omitempty"`
	// When it ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Differences that there are; after a repair, those that are left.
	// +optional
	Differences int32 `json:"differences"`
	// Differences that a repair found, and set out to remove.
	// +optional
	Repaired int32 `json:"repaired,omitempty"`
	// Differences by kind. After a repair of which nothing is left, those that it removed.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=kind
	// +optional
	Found []OVNDifference `json:"found,omitempty"`
}

// OVNDifference counts the differences of one kind.
type OVNDifference struct {
	// Kind of what differs: Network, Port, Router, FloatingIP and so on.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Neutron has it, and OVN has not.
	// +optional
	Missing int32 `json:"missing,omitempty"`
	// OVN has it, and Neutron has not.
	// +optional
	Extra int32 `json:"extra,omitempty"`
	// Both have it, and it is not the same.
	// +optional
	Different int32 `json:"different,omitempty"`
	// Some of them, as the tool names them.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Examples []string `json:"examples,omitempty"`
}
