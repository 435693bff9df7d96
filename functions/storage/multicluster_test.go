package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// clusters are the clusters of a platform with a secret store, and with pull secrets.
const clusters = "{domain: example.com, images: {registry: registry.example.com, pullSecrets: [registry]}, secretStore: {name: openbao}, clusters: [" +
	"{name: east, providerConfig: east-config, allowedNamespaces: [tenant-a]}, {name: here, providerConfig: in-cluster, allowedNamespaces: [tenant-a]}, " +
	"{name: theirs, providerConfig: theirs, allowedNamespaces: [tenant-b]}], limits: [" + limittest.Everything + "]}"

// in returns a spec in a cluster, with an object store, a file system and consumers.
func in(cluster, fields string) string {
	spec := "objectStores: [{name: objects}], filesystems: [{name: shares}], network: {host: true, publicCIDRs: [10.0.0.0/24]}" + fields
	if cluster != "" {
		spec += ", cluster: {ref: {name: " + cluster + "}}"
	}
	return with(spec)
}

// lives returns the provider config of a composed resource's cluster, and its object.
func lives(o encoded.Struct) (string, map[string]any) {
	if !wrapper.IsObject(o) {
		return "in-cluster", o.Map()
	}
	inside, _ := wrapper.Desired(o)
	return wrapper.ProviderConfig(o), inside.Map()
}

// TestClusterPerClaim verifies that Ceph and its dependencies are in the nodes' cluster, and that the management cluster has only the
// objects that Crossplane and the platform's Secrets need. None of them is a Secret.
func TestClusterPerClaim(t *testing.T) {
	for cluster, config := range map[string]string{"": "in-cluster", "here": "in-cluster", "east": "east-config"} {
		for _, policy := range []string{"Retain", "Delete"} {
			t.Run(fmt.Sprintf("%q %s", cluster, policy), func(t *testing.T) {
				w := newCluster(in(cluster, ", deletionPolicy: "+policy), clusters)
				if err := makeReady(w); err != nil {
					t.Fatal(err)
				}
				away := config != "in-cluster"
				namespaces := map[string]string{}
				for name, r := range New().Run(w.Request()).Composed {
					at, object := lives(r.Object)
					kind, want := object["kind"].(string), config
					switch {
					case kind == "Secret":
						t.Errorf("%s is a Secret, whose value would be in an answer", name)
					case kind == "Usage", name == namespaceComponent:
						want = "in-cluster"
					case strings.HasPrefix(name, "platform-pull-secrets") && !strings.Contains(name, "-workload-"):
						want = "in-cluster"
					}
					if at != want {
						t.Errorf("%s (%s) is in %s, want %s", name, kind, at, want)
					}
					if kind == "Namespace" {
						labels := object["metadata"].(map[string]any)["labels"].(map[string]any)
						namespaces[at] = fmt.Sprint(labels["pod-security.kubernetes.io/enforce"], " ", labels["app.kubernetes.io/managed-by"])
					}
				}
				want := map[string]string{"in-cluster": "privileged <nil>"}
				if away {
					want = map[string]string{"in-cluster": "restricted crossplane-cobaltcore", "east-config": "privileged crossplane-cobaltcore"}
				}
				if diff := cmp.Diff(want, namespaces); diff != "" {
					t.Errorf("namespaces, their pod security, and access to the store (-want +got):\n%s", diff)
				}
				monitors, ok := New().Run(w.Request()).Composed[monitorsResource]
				if ok != away || away && !wrapper.IsObserveOnly(monitors.Object) {
					t.Errorf("the ConfigMap with the monitors is composed: %t, only to be looked at: %t", ok, wrapper.IsObserveOnly(monitors.Object))
				}
				uses := kind.Desired(t, w)["ceph-uses-"+workloadNamespaceResource]
				if (uses != nil) != away {
					t.Errorf("the namespace in the nodes' cluster is protected while Ceph exists: %v", uses)
				}
			})
		}
	}
}

