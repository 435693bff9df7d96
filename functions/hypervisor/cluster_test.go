package hypervisor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// inCluster returns a spec in a cluster, with the metadata agent disabled, which requires the control plane's cluster.
func inCluster(spec, cluster string) string {
	out := strings.TrimSuffix(spec, "}") + ", agents: {metadata: {enabled: false}}"
	if cluster != "" {
		out += ", cluster: {ref: {name: " + cluster + "}}"
	}
	return out + "}"
}

// controlPlaneIn returns the control plane in a cluster.
func controlPlaneIn(cluster string) string {
	if cluster == "" {
		return controlPlaneYAML
	}
	return strings.Replace(controlPlaneYAML, "  openStackRelease", "  cluster: {ref: {name: "+cluster+"}}\n  openStackRelease", 1)
}

// providerConfigs maps the clusters' names in claims to their provider configs.
var providerConfigs = map[string]string{"": "in-cluster", "here": "in-cluster", "east": "east-config", "west": "west-config"}

// clusterPairs are pairs of the nodes' cluster and another one, of the control plane or of Ceph: in make test one of each relation between
// them, including the management cluster, and in make test-long all.
func clusterPairs() (out [][2]string) {
	if !effort.Long() {
		return [][2]string{{"", ""}, {"here", "east"}, {"west", ""}, {"east", "west"}, {"west", "west"}}
	}
	clusters := []string{"", "here", "east", "west"}
	for _, nodes := range clusters {
		for _, plane := range clusters {
			out = append(out, [2]string{nodes, plane})
		}
	}
	return out
}

// everywhere calls check for each of the clusterPairs.
func everywhere(t *testing.T, spec string, check func(t *testing.T, nodes, plane string, all map[string]encoded.Struct)) {
	t.Helper()
	for _, place := range clusterPairs() {
		nodes, plane := place[0], place[1]
		t.Run(fmt.Sprintf("nodes in %q, control plane in %q", nodes, plane), func(t *testing.T) {
			w := newCluster(inCluster(spec, nodes), "tenant-a", objects(planeClaim, controlPlaneIn(plane), storageClaim, storageXR)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			all := map[string]encoded.Struct{}
			for name, r := range New().Run(w.Request()).Composed {
				all[name] = r.Object
			}
			check(t, providerConfigs[nodes], providerConfigs[plane], all)
		})
	}
}

// lives returns the provider config of a composed resource's cluster, and its object.
func lives(o encoded.Struct) (string, map[string]any) {
	if !wrapper.IsObject(o) {
		return "in-cluster", o.Map()
	}
	inside, _ := wrapper.Desired(o)
	return wrapper.ProviderConfig(o), inside.Map()
}

// TestClusterPerClaim verifies that objects in the control plane's namespace are in its cluster, objects for nodes in the nodes' cluster,
// and objects for users and Crossplane in the management cluster; and that all references resolve within a cluster.
func TestClusterPerClaim(t *testing.T) {
	const pool = "tenant-a-hypervisors-ed08c74e4294644ac141"
	everywhere(t, inPool, func(t *testing.T, nodes, plane string, all map[string]encoded.Struct) {
		secrets, daemons := map[string]bool{}, 0
		for name, o := range all {
			at, object := lives(o)
			kind, meta := object["kind"].(string), object["metadata"].(map[string]any)
			want := nodes
			switch namespace, _ := meta["namespace"].(string); {
			case kind == "Secret":
				t.Errorf("%s is a Secret, whose value would be in an answer", name)
			case namespace == cloud:
				want = plane
			case namespace == "storage-ceph-1a2b3", namespace == "crossplane-system", kind == "Usage", name == usageUser, name == "storage",
				name == "namespace":
				want = "in-cluster"
			case strings.HasPrefix(name, "platform-pull-secrets"), strings.HasPrefix(name, "storage-secrets"):
				if !strings.Contains(name, "-workload-") {
					want = "in-cluster"
				}
			case kind == "ClusterRoleBinding" && nodes == plane: // The certificates of nodes.
			case namespace != pool && kind != "Namespace":
				t.Errorf("%s is in namespace %q", name, namespace)
			}
			if at != want {
				t.Errorf("%s (%s) is in %s, want %s", name, kind, at, want)
			}
			if kind == "ExternalSecret" && at == nodes {
				secrets[meta["name"].(string)] = true
			}
			if kind == "DaemonSet" {
				daemons++
			}
		}
		if daemons < 5 {
			t.Errorf("there are %d DaemonSets", daemons)
		}
		for name, o := range all {
			if _, object := lives(o); object["kind"] == "DaemonSet" {
				for _, s := range named(object) {
					if s != migrationSecret && s != emulatorSecret && s != diskTransferSecret && !secrets[s] {
						t.Errorf("%s reads Secret %s, which nothing brings to its cluster; there are %v", name, s, slices.Sorted(maps.Keys(secrets)))
					}
				}
			}
		}
	})
}

// named returns the Secrets that a pod template references.
func named(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		if s, ok := v["secretName"].(string); ok {
			out = append(out, s)
		}
		for key, inside := range v {
			if ref, ok := inside.(map[string]any); ok && (key == "secretKeyRef" || key == "secret") && ref["name"] != nil {
				out = append(out, ref["name"].(string))
			}
			if list, ok := inside.([]any); ok && key == "imagePullSecrets" {
				for _, s := range list {
					out = append(out, s.(map[string]any)["name"].(string))
				}
			}
			out = append(out, named(inside)...)
		}
	case []any:
		for _, inside := range v {
			out = append(out, named(inside)...)
		}
	}
	return out
}

