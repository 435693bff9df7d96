package hypervisor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// reporting is a pool with the KVM node agent and its requirements.
const reporting = operating + ", virtualization: {libvirt: {mode: Host}}"

// withNodeAgent returns such a pool with further settings of agents.
func withNodeAgent(more string) string {
	return strings.TrimSuffix(mine, "}") + ", " + reporting + ", agents: {kvmNodeAgent: {enabled: true}" + more + "}}"
}

// daemonOf returns the pod template and the first container of a composed DaemonSet.
func daemonOf(t *testing.T, all map[string]encoded.Struct, name string) (template, container map[string]any) {
	t.Helper()
	_, object := lives(all[name])
	if object["kind"] != "DaemonSet" {
		t.Fatalf("%s is %v", name, object["kind"])
	}
	template = object["spec"].(map[string]any)["template"].(map[string]any)
	return template, template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
}

// hostPaths returns the host paths of a pod, and whether its first container may write to them.
func hostPaths(template map[string]any) map[string]string {
	out, spec := map[string]string{}, template["spec"].(map[string]any)
	for _, v := range spec["volumes"].([]any) {
		v := v.(map[string]any)
		h, ok := v["hostPath"].(map[string]any)
		if !ok {
			continue
		}
		for _, m := range spec["containers"].([]any)[0].(map[string]any)["volumeMounts"].([]any) {
			if m := m.(map[string]any); m["name"] == v["name"] {
				how := "written"
				if m["readOnly"] == true {
					how = "read"
				}
				out[h["path"].(string)] = m["mountPath"].(string) + " " + how
			}
		}
	}
	return out
}

// kindsOf returns the kinds of composed resources with a name prefix, by name.
func kindsOf(all map[string]encoded.Struct, prefix string) map[string]string {
	out := map[string]string{}
	for name, o := range all {
		if strings.HasPrefix(name, prefix) {
			_, object := lives(o)
			out[name] = object["kind"].(string)
		}
	}
	return out
}

// TestAgentsAreOff verifies that both agents are off by default, because their external programs are not tested here.
func TestAgentsAreOff(t *testing.T) {
	for _, spec := range []string{
		mine, more("agents: {}"), more("agents: {kvmNodeAgent: {enabled: false}, ovsAgent: {enabled: false, image: {tag: '1'}}}"),
		more("agents: {kvmNodeAgent: {}, ovsAgent: {image: {tag: '1'}}}"),
	} {
		for name := range composedOf(t, newCluster(spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)) {
			if strings.Contains(name, "-agent") {
				t.Errorf("%s has %s", spec, name)
			}
		}
	}
}

// TestNodeAgent verifies the agent's configuration and its access to the node: libvirt's read-only socket, and systemd's bus, as a user
// other than root. It runs the platform's image with the platform's pull secrets, regardless of the claim's.
func TestNodeAgent(t *testing.T) {
	spec := strings.TrimSuffix(withNodeAgent(""), "}") + ", images: {pullSecrets: [mine]}, slices: [{name: fast, nodeSelector: {disk: nvme}}]}"
	all := composedOf(t, newCluster(spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...))
	if diff := cmp.Diff(map[string]string{
		"kvm-node-agent": "DaemonSet", "kvm-node-agent-slice-fast": "DaemonSet", "kvm-node-agent-account": "ServiceAccount",
		"kvm-node-agent-rights": "ClusterRoleBinding", "kvm-node-agent-network-policy": "NetworkPolicy",
	}, kindsOf(all, nodeAgentComponent)); diff != "" {
		t.Errorf("there is (-want +got):\n%s", diff)
	}
	for _, name := range []string{nodeAgentComponent, nodeAgentComponent + "-slice-fast"} {
		template, c := daemonOf(t, all, name)
		pod := template["spec"].(map[string]any)
		env := map[string]any{}
		for _, v := range c["env"].([]any) {
			v := v.(map[string]any)
			env[v["name"].(string)] = v["value"]
			if from, ok := v["valueFrom"].(map[string]any); ok {
				env[v["name"].(string)] = from["fieldRef"].(map[string]any)["fieldPath"]
			}
		}
		if diff := cmp.Diff(map[string]any{
			"HOSTNAME": "spec.nodeName", "NODE_LABEL": "spec.nodeName", "NAMESPACE": "tenant-a-hypervisors-ed08c74e4294644ac141",
			"PKI_PATH": "/tmp/pki", "LIBVIRT_DEFAULT_URI": "qemu:///system", "LIBVIRT_SOCKET": "/run/libvirt/libvirt-sock-ro",
		}, env); diff != "" {
			t.Errorf("%s: its environment (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]string{
			"/run/libvirt": "/run/libvirt read", "/run/dbus/system_bus_socket": "/var/run/dbus/system_bus_socket read",
		}, hostPaths(template)); diff != "" {
			t.Errorf("%s: it sees of the node (-want +got):\n%s", name, diff)
		}
		for _, field := range []string{"hostNetwork", "hostPID"} {
			if pod[field] == true {
				t.Errorf("%s has %s", name, field)
			}
		}
		security := c["securityContext"].(map[string]any)
		if security["privileged"] != nil || security["runAsUser"] != nil || security["capabilities"].(map[string]any)["add"] != nil {
			t.Errorf("%s may do %v", name, security)
		}
		if user := pod["securityContext"].(map[string]any)["runAsUser"]; user != float64(nodeAgentUser) {
			t.Errorf("%s runs as %v", name, user)
		}
		if reason, _ := template["metadata"].(map[string]any)["annotations"].(map[string]any)[workload.PrivilegeAnnotation].(string); !strings.HasPrefix(reason, "kvm-node-agent: ") {
			t.Errorf("%s gives no reason for its access to the node: %q", name, reason)
		}
		if c["image"] != "registry.example.com/cobaltcore-dev/kvm-node-agent:v0.2.0" {
			t.Errorf("%s runs %v", name, c["image"])
		}
		if diff := cmp.Diff([]any{map[string]any{"name": "platform-pull-registry"}}, pod["imagePullSecrets"]); diff != "" {
			t.Errorf("%s is pulled with (-want +got):\n%s", name, diff)
		}
	}
	// Its account is bound to one role of the chart, and no other account is.
	_, binding := lives(all[nodeAgentComponent+"-rights"])
	if diff := cmp.Diff([]any{map[string]any{
		"kind": "ServiceAccount", "namespace": "tenant-a-hypervisors-ed08c74e4294644ac141", "name": "kvm-node-agent",
	}}, binding["subjects"]); diff != "" {
		t.Errorf("rights are of (-want +got):\n%s", diff)
	}
	if role := binding["roleRef"].(map[string]any)["name"]; role != "cobaltcore:kvm-node-agent" {
		t.Errorf("its rights are %v", role)
	}
}

