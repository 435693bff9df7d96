package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// placed is a platform with two clusters for all tenants and a store.
const placed = `{domain: example.com, secretStore: {name: store}, clusters: [{name: east, providerConfig: east, allowedNamespaces: ["*"]}, ` +
	`{name: west, providerConfig: west, allowedNamespaces: ["*"]}]}`

// pooledIn derives a control plane in one cluster with a StorageCluster in the same or another one.
func pooledIn(t *testing.T, plane, ceph, xr, config string) (*model, error) {
	t.Helper()
	spec := `{services: {glance: {enabled: true, stores: [{name: main, ceph: {clusterRef: {namespace: storage, name: ceph}, pool: images}}]}}`
	if plane != "" {
		spec += ", cluster: {ref: {name: " + plane + "}}"
	}
	if ceph != "" {
		xr = strings.Replace(xr, "{spec: {", "{spec: {cluster: {ref: {name: "+ceph+"}}, ", 1)
	}
	in := pooledInput(t, spec+"}", storageClaim, xr, nil)
	in.Required["platform"] = required(t, config)["platform"]
	return derive(in)
}

// TestPoolKeysReachClusterOfPods checks that a key is copied from the cluster of Ceph to the cluster of the pods: within one cluster with
// permission for this key only, and between two clusters through the store. Services read the local copy, without the name of a cluster.
func TestPoolKeysReachClusterOfPods(t *testing.T) {
	configs := map[string]string{"": "in-cluster", "east": "east", "west": "west"}
	for plane, to := range configs {
		for ceph, from := range configs {
			t.Run(fmt.Sprintf("control plane in %q, Ceph in %q", plane, ceph), func(t *testing.T) {
				m, err := pooledIn(t, plane, ceph, storageXR, placed)
				if err != nil {
					t.Fatal(err)
				}
				set := m.PoolKeys[0]
				var got []string
				for _, r := range slices.Concat(set.Stages()...) {
					at := r.Cluster
					switch {
					case r.Management:
						at = "in-cluster"
					case at == "":
						at = m.ProviderConfig
					}
					object := "copy"
					switch {
					case strings.Contains(r.Name, "-push-"):
						object = "push"
					case strings.Contains(r.Name, "-workload-"):
						object = "arrival"
					case !strings.Contains(r.Name, "key-glance"):
						object = "right"
					}
					if s := object + " in " + at; !slices.Contains(got, s) {
						got = append(got, s)
					}
				}
				want := []string{"right in " + from, "copy in " + from}
				switch from {
				case to:
				case "in-cluster":
					want = append(want, "push in "+from, "arrival in "+to)
				default:
					want = []string{"push in " + from, "arrival in " + to}
				}
				if !slices.Equal(got, want) {
					t.Errorf("the key comes by %v, want %v", got, want)
				}
				clients := m.StorageClients("glance")
				if c := clients[0]; c.Cluster != "" || c.SecretName != set.Target("key-glance") {
					t.Errorf("the storage client of Glance is %+v", c)
				}
				if known := m.StorageStatus()[0]; string(known.Cluster) != ceph {
					t.Errorf("the cluster in the status is %q", known.Cluster)
				}
				if !slices.Contains(m.PoolResources("glance"),
					set.Resource(set.Target("key-glance"))) {
					t.Error("Glance does not wait for the key")
				}
			})
		}
	}
}

// TestPoolClustersValidation checks the errors for unreachable daemons, keys that cannot be transferred, and a removed cluster.
func TestPoolClustersValidation(t *testing.T) {
	const field = "spec.services.glance.stores[0].ceph"
	pods := strings.Replace(storageXR, "networks: [10.0.0.0/24]", "podNetwork: true", 1)
	storeless := strings.Replace(placed, "secretStore: {name: store}, ", "", 1)
	own := strings.Replace(placed, "{name: store}", "{name: store, kind: SecretStore}", 1)
	for name, tc := range map[string]struct{ reason, plane, ceph, xr, platform, field, message string }{
		"Pods":       {"Daemons use pod IPs, and services are in another cluster.", "east", "", pods, placed, field + ".clusterRef", "set a StorageCluster with network.host"},
		"Pods there": {"Daemons use pod IPs, and services are in another cluster.", "", "west", pods, placed, field + ".clusterRef", "set a StorageCluster with network.host"},
		"Same":       {"Pods of the same cluster can connect.", "west", "west", pods, placed, "", ""},
		"Storeless":  {"The key cannot be transferred.", "", "west", storageXR, storeless, field, "and none is configured; set spec.global.secretStore"},
		"Local":      {"The key is in the same cluster.", "west", "west", storageXR, storeless, "", ""},
		"Own store":  {"The key is in another namespace.", "east", "west", storageXR, own, field, "set spec.global.secretStore to a ClusterSecretStore"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pooledIn(t, tc.plane, tc.ceph, tc.xr, tc.platform)
			if tc.field == "" {
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				return
			}
			requireFieldError(t, tc.reason, err, tc.field, tc.message)
		})
	}
	if _, err := pooledIn(t, "", "north", storageXR, placed); err == nil || !strings.Contains(err.Error(), `the StorageCluster is in cluster "north", which`) {
		t.Errorf("a cluster that the platform does not name any more: %v", err)
	}
}

// TestUnreferencedPoolKeys checks that copies of keys without references are kept, in any cluster.
func TestUnreferencedPoolKeys(t *testing.T) {
	const of = "storage-1157d1d3"
	wrapped := func(config string) *structpb.Struct {
		return structOf(t, fields(t, `{apiVersion: kubernetes.crossplane.io/v1alpha2, kind: Object, metadata: {name: a}, spec: {providerConfigRef: {name: `+config+`}, `+
			`forProvider: {manifest: {apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}}}}}`))
	}
	for name, tc := range map[string]struct {
		reason   string
		observed map[string]*structpb.Struct
		want     string
	}{
		"Local":  {"The copy is composed directly.", map[string]*structpb.Struct{of + "-keys-" + of + "-key": structOf(t, fields(t, "{metadata: {name: a}, spec: {}}"))}, ""},
		"Here":   {"The copy is wrapped in the management cluster.", map[string]*structpb.Struct{of + "-keys-" + of + "-key": wrapped("in-cluster")}, ""},
		"There":  {"The copy is in the cluster of Ceph.", map[string]*structpb.Struct{of + "-keys-" + of + "-key": wrapped("west")}, "west"},
		"Pushed": {"The copy is pushed from the cluster of Ceph to another one.", map[string]*structpb.Struct{of + "-keys-push-" + of + "-key": wrapped("west"), of + "-keys-workload-" + of + "-key": wrapped("east")}, "west"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(pooledInput(t, `{services: {glance: {enabled: false}}}`, "", "", tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.PoolKeys) != 1 || m.PoolKeys[0].Cluster != tc.want {
				t.Errorf("%s\ngot %+v, want cluster %q; the management cluster is %s", tc.reason, m.PoolKeys, tc.want, platform.Management(m.Platform))
			}
		})
	}
}
