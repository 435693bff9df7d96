package fake

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
)

// cephCluster returns the status of a healthy, empty cluster of 1 PiB.
func cephCluster(v view) status {
	const total = int64(1) << 50
	image := v.text("spec", "cephVersion", "image")
	version := "19.2.3-0"
	if _, tag, ok := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":v"); ok {
		version = tag + "-0"
	}
	at := cmp.Or(v.text("status", "ceph", "lastChecked"), v.at)
	return status{
		"observedGeneration": v.generation(), "phase": "Ready", "state": "Created", "message": "Cluster created successfully",
		"version": map[string]any{"image": image, "version": version},
		"ceph": map[string]any{
			"health": "HEALTH_OK", "lastChecked": at, "fsid": fsid(v.text("metadata", "namespace")), "details": map[string]any{},
			"capacity": map[string]any{"bytesTotal": total, "bytesUsed": int64(0), "bytesAvailable": total, "lastUpdated": at},
		},
		"conditions": []any{v.condition("Ready", "ClusterCreated", "Cluster created successfully")},
	}
}

// fsid returns the ID of a cluster, derived from its namespace.
func fsid(namespace string) string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", sha256.Sum256([]byte(namespace)))[:36]
}

func cephReady(v view) status {
	return status{"observedGeneration": v.generation(), "phase": "Ready"}
}

func cephPool(v view) status {
	out, kind := cephReady(v), "Replicated"
	if v.get("spec", "erasureCoded") != nil {
		kind = "Erasure Coded"
	}
	domain := v.text("spec", "failureDomain")
	if domain == "" {
		domain = "host"
	}
	info := map[string]any{"type": kind, "failureDomain": domain}
	out["info"], out["poolID"] = info, int64(1)
	if v.get("spec", "mirroring", "enabled") == true {
		info["rbdMirrorBootstrapPeerSecretName"] = "pool-peer-token-" + v.name()
		out["mirroringStatus"], out["mirroringInfo"] = mirroring(v)
	}
	return out
}

// mirroring returns the status of a mirrored pool whose peer is reachable, before any image is replicated (pool_mirroring of
// pkg/daemon/ceph/client/mirror_health.go).
func mirroring(v view) (summary, info map[string]any) {
	at := cmp.Or(v.text("status", "mirroringStatus", "lastChecked"), v.at)
	peers, health := []any{}, "UNKNOWN"
	if v.get("spec", "mirroring", "peers") != nil {
		health = "OK"
		peers = append(peers, map[string]any{
			"uuid": fsid("peer"), "direction": "rx-tx", "site_name": fsid("peer"), "mirror_uuid": "", "client_name": "client.rbd-mirror-peer",
		})
	}
	summary = map[string]any{"lastChecked": at, "summary": map[string]any{
		"health": health, "daemon_health": health, "image_health": "OK", "states": map[string]any{}, "group_states": map[string]any{},
	}}
	info = map[string]any{
		"lastChecked": at, "mode": v.text("spec", "mirroring", "mode"), "site_name": fsid(v.text("metadata", "namespace")), "peers": peers,
	}
	return summary, info
}

func cephClient(v view) status {
	out := cephReady(v)
	out["info"] = map[string]any{"secretName": "rook-ceph-client-" + v.name()}
	return out
}

func cephObjectStore(v view) status {
	out := cephReady(v)
	address := fmt.Sprintf("https://rook-ceph-rgw-%s.%s.svc:443", v.name(), v.text("metadata", "namespace"))
	out["info"] = map[string]any{"endpoint": address}
	out["endpoints"] = map[string]any{"insecure": []any{}, "secure": []any{address}}
	return out
}

// monitorsName is the ConfigMap in which Rook lists the monitors.
const monitorsName = "rook-ceph-mon-endpoints"

// Data returns the content of an external ConfigMap that is only observed, by its name, or nil if the name is unknown.
func Data(configMap string) map[string]string {
	if configMap != monitorsName {
		return nil
	}
	return map[string]string{"data": monitors(1, "6789")}
}

// monitors returns n monitors in Rook's format.
func monitors(n int64, port string) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%c=192.0.2.%d:%s", 'a'+rune(i), i+1, port))
	}
	return strings.Join(out, ",")
}

// OwnedObjects returns the objects that the owner of an object creates and functions read: for a CephCluster, the ConfigMap in which Rook
// lists the monitors.
func OwnedObjects(object map[string]any) []map[string]any {
	v := view{object: object}
	if v.text("kind") != "CephCluster" {
		return nil
	}
	port := "6789"
	if v.get("spec", "network", "connections", "requireMsgr2") == true {
		port = "3300"
	}
	return []map[string]any{{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": monitorsName, "namespace": v.text("metadata", "namespace")},
		"data":     map[string]any{"data": monitors(v.number(1, "spec", "mon", "count"), port)},
	}}
}
