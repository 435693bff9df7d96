package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// aDatabase contains an external database, as part of a spec.
const aDatabase = `infrastructure: {mariadb: {external: {host: db.example.org, port: 3307, user: cloud-admin, secretRef: {name: corporate}}}}`

// trustingAll is a platform that also has an issuer for queues.
var trustingAll = strings.Replace(trusting, "{", "{queueIssuer: queues, ", 1)

// everywhere enables all services with a database.
const everywhere = `services: {placement: {enabled: true}, neutron: {enabled: true}, nova: {enabled: true}}`

// TestServicesUseExternalDatabase checks that the operator logs in to the server of the claim, and that services use it with names that are
// unique there.
func TestServicesUseExternalDatabase(t *testing.T) {
	all := desired(t, readyCluster(t, "{"+aDatabase+", "+everywhere+"}", trustingAll))
	if diff := cmp.Diff(any(fields(t, `{host: db.example.org, port: 3307, username: cloud-admin, passwordSecretKeyRef: {name: tenant-corporate, key: password},
		tls: {enabled: true, mutual: false, serverCASecretRef: {name: tenant-corporate}}}`)),
		at(all["database"].Map(), "spec", "forProvider", "manifest", "spec")); diff != "" {
		t.Errorf("the server (-want +got):\n%s", diff)
	}
	want := fields(t, `{mariaDBRef: {name: mariadb}, host: db.example.org, port: 3307, galera: true,
		caSecretRef: {name: mariadb-authority, key: ca.crt}, sharedAs: `+names.Shared("tenant-a", "cloud")+`}`)
	for _, service := range []string{"keystone", "placement", "neutron", "nova"} {
		if diff := cmp.Diff(any(want), at(all[service].Map(), "spec", "database")); diff != "" {
			t.Errorf("settings of %s (-want +got):\n%s", service, diff)
		}
	}
}

// TestServicesCannotReadExternalDatabasePassword checks that clients verify the external server with a Secret without the password, and
// that no service references the Secret with the password: the companion could read all of it.
func TestServicesCannotReadExternalDatabasePassword(t *testing.T) {
	all := desired(t, readyCluster(t, "{"+aDatabase+", "+everywhere+"}", trustingAll))
	if diff := cmp.Diff(any(fields(t, `{refreshPolicy: Periodic, refreshInterval: 5m0s, secretStoreRef: {name: claim-secrets, kind: SecretStore},
		data: [{secretKey: authority, remoteRef: {key: corporate, property: ca.crt}}],
		target: {name: mariadb-authority, creationPolicy: Orphan, deletionPolicy: Retain,
			template: {engineVersion: v2, type: Opaque, data: {ca.crt: "{{ .authority }}"}}}}`)),
		at(all["database-authority"].Map(), "spec")); diff != "" {
		t.Errorf("the CA of services (-want +got):\n%s", diff)
	}
	for _, service := range []string{"keystone", "placement", "neutron", "nova"} {
		if spec := fmt.Sprint(all[service].Map()); strings.Contains(spec, "tenant-corporate") {
			t.Errorf("%s references the credentials: %s", service, spec)
		}
	}
}

// TestExternalDatabaseReplacesOwnServer checks that only network policies are composed with an external server, and no own server.
func TestExternalDatabaseReplacesOwnServer(t *testing.T) {
	const watched = "{domain: example.com, monitoring: {enabled: true, labels: {a: b}}, secretStore: {name: openbao}, limits: ["
	platform := watched + strings.TrimPrefix(trusting, "{domain: example.com, limits: [")
	own, all := desired(t, readyCluster(t, "{}", platform)), desired(t, readyCluster(t, "{"+aDatabase+"}", platform))
	var removed, more []string
	for name := range own {
		if _, ok := all[name]; !ok {
			removed = append(removed, name)
		}
	}
	for name := range all {
		if _, ok := own[name]; !ok {
			more = append(more, name)
		}
	}
	slices.Sort(removed)
	slices.Sort(more)
	if diff := cmp.Diff([]string{
		"database-alerts", "database-monitor", "database-root-backup", "database-root-generator", "database-root-secret",
		"mariadb-exporter-network-policy", "mariadb-network-policy",
	}, removed); diff != "" {
		t.Errorf("without it there is not (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"claim-secrets-account", "claim-secrets-role", "claim-secrets-role-binding", "claim-secrets-store", "claim-secrets-tenant-corporate",
		"database-authority", "database-uses-claim-secrets-tenant-corporate",
	}, more); diff != "" {
		t.Errorf("with it there is (-want +got):\n%s", diff)
	}
}

// TestJobsMayReachExternalDatabasePort checks that Jobs may connect to any address, but only at the port of the server.
func TestJobsMayReachExternalDatabasePort(t *testing.T) {
	policy := object(t, composed(t, derived(t, "{"+aDatabase+"}", trusting), policies)["service-jobs-network-policy"])
	want := []any{map[string]any{"ports": []any{map[string]any{"port": 3307.0, "protocol": "TCP"}}}}
	got, _ := at(policy, "spec", "egress").([]any)
	if len(got) == 0 || !cmp.Equal(want, got[len(got)-1:]) {
		t.Errorf("egress %v, want it to end with %v", got, want)
	}
}

// TestExternalDatabaseCosts checks that an external database has no costs.
func TestExternalDatabaseCosts(t *testing.T) {
	for _, p := range derived(t, "{size: large, "+aDatabase+"}", trusting).parts() {
		if strings.HasPrefix(p.Field, "spec.infrastructure.mariadb") && p.Replicas != 0 {
			t.Errorf("%s: %d replicas", p.Field, p.Replicas)
		}
	}
}

// TestExternalDatabaseRetained checks that the objects of the server are retained when the claim is deleted, and that the operator can log
// in until then.
func TestExternalDatabaseRetained(t *testing.T) {
	all := desired(t, readyCluster(t, "{"+aDatabase+"}", trusting))
	policies, _ := at(all["database"].Map(), "spec", "managementPolicies").([]any)
	if len(policies) == 0 || slices.Contains(policies, any("Delete")) || slices.Contains(policies, any("*")) {
		t.Errorf("the server's policies are %v", policies)
	}
	if got := at(all["database-uses-claim-secrets-tenant-corporate"].Map(), "spec", "of", "resourceRef", "name"); got != "tenant-corporate" {
		t.Errorf("the database uses %v", got)
	}
}

// TestExternalDatabaseValidation checks errors that admission does not detect.
func TestExternalDatabaseValidation(t *testing.T) {
	spec := "{" + aDatabase + `, services: {placement: {enabled: true}, neutron: {enabled: true},
		nova: {enabled: true, cells: [{name: a}, {name: b, infrastructure: {mariadb: {replicas: 1}}}]}}}`
	requireFieldError(t, "There are no settings to copy.", deriveError(t, spec, trustingAll),
		"spec.services.nova.cells[1].infrastructure.mariadb", "a cell cannot have its own database")
	spec = strings.Replace(spec, "mariadb: {replicas: 1}", "rabbitmq: {replicas: 1}", 1)
	if err := deriveError(t, spec, trustingAll); err != nil {
		t.Errorf("a cell's own queue: %v", err)
	}
}
