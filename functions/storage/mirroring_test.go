package storage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// copied is the spec of a mirrored pool with a peer, and a pool that is not mirrored.
const copied = "pools: [{name: volumes, mirroring: {mode: image, snapshotSchedules: [{interval: 1h}]}}, {name: images}], " +
	"mirroring: {peer: {secretRef: {name: other}}}"

// TestRejectsInvalidMirroringSettings verifies that pools which cannot be mirrored, and peers that the platform does not allow, are
// rejected.
func TestRejectsInvalidMirroringSettings(t *testing.T) {
	const some = "{domain: example.com, secretStore: {name: openbao}, clusters: [{name: east, providerConfig: east-config, " +
		"allowedNamespaces: [tenant-a]}], limits: [{name: some, namespaces: [\"*\"], storageNodes: [\"*\"], storageDevices: [\"*\"], " +
		"storageNetworks: [10.0.0.0/8]}]}"
	const here = "network: {host: true, publicCIDRs: [10.0.1.0/24]}, "
	for name, tc := range map[string]struct{ reason, platform, spec, field, message string }{
		"Good": {"A limit that allows all networks allows a peer.", open, with(copied), "", ""},
		"Offered": {
			"The token grants access to the pools of all consumers.", some, with(here + "pools: [{name: volumes, mirroring: {}}]"),
			"spec.pools[0].mirroring", `"any network" is not in the storageNetworks`,
		},
		"Anywhere": {
			"Daemons on nodes connect to the addresses in the token.", some, with(here + copied), "spec.mirroring.peer",
			`"any network" is not in the storageNetworks`,
		},
		"Nothing": {
			"No pool is copied.", open, with("mirroring: {daemons: 2}"), "spec.mirroring", "no pool is mirrored",
		},
		"Objects": {
			"It has no block devices.", open, with("pools: [{name: cold, application: rgw, mirroring: {}}]"), "spec.pools[0].mirroring",
			"mirroring applies to block devices",
		},
		"Elsewhere": {
			"Tokens are not copied there.", some, with(here + "cluster: {ref: {name: east}}, pools: [{name: volumes, mirroring: {}}]"),
			"spec.pools[0].mirroring", "tokens are not copied from and to another cluster",
		},
		"Somebody's": {
			"Its operator configures it.", open, "{" + strings.Replace(externalCeph, "{name: images}", "{name: images, mirroring: {}}", 1) + "}",
			"spec.pools[0].mirroring", "configured by its operator",
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, tc.reason, makeReady(newCluster(tc.spec, tc.platform)), tc.field, tc.message)
		})
	}
}

// mirroringSpec returns the desired mirroring settings of a pool.
func mirroringSpec(t *testing.T, w *simulate.Cluster, pool string) map[string]any {
	t.Helper()
	spec, _ := kind.Desired(t, w)[poolPrefix+pool]["spec"].(map[string]any)
	out, _ := spec["mirroring"].(map[string]any)
	return out
}

// TestPeerAddedLater verifies that the peer is added after its token exists, because Rook fails without it, and that it stays. Meanwhile
// pools and users are created, and this cluster's own token is published: both sites are set up at the same time, each with the token of
// the other.
func TestPeerAddedLater(t *testing.T) {
	w := newCluster(with(copied), open)
	token, missing := "mirror-peer-"+rook.PeerSecret, true
	w.Reports = func(kind, name string) map[string]any {
		if kind != "ExternalSecret" || name != rook.PeerSecret {
			return nil
		}
		if !missing {
			return map[string]any{"refreshTime": "2026-01-01T00:00:00Z"}
		}
		return map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": "False", "reason": "SecretSyncedError", "message": "could not get secret data from provider",
		}}}
	}
	for range 12 {
		if _, err := w.Call(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	requested := conditions(w)
	if !strings.HasPrefix(requested["MirrorPeerReady"], "False SecretMissing") || !strings.Contains(requested["MirrorPeerReady"], "other") {
		t.Errorf("no condition names the missing Secret: %s", requested["MirrorPeerReady"])
	}
	want := map[string]any{"enabled": true, "mode": "image", "snapshotSchedules": []any{map[string]any{"interval": "1h"}}}
	if diff := cmp.Diff(want, mirroringSpec(t, w, "volumes")); diff != "" {
		t.Errorf("before the token exists (-want +got):\n%s", diff)
	}
	created := kind.Desired(t, w)
	if created["user-cinder"] == nil || created["mirror"] != nil {
		t.Errorf("users wait, or daemons that fetch from nobody do not: %t, %t", created["user-cinder"] == nil, created["mirror"] == nil)
	}
	if ref := statusOf(w)["tokenSecretRef"]; !cmp.Equal(ref, map[string]any{"name": "storage-mirror-token", "key": "token"}) {
		t.Errorf("the token of this cluster is at %v", ref)
	}
	if got := requested["MirroringHealthy"]; !strings.HasPrefix(got, "False Unknown") || !strings.Contains(got, "Rook has not added the peer") {
		t.Errorf("nothing is mirrored, and the condition is %s", got)
	}
	missing = false
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	want["peers"] = map[string]any{"secretNames": []any{rook.PeerSecret}}
	if diff := cmp.Diff(want, mirroringSpec(t, w, "volumes")); diff != "" {
		t.Errorf("with the token (-want +got):\n%s", diff)
	}
	delete(w.Observed, token)
	if diff := cmp.Diff(want, mirroringSpec(t, w, "volumes")); diff != "" {
		t.Errorf("after its copy was deleted (-want +got):\n%s", diff)
	}
	if got := mirroringSpec(t, w, "images"); got != nil {
		t.Errorf("a pool without mirroring is mirrored: %v", got)
	}
	other := newCluster(with("pools: [{name: volumes}, {name: images}]"), open)
	w.XR.Fields["spec"] = other.XR.GetFields()["spec"]
	if diff := cmp.Diff(map[string]any{"enabled": false}, mirroringSpec(t, w, "volumes")); diff != "" {
		t.Errorf("when it is not to be copied any more (-want +got):\n%s", diff)
	}
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"enabled": false}, mirroringSpec(t, w, "volumes")); diff != "" {
		t.Errorf("long after that (-want +got):\n%s", diff)
	}
}

