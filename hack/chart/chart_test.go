package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	hackcrds "github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

const chart = "../../package/chart"

// helm is the real program. Building it takes minutes, so only `make test-package` sets it.
var helm = os.Getenv("HELM")

// TestGeneratedFilesAreCurrent checks that the generated files of the chart are up to date.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for _, folder := range []string{"generated", "crds"} {
		files, err := filepath.Glob(filepath.Join(chart, folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if got[folder+"/"+filepath.Base(f)], err = os.ReadFile(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run `make generate` (-generated, +in the chart):\n%s", diff)
	}
}

// rendered returns the output of `helm template` for values (YAML), in the namespace of Crossplane, by "Kind/name".
func rendered(t *testing.T, values string) map[string]map[string]any {
	t.Helper()
	out, err := template(t, values)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]map[string]any{}
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(out))); ; {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		o := map[string]any{}
		if err := yaml.UnmarshalStrict(doc, &o); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
		if len(o) == 0 {
			continue
		}
		meta, _ := o["metadata"].(map[string]any)
		key := o["kind"].(string) + "/" + meta["name"].(string)
		if objects[key] != nil {
			t.Errorf("%s is rendered twice", key)
		}
		objects[key] = o
	}
}

func template(t *testing.T, values string) ([]byte, error) {
	t.Helper()
	if helm == "" {
		t.Skip("run by `make test-package`, which builds helm first")
	}
	cmd := exec.Command(helm, "template", "cobaltcore", chart, "--namespace", "crossplane-system", "--values", "-",
		"--api-versions", "monitoring.coreos.com/v1/PrometheusRule")
	// It does not connect to a cluster or read a user's settings.
	cmd.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + os.DevNull}
	cmd.Stdin = strings.NewReader(values)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New(stderr.String())
	}
	return out, nil
}

const domain = "platformConfig: {spec: {domain: cloud.example.com}}\n"

var management = []string{
	"ClusterProviderConfig/in-cluster", "ClusterRole/cobaltcore:companion", "ClusterRole/cobaltcore:compose",
	"ClusterRole/cobaltcore:hypervisor-operator", "ClusterRole/cobaltcore:hypervisor-operator-namespace",
	"ClusterRole/cobaltcore:hypervisors", "ClusterRole/cobaltcore:kvm-node-agent", "ClusterRole/cobaltcore:labels-injector",
	"ClusterRole/cobaltcore:labels-injector-pods", "ClusterRole/cobaltcore:node-certificates", "ClusterRole/cobaltcore:hypervisor-recovery", "ClusterRole/cobaltcore:node-maintenance", "ClusterRole/cobaltcore:node-signer",
	"ClusterRole/cobaltcore:nodes", "ClusterRole/cobaltcore:objects",
	"ClusterRole/cobaltcore:ovs-agent", "ClusterRole/cobaltcore:rook-cmd-reporter", "ClusterRole/cobaltcore:rook-mgr",
	"ClusterRole/cobaltcore:rook-nodes", "ClusterRole/cobaltcore:rook-osd", "ClusterRole/cobaltcore:storage",
	"ClusterRoleBinding/cobaltcore:storage", "ClusterRole/cobaltcore:tenant", "ClusterRole/cobaltcore:tenant-secrets", "ClusterRole/cobaltcore:viewer",
	"ClusterRoleBinding/cobaltcore:objects", "Configuration/c5c3-configuration-cobaltcore", "CronJob/cobaltcore-clock",
	"DeploymentRuntimeConfig/function-cobaltcore", "DeploymentRuntimeConfig/provider-kubernetes",
	"Function/c5c3-function-cobaltcore", "NetworkPolicy/function-cobaltcore", "PlatformConfig/default",
	"PodDisruptionBudget/function-cobaltcore",
	"PriorityClass/cobaltcore-infrastructure", "PriorityClass/cobaltcore-service", "ProviderConfig/in-cluster",
	"ValidatingAdmissionPolicy/cobaltcore-claims", "ValidatingAdmissionPolicy/cobaltcore-companion",
	"ValidatingAdmissionPolicy/cobaltcore-companion-objects", "ValidatingAdmissionPolicy/cobaltcore-composites",
	"ValidatingAdmissionPolicy/cobaltcore-deletion", "ValidatingAdmissionPolicy/cobaltcore-namespaces",
	"ValidatingAdmissionPolicy/cobaltcore-node-signers", "ValidatingAdmissionPolicy/cobaltcore-pod-labels",
	"ValidatingAdmissionPolicyBinding/cobaltcore-claims", "ValidatingAdmissionPolicyBinding/cobaltcore-companion",
	"ValidatingAdmissionPolicyBinding/cobaltcore-companion-objects", "ValidatingAdmissionPolicyBinding/cobaltcore-composites",
	"ValidatingAdmissionPolicyBinding/cobaltcore-deletion", "ValidatingAdmissionPolicyBinding/cobaltcore-namespaces",
	"ValidatingAdmissionPolicyBinding/cobaltcore-node-signers", "ValidatingAdmissionPolicyBinding/cobaltcore-pod-labels",
}

