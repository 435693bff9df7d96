package controlplane

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestOperatorImagesFromMirror checks that the composed objects contain the images of the mirror.
func TestOperatorImagesFromMirror(t *testing.T) {
	where := map[string]string{
		release.MariaDB: "database spec.image", release.MariaDBExporter: "database spec.metrics.exporter.image",
		release.MaxScale: "database-proxy spec.image", release.MaxScaleExporter: "database-proxy spec.metrics.exporter.image",
		release.RabbitMQ: "messaging spec.image",
	}
	all := desired(t, readyCluster(t, "{size: medium, global: {monitoring: {enabled: true}}}", open("{domain: a.b, images: {registry: r.example.com}}")))
	for name, at := range where {
		resource, field, _ := strings.Cut(at, " ")
		if got, _ := find(inner(all[resource]), field).(string); !strings.HasPrefix(got, "r.example.com/") {
			t.Errorf("%s is %q in %s, and not an image of the mirror", name, got, where[name])
		}
	}
}

// TestDatabaseMembersImmutable checks that a single server cannot become a cluster of any size, and the reverse.
func TestDatabaseMembersImmutable(t *testing.T) {
	for name, tc := range map[string]struct {
		observedReplicas, want int
		message                string
	}{
		"Same": {observedReplicas: 1, want: 1}, "Grows": {observedReplicas: 2, want: 3}, "Shrinks": {observedReplicas: 3, want: 2},
		"Cluster": {observedReplicas: 1, want: 2, message: "cannot convert to a cluster of 2"}, "Alone": {observedReplicas: 2, want: 1, message: "a Galera cluster of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			observed := observedAs(t, infrastructure.DatabaseResource, fmt.Sprintf("{replicas: %d, storage: {size: 20Gi}}", tc.observedReplicas))
			_, err := derive(input(t, fmt.Sprintf("{infrastructure: {mariadb: {replicas: %d}}}", tc.want), bare, observed))
			if tc.message != "" {
				requireFieldError(t, "The operator cannot add volumes.", err, "spec.infrastructure.mariadb.replicas", tc.message)
			} else if err != nil {
				t.Errorf("%d members become %d: %v", tc.observedReplicas, tc.want, err)
			}
		})
	}
}

