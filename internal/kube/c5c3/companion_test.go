package c5c3

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

var companion = workload.Workload{Name: "companion", Namespace: "cloud", App: "companion", Instance: "cloud", Replicas: 2}

// TestAccess tests that the rights are in a Role, that none of them is for everything, and that none allows to create more
// privileged pods.
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

// TestRights tests that Rights contains all rules of Access and Grant, without names.
func TestRights(t *testing.T) {
	type right struct{ group, resource, verb string }
	of := func(rules []rbacv1.PolicyRule) map[right]bool {
		out := map[right]bool{}
		for _, r := range rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						out[right{group, resource, verb}] = true
					}
				}
			}
		}
		return out
	}
	consumers := []openstackv1.Consumer{{Kind: "Deployment", Name: "a"}, {Kind: "StatefulSet", Name: "b"}, {Kind: "DaemonSet", Name: "c"}}
	role, _ := Grant(object.Meta{}, KeyRepository(object.Meta{}, openstackv1.KeyRepositorySpec{SecretName: "keys", Consumers: consumers}),
		CredentialRotation(object.Meta{}, c5c3v1.CredentialRotationSpec{Queue: &c5c3v1.QueueUser{}}),
		RaftCluster(object.Meta{}, c5c3v1.RaftClusterSpec{CountChassis: true}))
	// Crossplane can bind the chart's role for Nodes only if it has its rights itself.
	want := of(slices.Concat(Access(companion)[1].(*rbacv1.Role).Rules, role.(*rbacv1.Role).Rules, nodeRules))
	if diff := cmp.Diff(want, of(Rights())); diff != "" {
		t.Errorf("(-granted to the companion +allowed):\n%s", diff)
	}
	for _, r := range Rights() {
		if len(r.ResourceNames) > 0 {
			t.Errorf("a right on a name: %v", r)
		}
	}
}

// TestDeployment tests that the pods use the service account, access the API server, and are selected by their Service and policy.
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
			t.Errorf("the %s probe uses port %s", name, probe.HTTPGet.Port.StrVal)
		}
	}
	s := Service(companion).(*corev1.Service)
	if diff := cmp.Diff(d.Spec.Selector.MatchLabels, s.Spec.Selector); diff != "" {
		t.Errorf("the Service selects (-Deployment +Service):\n%s", diff)
	}
	if ports[s.Spec.Ports[0].TargetPort.StrVal] != s.Spec.Ports[0].Port {
		t.Errorf("the Service leads to %v", s.Spec.Ports)
	}
	policy := func(prometheus ...string) *networkingv1.NetworkPolicy {
		out, err := Network(companion, prometheus, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out.(*networkingv1.NetworkPolicy)
	}
	n := policy("monitoring")
	if diff := cmp.Diff(d.Spec.Selector.MatchLabels, n.Spec.PodSelector.MatchLabels); diff != "" {
		t.Errorf("the policy selects (-Deployment +NetworkPolicy):\n%s", diff)
	}
	if in := n.Spec.Ingress[0]; len(in.From) != 1 || in.From[0].NamespaceSelector == nil || in.Ports[0].Port.IntVal != s.Spec.Ports[0].Port {
		t.Errorf("Prometheus comes in by %v", in)
	}
	if in := policy().Spec.Ingress; len(in) > 0 {
		t.Errorf("ingress without Prometheus: %v", in)
	}
}

