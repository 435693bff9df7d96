package controlplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestOperatorImages: each image is looked for where it runs: in the object, and at the field, in which it is ordered.
func TestOperatorImages(t *testing.T) {
	where := map[string]string{
		release.MariaDB: "database spec.image", release.MariaDBExporter: "database spec.metrics.exporter.image",
		release.MaxScale: "database-proxy spec.image", release.MaxScaleExporter: "database-proxy spec.metrics.exporter.image",
		release.RabbitMQ: "messaging spec.image",
	}
	all := desired(t, ready(t, "{size: medium, global: {monitoring: {enabled: true}}}", open("{domain: a.b, images: {registry: r.example.com}}")))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(where)), slices.Sorted(maps.Keys(operatorImages))); diff != "" {
		t.Fatalf("images (-want +got):\n%s", diff)
	}
	for name, image := range operatorImages {
		if got := image.resource + " " + strings.Join(image.field, "."); got != where[name] {
			t.Errorf("%s is looked for in %s, want %s", name, got, where[name])
		}
		if got, _ := at(inner(all[image.resource]), image.field...).(string); !strings.HasPrefix(got, "r.example.com/") {
			t.Errorf("%s is %q in %s, and not an image of the mirror", name, got, where[name])
		}
	}
}

// TestMembersKept: a server alone becomes no cluster, however small, and the other way round.
func TestMembersKept(t *testing.T) {
	for name, tc := range map[string]struct {
		observedReplicas, want int
		words                  string
	}{
		"Same": {observedReplicas: 1, want: 1}, "Grows": {observedReplicas: 2, want: 3}, "Shrinks": {observedReplicas: 3, want: 2},
		"Cluster": {observedReplicas: 1, want: 2, words: "makes no cluster of 2"}, "Alone": {observedReplicas: 2, want: 1, words: "a Galera cluster of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			observed := observedAs(t, databaseResource, fmt.Sprintf("{replicas: %d, storage: {size: 20Gi}}", tc.observedReplicas))
			_, err := derive(input(t, fmt.Sprintf("{infrastructure: {mariadb: {replicas: %d}}}", tc.want), bare, observed))
			if tc.words != "" {
				requireFieldError(t, "The operator changes no volumes.", err, "spec.infrastructure.mariadb.replicas", tc.words)
			} else if err != nil {
				t.Errorf("%d members become %d: %v", tc.observedReplicas, tc.want, err)
			}
		})
	}
}

