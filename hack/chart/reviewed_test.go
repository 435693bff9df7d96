package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// handWritten lists the manually written rules of roles in templates, with the reason why each program needs them. names are the names of
// resources to which the rule is limited; "values" are from the chart's values.
var handWritten = []struct{ reason, role, groups, resources, names, verbs string }{
	{"A companion here reads cordoned Nodes of a pool with evictOnCordon.", "nodes", `""`, "nodes", "", "get"},
	{"A companion in another cluster does the same there.", "nodes", `""`, "nodes", "", "get"},
	{"It is bound in the namespaces of tenants, for Secrets that claims name.", "tenant-secrets", `""`, "secrets", "", "get"},
	{"It keeps a copy of all Nodes and Pods.", "labels-injector", `""`, "nodes, pods", "", "get, list, watch"},
	{"It labels pods of its pool.", "labels-injector-pods", `""`, "pods", "", "patch"},
	{"It follows which nodes there are.", "hypervisor-operator", `""`, "nodes", "", "get, list, watch"},
	{"Its cache starts only if it can read them.", "hypervisor-operator", "apps", "deployments", "", "get, list, watch"},
	{"Its cache starts only if it can read them.", "hypervisor-operator", "policy", "poddisruptionbudgets", "", "get, list, watch"},
	{"It waits for certificates of nodes.", "hypervisor-operator", "cert-manager.io", "certificates", "", "get, list, watch"},
	{"It makes one of each node, and none goes by it.", "hypervisor-operator", "kvm.cloud.sap", "hypervisors", "", "get, list, watch, create, update, patch"},
	{"It makes and removes them.", "hypervisor-operator", "kvm.cloud.sap", "evictions", "", "get, list, watch, create, update, patch, delete"},
	{"It reports.", "hypervisor-operator", "kvm.cloud.sap", "hypervisors/status, evictions/status", "", "get, update, patch"},
	{"It completes evictions before their deletion.", "hypervisor-operator", "kvm.cloud.sap", "evictions/finalizers", "", "update"},
	{"It orders certificates of nodes in its namespace.", "hypervisor-operator-namespace", "cert-manager.io", "certificates", "", "create, update, patch"},
	{"One of its pods leads.", "hypervisor-operator-namespace", "coordination.k8s.io", "leases", "", "get, create, update, patch"},
	{"It writes Events.", "hypervisor-operator-namespace", `""`, "events", "", "create, patch"},
	{"It reads the Hypervisor of its node.", "kvm-node-agent", "kvm.cloud.sap", "hypervisors", "values", "get, list, watch"},
	{"It reports to the Hypervisor of its node.", "kvm-node-agent", "kvm.cloud.sap", "hypervisors/status", "values", "patch"},
	{"It reads the certificate of its node.", "kvm-node-agent", `""`, "secrets", "values", "get, list, watch"},
	{"It makes an OVSNode of each node.", "ovs-agent", "ovs.c5c3.io", "ovsnodes", "", "get, list, watch, create, update, patch"},
	{"It reports.", "ovs-agent", "ovs.c5c3.io", "ovsnodes/status", "", "get, update, patch"},
	{
		"Who composes pools binds the roles of their agents.", "hypervisors", "rbac.authorization.k8s.io", "clusterroles",
		"hypervisor-operator hypervisor-operator-namespace kvm-node-agent labels-injector labels-injector-pods ovs-agent", "bind",
	},
	{
		"The platform enabled the webhook of a pool.", "hypervisors", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "",
		"get, list, watch, create, update, patch, delete",
	},
	{"A tenant's roles let people order claims.", "tenant", "{{ .group }}", `{{ join ", " .resources }}`, "", "get, list, watch, create, update, patch, delete"},
	{"People look at claims.", "viewer", "{{ .group }}", `{{ join ", " .resources }}`, "", "get, list, watch"},
	{"Each disk's daemon is created with a separate key.", "rook-osd", `""`, "secrets", "", "get, update"},
	{"Disks are found and reported in ConfigMaps.", "rook-osd", `""`, "configmaps", "", "get, list, watch, create, update, delete"},
	{"Rook's own chart gives them to who prepares disks.", "rook-osd", "ceph.rook.io", "cephclusters, cephclusters/finalizers", "", "get, list, create, update, delete"},
	{"The manager labels the one that is active.", "rook-mgr", `""`, "pods", "", "get, list, watch, update"},
	{"Its Services follow the one that is active.", "rook-mgr", `""`, "services", "", "get, list, watch, create, update, delete"},
	{"It reads its configuration.", "rook-mgr", "ceph.rook.io", "cephclusters", "", "get, list, watch"},
	{"A version is reported in a ConfigMap.", "rook-cmd-reporter", `""`, "configmaps", "", "get, create, update"},
	{"The node has the location of a disk.", "rook-nodes", `""`, "nodes", "", "get, list"},
	{
		"Who composes Ceph binds the roles of its daemons.", "storage", "rbac.authorization.k8s.io", "clusterroles",
		"rook-cmd-reporter rook-mgr rook-nodes rook-osd", "bind",
	},
}