// TestSecretStoreTransfer verifies that, between two clusters, each Secret that nodes need, and no other, is pushed to an entry of this
// pool and read from there. Within one cluster, the store is not used.
func TestSecretStoreTransfer(t *testing.T) {
	const below = "clouds/hypervisors/tenant-a-hypervisors-ed08c74e4294644ac141/"
	everywhere(t, inPool, func(t *testing.T, nodes, plane string, all map[string]encoded.Struct) {
		pushed, read := map[string]string{}, map[string]string{}
		for _, o := range all {
			at, object := lives(o)
			spec, _ := object["spec"].(map[string]any)
			switch object["kind"] {
			case "PushSecret":
				for _, v := range spec["data"].([]any) {
					match := v.(map[string]any)["match"].(map[string]any)
					ref := match["remoteRef"].(map[string]any)
					pushed[fmt.Sprintf("%s#%s", ref["remoteKey"], ref["property"])] = fmt.Sprintf("%s/%s/%s#%s", at,
						object["metadata"].(map[string]any)["namespace"], spec["selector"].(map[string]any)["secret"].(map[string]any)["name"], match["secretKey"])
				}
				if spec["deletionPolicy"] != "Delete" {
					t.Errorf("%v stays in the store", object["metadata"])
				}
			case "ExternalSecret":
				store, _ := spec["secretStoreRef"].(map[string]any) // The account's password is generated.
				if store["kind"] != "ClusterSecretStore" {
					continue
				}
				for _, v := range spec["data"].([]any) {
					ref := v.(map[string]any)["remoteRef"].(map[string]any)
					read[fmt.Sprintf("%s#%s", ref["key"], ref["property"])] = at
				}
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(pushed)), slices.Sorted(maps.Keys(read))); diff != "" {
			t.Errorf("the pushed keys differ from the read keys (-pushed +read):\n%s", diff)
		}
		var got []string
		for entry, from := range pushed {
			if !strings.HasPrefix(entry, below) || read[entry] != nodes {
				t.Errorf("entry %s of %s is read in %s, want it below %s, read in %s", entry, from, read[entry], below, nodes)
			}
			got = append(got, from)
		}
		slices.Sort(got)
		var want []string
		if nodes != plane {
			for _, s := range []string{
				"cinder-volume-ceph-rbd#ceph-rbd.client.cinder.keyring", "nova-cell1-queue#password", "nova-cell1-queue#username",
				"rabbitmq-tls#ca.crt", "tenant-a-hypervisors-ed08c74e4294644ac141-credential#application_credential_id",
				"tenant-a-hypervisors-ed08c74e4294644ac141-credential#application_credential_secret",
				"tenant-a-hypervisors-ed08c74e4294644ac141-ovn#ca.crt", "tenant-a-hypervisors-ed08c74e4294644ac141-ovn#tls.crt",
				"tenant-a-hypervisors-ed08c74e4294644ac141-ovn#tls.key",
				"tenant-a-hypervisors-ed08c74e4294644ac141-vnc#ca.crt", "tenant-a-hypervisors-ed08c74e4294644ac141-vnc#tls.crt",
				"tenant-a-hypervisors-ed08c74e4294644ac141-vnc#tls.key",
			} {
				want = append(want, plane+"/"+cloud+"/"+s)
			}
		}
		if nodes != "in-cluster" {
			const here = "in-cluster/tenant-a-hypervisors-ed08c74e4294644ac141/"
			want = append(want, here+"platform-pull-registry#.dockerconfigjson", here+"storage-key-rook-ceph-client-cloud-nova#userKey")
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pushed keys (-want +got):\n%s", diff)
		}
	})
}

