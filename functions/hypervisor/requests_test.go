package hypervisor

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// daemonSets returns the DaemonSets among objects.
func daemonSets(t *testing.T, objects map[string]map[string]any) []appsv1.DaemonSet {
	t.Helper()
	var out []appsv1.DaemonSet
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if objects[name]["kind"] != "DaemonSet" {
			continue
		}
		var set appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[name], &set); err != nil {
			t.Fatal(err)
		}
		out = append(out, set)
	}
	return out
}

// nodeAlternatives returns the terms by which a DaemonSet chooses its nodes.
func nodeAlternatives(set *appsv1.DaemonSet) []corev1.NodeSelectorTerm {
	return set.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// isOn reports whether the scheduler puts a pod of a DaemonSet on a node with some labels.
func isOn(t *testing.T, set *appsv1.DaemonSet, node map[string]string) bool {
	t.Helper()
	return slices.ContainsFunc(nodeAlternatives(set), func(term corev1.NodeSelectorTerm) bool {
		for _, e := range term.MatchExpressions {
			value, has := node[e.Key]
			in := has && slices.Contains(e.Values, value)
			if e.Operator != corev1.NodeSelectorOpIn && e.Operator != corev1.NodeSelectorOpNotIn {
				t.Fatalf("%s chooses its nodes by %s, which this test does not know", set.Name, e.Operator)
			}
			if in != (e.Operator == corev1.NodeSelectorOpIn) {
				return false
			}
		}
		return true
	})
}

// kindsOfNodes returns every combination of the labels by which DaemonSets choose nodes.
func kindsOfNodes(sets []appsv1.DaemonSet) []map[string]string {
	values := map[string]map[string]bool{}
	for i := range sets {
		for _, term := range nodeAlternatives(&sets[i]) {
			for _, e := range term.MatchExpressions {
				if values[e.Key] == nil {
					values[e.Key] = map[string]bool{}
				}
				for _, v := range e.Values {
					values[e.Key][v] = true
				}
			}
		}
	}
	out := []map[string]string{{}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, node := range out {
			for _, value := range slices.Sorted(maps.Keys(values[key])) {
				with := maps.Clone(node)
				with[key] = value
				out = append(out, with)
			}
		}
	}
	return out
}

// A memoryPlan is the memory that nova-compute of a group of nodes reserves, and the largest sum of pod requests on one of these nodes,
// both in MiB.
type memoryPlan struct{ Reserved, Requested int64 }

// memoryOf returns the memory that each nova-compute keeps, by the name of its DaemonSet. It reads objects, and nothing of the function.
func memoryOf(t *testing.T, objects map[string]map[string]any) map[string]memoryPlan {
	t.Helper()
	sets, out := daemonSets(t, objects), map[string]memoryPlan{}
	for _, node := range kindsOfNodes(sets) {
		compute, requested := "", int64(0)
		for i := range sets {
			if !isOn(t, &sets[i], node) {
				continue
			}
			for _, c := range sets[i].Spec.Template.Spec.Containers {
				memory := c.Resources.Requests.Memory()
				if memory.IsZero() {
					t.Errorf("container %s of %s requests no memory", c.Name, sets[i].Name)
				}
				requested += memory.Value() / mebibyte
			}
			if sets[i].Spec.Template.Labels[agentLabel] == computeComponent {
				compute = sets[i].Name
				volumes := sets[i].Spec.Template.Spec.Volumes
				config := volumes[slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == "config" })].ConfigMap.Name
				text, _ := objects[config]["data"].(map[string]any)["nova.conf"].(string)
				parsed, err := oslo.Parse(text)
				if err != nil || len(parsed["DEFAULT"]["reserved_host_memory_mb"]) != 1 {
					t.Fatalf("%s keeps no memory: %v\n%s", compute, err, text)
				}
				plan := out[compute]
				if plan.Reserved, err = strconv.ParseInt(parsed["DEFAULT"]["reserved_host_memory_mb"][0], 10, 64); err != nil {
					t.Fatal(err)
				}
				out[compute] = plan
			}
		}
		if compute != "" {
			plan := out[compute]
			plan.Requested = max(plan.Requested, requested)
			out[compute] = plan
		}
	}
	return out
}