// TestRootSecretAfter checks that the Secret with a backup's password is created after the copy of the tenant's Secret, and that a
// generated one has no dependencies.
func TestRootSecretAfter(t *testing.T) {
	const restore = `{infrastructure: {mariadb: {restoreFrom: {rootPasswordSecretRef: {name: old-root, key: password},
		s3: {bucket: old, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}}}}`
	for spec, want := range map[string][]string{"{}": nil, restore: {"claim-secrets-tenant-old-root"}} {
		if diff := cmp.Diff(want, composed(t, derived(t, spec, bare), database)["database-root-secret"].After); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// TestMemcachedPortsMatch checks that the server's port, the address in Keystone's settings and the probes match.
func TestMemcachedPortsMatch(t *testing.T) {
	all := desired(t, readyCluster(t, "{}", bare))
	set, service := inner(all["memcached-keystone"]), inner(all["memcached-keystone-service"])
	c := containers(t, set)[0]
	if len(c.Ports) != 1 || c.Ports[0].ContainerPort != 11211 {
		t.Fatalf("ports %v", c.Ports)
	}
	for probeType, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.TCPSocket == nil || probe.TCPSocket.Port.StrVal != c.Ports[0].Name {
			t.Errorf("the %s probe is %v, and the port %v", probeType, probe, c.Ports[0])
		}
	}
	port := at(service, "spec", "ports").([]any)[0]
	if at(port, "port") != 11211.0 || at(port, "targetPort") != c.Ports[0].Name || at(service, "spec", "clusterIP") != "None" {
		t.Errorf("the Service leads to %v", port)
	}
	var in []networkingv1.NetworkPolicyIngressRule
	decode(t, at(inner(all["memcached-keystone-network-policy"]), "spec", "ingress"), &in)
	if len(in) != 1 || len(in[0].Ports) != 1 || in[0].Ports[0].Port.IntVal != 11211 {
		t.Errorf("the ingress rules are %v", in)
	}
}

// TestCaches checks that each cache admits its own clients only, and exists only if it has any.
func TestCaches(t *testing.T) {
	const name = "app.kubernetes.io/name"
	for spec, want := range map[string]map[string][]string{
		"{}": {"memcached-keystone": {"keystone"}},
		"{services: {placement: {enabled: true}, horizon: {enabled: true}}}": {
			"memcached-keystone": {"keystone"}, "memcached": {"placement", "horizon"},
		},
	} {
		m := derived(t, spec, bare)
		got := map[string][]string{}
		for _, r := range composed(t, m, caches) {
			policy, ok := r.Object.(*networkingv1.NetworkPolicy)
			if !ok {
				continue
			}
			for _, peer := range policy.Spec.Ingress[0].From {
				if e := peer.PodSelector.MatchExpressions; len(e) == 1 && e[0].Key == name {
					got[policy.Name] = e[0].Values
				}
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
		for _, s := range m.Services {
			own := s.Name == services.IdentityService
			for _, server := range m.ServiceBase(s).Cache.Servers {
				if strings.HasPrefix(string(server), "memcached-keystone-") != own {
					t.Errorf("%s uses %s", s.Name, server)
				}
			}
		}
	}
}

func containers(t *testing.T, set map[string]any) []corev1.Container {
	t.Helper()
	var out []corev1.Container
	decode(t, at(set, "spec", "template", "spec", "containers"), &out)
	return out
}

func decode(t *testing.T, from, to any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPoliciesHaveValidSelectorsAndPorts checks that the selectors of policies are valid for the API server, and that no rule permits all
// ports by accident.
func TestPoliciesHaveValidSelectorsAndPorts(t *testing.T) {
	observedState := 0
	for name, o := range desired(t, readyCluster(t, "{size: large, global: {monitoring: {enabled: true}}, infrastructure: {mariadb: {"+backedUp+"}}}", bare)) {
		body := inner(o)
		if body["kind"] != "NetworkPolicy" {
			continue
		}
		observedState++
		var policy networkingv1.NetworkPolicy
		decode(t, body, &policy)
		selectors := []*metav1.LabelSelector{&policy.Spec.PodSelector}
		checkSelectors := func(all []networkingv1.NetworkPolicyPeer) {
			for _, p := range all {
				selectors = append(selectors, p.PodSelector, p.NamespaceSelector)
			}
		}
		for _, rule := range policy.Spec.Ingress {
			checkSelectors(rule.From)
			if len(rule.Ports) == 0 {
				t.Errorf("%s lets %v in by all ports", name, rule.From)
			}
		}
		for _, rule := range policy.Spec.Egress {
			checkSelectors(rule.To)
			if len(rule.Ports) == 0 {
				t.Errorf("%s permits egress to %v on all ports", name, rule.To)
			}
		}
		for _, s := range selectors {
			if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
				t.Errorf("%s chooses by %v: %v", name, s, err)
			}
		}
	}
	if observedState < 10 {
		t.Errorf("only %d policies", observedState)
	}
}

// TestLabelsDistinguishControlPlanes checks that the labels of objects distinguish control planes.
func TestLabelsDistinguishControlPlanes(t *testing.T) {
	for name, o := range desired(t, readyCluster(t, "{}", bare)) {
		labels, _ := at(inner(o), "metadata", "labels").(map[string]any)
		if got, ok := labels["app.kubernetes.io/instance"]; ok && got != instance {
			t.Errorf("%s is of instance %v", name, got)
		}
	}
	want := map[string]string{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": instance, "app.kubernetes.io/component": "memcached",
		"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "crossplane-cobaltcore",
	}
	if diff := cmp.Diff(want, derived(t, "{}", bare).Meta("memcached").Labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSecretRequestsIncludeFieldAndKeys checks that each referenced Secret is requested with its field and keys, which the message about a
// missing Secret contains.
func TestSecretRequestsIncludeFieldAndKeys(t *testing.T) {
	const spec = `{infrastructure: {mariadb: {` + backedUp + `, restoreFrom: {rootPasswordSecretRef: {name: a, key: password},
		s3: {bucket: old, endpoint: "s3:443", privateCA: true, credentialsSecretRef: {name: b}}}}},
		services: {keystone: {identityBackends: [{domain: one, ldap: {passwordSecretRef: {name: c, key: k}}}, {domain: two, ldap: {caSecretRef: {name: d, key: ca}}}],
			federation: {clientSecretRef: {name: e, key: s}, caSecretRef: {name: f, key: ca}}}}}`
	var s controlplanev1.ControlPlaneClusterSpec
	decode(t, fields(t, spec), &s)
	got := map[string]string{}
	for _, n := range secretsNamed(&s) {
		got[n.Field] = string(*n.Name) + " " + strings.Join(n.Keys, ",")
	}
	want := map[string]string{
		"spec.infrastructure.mariadb.backup.s3.credentialsSecretRef":        "s3 access-key-id,secret-access-key",
		"spec.infrastructure.mariadb.restoreFrom.s3.credentialsSecretRef":   "b access-key-id,secret-access-key,ca.crt",
		"spec.infrastructure.mariadb.restoreFrom.rootPasswordSecretRef":     "a password",
		"spec.services.keystone.identityBackends[0].ldap.passwordSecretRef": "c k",
		"spec.services.keystone.identityBackends[1].ldap.caSecretRef":       "d ca",
		"spec.services.keystone.federation.clientSecretRef":                 "e s",
		"spec.services.keystone.federation.caSecretRef":                     "f ca",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLimitsApplyToEffectiveSettings checks that limits apply to the effective settings, not only to the claim's.
func TestLimitsApplyToEffectiveSettings(t *testing.T) {
	for spec, want := range map[string]string{"{}": "cloud.tenant-a.example.com", "{global: {domain: a.example.org}}": "a.example.org"} {
		if m := derived(t, spec, bare); string(m.Settings.Domain) != want || m.Domain != want {
			t.Errorf("%s: limits are held against domain %q, and %q is in force, want %q", spec, m.Settings.Domain, m.Domain, want)
		}
	}
}
