package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OVNSyncMode is the action of a comparison of Neutron with OVN on the differences that it finds.
// +kubebuilder:validation:Enum=Log;Repair
type OVNSyncMode string

// Modes of a comparison. Log changes nothing. Repair updates OVN's northbound database from Neutron's, and compares again.
const (
	OVNSyncLog    OVNSyncMode = "Log"
	OVNSyncRepair OVNSyncMode = "Repair"
)

// OVNSyncRequest requests one comparison of Neutron's database with OVN.
type OVNSyncRequest struct {
	// Arbitrary text, such as a date or a reason. A change of the text or of the mode starts a new comparison.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9 ._:-]*[A-Za-z0-9])?$`
	// +kubebuilder:example="2026-05-01 after the restore"
	Request string `json:"request"`
	// Log compares only. Repair updates OVN from Neutron's database: it adds missing entries and removes entries that Neutron does not have.
	// It may remove entries that the API creates at the same time, so do not change networks during a repair.
	// +kubebuilder:default=Log
	// +optional
	Mode OVNSyncMode `json:"mode,omitempty"`
}

// OVNSyncAnswer is the result of the last comparison.
type OVNSyncAnswer struct {
	// Request of this comparison.
	// +kubebuilder:validation:MaxLength=63
	Request string `json:"request"`
	// Mode of this comparison.
	// +optional
	Mode OVNSyncMode `json:"mode,omitempty"`
	// Time when it ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Number of differences; after a repair, the remaining ones.
	// +optional
	Differences int32 `json:"differences"`
	// Number of differences that a repair found and attempted to remove.
	// +optional
	Repaired int32 `json:"repaired,omitempty"`
	// Differences by kind. After a complete repair, the removed ones.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=kind
	// +optional
	Found []OVNDifference `json:"found,omitempty"`
}

// OVNDifference counts the differences of one kind.
type OVNDifference struct {
	// Kind of the entries: Network, Port, Router, FloatingIP and so on.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Entries of Neutron that OVN lacks.
	// +optional
	Missing int32 `json:"missing,omitempty"`
	// Entries of OVN that Neutron lacks.
	// +optional
	Extra int32 `json:"extra,omitempty"`
	// Entries that differ between Neutron and OVN.
	// +optional
	Different int32 `json:"different,omitempty"`
	// Some of the entries, as reported by the tool.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	Examples []string `json:"examples,omitempty"`
}