func mustYAML(t *testing.T, o any) string {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func statusOf(w *simulate.Cluster) map[string]any {
	return New().Run(w.Request()).Composite.Object.At("status", "mirroring").Map()
}

// TestPeerSiteUnavailable verifies that this cluster is ready, that it reports the peer's problem with Rook's message, and that its pools stay
// published.
func TestPeerSiteUnavailable(t *testing.T) {
	summary := func(health, daemons, images string) map[string]any {
		return map[string]any{"mirroringStatus": map[string]any{"summary": map[string]any{
			"health": health, "daemon_health": daemons, "image_health": images, "states": map[string]any{"replaying": int64(3)},
		}}}
	}
	for name, tc := range map[string]struct {
		reason  string
		reports map[string]any
		ready   bool
		want    string
	}{
		"Well": {"All is copied.", summary("OK", "OK", "OK"), true, "True Healthy"},
		"Away": {
			"Rook could not connect since it was restarted.", map[string]any{"phase": "Progressing"}, true, "False PeerNotConfigured",
		},
		"Daemons": {"No daemon runs.", summary("ERROR", "ERROR", "OK"), true, "False ERROR"},
		"Images":  {"One is not copied.", summary("WARNING", "OK", "WARNING"), true, "False WARNING"},
		"Unknown": {
			"Rook cannot query the status.", map[string]any{"mirroringStatus": map[string]any{"details": "no such pool"}}, true, "False Unknown",
		},
		"Fetched": {
			"The peer's daemons connected before its token was added, so Ceph ignores the token.", map[string]any{
				"mirroringInfo":   map[string]any{"peers": []any{map[string]any{"direction": "tx-only", "site_name": "s", "uuid": "u"}}},
				"mirroringStatus": map[string]any{"summary": map[string]any{"health": "WARNING", "daemon_health": "WARNING"}},
			}, true, "False PeerReceiveOnly",
		},
		"Unreported": {"Rook has not reported a status yet.", map[string]any{"mirroringStatus": map[string]any{}}, true, "False Unknown"},
		"Failure": {
			"The pool is not made.", map[string]any{"phase": "Failure", "mirroringStatus": map[string]any{}}, false, "False Unknown",
		},
		"Earlier": {
			"Rook has not seen the last change of the pool.", map[string]any{
				"phase": "Progressing", "observedGeneration": int64(0), "mirroringStatus": map[string]any{},
			}, false, "False Unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := complete(t, with(copied))
			w.Reports = func(kind, name string) map[string]any {
				if kind != "CephBlockPool" || name != "volumes" {
					return nil
				}
				return tc.reports
			}
			if err := w.Refresh(func(simulate.Step) {}); err != nil && tc.ready {
				t.Fatal(err)
			}
			requested := conditions(w)
			if got := requested["PoolsReady"]; strings.HasPrefix(got, "True") != tc.ready {
				t.Errorf("%s\nPoolsReady is %s", tc.reason, got)
			}
			if got := requested["MirroringHealthy"]; !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\nMirroringHealthy is %s, want %s", tc.reason, got, tc.want)
			}
			if access := New().Run(w.Request()).Composite.Object.At("status", "access").Map(); !strings.Contains(mustYAML(t, access), "pool: volumes") {
				t.Errorf("%s\nnobody is offered the pool any more", tc.reason)
			}
		})
	}
	if got := conditions(complete(t, with("pools: [{name: volumes}]")))["MirroringHealthy"]; got != "" {
		t.Errorf("where nothing is copied: %s", got)
	}
	if got := conditions(complete(t, with("pools: [{name: volumes, mirroring: {}}]")))["MirroringHealthy"]; !strings.HasPrefix(got, "True TokenPublished") {
		t.Errorf("where others may come: %s", got)
	}
}

// TestMirroringStatus verifies the reported state of each pool, with its numbers of images.
func TestMirroringStatus(t *testing.T) {
	w := complete(t, with(copied))
	w.Reports = func(kind, name string) map[string]any {
		if kind != "CephBlockPool" || name != "volumes" {
			return nil
		}
		return map[string]any{
			"mirroringStatus": map[string]any{"summary": map[string]any{
				"health": "WARNING", "daemon_health": "OK", "image_health": "WARNING", "states": map[string]any{"replaying": int64(3), "error": int64(0)},
			}},
			"mirroringInfo": map[string]any{"peers": []any{map[string]any{"site_name": "other-site", "uuid": "u"}}},
		}
	}
	if err := w.Refresh(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"tokenSecretRef": map[string]any{"name": "storage-mirror-token", "key": "token"},
		"pools": []any{map[string]any{
			"pool": "volumes", "peer": "other-site", "health": "WARNING", "daemonHealth": "OK", "imageHealth": "WARNING",
			"images": map[string]any{"replaying": float64(3)},
		}},
	}
	if diff := cmp.Diff(want, statusOf(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
