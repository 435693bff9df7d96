package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Mirroring is what pools with mirroring have in common: the other Ceph cluster, and who fetches from it.
// +kubebuilder:validation:XValidation:rule="has(self.peer) || !has(oldSelf.peer)",message="mirroring.peer cannot be removed: Rook takes the other cluster out of a pool only together with the pool's mirroring; remove mirroring of the pools"
type Mirroring struct {
	// The other cluster, from which this one fetches. Absent: this one fetches from nobody, and others may fetch from it by its token.
	// +optional
	Peer *MirrorPeer `json:"peer,omitempty"`
	// Daemons that fetch from the other cluster, and share the work.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	// +kubebuilder:default=1
	// +optional
	Daemons int32 `json:"daemons,omitempty"`
	// Resources of each daemon. Absent: 512Mi of memory.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// MirrorPeer is another Ceph cluster, with pools of the same names.
// +kubebuilder:validation:XValidation:rule="self.direction == oldSelf.direction",message="peer.direction cannot be changed: Rook leaves a pool's other cluster as it is; remove mirroring of the pools, and then say it anew"
type MirrorPeer struct {
	// Secret with the other cluster's bootstrap token, as token.
	SecretRef common.SecretReference `json:"secretRef"`
	// Which way block devices are copied, by Ceph's names: rx-only is from the other cluster to this one; rx-tx is both ways, so that either
	// cluster can take over from the other and give back. With rx-tx the other one gets what opens this one's pools, as by its token.
	// +kubebuilder:default=rx-tx
	// +optional
	Direction MirrorDirection `json:"direction,omitempty"`
}

// MirrorDirection is a way in which block devices are copied (https://docs.ceph.com/en/latest/rbd/rbd-mirroring/).
// +kubebuilder:validation:Enum=rx-only;rx-tx
type MirrorDirection string

// Ways in which block devices are copied.
const (
	MirrorReceive MirrorDirection = "rx-only"
	MirrorBoth    MirrorDirection = "rx-tx"
)

// PoolMirroring says which block devices of a pool are copied, and when.
// +kubebuilder:validation:XValidation:rule="!has(self.snapshotSchedules) || self.mode == 'image'",message="snapshotSchedules need mode image: in mode pool Ceph copies by journals alone"
// +kubebuilder:validation:XValidation:rule="has(self.snapshotSchedules) || !has(oldSelf.snapshotSchedules)",message="snapshotSchedules cannot be removed as a whole: Rook leaves the last ones with the pool; keep one"
type PoolMirroring struct {
	// Which block devices: image is each for which somebody turns it on (rbd mirror image enable), by snapshots or a journal; pool is each
	// that has a journal (feature journaling).
	// +kubebuilder:validation:Enum=image;pool
	// +kubebuilder:default=image
	// +optional
	Mode string `json:"mode,omitempty"`
	// When snapshots are taken, of which the other cluster fetches what has changed. Absent: when somebody takes one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=interval
	// +optional
	SnapshotSchedules []SnapshotSchedule `json:"snapshotSchedules,omitempty"`
}

// SnapshotSchedule is a time at which snapshots are taken, again and again.
type SnapshotSchedule struct {
	// Time from one snapshot to the next, in minutes, hours or days: 15m.
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*[mhd]$`
	Interval string `json:"interval"`
	// Time of day from which intervals are counted: 14:00:00-05:00. Absent: midnight (UTC).
	// +kubebuilder:validation:MaxLength=14
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-][01][0-9]:[0-5][0-9])?$`
	// +optional
	StartTime string `json:"startTime,omitempty"`
}

// MirroringStatus is what a person needs to know of block devices that are copied to another Ceph cluster, or from it.
type MirroringStatus struct {
	// Key of a Secret in the namespace of the claim: the token by which another Ceph cluster may fetch from this one. It opens every pool,
	// for writing, too. Absent: it is not there yet.
	// +optional
	TokenSecretRef *common.SecretKeyReference `json:"tokenSecretRef,omitempty"`
	// Pools.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=map
	// +listMapKey=pool
	// +optional
	Pools []MirroredPool `json:"pools,omitempty"`
}

// MirroredPool is how copying a pool goes, as Ceph sees it.
type MirroredPool struct {
	// Name of the pool in Ceph, of both clusters.
	// +kubebuilder:validation:MaxLength=128
	Pool string `json:"pool"`
	// Name of the other cluster, as Ceph has it. Absent: it is not known to the pool yet.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Peer string `json:"peer,omitempty"`
	// Health of daemons and block devices together: OK, WARNING, ERROR or UNKNOWN.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Health string `json:"health,omitempty"`
	// Health of the daemons.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	DaemonHealth string `json:"daemonHealth,omitempty"`
	// Health of block devices.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	ImageHealth string `json:"imageHealth,omitempty"`
	// Block devices by what Ceph does with them: replaying is well, error is not.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Images map[string]int64 `json:"images,omitempty"`
}
