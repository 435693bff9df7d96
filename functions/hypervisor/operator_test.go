package hypervisor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	selectors "k8s.io/apimachinery/pkg/labels"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// operating is the spec of a claim with the hypervisor operator.
const operating = "lifecycle: {enabled: true, credentialsSecretRef: {name: operator}}"

// operatorOf returns the container and the pod of the operator.
func operatorOf(t *testing.T, all map[string]encoded.Struct) (container, pod map[string]any) {
	t.Helper()
	_, object := lives(all[operatorComponent])
	if object["kind"] != "Deployment" {
		t.Fatalf("the operator is %v", object["kind"])
	}
	pod = object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return pod["containers"].([]any)[0].(map[string]any), pod
}

// TestLifecycleIsOff verifies that the operator is off by default, because its external program is not tested here.
func TestLifecycleIsOff(t *testing.T) {
	for _, spec := range []string{mine, more("lifecycle: {}"), more("lifecycle: {enabled: false, credentialsSecretRef: {name: operator}}")} {
		for name := range composedOf(t, newCluster(spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)) {
			if strings.Contains(name, "operator") {
				t.Errorf("%s has %s", spec, name)
			}
		}
	}
}

// TestConfiguresOperatorForEachCluster verifies the operator's configuration for all places of nodes and control plane.
func TestConfiguresOperatorForEachCluster(t *testing.T) {
	everywhere(t, more(operating), func(t *testing.T, nodes, plane string, all map[string]encoded.Struct) {
		if at, _ := lives(all[operatorComponent]); at != nodes {
			t.Errorf("it is in %s, and nodes in %s", at, nodes)
		}
		c, pod := operatorOf(t, all)
		env := map[string]string{}
		for _, v := range c["env"].([]any) {
			v := v.(map[string]any)
			if value, ok := v["value"].(string); ok {
				env[v["name"].(string)] = value
				continue
			}
			ref := v["valueFrom"].(map[string]any)["secretKeyRef"].(map[string]any)
			env[v["name"].(string)] = ref["name"].(string) + "#" + ref["key"].(string)
		}
		want := map[string]string{
			"OS_AUTH_URL": "https://keystone.cloud.example.com/v3", "OS_REGION_NAME": "eu-de-1",
			"OS_USERNAME": "operator-login-operator#username", "OS_PASSWORD": "operator-login-operator#password",
			"OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_NAME": "admin", "OS_PROJECT_DOMAIN_NAME": "Default",
		}
		_, opened := all[operatorComponent+"-apis"]
		if nodes == plane {
			want["SSL_CERT_DIR"] = "/etc/ssl/certs:/etc/authority"
		}
		if opened != (nodes == plane) {
			t.Errorf("it may connect to the APIs: %t", opened)
		}
		if diff := cmp.Diff(want, env); diff != "" {
			t.Errorf("its environment (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]any{
			"--leader-elect", "--health-probe-bind-address=:8081", "--label-selector=node-role.kubernetes.io/hypervisor=",
			"--certificate-namespace=tenant-a-hypervisors-ed08c74e4294644ac141", "--certificate-issuer-name=hypervisor-operator",
		}, c["args"]); diff != "" {
			t.Errorf("its arguments (-want +got):\n%s", diff)
		}
		if c["image"] != "registry.example.com/cobaltcore-dev/openstack-hypervisor-operator:v1.2.3" {
			t.Errorf("it runs %v", c["image"])
		}
		for _, s := range named(map[string]any{"spec": pod}) {
			if nodes == plane && s == "control-plane-keystone-tls" {
				continue
			}
			if s != "operator-login-operator" && s != "platform-pull-registry" {
				t.Errorf("it reads Secret %s", s)
			}
		}
	})
}

// TestNodesOfThePool verifies that the operator selects nodes with all labels of the pool, and no others.
func TestNodesOfThePool(t *testing.T) {
	c, _ := operatorOf(t, composedOf(t, newCluster(more("region: eu, nodeSelector: {pool: blue, role: ''}, "+operating), "tenant-a", objects(planeClaim, controlPlaneYAML)...)))
	text := c["args"].([]any)[2].(string)
	selector, err := selectors.Parse(strings.TrimPrefix(text, "--label-selector="))
	if err != nil {
		t.Fatal(err)
	}
	node := selectors.Set{"pool": "blue", "role": "", "topology.kubernetes.io/region": "eu", "other": "x"}
	if !selector.Matches(node) {
		t.Errorf("%s finds no node of the pool", text)
	}
	for _, label := range []string{"pool", "role", "topology.kubernetes.io/region"} {
		other := selectors.Merge(node, selectors.Set{label: "another"})
		without := selectors.Merge(node, nil)
		delete(without, label)
		if selector.Matches(other) || selector.Matches(without) {
			t.Errorf("%s finds nodes whose %s is another", text, label)
		}
	}
}