// TestStoreIsOpenOnlyIfUsed verifies that the store is open to the pool's namespaces only if it is used.
func TestStoreIsOpenOnlyIfUsed(t *testing.T) {
	everywhere(t, mine, func(t *testing.T, nodes, plane string, all map[string]encoded.Struct) {
		marked := nodes != plane || nodes != "in-cluster"
		count := 0
		for name, o := range all {
			_, object := lives(o)
			if object["kind"] != "Namespace" {
				continue
			}
			count++
			labels := object["metadata"].(map[string]any)["labels"].(map[string]any)
			if got := labels["app.kubernetes.io/managed-by"] == "crossplane-cobaltcore"; got != marked {
				t.Errorf("%s is marked: %t, want %t", name, got, marked)
			}
			if !wrapper.OrphansOnDelete(o) {
				t.Errorf("%s goes with the claim, and everything in it", name)
			}
		}
		want := 1
		if nodes != "in-cluster" {
			want = 2
		}
		if count != want {
			t.Errorf("there are %d namespaces, want %d", count, want)
		}
	})
}

// TestRemoteNodesUseExposedAddresses verifies that nodes of another cluster use the exposed addresses, and no internal ones.
func TestRemoteNodesUseExposedAddresses(t *testing.T) {
	everywhere(t, mine, func(t *testing.T, nodes, plane string, all map[string]encoded.Struct) {
		inside, outside := []string{
			"rabbitmq." + cloud + ".svc", "ssl:ovn-southbound-0." + cloud + ".svc:6645", "https://keystone." + cloud + ".svc:5000/v3",
			"valid_interfaces = internal", "block-storage:cinder:internalURL",
		}, []string{
			"192.0.2.7", "30567", "ssl:192.0.2.1:6642,ssl:192.0.2.2:6642", "https://keystone.cloud.example.com/v3", "valid_interfaces = public",
			"block-storage:cinder:publicURL", "force_config_drive = true", publicCAs,
		}
		var text strings.Builder
		for name, o := range all {
			_, object := lives(o)
			if kind := object["kind"]; kind == "DaemonSet" || kind == "ConfigMap" && strings.Contains(name, "-config") {
				fmt.Fprint(&text, object["spec"], object["data"])
			}
		}
		requested, want, not := text.String(), inside, outside
		if nodes != plane {
			want, not = outside, inside
		}
		for _, message := range want {
			if !strings.Contains(requested, message) {
				t.Errorf("no object contains %q", message)
			}
		}
		for _, message := range not {
			if strings.Contains(requested, message) {
				t.Errorf("an object contains %q", message)
			}
		}
		// Pods listen on their usual port, regardless of node ports.
		_, policy := lives(all["queue-network-policy"])
		if text := fmt.Sprint(policy["spec"]); !strings.Contains(text, "port:5671") || strings.Contains(text, "30567") {
			t.Errorf("the queue is opened by %s", text)
		}
		// The companion watches pods of its cluster only.
		_, checked := all[checkComponent]
		_, opened := all["apis-network-policy"]
		if together := nodes == plane; checked != together || opened != together {
			t.Errorf("the companion checks nodes: %t, nodes may connect to APIs: %t, want %t", checked, opened, together)
		}
	})
}

