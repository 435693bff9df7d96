package storage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// Pools may be mirrored to or from another Ceph cluster. The state of the peer does not affect the readiness of this cluster: when a site
// is lost, the cluster of the other site must keep working and report it.

// mirrorResource is the composed resource of the mirroring daemons, mirrorName its object name. A namespace has at most one.
const (
	mirrorResource = "mirror"
	mirrorName     = "mirror"
)

// mirrored returns the mirrored pools.
func (m *model) mirrored() []pool {
	return slices.DeleteFunc(slices.Clone(m.pools), func(p pool) bool { return p.Mirroring == nil })
}

// peer returns the peer cluster. Nil: mirroring has no peer.
func (m *model) peer() *storagev1.MirrorPeer {
	return ptr.Deref(m.spec.Mirroring, storagev1.Mirroring{}).Peer
}

// peerSet copies the peer's token to Rook, together with the direction of mirroring: Rook reads both from one Secret.
func (m *model) peerSet() tenantsecret.Set {
	set := tenantsecret.Set{
		Name: mirrorPeerComponent, Prefix: "peer-", Type: corev1.SecretTypeOpaque, Keep: true,
		From: m.secretsNamespace(), Instance: m.instance, Labels: m.meta(mirrorPeerComponent).Labels,
	}
	if p := m.peer(); p != nil {
		set.Requests = []tenantsecret.Request{{
			Name: string(p.SecretRef.Name), As: rook.PeerSecret, Keys: []string{rook.TokenKey},
			Fixed: map[string]string{rook.DirectionKey: string(p.Direction)}, Fields: []string{"spec.mirroring.peer.secretRef"},
		}}
	}
	return set
}

// tokenSet copies the token of this cluster to the claim's namespace. The tenant passes it to the peer.
func (m *model) tokenSet() tenantsecret.Set {
	set := tenantsecret.Set{
		Name: mirrorTokenComponent + "-" + m.instance, Prefix: m.claim.Name + "-mirror-", Type: corev1.SecretTypeOpaque,
		From: m.instance, Instance: m.claim.Namespace, Labels: m.meta(mirrorTokenComponent).Labels,
	}
	if m.publishesToken() {
		set.Requests = []tenantsecret.Request{{
			Name: rook.TokenSecret(cephName), As: m.tokenName(), Keys: []string{rook.TokenKey},
		}}
	}
	return set
}

// tokenName returns the Secret in the claim's namespace with the token of this cluster.
func (m *model) tokenName() string { return m.claim.Name + "-mirror-token" }

// publishesToken reports whether the token of this cluster is published to a tenant.
func (m *model) publishesToken() bool { return len(m.mirrored()) > 0 && m.claim.Namespace != "" }

// hasPeer reports whether a peer is configured or has been, hasToken whether the token of this cluster is published or has been.
func (m *model) hasPeer() bool {
	return m.peer() != nil || slices.ContainsFunc(m.observed.Names(), m.peerSecrets.Has)
}

func (m *model) hasToken() bool {
	return m.publishesToken() || slices.ContainsFunc(m.observed.Names(), m.tokenSecrets.Has)
}

// checkMirroring rejects pools that cannot be mirrored, and peers that the platform does not allow in this namespace: daemons with the
// node's network connect to any address in the peer's token, which is not inspected here, and a client with the token of this cluster may
// connect from anywhere and open the pools of all consumers.
func (m *model) checkMirroring() error {
	var errs []error
	for _, p := range m.mirrored() {
		switch {
		case m.isExternal():
			errs = append(errs, invalid.Field(p.field+".mirroring",
				"mirroring of an external Ceph cluster is configured by its operator; remove it"))
		case m.remote():
			errs = append(errs, invalid.Field(p.field+".mirroring", "tokens are not copied from and to another cluster in this version; remove "+
				"mirroring, or place Ceph in the management cluster"))
		case p.Application != blockDevices:
			errs = append(errs, invalid.Field(p.field+".mirroring", "mirroring applies to block devices, and %s stores none; remove it",
				p.Application))
		}
	}
	if m.spec.Mirroring != nil && len(m.mirrored()) == 0 {
		errs = append(errs, invalid.Field("spec.mirroring", "no pool is mirrored; set mirroring in one of spec.pools, or remove it"))
	}
	if pools := m.mirrored(); len(pools) > 0 && !m.isExternal() {
		field := pools[0].field + ".mirroring"
		if m.peer() != nil {
			field = "spec.mirroring.peer"
		}
		limits := limit.In(m.platform.Limits, m.claim.Namespace)
		errs = append(errs, storageNetworks.CheckAny(limits, m.claim.Namespace, field, []string{anyNetwork}))
	}
	return errors.Join(errs...)
}