// ruleOf matches a rule that stands in a template.
var ruleOf = regexp.MustCompile(`- apiGroups: \[(.*)\]\n\s*resources: \[(.*)\]\n((?:\s*resourceNames:.*\n(?:\s*(?:- [^a]|\{\{).*\n)*)?)\s*verbs: \[(.*)\]`)

// roleOf matches the name of a role, and namesOf the names in a rule.
var (
	roleOf  = regexp.MustCompile(`(?m)^  name: cobaltcore:([a-z-]+)$`)
	namesOf = regexp.MustCompile(`cobaltcore:([a-z-]+)`)
)

// templates returns the templates without comments and empty lines, by file.
func templates(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%v, %v", paths, err)
	}
	out := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for line := range strings.Lines(string(data)) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				text.WriteString(strings.TrimRight(line, " \n") + "\n")
			}
		}
		out[filepath.Base(path)] = text.String()
	}
	return out
}

// TestHandWrittenRights compares the manually written rules in templates with a table of the required permissions of each program. It does
// not require helm.
func TestHandWrittenRights(t *testing.T) {
	var want, got []string
	for _, h := range handWritten {
		want = append(want, fmt.Sprintf("%s may %s %s of %s [%s]", h.role, h.verbs, h.resources, h.groups, h.names))
	}
	for file, text := range templates(t) {
		if rules, lines := len(ruleOf.FindAllString(text, -1)), strings.Count(text, "apiGroups: [")-strings.Count(text, "apiVersions:"); rules != lines {
			t.Errorf("%s: %d rules are read, of %d", file, rules, lines)
		}
		if strings.Contains(text, `"*"`) && strings.Count(text, `"*"`) != strings.Count(text, `apiVersions: ["*"]`) {
			t.Errorf("%s: a rule is about everything", file)
		}
		for doc := range strings.SplitSeq(text, "\n---\n") {
			for _, m := range ruleOf.FindAllStringSubmatch(doc, -1) {
				role := roleOf.FindStringSubmatch(doc)
				if role == nil {
					t.Fatalf("%s: %s is in no role", file, m[0])
				}
				var names []string
				for _, n := range namesOf.FindAllStringSubmatch(m[3], -1) {
					names = append(names, n[1])
				}
				limit := strings.Join(names, " ")
				if strings.Contains(m[3], "range") {
					limit = "values"
				}
				got = append(got, fmt.Sprintf("%s may %s %s of %s [%s]", role[1], m[4], m[2], m[1], limit))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPoliciesRefuse checks the common properties of all admission policies: failurePolicy is Fail, the bindings deny, and each policy
// matches the right requests.
func TestPoliciesRefuse(t *testing.T) {
	all := templates(t)
	policy := regexp.MustCompile(`"cobaltcore\.policyMetadata" \(list \. "([a-z-]+)"\)`)
	got := map[string][2]string{}
	for _, file := range []string{"admission.yaml", "admission-instances.yaml"} {
		for doc := range strings.SplitSeq(all[file], "\n---\n") {
			name := policy.FindStringSubmatch(doc)
			if name == nil {
				continue
			}
			found := func(field string) string {
				var values []string
				for _, m := range regexp.MustCompile(`(?m)^\s*`+field+`: (.*)$`).FindAllStringSubmatch(doc, -1) {
					values = append(values, m[1])
				}
				return strings.Join(slices.Compact(values), " and ")
			}
			got[name[1]] = [2]string{found("failurePolicy"), found("operations")}
		}
	}
	want := map[string][2]string{
		"cobaltcore-claims": {"Fail", "[CREATE, UPDATE]"}, "cobaltcore-composites": {"Fail", "[DELETE]"}, "cobaltcore-deletion": {"Fail", "[DELETE]"},
		"cobaltcore-companion": {"Fail", "[CREATE, UPDATE]"}, "cobaltcore-namespaces": {"Fail", "[CREATE, UPDATE]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := strings.Count(all["_helpers.tpl"], "validationActions: [Deny]\n"); n != 1 || strings.Count(fmt.Sprint(all), "validationActions") != 1 {
		t.Errorf("%d bindings deny rejected requests", n)
	}
}
