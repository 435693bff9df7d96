package invariants

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
)

// storageSettings apply to the specs of Ceph clusters.
var storageSettings = definedKind{
	fix: ofStorage,
	own: map[string]constraint{
		"spec.deviceSelector": sample(object{"filter": "^nvme"}, object{"all": true}, object{"pathFilter": "^/dev/disk/by-id/"}),
		"count":               sample(int64(1), int64(3)), "targetCapacity": sample("1Gi", "900Ti"),
		"maxSize": sample("1Gi", "2Ti"), "maxObjects": sample(int64(1), int64(1<<40)),
		"erasureCoded":   sample(object{"dataChunks": int64(2), "codingChunks": int64(1)}, object{"dataChunks": int64(4), "codingChunks": int64(2)}),
		"replicated":     sample(object{"size": int64(1), "allowDataLoss": true}, object{"size": int64(4)}),
		"publicCIDRs[]":  sample("10.0.1.0/24", "10.0.3.0/24"),
		"clusterCIDRs[]": sample("10.0.2.0/24", "10.0.4.0/24"),
		"interval":       sample("15m", "1d"), "startTime": sample("02:00:00Z", "14:00:00-05:00"),
		"servers":    sample(int64(1), int64(2)),
		"spec.nodes": {},
	},
}

// ofStorage adjusts a claim to the validation rules: nodes for all copies, one kind of redundancy, unique names.
func ofStorage(spec object) {
	delete(spec, "nodes")
	delete(spec, "external") // It excludes all other fields and is immutable: its objects are only checked for orders.
	if spec["deviceSelector"] == nil {
		var nodes list
		for i := range 9 {
			nodes = append(nodes, object{"name": fmt.Sprintf("n%d", i), "devices": list{object{"name": "sda"}, object{"name": "/dev/sdb"}}})
		}
		spec["nodes"] = nodes
	}
	if spec["replicationFactor"] == int64(1) {
		spec["allowDataLoss"] = true
	}
	spec["allowedNamespaces"] = list{"*"}
	if remoteStorage(spec) {
		stores, _ := spec["objectStores"].(list)
		for _, s := range stores {
			delete(s.(object), "keystone")
		}
	}
	if network, _ := spec["network"].(object); network["host"] == false {
		delete(network, "publicCIDRs")
		delete(network, "clusterCIDRs")
	}
	if spec["stretched"] != nil {
		inTwoZones(spec)
	}
	blocks := ""
	pools, _ := spec["pools"].(list)
	for i, p := range pools {
		p, _ := p.(object)
		p["name"] = fmt.Sprintf("p%d", i)
		if p["application"] == nil || p["application"] == "rbd" {
			p["application"] = "rbd"
			blocks = fmt.Sprintf("p%d", i)
			delete(p, "erasureCoded")
		} else {
			delete(p, "purpose")
		}
		either(p)
		if p["application"] != "rbd" {
			delete(p, "storageClass")
		} else if p["storageClass"] != nil {
			delete(p, "purpose")
		}
		if mirroring, ok := p["mirroring"].(object); ok {
			if p["application"] != "rbd" || remoteStorage(spec) {
				delete(p, "mirroring")
			} else if mirroring["mode"] == "pool" {
				delete(mirroring, "snapshotSchedules")
			}
		}
		if quota, ok := p["quota"].(object); ok && len(quota) == 0 {
			delete(p, "quota")
		}
	}
	if !slices.ContainsFunc(pools, func(p any) bool { return p.(object)["mirroring"] != nil }) {
		delete(spec, "mirroring")
	}
	consumers, _ := spec["consumers"].(list)
	for i, c := range consumers {
		c, _ := c.(object)
		c["name"], c["controlPlaneRef"] = fmt.Sprintf("c%d", i), object{"namespace": "tenant-a", "name": fmt.Sprintf("cloud-%d", i)}
		if c["quotas"] = (list{object{"pool": blocks, "maxSize": "1Ti"}}); blocks == "" {
			delete(c, "quotas")
		}
	}
	if files, _ := spec["filesystems"].(list); len(files) == 0 {
		delete(spec, "nfs")
	}
	for field, prefix := range map[string]string{"filesystems": "f", "objectStores": "o", "nfs": "n"} {
		all, _ := spec[field].(list)
		for i, s := range all {
			s, _ := s.(object)
			s["name"] = fmt.Sprintf("%s%d", prefix, i)
			if s["hostname"] != nil {
				s["hostname"] = fmt.Sprintf("o%d.example.com", i)
			}
			if pool, ok := s["dataPool"].(object); ok {
				either(pool)
			}
		}
	}
}

