package hypervisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestOVSAgentHasMinimalPermissions verifies that the agent runs as documented, with minimal rights on nodes of the pool and of each slice,
// and with Kubernetes rights in the pool's namespace only.
func TestOVSAgentHasMinimalPermissions(t *testing.T) {
	all := composedOf(t, newCluster(more("slices: [{name: fast, nodeSelector: {disk: nvme}}], agents: {ovsAgent: {enabled: true, image: {tag: '1.0'}}}, "+
		"images: {pullSecrets: [mine]}"), "tenant-a", objects(planeClaim, controlPlaneYAML)...))
	if diff := cmp.Diff(map[string]string{
		"ovs-agent": "DaemonSet", "ovs-agent-slice-fast": "DaemonSet", "ovs-agent-account": "ServiceAccount", "ovs-agent-rights": "RoleBinding",
	}, kindsOf(all, ovsAgentComponent)); diff != "" {
		t.Errorf("there is (-want +got):\n%s", diff)
	}
	for _, name := range []string{ovsAgentComponent, ovsAgentComponent + "-slice-fast"} {
		template, c := daemonOf(t, all, name)
		pod := template["spec"].(map[string]any)
		if diff := cmp.Diff([]any{map[string]any{
			"name": "NODE_NAME", "valueFrom": map[string]any{"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
		}}, c["env"]); diff != "" {
			t.Errorf("%s: its environment (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]string{
			"/run/openvswitch": "/var/run/openvswitch written", "/var/lib/cobaltcore/openvswitch": "/etc/openvswitch read",
		}, hostPaths(template)); diff != "" {
			t.Errorf("%s: it sees of the node (-want +got):\n%s", name, diff)
		}
		security := c["securityContext"].(map[string]any)
		if security["privileged"] != nil || security["capabilities"].(map[string]any)["add"] != nil || pod["hostPID"] == true {
			t.Errorf("%s may do %v", name, security)
		}
		reason, _ := template["metadata"].(map[string]any)["annotations"].(map[string]any)[workload.PrivilegeAnnotation].(string)
		if !strings.HasPrefix(reason, "ovs-agent: ") {
			t.Errorf("%s gives no reason for its access to the node: %q", name, reason)
		}
		if c["image"] != "registry.example.com/c5c3/ovs-agent:1.0" {
			t.Errorf("%s runs %v", name, c["image"])
		}
		if diff := cmp.Diff([]any{map[string]any{"name": "claim-pull-mine"}}, pod["imagePullSecrets"]); diff != "" {
			t.Errorf("%s is pulled with (-want +got):\n%s", name, diff)
		}
	}
	_, binding := lives(all[ovsAgentComponent+"-rights"])
	meta, role := binding["metadata"].(map[string]any), binding["roleRef"].(map[string]any)["name"]
	if role != "cobaltcore:ovs-agent" || meta["namespace"] != "tenant-a-hypervisors-ed08c74e4294644ac141" {
		t.Errorf("its rights are %v in %v", role, meta["namespace"])
	}
}

// TestSwitchAgent_RejectsImages verifies that an image is required, and must be allowed for nodes by a limit.
func TestSwitchAgent_RejectsImages(t *testing.T) {
	closed := strings.Replace(open, `hypervisorRegistries: ["*"]`, "hypervisorRegistries: [a.example.com]", 1)
	for name, tc := range map[string]struct{ reason, image, field, message string }{
		"NoVersion": {"No version is released.", "", "spec.agents.ovsAgent.image", "give the tag or the digest"},
		"Anywhere": {
			"It controls the node.", ", image: {repository: b.example.com/ovs-agent, tag: '1'}", "spec.agents.ovsAgent.image.repository",
			"is not in the hypervisorRegistries",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(more("agents: {ovsAgent: {enabled: true"+tc.image+"}}"), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + closed + `}`)
			wantError(t, tc.reason, makeReady(w), tc.field, tc.message)
		})
	}
}