// TestRootSecretAfter: the Secret with a backup's password is made when the tenant's has come, and a generated one waits for nobody.
func TestRootSecretAfter(t *testing.T) {
	const restore = `{infrastructure: {mariadb: {restoreFrom: {rootPasswordSecretRef: {name: old-root, key: password},
		s3: {bucket: old, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}}}}`
	for spec, want := range map[string][]string{"{}": nil, restore: {"claim-secrets-tenant-old-root"}} {
		m := derived(t, spec, bare)
		if diff := cmp.Diff(want, m.rootSecret(m.meta("mariadb-root")).After); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// TestMemcached: whoever asks it at the address that Keystone is given gets to the port that it listens on, and probes do, too.
func TestMemcached(t *testing.T) {
	all := desired(t, ready(t, "{}", bare))
	set, service := inner(all["memcached"]), inner(all["memcached-service"])
	c := containers(t, set)[0]
	if len(c.Ports) != 1 || c.Ports[0].ContainerPort != 11211 {
		t.Fatalf("ports %v", c.Ports)
	}
	for what, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.TCPSocket == nil || probe.TCPSocket.Port.StrVal != c.Ports[0].Name {
			t.Errorf("the %s probe is %v, and the port %v", what, probe, c.Ports[0])
		}
	}
	port := at(service, "spec", "ports").([]any)[0]
	if at(port, "port") != 11211.0 || at(port, "targetPort") != c.Ports[0].Name || at(service, "spec", "clusterIP") != "None" {
		t.Errorf("the Service leads to %v", port)
	}
	var in []networkingv1.NetworkPolicyIngressRule
	decode(t, at(inner(all["memcached-network-policy"]), "spec", "ingress"), &in)
	if len(in) != 1 || len(in[0].Ports) != 1 || in[0].Ports[0].Port.IntVal != 11211 {
		t.Errorf("the policy lets in by %v", in)
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

// TestPoliciesChoose: what a policy chooses can be read by the API server, and none of its rules is for all ports by mistake.
func TestPoliciesChoose(t *testing.T) {
	observedState := 0
	for name, o := range desired(t, ready(t, "{size: large, global: {monitoring: {enabled: true}}, infrastructure: {mariadb: {"+backedUp+"}}}", bare)) {
		body := inner(o)
		if body["kind"] != "NetworkPolicy" {
			continue
		}
		observedState++
		var policy networkingv1.NetworkPolicy
		decode(t, body, &policy)
		selectors := []*metav1.LabelSelector{&policy.Spec.PodSelector}
		peers := func(all []networkingv1.NetworkPolicyPeer) {
			for _, p := range all {
				selectors = append(selectors, p.PodSelector, p.NamespaceSelector)
			}
		}
		for _, rule := range policy.Spec.Ingress {
			peers(rule.From)
			if len(rule.Ports) == 0 {
				t.Errorf("%s lets %v in by all ports", name, rule.From)
			}
		}
		for _, rule := range policy.Spec.Egress {
			peers(rule.To)
			if len(rule.Ports) == 0 {
				t.Errorf("%s lets out to %v by all ports", name, rule.To)
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

// TestOwnLabels: objects of one control plane are told from those of another by their labels.
func TestOwnLabels(t *testing.T) {
	for name, o := range desired(t, ready(t, "{}", bare)) {
		labels, _ := at(inner(o), "metadata", "labels").(map[string]any)
		if got, ok := labels["app.kubernetes.io/instance"]; ok && got != instance {
			t.Errorf("%s is of instance %v", name, got)
		}
	}
	want := map[string]string{
		"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": instance, "app.kubernetes.io/component": "memcached",
		"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "crossplane-cobaltcore",
	}
	if diff := cmp.Diff(want, derived(t, "{}", bare).meta("memcached").Labels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNamedFields: a Secret that is missing is asked for by the field that names it.
func TestNamedFields(t *testing.T) {
	const spec = `{infrastructure: {mariadb: {` + backedUp + `, restoreFrom: {rootPasswordSecretRef: {name: a, key: password},
		s3: {bucket: old, endpoint: "s3:443", privateCA: true, credentialsSecretRef: {name: b}}}}},
		services: {keystone: {identityBackends: [{domain: one, ldap: {passwordSecretRef: {name: c, key: k}}}, {domain: two, ldap: {caSecretRef: {name: d, key: ca}}}],
			federation: {clientSecretRef: {name: e, key: s}, caSecretRef: {name: f, key: ca}}}}}`
	var s controlplanev1.ControlPlaneClusterSpec
	decode(t, fields(t, spec), &s)
	got := map[string]string{}
	for _, n := range secretsNamed(&s) {
		got[n.field] = string(*n.name) + " " + strings.Join(n.keys, ",")
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

// TestPullSecretType: the kubelet reads a Secret of this type alone.
func TestPullSecretType(t *testing.T) {
	m, err := derive(input(t, "{global: {images: {pullSecrets: [registry]}}}", bare, map[string]*structpb.Struct{}))
	if err != nil {
		t.Fatal(err)
	}
	set := m.pullSet("claim-pull-secrets", "claim-pull-", "tenant-a", "spec.global.images.pullSecrets", m.spec.Global.Images.PullSecrets)
	if set.Type != corev1.SecretTypeDockerConfigJson || !set.Keep || len(set.Requests) != 1 || !slices.Equal(set.Requests[0].Keys, []string{".dockerconfigjson"}) {
		t.Errorf("set %+v", set)
	}
	if diff := cmp.Diff(m.meta("claim-pull-secrets").Labels, set.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestEffectiveSettings: what limits judge is what is in force, not what the claim says.
func TestEffectiveSettings(t *testing.T) {
	for spec, want := range map[string]string{"{}": derived(t, "{}", bare).defaultDomain(), "{global: {domain: a.example.org}}": "a.example.org"} {
		if m := derived(t, spec, bare); string(m.settings.Domain) != want || m.domain != want {
			t.Errorf("%s: limits are held against domain %q, and %q is in force, want %q", spec, m.settings.Domain, m.domain, want)
		}
	}
}