// TestWaitsForExposure verifies that the message names each missing address with the field that exposes it. Workloads of the pool start
// after that, and stay if an address is lost.
func TestWaitsForExposure(t *testing.T) {
	for name, tc := range map[string]struct{ excludedLabels, want string }{
		"APIs": {
			"    publicIdentityURL: https://keystone.cloud.example.com/v3\n",
			"waiting for the APIs of control plane cloud of namespace tenant-a, which is not reachable from other clusters yet: set spec.global.exposure, " +
				"and check that it has an address",
		},
		"OVN": {
			"      externalSouthbound: ssl:192.0.2.1:6642,ssl:192.0.2.2:6642\n",
			"waiting for OVN's southbound database of control plane cloud of namespace tenant-a, which is not reachable from other clusters yet: set " +
				"spec.services.neutron.ovn.southbound.exposure, and check that it has an address",
		},
		"Queue": {
			"      externalQueue: {host: 192.0.2.7, port: 30567}\n",
			"waiting for the queue of cell cell1 of control plane cloud of namespace tenant-a, which is not reachable from other clusters yet: set " +
				"spec.infrastructure.rabbitmq.exposure, and check that it has an address",
		},
	} {
		t.Run(name, func(t *testing.T) {
			closed := strings.Replace(controlPlaneYAML, tc.excludedLabels, "", 1)
			if closed == controlPlaneYAML {
				t.Fatal("no field was removed")
			}
			w := newCluster(inCluster(mine, "east"), "tenant-a", objects(planeClaim, closed)...)
			for range 15 {
				if done, err := w.Call(func(simulate.Step) {}); err != nil || done {
					t.Fatalf("done %t, %v", done, err)
				}
			}
			for resource := range w.Observed {
				if strings.Contains(resource, switchComponent) || strings.Contains(resource, loginsName) {
					t.Errorf("%s exists", resource)
				}
			}
			if got := current(w); !strings.HasSuffix(got, tc.want) {
				t.Errorf("message %q, want %q", got, tc.want)
			}
			w.RequiredResources = objects(planeClaim, controlPlaneYAML)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			before := kind.Desired(t, w)
			w.RequiredResources = objects(planeClaim, closed)
			if _, err := w.Call(func(simulate.Step) {}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, kind.Desired(t, w)); diff != "" {
				t.Errorf("an address is lost, and the pool changes (-before +after):\n%s", diff)
			}
			if got := current(w); !strings.HasSuffix(got, tc.want) {
				t.Errorf("message %q, want %q", got, tc.want)
			}
		})
	}
}

// current returns the reported status of the claim.
func current(w *simulate.Cluster) string {
	for _, c := range New().Run(w.Request()).Conditions {
		if c.GetType() == "Current" {
			return c.GetMessage()
		}
	}
	return ""
}

