package controlplane

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
)

// aQueue contains an external queue, as part of a spec.
const aQueue = `infrastructure: {rabbitmq: {external: {host: queue.example.org, port: 5672, managementPort: 443, user: cloud-admin, ` +
	`caSecretRef: {name: corporate, key: authority.pem}, passwordSecretRef: {name: corporate, key: secret}}}}`

// TestServicesUseExternalQueue checks that only the administrator credentials and the CA of an external queue are composed, and that
// services use it like the control plane's own, with names that are unique there.
func TestServicesUseExternalQueue(t *testing.T) {
	all := desired(t, readyCluster(t, "{"+aQueue+", services: {placement: {enabled: true}, nova: {enabled: true}}}",
		strings.Replace(trusting, "{", "{monitoring: {enabled: true}, ", 1)))
	var got []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, "messaging") || strings.Contains(name, "rabbitmq") {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff([]string{"messaging-authority", "messaging-connection"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const source = `refreshPolicy: Periodic, refreshInterval: 5m0s, secretStoreRef: {name: claim-secrets, kind: SecretStore}`
	const retained = `creationPolicy: Orphan, deletionPolicy: Retain`
	for name, want := range map[string]string{
		"messaging-connection": `{` + source + `, data: [{secretKey: password, remoteRef: {key: corporate, property: secret}}],
			target: {name: rabbitmq-connection, ` + retained + `, template: {engineVersion: v2, type: Opaque,
				metadata: {labels: {rabbitmq.com/topology-operator: "true"}},
				data: {uri: "https://queue.example.org:443", username: cloud-admin, password: "{{ .password }}"}}}}`,
		"messaging-authority": `{` + source + `, data: [{secretKey: authority, remoteRef: {key: corporate, property: authority.pem}}],
			target: {name: rabbitmq-tls, ` + retained + `, template: {engineVersion: v2, type: Opaque, data: {ca.crt: "{{ .authority }}"}}}}`,
	} {
		if diff := cmp.Diff(any(fields(t, want)), at(all[name].Map(), "spec")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(any(fields(t, `{connectionSecretRef: {name: rabbitmq-connection}, sharedAs: `+instance+`, host: queue.example.org, port: 5672,
		caSecretRef: {name: rabbitmq-tls, key: ca.crt}}`)), at(all["nova"].Map(), "spec", "queue")); diff != "" {
		t.Errorf("settings of Nova (-want +got):\n%s", diff)
	}
}

// TestExternalQueueCosts checks that an external queue has no costs.
func TestExternalQueueCosts(t *testing.T) {
	m, own := derived(t, "{"+aQueue+"}", trusting), derived(t, "{}", trusting)
	if a, b := len(m.parts()), len(own.parts()); a != b-1 {
		t.Errorf("%d parts, and %d with a queue of our own", a, b)
	}
}

// TestExternalQueueForHypervisors checks that pools in any cluster use the same address as services, and the virtual host of their cell.
func TestExternalQueueForHypervisors(t *testing.T) {
	m := derived(t, "{"+aQueue+", services: {placement: {enabled: true}, nova: {enabled: true}}}", trusting)
	to := &controlplanev1.HypervisorAccess{}
	stateOf(t, m, "nova").Model.Publish(to)
	c := to.Cells[0]
	if c.Queue.Host != "queue.example.org" || c.Queue.SharedAs != instance || c.VirtualHost != "nova_cell1-"+instance {
		t.Errorf("they use %+v, and virtual host %s", c.Queue, c.VirtualHost)
	}
	if diff := cmp.Diff(&controlplanev1.ExternalAddress{Host: "queue.example.org", Port: 5672}, c.ExternalQueue); diff != "" {
		t.Errorf("address for other clusters (-want +got):\n%s", diff)
	}
}

// TestExternalQueueValidation checks errors that admission does not detect.
func TestExternalQueueValidation(t *testing.T) {
	cells := "{" + aQueue + ", services: {placement: {enabled: true}, nova: {enabled: true, cells: [{name: a, infrastructure: {rabbitmq: {replicas: 1}}}]}}}"
	requireFieldError(t, "Virtual hosts cannot be on both.", deriveError(t, cells, trusting), "spec.services.nova.cells[0].infrastructure.rabbitmq",
		"each cell uses its own virtual host")
	half := strings.Replace(trusting, `queueHosts: ["*"]`, `queueHosts: ["queue.example.org:5672"]`, 1)
	requireFieldError(t, "Limits apply to the management port, too.", deriveError(t, "{"+aQueue+"}", half),
		"spec.infrastructure.rabbitmq.external.managementPort", `"queue.example.org:443" is not in queueHosts`)
	spec := "{" + aQueue + ", services: {placement: {enabled: true}, nova: {enabled: true}}}"
	if err := deriveError(t, spec, trusting); err != nil {
		t.Errorf("without queueIssuer, which is for queues of our own: %v", err)
	}
}