// TestOperatorHasMinimalPermissions verifies that the operator is bound to two roles of the chart only, the second in the pool's
// namespace, and that it reads a Secret of the claim's own namespace, regardless of the platform's.
func TestOperatorHasMinimalPermissions(t *testing.T) {
	w := newCluster(more("lifecycle: {enabled: true, credentialsSecretRef: {name: registry}}, images: {pullSecrets: [mine]}"), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	all := composedOf(t, w)
	var got []string
	for name, o := range all {
		_, object := lives(o)
		meta := object["metadata"].(map[string]any)
		namespace, _ := meta["namespace"].(string)
		switch object["kind"] {
		case "ClusterRoleBinding", "RoleBinding":
			if strings.HasPrefix(name, operatorComponent) {
				got = append(got, namespace+": "+object["roleRef"].(map[string]any)["name"].(string))
			}
		case "Role":
			if strings.HasPrefix(name, "operator-secrets") {
				rule := object["rules"].([]any)[0].(map[string]any)
				got = append(got, namespace+": "+rule["resourceNames"].([]any)[0].(string))
			}
		}
	}
	slices.Sort(got)
	want := []string{
		": cobaltcore:hypervisor-operator", "tenant-a-hypervisors-ed08c74e4294644ac141: cobaltcore:hypervisor-operator-namespace", "tenant-a: registry",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
	_, pod := operatorOf(t, all)
	if diff := cmp.Diff([]any{map[string]any{"name": "platform-pull-registry"}}, pod["imagePullSecrets"]); diff != "" {
		t.Errorf("it is pulled with (-want +got):\n%s", diff)
	}
	// No certificate that it requests grants access to a libvirt.
	_, issuer := lives(all[operatorComponent+"-issuer"])
	if diff := cmp.Diff(map[string]any{"selfSigned": map[string]any{}}, issuer["spec"]); diff != "" {
		t.Errorf("its certificates are signed by (-want +got):\n%s", diff)
	}
}

// TestLifecycle_RejectsSettings verifies that two components cannot both evacuate a node, or set its aggregates.
func TestLifecycle_RejectsSettings(t *testing.T) {
	storeless := strings.Replace(strings.Replace(open, "secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds}, ", "", 1), "pullSecrets: [registry]", "", 1)
	for name, tc := range map[string]struct{ reason, spec, platform, plane, field, message string }{
		"NoLogin": {"It requires a login.", more("lifecycle: {enabled: true}"), open, controlPlaneYAML, credentialsField, "name a Secret of this namespace"},
		"Cordon":  {"Servers would be evicted twice.", more(operating + ", virtualization: {evictOnCordon: true}"), open, controlPlaneYAML, "spec.virtualization.evictOnCordon", "cannot be set together with lifecycle"},
		"Zone":    {"The zone would have two sources.", more(operating + ", availabilityZone: a"), open, controlPlaneYAML, "spec.availabilityZone", "the node label topology.kubernetes.io/zone"},
		"Traits":  {"Traits would have two sources.", more(operating + ", traits: [CUSTOM_A]"), open, controlPlaneYAML, "spec.traits", "custom-traits"},
		"Slices":  {"In slices as well.", more(operating + ", slices: [{name: s, nodeSelector: {rack: a}, aggregates: [ssd]}]"), open, controlPlaneYAML, "spec.slices[0].aggregates", "nova.openstack.cloud.sap/aggregates"},
		"NoStore": {"The Secret cannot be copied.", inCluster(more(operating), "east"), storeless, controlPlaneIn("east"), credentialsField, "are copied to another cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, tc.plane)...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + tc.platform + `}`)
			wantError(t, tc.reason, makeReady(w), tc.field, tc.message)
		})
	}
}

// TestOperator_DoesNotBlock verifies that workloads on nodes do not wait for the operator, except for the agent that reports to the
// operator's objects.
func TestOperator_DoesNotBlock(t *testing.T) {
	for _, c := range graph {
		if c.Name == nodeAgentComponent {
			continue
		}
		if slices.Contains(c.Needs, operatorComponent) || slices.Contains(c.Follows, operatorComponent) {
			t.Errorf("%s waits for it", c.Name)
		}
	}
}