// exampleOf returns the spec of an example, for the control plane of these tests.
func exampleOf(t *testing.T, file string) string {
	t.Helper()
	text, err := examples.Files.ReadFile(path.Join("hypervisor", file))
	if err != nil {
		t.Fatal(err)
	}
	claim := map[string]any{}
	if err := yaml.Unmarshal(text, &claim); err != nil {
		t.Fatal(err)
	}
	spec := claim["spec"].(map[string]any)
	spec["controlPlaneRef"] = map[string]any{"namespace": "tenant-a", "name": "cloud"}
	out, err := yaml.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	json, err := yaml.YAMLToJSON(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(json)
}

// TestReservedMemory verifies that nova-compute by default reserves the memory requests of all pods of the pool on a node, and the node's
// overhead.
func TestReservedMemory(t *testing.T) {
	const overhead = nodeOverhead / mebibyte
	plus := func(requested int64) memoryPlan { return memoryPlan{requested + overhead, requested} }
	// libvirt, disk transfer and nova-compute have a container that requests certificates, with 32Mi, and so have ovn-controller and metadata.
	withAgents := func(requested int64) memoryPlan { return plus(requested + 3*32) }
	withOVN := func(requested int64) memoryPlan { return plus(requested + 5*32) }
	withCephs := more(`storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}`)
	noVolumes := reconcileUntil(controlPlaneYAML, "    volumes:")
	// The example's cards lead to the network fast.
	fast := strings.ReplaceAll(withCards, "physnet1", "fast")
	for name, tc := range map[string]struct {
		reason, spec, plane string
		want                map[string]memoryPlan
	}{
		"Least": {
			"The switch with its database, ovn-controller, metadata, libvirt, disk transfer and nova-compute.", mine, noVolumes,
			map[string]memoryPlan{"nova-compute": withOVN(320 + 256 + 512 + 256 + 64 + 512)},
		},
		"Volumes":         {"A backend in Ceph has volume-keys on each node.", mine, controlPlaneYAML, map[string]memoryPlan{"nova-compute": withOVN(1952)}},
		"DisksInAPool":    {"Disks in a pool also require volume-keys.", withCephs, noVolumes, map[string]memoryPlan{"nova-compute": withOVN(1952)}},
		"LibvirtOfNode":   {"libvirt has no pod.", more("virtualization: {libvirt: {mode: Host}}"), noVolumes, map[string]memoryPlan{"nova-compute": withOVN(1664 - 32)}},
		"WithoutMetadata": {"It is not there.", more("agents: {metadata: {enabled: false}}"), noVolumes, map[string]memoryPlan{"nova-compute": plus(1408 + 4*32)}},
		"ClaimedRequests": {
			"The claim's own requests count, and a limit lowers a request.",
			more("agents: {novaCompute: {resources: {requests: {memory: 2Gi}}}, metadata: {resources: {limits: {memory: 200Mi}}}}"), noVolumes,
			map[string]memoryPlan{"nova-compute": withOVN(320 + 256 + 200 + 256 + 64 + 2048)},
		},
		"OVSAgent": {
			"It is off by default.", more(`agents: {ovsAgent: {enabled: true, image: {tag: "1"}}}`), noVolumes,
			map[string]memoryPlan{"nova-compute": withOVN(1920 + 128)},
		},
		"Agents": {
			"Without gateways there is the agent of the switch.", mine, byAgents,
			map[string]memoryPlan{"nova-compute": withAgents(320 + 256 + 256 + 32 + 64 + 512)},
		},
		"AgentsOnGateways": {
			"A gateway has three agents more, and every node keeps as much as a gateway needs.", more(served), byAgents,
			map[string]memoryPlan{"nova-compute": withAgents(1440 + 3*256)},
		},
		"AgentsOnGatewaysOfASlice": {
			"Nodes of the pool are no gateways.",
			more(`slices: [{name: edge, nodeSelector: {tier: edge}, networks: {gateway: {nodeSelector: {gate: "true"}}}}]`), byAgents,
			map[string]memoryPlan{"nova-compute": withAgents(1440), "nova-compute-slice-edge": withAgents(1440 + 3*256)},
		},
		"GatewaysOfOVN": {"A gateway runs ovn-gateway instead of ovn-controller.", more(served), noVolumes, map[string]memoryPlan{"nova-compute": withOVN(1920)}},
		"Cards":         {"Network cards have an agent.", more(carded), withCards, map[string]memoryPlan{"nova-compute": withOVN(1952 + 256)}},
		"Set":           {"The claim's value is not changed.", more("memory: {reserved: 16Gi}"), noVolumes, map[string]memoryPlan{"nova-compute": {16384, 2080}}},
		"RoundedUp":     {"Nova counts in MiB.", more("memory: {reserved: 3000000000}"), noVolumes, map[string]memoryPlan{"nova-compute": {2862, 2080}}},
		"RatioAlone": {
			"Another setting of memory changes nothing.", more("memory: {allocationRatio: 1}"), noVolumes,
			map[string]memoryPlan{"nova-compute": withOVN(1920)},
		},
		"SaidForASlice": {
			"A slice may keep more.", more("slices: [{name: a, nodeSelector: {rack: a}, memory: {reserved: 8Gi}}]"), noVolumes,
			map[string]memoryPlan{"nova-compute": withOVN(1920), "nova-compute-slice-a": {8192, 2080}},
		},
		"Example": {
			"examples/hypervisor/claim.yaml", exampleOf(t, "claim.yaml"), controlPlaneYAML,
			map[string]memoryPlan{"nova-compute": {16384, 2112}, "nova-compute-slice-pinned": {16384, 2112}},
		},
		"ExampleAgents": {
			"examples/hypervisor/agents.yaml, whose agents request 512Mi", exampleOf(t, "agents.yaml"), byAgents,
			map[string]memoryPlan{"nova-compute": withAgents(320 + 512 + 2*512 + 256 + 256 + 32 + 64 + 512)},
		},
		"ExampleCards": {
			"examples/hypervisor/sriov.yaml, whose slice has cards", exampleOf(t, "sriov.yaml"), fast,
			map[string]memoryPlan{"nova-compute": withOVN(1952), "nova-compute-slice-fast": withOVN(1952 + 256)},
		},
		"ExampleApart": {
			"examples/hypervisor/own-cluster.yaml, with two agents more and neither libvirt nor metadata", exampleOf(t, "own-cluster.yaml"), controlPlaneYAML,
			map[string]memoryPlan{"nova-compute": plus(1952 - 256 - 512 + 64 + 128)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, tc.plane, storageClaim, storageXR)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, memoryOf(t, kind.Desired(t, w))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReservedMemoryOfEveryKindOfPool verifies that the reserved memory follows from pod requests, for all claims in testdata.
func TestReservedMemoryOfEveryKindOfPool(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 11 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "reserved: ") { // The claim sets it.
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		w, _ := kind.Ready(t, name)
		got := memoryOf(t, kind.Desired(t, w))
		if len(got) == 0 {
			t.Errorf("%s: there is no nova-compute", name)
		}
		for compute, plan := range got {
			if diff := cmp.Diff(plan.Requested+nodeOverhead/mebibyte, plan.Reserved); diff != "" {
				t.Errorf("%s: %s does not reserve the pod requests and the overhead (-want +got):\n%s", name, compute, diff)
			}
		}
	}
}

// TestReservedMemorySufficient verifies that a claim which reserves less than the pod requests is composed, with a condition.
func TestReservedMemorySufficient(t *testing.T) {
	const small = "STATUS_CONDITION_FALSE ReservedTooSmall: "
	noVolumes := reconcileUntil(controlPlaneYAML, "    volumes:")
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"Unset":  {"The default is sufficient.", mine, ""},
		"Enough": {"It covers the pod requests.", more("memory: {reserved: 2080Mi}"), "STATUS_CONDITION_TRUE Covered: memory.reserved covers the pods of the pool"},
		"Less": {
			"Nova gives servers memory that the pods use.", more("memory: {reserved: 2079Mi}"),
			small + "spec.memory.reserved: 2079Mi is less than the 2080Mi that pods of the pool request on a node, and servers get memory that is " +
				"not free; set 4128Mi or more, or remove the field",
		},
		"SliceOfItsOwn": {
			"A slice has its own field.", more("memory: {reserved: 4Gi}, slices: [{name: a, nodeSelector: {rack: a}, memory: {reserved: 1Gi}}]"),
			small + "spec.slices[0].memory.reserved: 1Gi is less than the 2080Mi that pods of the pool request on a node, and servers get memory " +
				"that is not free; set 4128Mi or more, or remove the field",
		},
		"SliceOfThePool": {
			"A slice with an agent more has the pool's value.",
			more(`memory: {reserved: 2100Mi}, slices: [{name: a, nodeSelector: {rack: a}, ` + carded + `}]`),
			small + "spec.memory.reserved: 2100Mi is less than the 2336Mi that pods of the pool request on a node, and servers get memory that is " +
				"not free; set 4384Mi or more, or remove the field",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plane := noVolumes
			if strings.Contains(tc.spec, carded) {
				plane = reconcileUntil(withCards, "    volumes:")
			}
			w := ran(t, tc.spec, plane)
			got := ""
			for _, c := range New().Run(w.Request()).Conditions {
				if c.Type == reservedMemorySufficient {
					got = c.Status.String() + " " + c.Reason + ": " + c.GetMessage()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if _, ok := kind.Desired(t, w)[computeComponent]; !ok {
				t.Error("the pool is not composed")
			}
		})
	}
}

// TestReservedDiskSetting verifies that space on the node's disk is reserved, unless the claim sets it, or disks of servers are not on it.
func TestReservedDiskSetting(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, want, config string }{
		"NodeDisk": {"The function does not have the size of the disk.", mine, "yes", ""},
		"Claim": {
			"The file that the script writes would win over nova.conf.",
			more("agents: {novaCompute: {config: {DEFAULT: {reserved_host_disk_mb: 5000}}}}"), "", "reserved_host_disk_mb = 5000\n",
		},
		"ClaimWithNone": {
			"0 is a value, too.", more("agents: {novaCompute: {config: {DEFAULT: {reserved_host_disk_mb: 0}}}}"), "", "reserved_host_disk_mb = 0\n",
		},
		"Ceph": {"Nova would keep room of Ceph for each node.", more("storage: {clusterRef: {namespace: storage, name: ceph}, pool: vms}"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, controlPlaneYAML, storageClaim, storageXR)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			all := kind.Desired(t, w)
			sets := daemonSets(t, all)
			set := sets[slices.IndexFunc(sets, func(s appsv1.DaemonSet) bool { return s.Name == computeComponent })]
			env, config := set.Spec.Template.Spec.Containers[0].Env, ""
			for name, o := range all {
				if strings.HasPrefix(name, computeComponent+"-config-") {
					config = o["data"].(map[string]any)["nova.conf"].(string)
				}
			}
			at := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "RESERVE_DISK" })
			if at < 0 {
				t.Fatal("the script has no variable")
			}
			if diff := cmp.Diff(tc.want, env[at].Value); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if strings.Contains(config, "reserved_host_disk_mb") != (tc.config != "") || !strings.Contains(config, tc.config) {
				t.Errorf("%s nova.conf does not have %q:\n%s", tc.reason, tc.config, config)
			}
		})
	}
}