// TestAlerts tests severity, duration and selectors of all alerts. Critical alerts are on keys, credentials and Keystone.
func TestAlerts(t *testing.T) {
	const warning, critical = "warning", "critical"
	isFalse := func(severity, wait, kind, condition string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: []string{"companion_" + kind + `_condition{condition="` + condition + `"}`}}
	}
	alert := func(wait string, selectors ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: warning, For: wait, Selectors: selectors}
	}
	want := map[string]monitoringtest.Alert{
		"CompanionDown":     alert("15m", `kube_deployment_status_replicas_available{deployment="companion"}`),
		"CompanionNoLeader": alert("15m", `leader_election_master_status{name="companion.cobaltcore.c5c3.io"}`),
		"CompanionFailing":  alert("30m", `controller_runtime_reconcile_errors_total{job="companion"}`),
		"CompanionStatusOld": alert("10m", `companion_last_observation_timestamp_seconds{kind!~"ServiceCheck"}`,
			`companion_last_observation_timestamp_seconds{kind="ServiceCheck"}`),

		"KeysNotReady":       isFalse(critical, "15m", "key_repository", "Ready"),
		"KeysNotDistributed": isFalse(warning, "1h", "key_repository", "Distributed"),
		"KeysNotMigrated":    isFalse(warning, "1h", "key_repository", "Migrated"),
		"KeyBackupOutOfDate": isFalse(warning, "1h", "key_repository", "BackedUp"),
		"KeyRotationOverdue": alert("1h", "companion_key_repository_next_rotation_timestamp_seconds"),
		"KeysTooOld": alert("1h",
			"companion_key_repository_next_rotation_timestamp_seconds", "companion_key_repository_last_rotation_timestamp_seconds"),

		"SchemaStepSlow":          alert("1h", "companion_database_sync_running"),
		"SchemaStepFailing":       alert("5m", "companion_database_sync_failures_total"),
		"SchemaNotReady":          isFalse(warning, "1h", "database_sync", "Ready"),
		"SchemaUpgradeIncomplete": isFalse(warning, "1d", "database_sync", "Contracted"),

		"CredentialNotReady":        isFalse(critical, "15m", "credential_rotation", "Ready"),
		"CredentialNotDistributed":  isFalse(warning, "1h", "credential_rotation", "Distributed"),
		"CredentialRotationOverdue": alert("1h", "companion_credential_rotation_next_rotation_timestamp_seconds"),
		"SecretAggregateNotReady":   isFalse(warning, "15m", "secret_aggregate", "Ready"),
		"TestsFailed":               isFalse(warning, "5m", "test_report", "TestsPassed"),

		"KeystoneTokenIssueFailing": isFalse(critical, "5m", "identity_check", "Reachable"),
		"RoleAssignmentMissing":     isFalse(warning, "15m", "role_assignment", "Available"),
		"EndpointRegionMissing":     isFalse(warning, "15m", "endpoint_region", "Available"),

		"CellNotReady":         isFalse(warning, "15m", "cell_mapping", "Ready"),
		"HostsNotMapped":       isFalse(warning, "30m", "cell_mapping", "HostsMapped"),
		"ServiceProcessesDown": isFalse(warning, "15m", "service_check", "Ready"),

		"RemovedNodeNotEmpty":      isFalse(warning, "1h", "service_check", "RemovedNodesCleanedUp"),
		"NodeEvacuationIncomplete": isFalse(warning, "2h", "service_check", "CordonedNodesEvacuated"),

		"NodeMaintenanceBlocked":       alert("1h", "companion_node_maintenance_blocked"),
		"HypervisorRecoveryBlocked":    {Severity: critical, For: "5m", Selectors: []string{"companion_hypervisor_recovery_blocked"}},
		"HypervisorFencingUnavailable": isFalse(warning, "30m", "hypervisor_recovery", "Fenceable"),
		"HypervisorFailed":             isFalse(warning, "1m", "hypervisor_recovery", "Recovered"),

		"ComputeCatalogNotReady": isFalse(warning, "30m", "compute_catalog", "Ready"),

		"OVNOutOfSync":         isFalse(warning, "5m", "ovn_sync", "InSync"),
		"OVNComparisonOverdue": isFalse(warning, "3h", "ovn_sync", "Ready"),
	}
	got := monitoringtest.Alerts(t, Alerts(companion, common.Monitoring{}).(*unstructured.Unstructured))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNetwork tests the egress to the API server and to the public address at their ports.
func TestNetwork(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, address string
		apiServer, want []int32
	}{
		"Other":    {reason: "The platform names the API server's port.", apiServer: []int32{7443}, address: "https://identity.example.com/v3", want: []int32{443, 7443}},
		"None":     {reason: "It visits none.", want: []int32{443, 6443}},
		"Usual":    {reason: "The port of the scheme is in the list already.", address: "https://identity.example.com/v3", want: []int32{443, 6443}},
		"Plain":    {reason: "Without TLS.", address: "http://identity.example.com/v3", want: []int32{80, 443, 6443}},
		"Another":  {reason: "Named.", address: "https://identity.example.com:8443/v3", want: []int32{443, 6443, 8443}},
		"First":    {reason: "Any port is one.", address: "https://identity.example.com:1/v3", want: []int32{1, 443, 6443}},
		"Beyond":   {reason: "It is no port.", address: "http://identity.example.com:2147483648/v3"},
		"Unread":   {reason: "The port of an invalid address is unknown.", address: "http://[::1"},
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
			policy, err := Network(companion, nil, tc.apiServer, nil, public...)
			if (err == nil) != (tc.want != nil) {
				t.Fatalf("%s\nNetwork(...): error %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			for _, p := range policy.(*networkingv1.NetworkPolicy).Spec.Egress[1].Ports {
				got = append(got, p.Port.IntVal)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
