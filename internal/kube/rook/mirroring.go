package rook

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// MirrorApp is what the daemons are called that fetch block devices from another Ceph cluster. There is one Deployment of them in a
// cluster's namespace, called so with -a, whatever the CephRBDMirror is called.
const MirrorApp = "rook-ceph-rbd-mirror"

// Keys of Secrets by which Ceph clusters fetch block devices from each other.
const (
	// TokenKey holds the token by which a cluster is reached.
	TokenKey = "token"
	// DirectionKey holds which way block devices are copied. Without it Rook says nothing, and they are both ways.
	DirectionKey = "direction"
)

// TokenSecret is the Secret that Rook makes with the token of a CephCluster, and writes anew when a monitor is replaced
// (https://github.com/rook/rook/blob/v1.18.8/pkg/operator/ceph/controller/mirror_peer.go).
func TokenSecret(cluster string) string { return "cluster-peer-token-" + cluster }

// PeerSecret is the Secret with the token of the other cluster. Rook looks at pools again when a Secret changes that is called so, and at
// no other one (WatchPeerTokenSecretPredicate of v1.18.8).
const PeerSecret = "peer-cluster-peer-token" //nolint:gosec // the name of a Secret

// Mirroring says how block devices of a pool are copied. The zero value disables it, for a pool that had it. Omitting the field does not:
// Rook writes an empty one into every pool, and most API servers turn that into null when its last field is removed by server-side apply,
// and then refuse the null (https://github.com/kubernetes-sigs/structured-merge-diff/issues/305).
type Mirroring struct {
	// Mode is image or pool.
	Mode string
	// Schedules are when snapshots are taken.
	Schedules []Schedule
	// PeerSecret has the token of the other cluster. Empty: there is none yet.
	PeerSecret string
}

// Schedule is a time at which snapshots are taken, again and again.
type Schedule struct{ Interval, StartTime string }

// spec of a pool's mirroring.
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

// Mirror makes a CephRBDMirror, of which a cluster has one.
func Mirror(meta object.Meta, daemons int32, resources *common.Resources, placement object.Map) *unstructured.Unstructured {
	return object.New(apiVersion, "CephRBDMirror", meta, object.WithOptional(object.Map{"count": int64(daemons)}, object.Map{
		"resources": object.Resources(resources), "placement": placement,
	}))
}