// mirroringOf returns the mirroring settings of a pool. Nil: it was never mirrored. The peer is added once its token exists, because Rook
// fails without it. A peer that was added once stays.
func (m *model) mirroringOf(p pool) *rook.Mirroring {
	o, _ := m.observed.Get(poolPrefix + p.name)
	if p.Mirroring == nil {
		if _, once := o.Map("spec", "mirroring")["enabled"]; once {
			return &rook.Mirroring{}
		}
		return nil
	}
	out := &rook.Mirroring{Mode: p.Mirroring.Mode}
	for _, s := range p.Mirroring.SnapshotSchedules {
		out.Schedules = append(out.Schedules, rook.Schedule{Interval: s.Interval, StartTime: s.StartTime})
	}
	if m.peer() != nil && (hasPeerBootstrapped(o) || m.isReady(m.peerSecrets.Resource(rook.PeerSecret))) {
		out.PeerSecret = rook.PeerSecret
	}
	return out
}

// hasPeerBootstrapped reports whether the peer of a pool is configured in Rook.
func hasPeerBootstrapped(o *observe.Object) bool {
	return len(o.List("spec", "mirroring", "peers", "secretNames")) > 0
}

// awaitsPeer reports whether a pool is reconciled except for the peer, which Rook cannot reach yet. Rook sets the observed generation of a
// mirrored pool before it connects to the peer, and the phase Ready after that (pool/controller.go of v1.18.8).
func awaitsPeer(o *observe.Object) bool {
	observed, ok := o.Int("status", "observedGeneration")
	return ok && observed == o.Generation() && o.String("status", "phase") == "Progressing"
}

// localPoolReady is the readiness rule of mirrored pools: an unreachable peer does not make local data unavailable.
func localPoolReady(o *observe.Object) ready.Result {
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: rook.Group, Kind: "CephBlockPool"})
	if v := rule.Check(o); v.Ready || !awaitsPeer(o) {
		return v
	}
	return ready.Yes
}

// mirror builds the daemons that fetch images from the peer. The side that is fetched from needs none.
func mirror(m *model) ([]compose.Stage, error) {
	spec := m.spec.Mirroring
	stage := compose.Stage{{Name: mirrorResource, Retain: true, Object: rook.Mirror(
		m.meta(mirrorName), spec.Daemons, cmp.Or(spec.Resources, mirrorResources),
		m.across(rook.MirrorApp, "rook_cluster", m.instance),
	)}}
	return []compose.Stage{stage, m.deleteBeforeCluster(stage)}, nil
}

// mirroringStatus returns the progress of mirroring. Nil: no pool is mirrored.
func (m *model) mirroringStatus() *storagev1.MirroringStatus {
	pools := m.mirrored()
	if len(pools) == 0 {
		return nil
	}
	out := &storagev1.MirroringStatus{}
	if m.publishesToken() && m.isReady(m.tokenSecrets.Resource(m.tokenName())) {
		out.TokenSecretRef = &common.SecretKeyReference{Name: common.ObjectName(m.tokenName()), Key: rook.TokenKey}
	}
	for _, p := range pools {
		o, _ := m.observed.Get(poolPrefix + p.name)
		summary := []string{"status", "mirroringStatus", "summary"}
		at := func(field string) []string { return append(slices.Clone(summary), field) }
		reported := storagev1.MirroredPool{
			Pool: p.name, Peer: peerName(o), Health: o.String(at("health")...), DaemonHealth: o.String(at("daemon_health")...),
			ImageHealth: o.String(at("image_health")...),
		}
		// Ceph has named them image_states since it mirrors groups of block devices, too; Rook reports them under this key in either case.
		for state := range o.Map(at("states")...) {
			if n, ok := o.Int(append(at("states"), state)...); ok && n > 0 {
				if reported.Images == nil {
					reported.Images = map[string]int64{}
				}
				reported.Images[state] = n
			}
		}
		out.Pools = append(out.Pools, reported)
	}
	return out
}

