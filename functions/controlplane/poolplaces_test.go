package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// placed is a platform with two clusters for everybody and a store.
const placed = `{domain: example.com, secretStore: {name: store}, clusters: [{name: east, providerConfig: east, allowedNamespaces: ["*"]}, ` +
	`{name: west, providerConfig: west, allowedNamespaces: ["*"]}]}`

// pooledIn is a call for a control plane in a cluster with a StorageCluster in another one, or the same.
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

// TestPoolClusters: a key comes from the cluster that Ceph is in to the one that pods are in: within one by rights to get it and no other, and
// between two through the store, pushed from where it is. Services read the copy beside them, and are told nothing of clusters.
func TestPoolClusters(t *testing.T) {
	configs := map[string]string{"": "in-cluster", "east": "east", "west": "west"}
	for plane, to := range configs {
		for ceph, from := range configs {
			t.Run(fmt.Sprintf("control plane in %q, Ceph in %q", plane, ceph), func(t *testing.T) {
				m, err := pooledIn(t, plane, ceph, storageXR, placed)
				if err != nil {
					t.Fatal(err)
				}
				set := m.keys[0]
				var got []string
				for _, r := range slices.Concat(set.Stages()...) {
					at := r.Cluster
					switch {
					case r.Management:
						at = "in-cluster"
					case at == "":
						at = m.providerConfig
					}
					what := "copy"
					switch {
					case strings.Contains(r.Name, "-push-"):
						what = "push"
					case strings.Contains(r.Name, "-workload-"):
						what = "arrival"
					case !strings.Contains(r.Name, "key-glance"):
						what = "right"
					}
					if s := what + " in " + at; !slices.Contains(got, s) {
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
				clients := m.storageClients(m.services[slices.IndexFunc(m.services, func(s *serviceState) bool { return s.name == "glance" })])
				if c := clients[0]; c.Cluster != "" || c.SecretName != set.Target("key-glance") {
					t.Errorf("Glance is told %+v", c)
				}
				if known := m.storageStatus()[0]; string(known.Cluster) != ceph {
					t.Errorf("the status says that it is in %q", known.Cluster)
				}
				if !slices.Contains(m.poolsFor(m.services[slices.IndexFunc(m.services, func(s *serviceState) bool { return s.name == "glance" })]),
					set.Resource(set.Target("key-glance"))) {
					t.Error("Glance does not wait for the key")
				}
			})
		}
	}
}

// TestPoolClustersValidation: daemons that are not reached, a key that does not come, and a cluster that is there no more.
func TestPoolClustersValidation(t *testing.T) {
	const field = "spec.services.glance.stores[0].ceph"
	pods := strings.Replace(storageXR, "networks: [10.0.0.0/24]", "podNetwork: true", 1)
	storeless := strings.Replace(placed, "secretStore: {name: store}, ", "", 1)
	own := strings.Replace(placed, "{name: store}", "{name: store, kind: SecretStore}", 1)
	for name, tc := range map[string]struct{ reason, plane, ceph, xr, platform, field, words string }{
		"Pods":       {"They are here, and services are not.", "east", "", pods, placed, field + ".clusterRef", "name a StorageCluster with network.host"},
		"Pods there": {"Services are here, and they are not.", "", "west", pods, placed, field + ".clusterRef", "name a StorageCluster with network.host"},
		"Same":       {"Pods of one cluster reach each other.", "west", "west", pods, placed, "", ""},
		"Storeless":  {"Nothing brings the key.", "", "west", storageXR, storeless, field, "and there is none; name one in spec.global.secretStore"},
		"Local":      {"It is there.", "west", "west", storageXR, storeless, "", ""},
		"Own store":  {"It is in another namespace.", "east", "west", storageXR, own, field, "name a ClusterSecretStore"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pooledIn(t, tc.plane, tc.ceph, tc.xr, tc.platform)
			if tc.field == "" {
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				return
			}
			requireFieldError(t, tc.reason, err, tc.field, tc.words)
		})
	}
	if _, err := pooledIn(t, "", "north", storageXR, placed); err == nil || !strings.Contains(err.Error(), `the StorageCluster is in cluster "north", which`) {
		t.Errorf("a cluster that the platform does not name any more: %v", err)
	}
}

// TestUnreferencedPoolKeys: copies of keys that nobody names any more stay where they are, in whichever cluster.
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
		"Local":  {"It is composed as it is.", map[string]*structpb.Struct{of + "-keys-" + of + "-key": structOf(t, fields(t, "{metadata: {name: a}, spec: {}}"))}, ""},
		"Here":   {"Wrapped in the management cluster.", map[string]*structpb.Struct{of + "-keys-" + of + "-key": wrapped("in-cluster")}, ""},
		"There":  {"With Ceph.", map[string]*structpb.Struct{of + "-keys-" + of + "-key": wrapped("west")}, "west"},
		"Pushed": {"From where Ceph is, to somewhere else.", map[string]*structpb.Struct{of + "-keys-push-" + of + "-key": wrapped("west"), of + "-keys-workload-" + of + "-key": wrapped("east")}, "west"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(pooledInput(t, `{services: {glance: {enabled: false}}}`, "", "", tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.keys) != 1 || m.keys[0].Cluster != tc.want {
				t.Errorf("%s\ngot %+v, want cluster %q; the management cluster is %s", tc.reason, m.keys, tc.want, platform.Management(m.platform))
			}
		})
	}
}