// TestNodePodsHaveCriticalPriority verifies that every component of a node has the priority class: under memory or disk pressure, the
// kubelet evicts pods without it first, and the scheduler preempts them.
func TestNodePodsHaveCriticalPriority(t *testing.T) {
	want, got := map[string]string{}, map[string]string{}
	for _, p := range nodePods {
		want[p.component] = "system-node-critical"
	}
	for _, file := range []string{"disks", "cards", "agents", "mechanism-ovs"} {
		w, _ := kind.Ready(t, file)
		for _, set := range daemonSets(t, kind.Desired(t, w)) {
			component, class := set.Spec.Template.Labels[agentLabel], set.Spec.Template.Spec.PriorityClassName
			if before, ok := got[component]; ok && before != class {
				t.Errorf("%s of %s has class %q, and another pod of the component %q", set.Name, file, class, before)
			}
			got[component] = class
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("classes of components (-want +got):\n%s", diff)
	}
}

// TestNodePods verifies that each pod of a node has one row, and that a container without a row is an error.
func TestNodePods(t *testing.T) {
	m := &model{}
	for _, containers := range [][]corev1.Container{{{Name: "first"}}, {{Name: "first"}, {Name: "second"}}} {
		if err := m.setResources(&group{}, "unknown", containers); err == nil || !strings.Contains(err.Error(), "no row in nodePods") {
			t.Errorf("a pod without a row: %v", err)
		}
	}
	first := nodePods[0]
	defer func() { nodePods[0] = first }()
	nodePods[0].runs = func(*model, *group) bool { return true }
	both := []corev1.Container{{Name: "ovs-vswitchd"}, {Name: "sidecar"}}
	if err := m.setResources(&group{}, switchComponent, both); err == nil || !strings.Contains(err.Error(), "container sidecar of openvswitch") {
		t.Errorf("a container without resources: %v", err)
	}
}