// peersOf returns the peers of a pool, as Ceph reports them.
func peersOf(o *observe.Object) []map[string]any {
	var out []map[string]any
	for _, p := range o.List("status", "mirroringInfo", "peers") {
		if peer, ok := p.(map[string]any); ok {
			out = append(out, peer)
		}
	}
	return out
}

// peerName returns Ceph's name of the peer of a pool. Ceph supports one peer.
func peerName(o *observe.Object) string {
	for _, p := range peersOf(o) {
		name, _ := p["site_name"].(string)
		return name
	}
	return ""
}

// isReceiveOnly reports whether the peer of a pool only fetches from this cluster. Ceph records it so if the peer's daemons connect before
// its token is added, and then ignores the token (observed with 18.2.7).
func isReceiveOnly(o *observe.Object) bool {
	peers := peersOf(o)
	return len(peers) > 0 && !slices.ContainsFunc(peers, func(p map[string]any) bool { return p["direction"] != "tx-only" })
}

// mirroringHealthy returns the condition on mirrored pools. No component waits for it, because it depends on the peer as much as on this
// cluster. It reports images that this cluster fetches, once Rook has queried Ceph; the peer reports images that it fetches from here.
func (m *model) mirroringHealthy() ready.Result {
	pools := m.mirrored()
	var waiting, giving, bad []string
	reason := ""
	for _, p := range pools {
		if m.peer() == nil {
			continue
		}
		o, _ := m.observed.Get(poolPrefix + p.name)
		health, details := o.String("status", "mirroringStatus", "summary", "health"), o.String("status", "mirroringStatus", "details")
		switch {
		case !hasPeerBootstrapped(o):
			reason, bad = cmp.Or(reason, "Unknown"), append(bad, p.name+": Rook has not added the peer yet")
		case awaitsPeer(o):
			waiting = append(waiting, p.name)
		case isReceiveOnly(o):
			giving = append(giving, p.name)
		case details != "" || health == "":
			details = cmp.Or(details, "Rook has not reported a status yet")
			reason, bad = cmp.Or(reason, "Unknown"), append(bad, fmt.Sprintf("%s: %s", p.name, details))
		case health != "OK":
			reason = cmp.Or(reason, health)
			bad = append(bad, fmt.Sprintf("%s: daemons %s, block devices %s", p.name,
				cmp.Or(o.String("status", "mirroringStatus", "summary", "daemon_health"), "UNKNOWN"),
				cmp.Or(o.String("status", "mirroringStatus", "summary", "image_health"), "UNKNOWN")))
		}
	}
	switch {
	case len(pools) == 0 || !m.ceph().Exists():
		return ready.Result{}
	case len(waiting) > 0:
		return ready.Wait("PeerNotConfigured", "Rook cannot connect to the peer cluster with the token in Secret %s, so pools %s are "+
			"not mirrored: the token must belong to that cluster, it must have pools of these names with mirroring, and nodes must be able "+
			"to reach its monitors and daemons", m.peer().SecretRef.Name, strings.Join(waiting, ", "))
	case len(giving) > 0:
		return ready.Wait("PeerReceiveOnly", "the peer was added before its token existed, so this cluster does not receive images "+
			"of pools %s; change the direction with rbd mirror pool peer set; see docs/storage.md",
			strings.Join(giving, ", "))
	case len(bad) > 0:
		return ready.Wait(reason, "mirroring from the peer cluster is not healthy: %s", strings.Join(bad, "; "))
	case m.peer() == nil:
		return ready.Result{Ready: true, Reason: "TokenPublished", Message: "the token for a peer cluster is available; the peer " +
			"cluster reports the state of mirroring"}
	}
	return ready.Result{Ready: true, Reason: "Healthy", Message: "mirroring from the peer cluster is healthy"}
}