// TestMonitorsInOtherCluster verifies that Rook's ConfigMap of monitors is observed, that the claim waits for it, and that the last known
// monitors stay if it is lost.
func TestMonitorsInOtherCluster(t *testing.T) {
	w := newCluster(in("east", ""), clusters)
	// Rook's ConfigMap in the management cluster, if it exists, belongs to another Ceph cluster.
	w.Required[monitorsRequirement] = []*structpb.Struct{parsed(`{data: {data: "a=10.9.9.9:6789"}}`)}
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	monitors := []any{"[v2:192.0.2.1:3300,v1:192.0.2.1:6789]", "[v2:192.0.2.2:3300,v1:192.0.2.2:6789]", "[v2:192.0.2.3:3300,v1:192.0.2.3:6789]"}
	if diff := cmp.Diff(monitors, accessOf(w)["monitors"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	configMap := w.Observed[monitorsResource]
	for name, tc := range map[string]struct {
		reason    string
		configMap encoded.Struct
		want      []any
	}{
		"Moved":   {"A monitor has moved.", wrapper.WithObserved(configMap, encoded.Of(parsed(`{data: {data: "a=10.0.0.9:3300"}}`))), []any{"[v2:10.0.0.9:3300]"}},
		"Empty":   {"Rook reports nothing.", wrapper.WithObserved(configMap, encoded.Of(parsed(`{data: {}}`))), monitors},
		"Unknown": {"It was not observed yet.", nil, monitors},
	} {
		t.Run(name, func(t *testing.T) {
			if w.Observed[monitorsResource] = tc.configMap; tc.configMap == nil {
				delete(w.Observed, monitorsResource)
			}
			rsp := New().Run(w.Request())
			if diff := cmp.Diff(tc.want, rsp.Composite.Object.At("status", "access", "monitors").List()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if rsp.Composite.Ready {
				t.Errorf("%s\nThe claim is ready.", tc.reason) // In the first case, ConfigMap access does not have the address yet.
			}
		})
	}
	if queries := New().Run(w.Request()).Requirements; queries[monitorsRequirement].Kind != "" {
		t.Errorf("it requires %v from the management cluster", queries)
	}
}

// TestRejectsFieldsUnsupportedAcrossClusters verifies that fields which are not supported across clusters are rejected by their path,
// without disclosing other claims.
func TestRejectsFieldsUnsupportedAcrossClusters(t *testing.T) {
	storeless := strings.Replace(clusters, "secretStore: {name: openbao}, ", "", 1)
	const external = `{external: {fsid: 0f7a0b1c-0c1e-4a53-9d3f-7f6f1f0c5b1e, monitors: ["10.0.0.1:6789"], clients: [{service: glance, secretRef: {name: k}}]}, ` +
		`pools: [{name: images}], cluster: {ref: {name: east}}}`
	keystone := strings.Replace(in("east", ""), "{name: objects}", "{name: objects, keystone: {controlPlaneRef: {namespace: a, name: b}}}", 1)
	for name, tc := range map[string]struct{ reason, spec, platform, field, message string }{
		"Another's": {"The namespace may not use it.", in("theirs", ""), clusters, "spec.cluster.ref.name", `cluster "theirs" is not available`},
		"None":      {"It does not exist; the error is the same.", in("none", ""), clusters, "spec.cluster.ref.name", `cluster "none" is not available`},
		"External":  {"It does not run in a cluster of the platform.", external, clusters, "spec.cluster", "remove cluster"},
		"Keystone":  {"Users cannot reach the gateways.", keystone, clusters, "spec.objectStores[0].keystone", "remove keystone"},
		"Beside":    {"They can in one cluster.", strings.Replace(keystone, "name: east", "name: here", 1), clusters, "", ""},
		"Pods":      {"Clients check whether they can reach them.", with("cluster: {ref: {name: east}}, network: {host: false}"), clusters, "", ""},
		"Pulls": {
			"The claim's pull secrets cannot be copied.", in("east", ", images: {pullSecrets: [own]}"), strings.Replace(storeless, "pullSecrets: [registry]", "pullSecrets: []", 1),
			"spec.images.pullSecrets", "pull secrets require a secret store",
		},
		"Storeless": {"No Secret is copied to another cluster.", in("east", ""), strings.Replace(storeless, "pullSecrets: [registry]", "pullSecrets: []", 1), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, tc.platform)
			var err error
			for range 30 {
				if _, err = w.Call(func(simulate.Step) {}); err != nil {
					break
				}
			}
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
	// Errors that the platform team must fix are not reported as errors of the claim.
	w := newCluster(in("east", ""), storeless)
	if _, _, err := w.Explain(New()); err == nil { // Crossplane looks for a WorkloadCluster with this name.
		t.Error("pull secrets without a store are accepted")
	}
	rsp := New().Run(w.Request())
	if got := rsp.Results; len(got) != 2 || !strings.Contains(got[0].GetMessage(), "images.pullSecrets cannot be copied to another cluster") {
		t.Errorf("without a store the results are %v", got)
	}
}

// TestPullSecretsInOtherCluster verifies that the platform's pull secrets are copied through the store, to entries of this cluster only,
// and stay as long as its workloads.
func TestPullSecretsInOtherCluster(t *testing.T) {
	w := newCluster(in("east", ""), clusters)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	all := kind.Desired(t, w)
	const entry = "storage/tenant-a-storage-72da48a0ed7f612b5eac/platform-pull-registry"
	push := fmt.Sprint(all["platform-pull-secrets-push-platform-pull-registry"]["spec"])
	arrival := fmt.Sprint(all["platform-pull-secrets-workload-platform-pull-registry"]["spec"])
	for label, text := range map[string]string{"pushed": push, "read": arrival} {
		if !strings.Contains(text, entry) {
			t.Errorf("it is %s by %s, want entry %s", label, text, entry)
		}
	}
	account := fmt.Sprint(all["account-rook-ceph-osd"]["imagePullSecrets"])
	if !strings.Contains(account, "platform-pull-registry") {
		t.Errorf("pods pull with %s", account)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, "push") && all[name]["kind"] != "PushSecret" {
			t.Errorf("%s is a %s", name, all[name]["kind"])
		}
	}
}