// TestRejectsUnsupportedClusterReferences verifies that these are rejected: a cluster of another tenant, Secrets that cannot be copied, and
// features that require access to both clusters.
func TestRejectsUnsupportedClusterReferences(t *testing.T) {
	storeless := func(platform string) string {
		return strings.Replace(platform, "secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds}, ", "", 1)
	}
	public := strings.Replace(open, "pullSecrets: [registry]", "pullSecrets: []", 1)
	own := strings.Replace(controlPlaneYAML, "nova: {enabled: true}", "nova: {enabled: true, cells: [{name: cell1, infrastructure: {rabbitmq: {}}}]}", 1)
	pods := strings.Replace(storageXR, "    fsid:", "    podNetwork: true\n    fsid:", 1)
	separate := inCluster(mine, "east")
	with := func(fields string) string { return strings.TrimSuffix(separate, "}") + ", " + fields + "}" }
	for name, tc := range map[string]struct {
		reason, spec, platform, other, storage, field, message string
	}{
		"Another's": {"It is not offered here.", more("cluster: {ref: {name: theirs}}"), open, controlPlaneYAML, storageXR, "spec.cluster.ref.name", `cluster "theirs" is not available`},
		"None":      {"It does not exist; the error is the same.", more("cluster: {ref: {name: none}}"), open, controlPlaneYAML, storageXR, "spec.cluster.ref.name", `cluster "none" is not available`},
		"No store": {
			"Logins are not copied.", separate, storeless(public), controlPlaneYAML, storageXR, "spec.cluster", "logins are copied to another cluster through the platform's secret store",
		},
		"No store here": {
			"The claim names no cluster, and its control plane is in another.", inCluster(mine, ""), storeless(public), controlPlaneIn("east"), storageXR,
			"spec.controlPlaneRef", "nodes and control plane are in different clusters",
		},
		"No store for disks": {
			"The control plane is here, and the key is not.", inCluster(inPool, "east"), storeless(public), controlPlaneIn("east"), storageXR,
			"spec.storage", "keys of a StorageCluster are copied to another cluster",
		},
		"Pods": {
			"Nodes do not reach them.", inCluster(inPool, "east"), open, controlPlaneIn("east"), pods, "spec.storage.clusterRef", "select a StorageCluster with network.host",
		},
		"Queue": {"No field exposes it.", separate, open, own, storageXR, "spec.cell", "has its own queue, which is not exposed to other clusters"},
		"Metadata": {
			"Nodes cannot reach the metadata API.", more("cluster: {ref: {name: east}}"), open, controlPlaneYAML, storageXR, "spec.agents.metadata.enabled", "set it to false",
		},
		"Zone": {"The companion cannot watch the nodes.", with("availabilityZone: a"), open, controlPlaneYAML, storageXR, "spec.availabilityZone", "remove it"},
		"Slice": {
			"It applies to slices.", with("slices: [{name: s, nodeSelector: {rack: b}, aggregates: [ssd]}]"), open, controlPlaneYAML, storageXR,
			"spec.slices[0].aggregates", "remove it",
		},
		"Evict": {"The companion cannot watch the nodes.", with("virtualization: {evictOnCordon: true}"), open, controlPlaneYAML, storageXR, "spec.virtualization.evictOnCordon", "live-migrate servers manually"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, tc.other, storageClaim, tc.storage)...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + tc.platform + `}`)
			wantError(t, tc.reason, makeReady(w), tc.field, tc.message)
		})
	}
}

// TestClusterIDMissing verifies that a pool is unchanged if the platform removes its cluster, and that the message names the cause.
func TestClusterIDMissing(t *testing.T) {
	w := newCluster(inCluster(mine, "east"), "tenant-a", objects(planeClaim, controlPlaneIn("west"))...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(open, "{name: west, providerConfig: west-config, allowedNamespaces: [tenant-a]}, ", "", 1)
	w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + without + `}`)
	for name, others := range map[string][]*structpb.Struct{
		"said":       objects(planeClaim, controlPlaneIn("west")),
		"remembered": objects(planeClaim, reconcileUntil(controlPlaneIn("west"), "status:")),
	} {
		w.RequiredResources = others
		if _, _, err := w.Explain(New()); err == nil || invalid.Is(err) { // Crossplane looks for a WorkloadCluster with this name.
			t.Errorf("%s: the error is %v", name, err)
		}
		rsp := New().Run(w.Request())
		if len(rsp.Composed) > 0 {
			t.Errorf("%s: something is composed", name)
		}
		if got := rsp.Results; len(got) != 2 || !strings.Contains(got[0].GetMessage(), `cluster "west"`) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