// TestAgentsAreWithNodes verifies that their objects are in the nodes' cluster, regardless of the control plane's.
func TestAgentsAreWithNodes(t *testing.T) {
	spec := more(reporting)
	for _, nodes := range []string{"", "east"} {
		requested := strings.Replace(inCluster(spec, nodes), "agents: {metadata: {enabled: false}}",
			"agents: {metadata: {enabled: false}, kvmNodeAgent: {enabled: true}, ovsAgent: {enabled: true, image: {tag: '1'}}}", 1)
		found := 0
		for name, o := range composedOf(t, newCluster(requested, "tenant-a", objects(planeClaim, controlPlaneYAML)...)) {
			if at, _ := lives(o); strings.HasPrefix(name, nodeAgentComponent) || strings.HasPrefix(name, ovsAgentComponent) {
				found++
				if at != providerConfigs[nodes] {
					t.Errorf("%s is in %s, and nodes in %s", name, at, providerConfigs[nodes])
				}
			}
		}
		if found != 7 {
			t.Errorf("nodes in %q: there are %d objects of agents, want 7", nodes, found)
		}
	}
}

// TestNodeAgent_RejectsSettings verifies that the agent is rejected where it would exit or observe nothing, and in namespaces for which the platform
// does not allow access to objects of other nodes.
func TestNodeAgent_RejectsSettings(t *testing.T) {
	closed := strings.Replace(open, `hypervisorAgents: ["*"]`, "hypervisorAgents: []", 1)
	unsaid := strings.Replace(open, `hypervisorAgents: ["*"], `, "", 1)
	others := strings.Replace(open, `hypervisorAgents: ["*"]`, "hypervisorAgents: [prysm]", 1)
	for name, tc := range map[string]struct{ reason, spec, platform, message string }{
		"NoOperator": {
			"Hypervisors are not created.", more("virtualization: {libvirt: {mode: Host}}, agents: {kvmNodeAgent: {enabled: true}}"), open,
			"which the hypervisor operator creates, and exits without one",
		},
		"Managed": {
			"It does not look at a libvirt that systemd does not run.", more(operating + ", agents: {kvmNodeAgent: {enabled: true}}"), open,
			"supports libvirt only if systemd of the node runs it",
		},
		"Closed": {"No limit allows it.", withNodeAgent(""), closed, `"kvmNodeAgent" is not in the hypervisorAgents`},
		"Unset":  {"No limit sets it.", withNodeAgent(""), unsaid, "in the hypervisorAgents of a limit"},
		"Others": {"A limit leaves them another one.", withNodeAgent(""), others, `"kvmNodeAgent" is not in the hypervisorAgents`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + tc.platform + `}`)
			wantError(t, tc.reason, makeReady(w), nodeAgentField, tc.message)
		})
	}
}

// TestNoAgentsRequired verifies that workloads of servers do not wait for optional agents.
func TestNoAgentsRequired(t *testing.T) {
	for _, c := range graph {
		for _, agent := range []string{nodeAgentComponent, ovsAgentComponent} {
			if slices.Contains(c.Needs, agent) || slices.Contains(c.Follows, agent) {
				t.Errorf("%s waits for %s", c.Name, agent)
			}
		}
	}
}

// TestAgentThatDoesNotRun verifies that the claim reports an agent that does not run, and reports the workloads of servers as ready.
func TestAgentThatDoesNotRun(t *testing.T) {
	for _, agent := range []string{nodeAgentComponent, ovsAgentComponent} {
		w := newCluster(withNodeAgent(", ovsAgent: {enabled: true, image: {tag: '1'}}"), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
		if err := makeReady(w); err != nil {
			t.Fatal(err)
		}
		w.Observed[agent] = w.Observed[agent].With(encoded.Number(3), "status", "desiredNumberScheduled").
			With(encoded.Number(3), "status", "updatedNumberScheduled").With(encoded.Number(1), "status", "numberAvailable")
		_, plan, err := w.Explain(New())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range respond.Components(plan, nil) {
			if c.Name != agent && c.Phase != common.PhaseReady {
				t.Errorf("without %s, %s is %s: %s", agent, c.Name, c.Phase, c.Message)
			}
			if c.Name == agent && (c.Phase == common.PhaseReady || !strings.Contains(c.Message, "the pods of 1 of 3 nodes are available")) {
				t.Errorf("%s is %s: %q", agent, c.Phase, c.Message)
			}
		}
		if len(plan.Parts) == 0 {
			t.Error("there are no components")
		}
	}
}
