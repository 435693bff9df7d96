package rook

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// MirrorApp is the name of the daemons that replicate block devices from another Ceph cluster. The namespace of a cluster has one
// Deployment of them, named with the suffix -a, regardless of the name of the CephRBDMirror.
const MirrorApp = "rook-ceph-rbd-mirror"

// Keys of Secrets for replication of block devices between Ceph clusters.
const (
	// TokenKey has the token for access to a cluster.
	TokenKey = "token"
	// DirectionKey has the direction of replication. Rook does not set it by default, which means both directions.
	DirectionKey = "direction"
)

// TokenSecret returns the name of the Secret that Rook creates with the token of a CephCluster, and updates when a monitor is replaced
// (https://github.com/rook/rook/blob/v1.18.8/pkg/operator/ceph/controller/mirror_peer.go).
func TokenSecret(cluster string) string { return "cluster-peer-token-" + cluster }

// PeerSecret is the Secret with the token of the other cluster. Rook reconciles pools only when a Secret with this name changes
// (WatchPeerTokenSecretPredicate of v1.18.8).
const PeerSecret = "peer-cluster-peer-token" //nolint:gosec // the name of a Secret

// Mirroring configures replication of block devices of a pool. The zero value disables it, for a pool that had it. Removing the field does
// not: Rook writes an empty one into every pool, and most API servers turn that into null when its last field is removed by server-side
// apply, and then reject the null (https://github.com/kubernetes-sigs/structured-merge-diff/issues/305).
type Mirroring struct {
	// Mode is image or pool.
	Mode string
	// Schedules of snapshots.
	Schedules []Schedule
	// PeerSecret is the name of the Secret with the token of the other cluster. Empty: none yet.
	PeerSecret string
}

// Schedule is a recurring time for snapshots.
type Schedule struct{ Interval, StartTime string }

// spec returns the mirroring field of a pool.
func (m Mirroring) spec() object.Map {
	if m.Mode == "" {
		return object.Map{"enabled": false}
	}
	out := object.Map{"enabled": true, "mode": m.Mode}
	schedules := object.List{}
	for _, s := range m.Schedules {
		schedules = append(schedules, object.WithOptional(object.Map{"interval": s.Interval}, object.Map{"startTime": s.StartTime}))
	}
	if len(schedules) > 0 {
		out["snapshotSchedules"] = schedules
	}
	if m.PeerSecret != "" {
		out["peers"] = object.Map{"secretNames": object.List{m.PeerSecret}}
	}
	return out
}

// Mirror builds a CephRBDMirror. A cluster has one.
func Mirror(meta object.Meta, daemons int32, resources *common.Resources, placement object.Map) *unstructured.Unstructured {
	return object.New(apiVersion, "CephRBDMirror", meta, object.WithOptional(object.Map{"count": int64(daemons)}, object.Map{
		"resources": object.Resources(resources), "placement": placement,
	}))
}
