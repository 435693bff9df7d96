package hypervisor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// storageIn is the StorageCluster in a cluster.
func storageIn(cluster string) string {
	if cluster == "" {
		return storageXR
	}
	return strings.Replace(storageXR, "  claimRef", "  cluster: {ref: {name: "+cluster+"}}\n  claimRef", 1)
}

// TestDisksInOtherCluster verifies how the key of the pool's user is copied from the cluster of Ceph to the cluster of the nodes: within a
// cluster with the right to read this Secret only, between clusters through an entry of this pool in the secret store. The store is
// accessible to the pool only if it is used.
func TestDisksInOtherCluster(t *testing.T) {
	const (
		key   = "storage-key-rook-ceph-client-cloud-nova"
		entry = "clouds/hypervisors/tenant-a-hypervisors-ed08c74e4294644ac141/" + key
	)
	public := strings.Replace(open, "pullSecrets: [registry]", "pullSecrets: []", 1)
	for _, place := range clusterPairs() {
		nodes, ceph := place[0], place[1]
		t.Run(fmt.Sprintf("nodes in %q, Ceph in %q", nodes, ceph), func(t *testing.T) {
			w := newCluster(inCluster(inPool, nodes), "tenant-a", objects(planeClaim, controlPlaneIn(nodes), storageClaim, storageIn(ceph))...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + public + `}`)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			from, to := providerConfigs[ceph], providerConfigs[nodes]
			got, opened := map[string]string{}, false
			for name, r := range New().Run(w.Request()).Composed {
				at, object := lives(r.Object)
				meta := object["metadata"].(map[string]any)
				if strings.HasPrefix(name, "storage-secrets") {
					got[strings.TrimPrefix(name, "storage-secrets-")] = at
					if text := fmt.Sprint(object["spec"]); strings.Contains(text, "openbao") != strings.Contains(text, entry) {
						t.Errorf("%s goes to or comes from another entry: %s", name, text)
					}
				}
				if object["kind"] == "Namespace" && meta["labels"].(map[string]any)["app.kubernetes.io/managed-by"] != nil {
					opened = true
				}
			}
			want := map[string]string{"account": from, "role": from, "role-binding": from, "store": from, key: from}
			switch from {
			case to:
			case "in-cluster":
				want["push-"+key], want["workload-"+key] = from, to
			default:
				want = map[string]string{"push-" + key: from, "workload-" + key: to}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("how the key comes, and where each object is (-want +got):\n%s", diff)
			}
			if away := from != to || to != "in-cluster"; opened != away {
				t.Errorf("the store is open to the pool: %t, want %t", opened, away)
			}
			volumes := fmt.Sprint(kind.Desired(t, w)["nova-compute"]["spec"])
			if !strings.Contains(volumes, key) {
				t.Errorf("nova-compute does not read %s", key)
			}
		})
	}
}

// TestDisksInOtherClusterValidation verifies that an unreachable Ceph cluster, a key that cannot be copied, and a removed cluster are
// rejected.
func TestDisksInOtherClusterValidation(t *testing.T) {
	storeless := strings.Replace(strings.Replace(open, "pullSecrets: [registry]", "pullSecrets: []", 1),
		"secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds}, ", "", 1)
	pods := func(cluster string) string {
		return strings.Replace(storageIn(cluster), "    fsid:", "    podNetwork: true\n    fsid:", 1)
	}
	for name, tc := range map[string]struct{ reason, platform, nodes, storage, field, message string }{
		"Pods":      {"They are in another cluster.", open, "", pods("west"), "spec.storage.clusterRef", "select a StorageCluster with network.host or one in the nodes' cluster"},
		"Beside":    {"They are in the nodes' own.", open, "east", pods("east"), "", ""},
		"Storeless": {"The key cannot be copied.", storeless, "", storageIn("west"), "spec.storage", "keys of a StorageCluster are copied to another cluster through the platform's secret store"},
		"Same":      {"The key is in the same cluster.", storeless, "east", storageIn("east"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(inCluster(inPool, tc.nodes), "tenant-a", objects(planeClaim, controlPlaneIn(tc.nodes), storageClaim, tc.storage)...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + tc.platform + `}`)
			err := makeReady(w)
			if tc.field != "" {
				wantError(t, tc.reason, err, tc.field, tc.message)
			} else if err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
		})
	}
	w := newCluster(inCluster(inPool, ""), "tenant-a", objects(planeClaim, controlPlaneYAML, storageClaim, storageIn("west"))...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	before := slices.Sorted(maps.Keys(w.Observed))
	without := strings.Replace(open, "{name: west, providerConfig: west-config, allowedNamespaces: [tenant-a]}, ", "", 1)
	w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + without + `}`)
	if _, _, err := w.Explain(New()); err == nil || invalid.Is(err) { // Crossplane looks for a WorkloadCluster with this name.
		t.Errorf("the error is %v", err)
	}
	rsp := New().Run(w.Request())
	if got := rsp.Results; len(rsp.Composed) > 0 || len(got) != 2 || !strings.Contains(got[0].GetMessage(), `the StorageCluster is in cluster "west"`) {
		t.Errorf("%d objects before, %d composed, results %v", len(before), len(rsp.Composed), got)
	}
}
