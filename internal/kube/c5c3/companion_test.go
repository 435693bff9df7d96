package c5c3

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

var companion = workload.Workload{Name: "companion", Namespace: "cloud", App: "companion", Instance: "cloud", Replicas: 2}

// TestAccess: the rights are those of a Role, so they end at the namespace; none of them is everything, and none is one by
// which a pod gets more.
func TestAccess(t *testing.T) {
	objects := Access(companion)
	if len(objects) != 3 {
		t.Fatalf("%d objects", len(objects))
	}
	account, role, binding := objects[0].(*corev1.ServiceAccount), objects[1].(*rbacv1.Role), objects[2].(*rbacv1.RoleBinding)
	if diff := cmp.Diff(rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: role.Name}, binding.RoleRef); diff != "" {
		t.Errorf("role (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}}, binding.Subjects); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	for _, r := range role.Rules {
		if slices.Contains(slices.Concat(r.APIGroups, r.Resources, r.Verbs), "*") || len(r.NonResourceURLs) > 0 {
			t.Errorf("a rule for everything: %v", r)
		}
		if slices.Contains(r.APIGroups, "rbac.authorization.k8s.io") {
			t.Errorf("a rule by which rights grow: %v", r)
		}
		for _, resource := range []string{"pods/exec", "serviceaccounts/token", "serviceaccounts"} {
			if slices.Contains(r.Resources, resource) {
				t.Errorf("a rule for %s: %v", resource, r)
			}
		}
		if slices.Contains(r.Resources, "secrets") && (slices.Contains(r.Verbs, "delete") || slices.Contains(r.Verbs, "deletecollection")) {
			t.Errorf("it may delete keys: %v", r)
		}
		if slices.Contains(r.Resources, "pods") && slices.Contains(r.Verbs, "create") {
			t.Errorf("it may run anything: %v", r)
		}
	}
}

// TestDeployment: the pods are those of the account, ask the API server, and are found by their Service and policy.
func TestDeployment(t *testing.T) {
	d := Deployment(companion, "ghcr.io/c5c3/companion:1").(*appsv1.Deployment)
	pod := d.Spec.Template.Spec
	if pod.ServiceAccountName != Access(companion)[0].(*corev1.ServiceAccount).Name || !*pod.AutomountServiceAccountToken {
		t.Errorf("account %q, token %v", pod.ServiceAccountName, *pod.AutomountServiceAccountToken)
	}
	c := pod.Containers[0]
	if c.Image != "ghcr.io/c5c3/companion:1" || !slices.Contains(c.Args, "--leader-elect") || !slices.Contains(c.Args, "--namespace=$(NAMESPACE)") {
		t.Errorf("container %v", c)
	}
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if ports[probe.HTTPGet.Port.StrVal] == 0 {
			t.Errorf("the %s probe asks at %s", name, probe.HTTPGet.Port.StrVal)
		}
	}
	s := Service(companion).(*corev1.Service)
	if diff := cmp.Diff(d.Spec.Selector.MatchLabels, s.Spec.Selector); diff != "" {
		t.Errorf("the Service selects (-Deployment +Service):\n%s", diff)
	}
	if ports[s.Spec.Ports[0].TargetPort.StrVal] != s.Spec.Ports[0].Port {
		t.Errorf("the Service leads to %v", s.Spec.Ports)
	}
	n := Network(companion, []string{"monitoring"}, nil).(*networkingv1.NetworkPolicy)
	if diff := cmp.Diff(d.Spec.Selector.MatchLabels, n.Spec.PodSelector.MatchLabels); diff != "" {
		t.Errorf("the policy selects (-Deployment +NetworkPolicy):\n%s", diff)
	}
	if in := n.Spec.Ingress[0]; len(in.From) != 1 || in.From[0].NamespaceSelector == nil || in.Ports[0].Port.IntVal != s.Spec.Ports[0].Port {
		t.Errorf("Prometheus comes in by %v", in)
	}
	if in := Network(companion, nil, nil).(*networkingv1.NetworkPolicy).Spec.Ingress; len(in) > 0 {
		t.Errorf("without Prometheus someone comes in by %v", in)
	}
}

// TestAlerts: each has a name of its own, a sentence on what is wrong and one on what to do, and asks for this namespace only.
func TestAlerts(t *testing.T) {
	rules := Alerts(companion, common.Monitoring{}).(*unstructured.Unstructured)
	groups, _, err := unstructured.NestedSlice(rules.Object, "spec", "groups")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range groups[0].(map[string]any)["rules"].([]any) {
		rule := r.(map[string]any)
		name, expr := rule["alert"].(string), rule["expr"].(string)
		if names[name] {
			t.Errorf("%s is there twice", name)
		}
		names[name] = true
		for what, text := range rule["annotations"].(map[string]any) {
			if !strings.HasSuffix(text.(string), ".") {
				t.Errorf("%s: %s is no sentence: %q", name, what, text)
			}
		}
		if strings.Count(expr, "{") != strings.Count(expr, `{namespace="cloud"`) {
			t.Errorf("%s looks into other namespaces: %s", name, expr)
		}
	}
}

// TestNetwork: the companion gets to the API server and to the public address, at the ports that they have.
func TestNetwork(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, address string
		apiServer, want []int32
	}{
		"Other":    {reason: "The platform names the API server's port.", apiServer: []int32{7443}, address: "https://identity.example.com/v3", want: []int32{443, 7443}},
		"None":     {reason: "It visits none.", want: []int32{443, 6443}},
		"Usual":    {reason: "That of the scheme is there already.", address: "https://identity.example.com/v3", want: []int32{443, 6443}},
		"Plain":    {reason: "Without TLS.", address: "http://identity.example.com/v3", want: []int32{80, 443, 6443}},
		"Another":  {reason: "Named.", address: "https://identity.example.com:8443/v3", want: []int32{443, 6443, 8443}},
		"Brackets": {reason: "An address of version 6.", address: "https://[2001:db8::1]:8443/v3", want: []int32{443, 6443, 8443}},
	} {
		t.Run(name, func(t *testing.T) {
			var public []string
			if tc.address != "" {
				public = append(public, tc.address)
			}
			var got []int32
			if tc.apiServer == nil {
				tc.apiServer = []int32{443, 6443}
			}
			for _, p := range Network(companion, nil, tc.apiServer, public...).(*networkingv1.NetworkPolicy).Spec.Egress[1].Ports {
				got = append(got, p.Port.IntVal)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