// TestAPIServerAcceptsRenderedObjects checks every rendered object as the API server that gets it would.
func TestAPIServerAcceptsRenderedObjects(t *testing.T) {
	without := func(drop ...string) []string {
		var out []string
		for _, name := range management {
			if !slices.Contains(drop, name) {
				out = append(out, name)
			}
		}
		return out
	}
	cases := map[string]struct {
		reason, values string
		want           []string
	}{
		"Least": {"The domain is sufficient.", domain, management},
		"Most": {
			"All values are set.", platform(t) + `
crossplane: {serviceAccount: xp}
packages: {registry: "registry.example.com:5000/mirror", version: v0.2.0-rc.1, pullSecrets: [pull], skipDependencyResolution: true}
function: {replicas: 3, debug: true, maxRecvMessageSize: 128, resources: {}}
provider: {serviceAccount: pk, args: [--enable-watches, --debug], configName: here}
rbac: {aggregate: false}
admission: {exemptGroups: [platform], deleters: [me]}
`, append(replace(management, "in-cluster", "here"), "PrometheusRule/cobaltcore"),
		},
		"Small": {
			"All optional values are removed.", `
packages: {install: false}
function: {replicas: 1, networkPolicy: false}
provider: {runtimeConfig: false, configName: ""}
platformConfig: {create: false}
`, without("ClusterProviderConfig/in-cluster", "ProviderConfig/in-cluster", "Configuration/c5c3-configuration-cobaltcore",
				"Function/c5c3-function-cobaltcore", "DeploymentRuntimeConfig/provider-kubernetes", "PlatformConfig/default",
				"NetworkPolicy/function-cobaltcore", "PodDisruptionBudget/function-cobaltcore"),
		},
		"Workload": {
			"Another cluster gets rights, and nothing of Crossplane's.", `
mode: workload
workload: {subjects: [{kind: ServiceAccount, namespace: crossplane, name: provider-kubernetes}]}
`, []string{
				"ClusterRole/cobaltcore:cluster-check", "ClusterRole/cobaltcore:cluster-check-namespace",
				"ClusterRoleBinding/cobaltcore:cluster-check", "ClusterRoleBinding/cobaltcore:cluster-check-namespace",
				"ClusterRole/cobaltcore:companion", "ClusterRole/cobaltcore:hypervisor-operator", "ClusterRole/cobaltcore:hypervisor-operator-namespace",
				"ClusterRole/cobaltcore:hypervisors", "ClusterRole/cobaltcore:kvm-node-agent", "ClusterRole/cobaltcore:labels-injector",
				"ClusterRole/cobaltcore:labels-injector-pods", "ClusterRole/cobaltcore:node-certificates", "ClusterRole/cobaltcore:hypervisor-recovery", "ClusterRole/cobaltcore:node-maintenance", "ClusterRole/cobaltcore:node-signer",
				"ClusterRole/cobaltcore:nodes", "ClusterRole/cobaltcore:ovs-agent",
				"ClusterRole/cobaltcore:rook-cmd-reporter", "ClusterRole/cobaltcore:rook-mgr", "ClusterRole/cobaltcore:rook-nodes",
				"ClusterRole/cobaltcore:rook-osd", "ClusterRole/cobaltcore:storage", "ClusterRole/cobaltcore:workload",
				"ClusterRoleBinding/cobaltcore:companion", "ClusterRoleBinding/cobaltcore:hypervisors", "ClusterRoleBinding/cobaltcore:storage",
				"ClusterRoleBinding/cobaltcore:workload", "PriorityClass/cobaltcore-infrastructure", "PriorityClass/cobaltcore-service",
				"ValidatingAdmissionPolicy/cobaltcore-companion", "ValidatingAdmissionPolicy/cobaltcore-companion-objects",
				"ValidatingAdmissionPolicy/cobaltcore-namespaces", "ValidatingAdmissionPolicy/cobaltcore-node-signers",
				"ValidatingAdmissionPolicy/cobaltcore-pod-labels",
				"ValidatingAdmissionPolicyBinding/cobaltcore-companion", "ValidatingAdmissionPolicyBinding/cobaltcore-companion-objects",
				"ValidatingAdmissionPolicyBinding/cobaltcore-namespaces", "ValidatingAdmissionPolicyBinding/cobaltcore-node-signers",
				"ValidatingAdmissionPolicyBinding/cobaltcore-pod-labels",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := rendered(t, tc.values)
			set := knowing(t)
			got := map[string]bool{}
			for key, o := range objects {
				got[key] = true
				for _, e := range set.Validate(o) {
					t.Errorf("%s: %v", key, e)
				}
			}
			want := map[string]bool{}
			for _, key := range tc.want {
				want[key] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClustersHavePriorityClassesOfPods proves that every cluster has the classes that composed pods name, that infrastructure goes before
// services, and that classes stay when the chart is removed: Kubernetes creates no pod of a class that there is not.
func TestClustersHavePriorityClassesOfPods(t *testing.T) {
	type priority struct {
		Value    float64 // As YAML has it.
		Preempts string
	}
	for name, tc := range map[string]struct {
		reason, values string
		want           map[string]priority
	}{
		"Management": {"The defaults.", domain, map[string]priority{
			workload.PriorityInfrastructure: {900000, "PreemptLowerPriority"}, workload.PriorityService: {800000, "PreemptLowerPriority"},
		}},
		"Workload": {
			"The platform's values, of which a policy may be omitted.", `
mode: workload
workload: {subjects: [{kind: ServiceAccount, namespace: crossplane, name: provider-kubernetes}]}
priorityClasses: {infrastructure: {value: 1000000000}, service: {value: 1, preemptionPolicy: Never}}
`, map[string]priority{
				workload.PriorityInfrastructure: {1000000000, "PreemptLowerPriority"}, workload.PriorityService: {1, "Never"},
			},
		},
	} {
		got := map[string]priority{}
		for key, fields := range rendered(t, tc.values) {
			kind, class, _ := strings.Cut(key, "/")
			if kind != "PriorityClass" {
				continue
			}
			o := unstructured.Unstructured{Object: fields}
			if o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s: %s would be removed with the chart", name, class)
			}
			value, _ := fields["value"].(float64)
			policy, _ := fields["preemptionPolicy"].(string)
			got[class] = priority{value, policy}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestFunctionOpensNoConnections checks that Kubernetes denies every connection of the function's pods, and every connection to them except the
// calls of Crossplane and requests for metrics, at the default ports of functions/main.go.
func TestFunctionOpensNoConnections(t *testing.T) {
	objects := rendered(t, domain)
	policy, found := objects["NetworkPolicy/function-cobaltcore"]
	if !found {
		t.Fatal("no network policy selects the pods of the function")
	}
	want := map[string]any{
		// https://github.com/crossplane/crossplane/blob/v2.3.4/internal/controller/pkg/runtime/runtime.go
		"podSelector": map[string]any{"matchLabels": map[string]any{"pkg.crossplane.io/function": "c5c3-function-cobaltcore"}},
		"policyTypes": []any{"Ingress", "Egress"},
		"ingress": []any{
			map[string]any{
				"from":  []any{map[string]any{"podSelector": map[string]any{}}},
				"ports": []any{map[string]any{"protocol": "TCP", "port": float64(9443)}},
			},
			map[string]any{"ports": []any{map[string]any{"protocol": "TCP", "port": float64(8080)}}},
		},
		"egress": []any{},
	}
	if diff := cmp.Diff(want, policy["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, found := objects["Function/c5c3-function-cobaltcore"]; !found {
		t.Error("the policy selects the pods of a function that does not exist")
	}
}

// TestControlPlanesDoNotPreemptThePlatform checks that no pod of a control plane has a higher priority than the pods that reconcile all
// claims: in a full cluster, Kubernetes would delete these.
func TestControlPlanesDoNotPreemptThePlatform(t *testing.T) {
	found := 0
	for key, o := range rendered(t, domain) {
		if !strings.HasPrefix(key, "DeploymentRuntimeConfig/") {
			continue
		}
		found++
		got, _, _ := unstructured.NestedString(o, "spec", "deploymentTemplate", "spec", "template", "spec", "priorityClassName")
		if got != workload.PriorityInfrastructure {
			t.Errorf("%s has priority %q, want %q", key, got, workload.PriorityInfrastructure)
		}
	}
	if want := 2; found != want {
		t.Errorf("%d runtime configurations, want %d", found, want)
	}
}

// TestWebhooksAreChosen checks that composers cannot write webhooks, which receive every request, unless the platform team allows it.
func TestWebhooksAreChosen(t *testing.T) {
	for mode, values := range map[string]string{"management": domain, "workload": workloadValues} {
		for requested, want := range map[string]bool{"": false, "hypervisors: {webhooks: false}\n": false, "hypervisors: {webhooks: true}\n": true} {
			got := false
			for key, o := range rendered(t, values+requested) {
				if rules, _ := o["rules"].([]any); strings.HasPrefix(key, "ClusterRole/") {
					for _, r := range rules {
						resources, _ := r.(map[string]any)["resources"].([]any)
						verbs, _ := r.(map[string]any)["verbs"].([]any)
						got = got || slices.Contains(resources, any("validatingwebhookconfigurations")) && slices.Contains(verbs, any("create"))
					}
				}
			}
			if got != want {
				t.Errorf("%s, %q: webhooks may be written: %t", mode, requested, got)
			}
		}
	}
}

// TestAgentsOfNodes checks that a KVM node agent has permissions on the objects of the nodes that the platform team names only. Without a
// name, it has none, because an RBAC rule without names applies to all objects.
func TestAgentsOfNodes(t *testing.T) {
	for mode, values := range map[string]string{"management": domain, "workload": workloadValues} {
		rules := func(requested string) any {
			return rendered(t, values+requested)["ClusterRole/cobaltcore:kvm-node-agent"]["rules"]
		}
		for _, requested := range []string{"", "hypervisors: {agentNodes: []}\n"} {
			if diff := cmp.Diff([]any{}, rules(requested)); diff != "" {
				t.Errorf("%s, %q: it may (-want +got):\n%s", mode, requested, diff)
			}
		}
		rule := func(group, resource string, names, verbs []any) any {
			return map[string]any{"apiGroups": []any{group}, "resources": []any{resource}, "resourceNames": names, "verbs": verbs}
		}
		nodes, read := []any{"a", "1"}, []any{"get", "list", "watch"}
		if diff := cmp.Diff([]any{
			rule("kvm.cloud.sap", "hypervisors", nodes, read), rule("kvm.cloud.sap", "hypervisors/status", nodes, []any{"patch"}),
			rule("", "secrets", []any{"tls-libvirt-a", "tls-libvirt-1"}, read),
		}, rules("hypervisors: {agentNodes: [a, \"1\"]}\n")); diff != "" {
			t.Errorf("%s: it may (-want +got):\n%s", mode, diff)
		}
	}
}

// TestInvalidValuesAreRejected: a mistake in the values is a sentence, not a cluster that half works.
func TestInvalidValuesAreRejected(t *testing.T) {
	cases := map[string]struct{ reason, values, want string }{
		"NoDomain":   {"There is no default domain.", "{}", "platformConfig.spec.domain: name the domain"},
		"NoSubjects": {"Permissions without a subject are a mistake.", "mode: workload", "workload.subjects: say as whom"},
		"Mode":       {"The schema knows two modes.", domain + "mode: both", "/mode"},
		"Unknown":    {"A misspelt value is no value.", domain + "function: {replica: 2}", "replica"},
		"Replicas":   {"Numbers have bounds.", domain + "function: {replicas: 0}", "/function/replicas"},
		"NoPolicies": {"Without the admission policies nothing would be composed.", domain + "admission: {enabled: false}", "enabled"},
		"AgentNodes": {"A pattern names no node.", domain + "hypervisors: {agentNodes: [\"*\"]}", "/hypervisors/agentNodes"},
		"Version":    {"Versions are semantic.", domain + "packages: {version: latest}", "/packages/version"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := template(t, tc.values)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestReferencedObjectsExist checks that references in the chart and in Compositions refer to existing objects.
func TestReferencedObjectsExist(t *testing.T) {
	o := rendered(t, domain)
	cases := map[string]struct {
		reason    string
		got, want any
	}{
		"RuntimeConfig": {
			"The Function uses the runtime configuration of the chart.",
			at(o["Function/c5c3-function-cobaltcore"], "spec", "runtimeConfigRef", "name"), "function-cobaltcore",
		},
		"Package": {
			"A chart installs the packages of its version.",
			at(o["Function/c5c3-function-cobaltcore"], "spec", "package"), "ghcr.io/c5c3/function-cobaltcore:v" + version(t),
		},
		"Configuration": {
			"So does the API.",
			at(o["Configuration/c5c3-configuration-cobaltcore"], "spec", "package"), "ghcr.io/c5c3/configuration-cobaltcore:v" + version(t),
		},
		"ServiceAccount": {
			"Permissions are bound to the provider's service account.",
			at(o["DeploymentRuntimeConfig/provider-kubernetes"], "spec", "serviceAccountTemplate", "metadata", "name"),
			at(o["ClusterRoleBinding/cobaltcore:objects"], "subjects").([]any)[0].(map[string]any)["name"],
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
	compositions, err := filepath.Glob("../../compositions/*.yaml")
	if err != nil || len(compositions) == 0 {
		t.Fatalf("there are no compositions: %v", err)
	}
	for _, file := range compositions {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := map[string]any{}
		if err := yaml.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		for _, step := range at(c, "spec", "pipeline").([]any) {
			if name := at(step.(map[string]any), "functionRef", "name").(string); o["Function/"+name] == nil {
				t.Errorf("%s calls the function %q, which the chart does not install", file, name)
			}
		}
	}
}

// knowing is a set of all kinds that the chart has objects of.
func knowing(t *testing.T) *crds.Set {
	t.Helper()
	set := crds.Load(t)
	data, err := apis.Definition("platform")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := hackcrds.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range parsed {
		set.Add(crd)
	}
	return set
}

// platform is the values with the spec of the example PlatformConfig.
func platform(t *testing.T) string {
	t.Helper()
	config := map[string]any{}
	if err := yaml.Unmarshal(examples.Platform, &config); err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(map[string]any{"platformConfig": map[string]any{"spec": config["spec"]}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// version is the chart's.
func version(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(chart + "/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string]any{}
	if err := yaml.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	return meta["version"].(string)
}

func at(o map[string]any, path ...string) any {
	for _, p := range path[:len(path)-1] {
		o, _ = o[p].(map[string]any)
	}
	return o[path[len(path)-1]]
}

func replace(list []string, old, with string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ReplaceAll(s, old, with)
	}
	return out
}
