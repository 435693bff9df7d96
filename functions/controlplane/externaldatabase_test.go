package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// aDatabase is one that exists elsewhere, as part of a spec.
const aDatabase = `infrastructure: {mariadb: {external: {host: db.example.org, port: 3307, user: cloud-admin, secretRef: {name: corporate}}}}`

// trustingAll is a platform with an issuer for queues besides.
var trustingAll = strings.Replace(trusting, "{", "{queueIssuer: queues, ", 1)

// everywhere is a cloud with all that has a database.
const everywhere = `services: {placement: {enabled: true}, neutron: {enabled: true}, nova: {enabled: true}}`

// TestExternalDatabase: the operator logs in at the server that the claim names, and services are told of it under names that nobody else
// has there.
func TestExternalDatabase(t *testing.T) {
	all := desired(t, ready(t, "{"+aDatabase+", "+everywhere+"}", trustingAll))
	if diff := cmp.Diff(any(fields(t, `{host: db.example.org, port: 3307, username: cloud-admin, passwordSecretKeyRef: {name: tenant-corporate, key: password},
		tls: {enabled: true, mutual: false, serverCASecretRef: {name: tenant-corporate}}}`)),
		at(all["database"].Map(), "spec", "forProvider", "manifest", "spec")); diff != "" {
		t.Errorf("the server (-want +got):\n%s", diff)
	}
	want := fields(t, `{mariaDBRef: {name: mariadb}, host: db.example.org, port: 3307, galera: true,
		caSecretRef: {name: mariadb-authority, key: ca.crt}, sharedAs: `+names.Shared("tenant-a", "cloud")+`}`)
	for _, service := range []string{"keystone", "placement", "neutron", "nova"} {
		if diff := cmp.Diff(any(want), at(all[service].Map(), "spec", "database")); diff != "" {
			t.Errorf("%s is told (-want +got):\n%s", service, diff)
		}
	}
}

// TestDatabaseLogin: who verifies the server elsewhere reads a Secret in which there is no password. The one that has it no service is told
// of: what a service names its companion may read whole.
func TestDatabaseLogin(t *testing.T) {
	all := desired(t, ready(t, "{"+aDatabase+", "+everywhere+"}", trustingAll))
	if diff := cmp.Diff(any(fields(t, `{refreshPolicy: Periodic, refreshInterval: 5m0s, secretStoreRef: {name: claim-secrets, kind: SecretStore},
		data: [{secretKey: authority, remoteRef: {key: corporate, property: ca.crt}}],
		target: {name: mariadb-authority, creationPolicy: Orphan, deletionPolicy: Retain,
			template: {engineVersion: v2, type: Opaque, data: {ca.crt: "{{ .authority }}"}}}}`)),
		at(all["database-authority"].Map(), "spec")); diff != "" {
		t.Errorf("what services verify it by (-want +got):\n%s", diff)
	}
	for _, service := range []string{"keystone", "placement", "neutron", "nova"} {
		if told := fmt.Sprint(all[service].Map()); strings.Contains(told, "tenant-corporate") {
			t.Errorf("%s is told of the login: %s", service, told)
		}
	}
}

// TestNoDatabase: of a server of our own nothing is composed, but for the way to the one elsewhere.
func TestNoDatabase(t *testing.T) {
	const watched = "{domain: example.com, monitoring: {enabled: true, labels: {a: b}}, secretStore: {name: openbao}, limits: ["
	platform := watched + strings.TrimPrefix(trusting, "{domain: example.com, limits: [")
	own, all := desired(t, ready(t, "{}", platform)), desired(t, ready(t, "{"+aDatabase+"}", platform))
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

// TestDatabaseFlow: Jobs reach any address, at the port of the server alone.
func TestDatabaseFlow(t *testing.T) {
	flows := derived(t, "{"+aDatabase+"}", trusting).databaseFlow()
	if len(flows) != 1 || !flows[0].Anywhere || !slices.Equal(flows[0].Ports, []int32{3307}) {
		t.Errorf("the way to the database: %+v", flows)
	}
}

// TestExternalDatabaseCosts: what somebody else runs costs nothing here.
func TestExternalDatabaseCosts(t *testing.T) {
	for _, p := range derived(t, "{size: large, "+aDatabase+"}", trusting).parts() {
		if strings.HasPrefix(p.field, "spec.infrastructure.mariadb") && p.replicas != 0 {
			t.Errorf("%s: %d replicas", p.field, p.replicas)
		}
	}
}

// TestExternalDatabaseRetained: whatever is composed for the server stays when the claim goes, and is where its operator can log in until then.
func TestExternalDatabaseRetained(t *testing.T) {
	all := desired(t, ready(t, "{"+aDatabase+"}", trusting))
	policies, _ := at(all["database"].Map(), "spec", "managementPolicies").([]any)
	if len(policies) == 0 || slices.Contains(policies, any("Delete")) || slices.Contains(policies, any("*")) {
		t.Errorf("the server's policies are %v", policies)
	}
	if got := at(all["database-uses-claim-secrets-tenant-corporate"].Map(), "spec", "of", "resourceRef", "name"); got != "tenant-corporate" {
		t.Errorf("what the database uses is %v", got)
	}
}

// TestExternalDatabaseValidation: what admission cannot see.
func TestExternalDatabaseValidation(t *testing.T) {
	spec := "{" + aDatabase + `, services: {placement: {enabled: true}, neutron: {enabled: true},
		nova: {enabled: true, cells: [{name: a}, {name: b, infrastructure: {mariadb: {replicas: 1}}}]}}}`
	requireFieldError(t, "There is nothing that it could be like.", deriveError(t, spec, trustingAll),
		"spec.services.nova.cells[1].infrastructure.mariadb", "the control plane's own database is, and that is elsewhere")
	spec = strings.Replace(spec, "mariadb: {replicas: 1}", "rabbitmq: {replicas: 1}", 1)
	if err := deriveError(t, spec, trustingAll); err != nil {
		t.Errorf("a cell's own queue: %v", err)
	}
}