// remoteStorage reports whether Ceph is in another cluster.
func remoteStorage(spec object) bool {
	cluster, _ := spec["cluster"].(object)
	return cluster != nil && cluster["ref"].(object)["name"] == "east"
}

// inTwoZones adjusts a claim to the rules of stretch mode: nodes in two zones, and identical pools.
func inTwoZones(spec object) {
	spec["stretched"] = object{"zones": list{"a", "b"}, "arbiter": object{"zone": "c"}}
	spec["replicationFactor"] = int64(4)
	if spec["failureDomain"] != "osd" {
		spec["failureDomain"] = "host"
	}
	delete(spec, "deviceClass")
	nodes, _ := spec["nodes"].(list)
	for i, n := range nodes {
		n.(object)["zone"] = []string{"a", "b"}[i%2]
	}
	if monitors, _ := spec["monitors"].(object); monitors["count"] == int64(1) {
		monitors["count"] = int64(5)
	}
	alike := func(of object) {
		for _, field := range []string{"erasureCoded", "replicated", "deviceClass", "failureDomain"} {
			delete(of, field)
		}
	}
	for _, field := range []string{"pools", "filesystems", "objectStores"} {
		all, _ := spec[field].(list)
		for _, s := range all {
			s, _ := s.(object)
			alike(s)
			if pool, ok := s["dataPool"].(object); ok {
				alike(pool)
			}
		}
	}
}

// outside is the exposure of a platform.
var outside = object{"type": "GatewayAPI", "gateway": object{"name": "public", "namespace": "gateways"}}

// either keeps either the replicas or the erasure coding of a pool.
func either(pool object) {
	if pool["replicated"] != nil {
		delete(pool, "erasureCoded")
	}
}

// aroundStorage returns the required resources that the function requests.
func aroundStorage(platform object) (map[string][]*structpb.Struct, error) {
	required := admission.Requirements()
	for name, o := range map[string]object{
		"platform": platform, "monitors": {"data": object{"data": "a=10.0.0.1:6789,b=[fd00::1]:3300"}},
	} {
		s, err := structpb.NewStruct(o)
		if err != nil {
			return nil, err
		}
		required[name] = []*structpb.Struct{s}
	}
	return required, nil
}

func genStorage(t *rapid.T) (object, map[string][]*structpb.Struct) {
	namespace, name := rapid.SampledFrom([]string{"tenant-a", "t"}).Draw(t, "namespace"), rapid.SampledFrom([]string{"storage", "s"}).Draw(t, "name")
	spec := storages.draw(t, namespace, name)["spec"].(object)
	delete(spec, "compositeDeletePolicy") // Crossplane's, of claims only.
	spec["claimRef"] = object{"apiVersion": storages.apiVersion, "kind": storages.kind, "namespace": namespace, "name": name}
	platform := platforms.draw(t, "", "default")
	platform["spec"].(object)["limits"], platform["spec"].(object)["exposure"] = list{allowAll}, outside
	platform["spec"].(object)["rook"] = object{"csi": object{}}
	withClusters(platform)
	required, err := aroundStorage(platform)
	if err != nil {
		t.Fatal(err)
	}
	return object{
		"apiVersion": storages.apiVersion, "kind": storages.composite, "metadata": serverOwned(object{"name": name + "-x7k2p"}), "spec": spec,
	}, required
}

