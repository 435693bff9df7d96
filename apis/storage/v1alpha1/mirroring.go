package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Mirroring is the common configuration of pools with mirroring: the other Ceph cluster, and the mirror daemons.
// +kubebuilder:validation:XValidation:rule="has(self.peer) || !has(oldSelf.peer)",message="mirroring.peer cannot be removed: Rook removes the other cluster from a pool only together with the pool's mirroring; remove mirroring from the pools"
type Mirroring struct {
	// The other cluster, from which this one copies. If unset, this one does not copy, and other clusters can copy from it with its token.
	// +optional
	Peer *MirrorPeer `json:"peer,omitempty"`
	// Number of mirror daemons, which share the work.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	// +kubebuilder:default=1
	// +optional
	Daemons int32 `json:"daemons,omitempty"`
	// Resources of each daemon. Defaults to 512Mi of memory.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// MirrorPeer is another Ceph cluster, with pools of the same names.
// +kubebuilder:validation:XValidation:rule="self.direction == oldSelf.direction",message="peer.direction is immutable; remove mirroring from the pools and from spec, then add both again"
type MirrorPeer struct {
	// Secret with the other cluster's bootstrap token, in token.
	SecretRef common.SecretReference `json:"secretRef"`
	// Direction of copies, with Ceph's names: rx-only is from the other cluster to this one; rx-tx is both directions, for failover and
	// failback. With rx-tx, the other cluster gets a key for this one's pools, as with its token.
	// +kubebuilder:default=rx-tx
	// +optional
	Direction MirrorDirection `json:"direction,omitempty"`
}

// MirrorDirection is a direction of copies of block devices (https://docs.ceph.com/en/latest/rbd/rbd-mirroring/).
// +kubebuilder:validation:Enum=rx-only;rx-tx
type MirrorDirection string

// Directions of copies of block devices.
const (
	MirrorReceive MirrorDirection = "rx-only"
	MirrorBoth    MirrorDirection = "rx-tx"
)

// PoolMirroring selects the block devices of a pool that are copied, and the schedule.
// +kubebuilder:validation:XValidation:rule="!has(self.snapshotSchedules) || self.mode == 'image'",message="snapshotSchedules requires mode image: with mode pool, Ceph copies only by journals"
// +kubebuilder:validation:XValidation:rule="has(self.snapshotSchedules) || !has(oldSelf.snapshotSchedules)",message="snapshotSchedules cannot be removed, because Rook keeps the last schedules of the pool; keep one"
type PoolMirroring struct {
	// Block devices to copy. image: those for which mirroring is enabled (rbd mirror image enable), by snapshots or a journal. pool: those
	// with a journal (feature journaling).
	// +kubebuilder:validation:Enum=image;pool
	// +kubebuilder:default=image
	// +optional
	Mode string `json:"mode,omitempty"`
	// Schedules of snapshots, whose changes the other cluster copies. Defaults to manual snapshots.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=interval
	// +optional
	SnapshotSchedules []SnapshotSchedule `json:"snapshotSchedules,omitempty"`
}

// SnapshotSchedule is a recurring time of snapshots.
type SnapshotSchedule struct {
	// Interval between snapshots, in minutes, hours or days: 15m.
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*[mhd]$`
	Interval string `json:"interval"`
	// Time of day from which intervals are counted: 14:00:00-05:00. Defaults to midnight (UTC).
	// +kubebuilder:validation:MaxLength=14
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-][01][0-9]:[0-5][0-9])?$`
	// +optional
	StartTime string `json:"startTime,omitempty"`
}

// MirroringStatus is the state of block devices that are copied to another Ceph cluster, or from it.
type MirroringStatus struct {
	// Key of a Secret in the namespace of the claim: the token with which another Ceph cluster can copy from this one. It grants read and
	// write access to every pool. Unset: it does not exist yet.
	// +optional
	TokenSecretRef *common.SecretKeyReference `json:"tokenSecretRef,omitempty"`
	// State of the pools.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=map
	// +listMapKey=pool
	// +optional
	Pools []MirroredPool `json:"pools,omitempty"`
}

// MirroredPool is the state of the mirroring of a pool, as reported by Ceph.
type MirroredPool struct {
	// Name of the pool in Ceph, in both clusters.
	// +kubebuilder:validation:MaxLength=128
	Pool string `json:"pool"`
	// Name of the other cluster in Ceph. Unset: the pool has no peer yet.
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
	// Number of block devices by state in Ceph: replaying is healthy, error is not.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Images map[string]int64 `json:"images,omitempty"`
}