// storage returns a StorageCluster from its function's tests.
func storage(t *testing.T, file string) *simulate.Cluster {
	t.Helper()
	xr := composite(t, storages, "storage", file)
	delete(xr.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	ref, err := structpb.NewStruct(object{"namespace": "tenant-a", "name": "storage"})
	if err != nil {
		t.Fatal(err)
	}
	xr.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(ref)
	required, err := aroundStorage(object{"spec": object{
		"domain": "example.com", "limits": list{allowAll}, "exposure": outside, "images": object{"pullSecrets": list{"registry"}},
		"rook": object{"csi": object{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &simulate.Cluster{XR: xr, Kinds: kinds.Runners(), Required: required}
}

// otherClusterStorage returns a StorageCluster in a separate cluster, without pull secrets, whose copies in two
// clusters have the same name.
func otherClusterStorage(t *testing.T) *simulate.Cluster {
	t.Helper()
	w := storage(t, "apart")
	required, err := aroundStorage(withClusters(object{"spec": object{"domain": "example.com", "limits": list{allowAll}}}))
	if err != nil {
		t.Fatal(err)
	}
	w.Required = required
	return w
}

// invalidStorage are the invalid changes of a Ceph cluster.
var invalidStorage = map[string]invalidChange{
	"nodes that are not left to it": {typ: respond.SpecValid, wantMessage: "no limit of the platform allows", make: func(w *simulation, _ object) {
		w.require("platform", platformWith(object{"domain": "example.com"}))
	}},
	"more monitors than nodes": {typ: respond.SpecValid, wantMessage: "spec.monitors.count: a node runs one monitor", make: func(_ *simulation, spec object) {
		delete(spec, "deviceSelector")
		delete(spec, "stretched") // whose zones one node does not have
		spec["nodes"] = list{object{"name": "a", "devices": list{object{"name": "sda"}}}}
		spec["monitors"] = object{"count": int64(3)}
	}},
	"two pools of a name": in(
		list{object{"name": "builtin-mgr", "application": "rgw"}}, "spec.pools[0].name: its pool would be called", "pools",
	),
	"an unknown cluster": in(object{"ref": object{"name": "nobody"}}, "spec.cluster.ref.name: cluster \"nobody\" is not available", "cluster"),
	"a zone with one copy": {typ: respond.SpecValid, wantMessage: "spec.nodes: zone b holds two copies", make: func(_ *simulation, spec object) {
		delete(spec, "deviceSelector")
		device := list{object{"name": "sda"}}
		spec["nodes"] = list{
			object{"name": "a", "zone": "a", "devices": device}, object{"name": "b", "zone": "a", "devices": device},
			object{"name": "c", "zone": "b", "devices": device},
		}
		inTwoZones(spec)
		for i, zone := range []string{"a", "a", "b"} {
			spec["nodes"].(list)[i].(object)["zone"] = zone
		}
		spec["monitors"], spec["failureDomain"] = object{"count": int64(3)}, "host"
	}},
	"another cluster anywhere": {typ: respond.SpecValid, wantMessage: "spec.mirroring.peer: ", make: func(w *simulation, spec object) {
		w.require("platform", platformWith(object{"domain": "example.com", "exposure": outside, "limits": list{object{
			"name": "some", "namespaces": list{"*"}, "storageNodes": list{"*"}, "storageDevices": list{"*"}, "storageNetworks": list{"10.0.0.0/8"},
			"tolerations": list{"*"}, "monitoringLabels": list{"*"}, "domains": list{"*"}, "storageImages": list{"*"}, "registries": list{"*"},
		}}}))
		delete(spec, "cluster")
		spec["pools"] = list{object{"name": "p", "application": "rbd", "mirroring": object{"mode": "image"}}}
		spec["network"] = object{"host": true, "publicCIDRs": list{"10.0.1.0/24"}}
		spec["mirroring"] = object{"peer": object{"secretRef": object{"name": "other"}, "direction": "rx-tx"}}
	}},
	"a host name of others": {typ: respond.SpecValid, wantMessage: "spec.objectStores[0].hostname: ", make: func(w *simulation, spec object) {
		w.require("platform", platformWith(object{"domain": "example.com", "exposure": outside, "limits": list{object{
			"name": "some", "namespaces": list{"*"}, "storageNodes": list{"*"}, "storageDevices": list{"*"}, "storageNetworks": list{"*"},
			"tolerations": list{"*"}, "monitoringLabels": list{"*"}, "domains": list{"{namespace}.example.com"},
			"storageImages": list{"*"}, "registries": list{"*"},
		}}}))
		delete(spec, "cluster") // which this platform does not offer
		spec["objectStores"] = list{object{"name": "o", "hostname": "others.example.com"}}
	}},
	"no platform": {typ: respond.Composed, wantMessage: "there is no PlatformConfig", make: func(w *simulation, _ object) { w.require("platform") }},
}

// storageOrders are the creation orders in a Ceph cluster.
var storageOrders = []order{
	{first: `Namespace .*`, then: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*|Issuer.*|ConfigMap) .*`, why: "they are in it"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*pull-secrets`, then: `SecretStore\.external-secrets\.io .*pull-secrets`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io .*pull-secrets`, then: `ExternalSecret\.external-secrets\.io (platform|claim)-pull-.*`, why: "they are read by it"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*keys`, then: `SecretStore\.external-secrets\.io keys`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io keys`, then: `ExternalSecret\.external-secrets\.io tenant-.*`, why: "they are read by it"},
	{first: `ServiceAccount rook-.*`, then: `(RoleBinding|ClusterRoleBinding)\.rbac.* .*rook.*`, why: "rights are theirs"},
	{first: `(RoleBinding|ClusterRoleBinding)\.rbac.* .*rook.*`, then: `CephCluster.*`, why: "its pods have these rights"},
	{first: `ExternalSecret\.external-secrets\.io (platform|claim)-pull-.*`, then: `CephCluster.*`, why: "images are pulled with it"},
	{first: `CephCluster.*`, then: `ConfigMap rook-ceph-mon-endpoints`, why: "Rook makes it, and it is looked at"},
	{first: `ConfigMap rook-ceph-mon-endpoints`, then: `ConfigMap access`, why: "it contains its data"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*keystone-logins`, then: `SecretStore\.external-secrets\.io keystone-logins`, why: "it reads with that account"},
	{first: `SecretStore\.external-secrets\.io keystone-logins`, then: `ExternalSecret\.external-secrets\.io keystone-.*`, why: "they are read by it"},
	{first: `KeystoneService\..*`, then: `ExternalSecret\.external-secrets\.io keystone-.*`, why: "they are copies of its Secrets"},
	{first: `ExternalSecret\.external-secrets\.io keystone-objects`, then: `CephObjectStore.* objects`, why: "Rook reads it, and does nothing without"},
	{first: `ExternalSecret\.external-secrets\.io keystone-buckets`, then: `CephObjectStore.* buckets`, why: "the same"},
	{first: `CephCluster.*`, then: `(PrometheusRule|ServiceMonitor)\.monitoring.*`, why: "no alerts fire during the installation"},
	{first: `Deployment\.apps check-.*`, then: `PrometheusRule\.monitoring.*`, why: "the same"},
	{first: `CephCluster.*`, then: `Usage.*`, exists: true, why: "a Usage whose user is not there backs off"},
	{first: `CephCluster.*`, then: `(CephBlockPool.* ([^b]|b[^u]).*|CephFilesystem.*|Certificate.* rook-ceph-rgw-.*|ConfigMap access).*`, why: "it keeps them"},
	{first: `CephFilesystem.*`, then: `Usage.* filesystem-.*`, exists: true, why: "a Usage whose user is not there backs off"},
	{first: `CephCluster.*`, then: `CephBlockPool.* builtin-mgr`, exists: true, why: "with two zones, Rook reports it ready once that pool exists"},
	{first: `CephObjectStore.*`, then: `(HTTPRoute|BackendTLSPolicy)\..*`, why: "no route leads to a missing backend"},
	{first: `CephObjectStore.*`, then: `Usage.* object-store-.*`, exists: true, why: "a Usage whose user is not there backs off"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*mirror-peer.*`, then: `SecretStore\.external-secrets\.io mirror-peer`, why: "it reads with that account"},
	{first: `(ServiceAccount|Role\.rbac.*|RoleBinding\.rbac.*) .*mirror-token.*`, then: `SecretStore\.external-secrets\.io mirror-token-.*`, why: "the same"},
	{first: `SecretStore\.external-secrets\.io mirror-peer`, then: `ExternalSecret\.external-secrets\.io peer-.*`, why: "they are read by it"},
	{first: `SecretStore\.external-secrets\.io mirror-token-.*`, then: `ExternalSecret\.external-secrets\.io .*-mirror-token`, why: "they are read by it"},
	{first: `CephCluster.*`, then: `ExternalSecret\.external-secrets\.io .*-mirror-token`, why: "Rook makes the token"},
	{first: `(CephBlockPool.* production-.*|ExternalSecret\.external-secrets\.io peer-.*)`, then: `CephRBDMirror.*`, why: "both the pool and its peer exist"},
	{first: `(CephFilesystem.*|CephBlockPool.* builtin-nfs)`, then: `CephNFS.*`, why: "they serve it"},
	{first: `CephNFS.*`, then: `Usage.* nfs-servers-.*`, exists: true, why: "a Usage whose user is not there backs off"},
	{first: `CephBlockPool.* production-.*`, then: `StorageClass\..*`, why: "volumes are in them"},
	{first: `CephRBDMirror.*`, then: `Usage.* mirror-.*`, exists: true, why: "a Usage whose user is not there backs off"},
	{first: `ConfigMap access`, then: `Deployment\.apps check-.*`, why: "it checks its addresses"},
	{first: `ExternalSecret\.external-secrets\.io .*`, then: `Deployment\.apps check-.*`, why: "it logs in with the key, and its image is pulled with a Secret"},
	{first: `CephBlockPool.* ([^b]|b[^u]).*`, then: `CephClient.*`, why: "the capabilities of users name them"},
	{first: `Issuer.* self-signed`, then: `Certificate.* gateway-ca`, why: "it signs it"},
	{first: `Certificate.* gateway-ca`, then: `Issuer.* gateway-ca`, why: "it signs with it"},
	{first: `Issuer.* gateway-ca`, then: `Certificate.* rook-ceph-rgw-.*`, why: "it signs it"},
	{first: `Certificate.* rook-ceph-rgw-.*`, then: `CephObjectStore.*`, why: "it serves it"},
}
