package readiness_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// reports contains the final statuses of owners in their releases, independently of the table of rules: conditions that must be true,
// or a field and its value. Without an entry, existing is sufficient. Kinds of the companion are listed, too: a new one with another
// condition than Ready must not get the derived rule. Composite resources are added by TestCompleteStatusIsReady.
var reports = map[string][]string{
	"":                             {"ConfigMap", "Service", "ServiceAccount", "PersistentVolumeClaim", "Namespace status.phase=Active"},
	"apps":                         {"Deployment pods", "StatefulSet pods", "DaemonSet nodes"},
	"batch":                        {"Job Complete", "CronJob"},
	"networking.k8s.io":            {"Ingress", "NetworkPolicy"},
	"policy":                       {"PodDisruptionBudget"},
	"storage.k8s.io":               {"StorageClass"},
	"rbac.authorization.k8s.io":    {"Role", "RoleBinding", "ClusterRoleBinding"},
	"admissionregistration.k8s.io": {"ValidatingWebhookConfiguration"},
	"protection.crossplane.io":     {"Usage Ready"},
	"kubernetes.crossplane.io":     {"ProviderConfig"},
	"kubernetes.m.crossplane.io":   {"ClusterProviderConfig"},
	"k8s.mariadb.com":              {"MariaDB Ready", "ExternalMariaDB Ready", "MaxScale Ready", "Database Ready", "User Ready", "Grant Ready", "PhysicalBackup Complete"},
	"rabbitmq.com":                 {"RabbitmqCluster AllReplicasReady ClusterAvailable ReconcileSuccess", "Vhost Ready", "Policy Ready"},
	"cache.cs.sap.com":             {"Valkey status.state=Ready"},
	"ceph.rook.io": {
		"CephCluster status.phase=Ready", "CephBlockPool status.phase=Ready", "CephClient status.phase=Ready", "CephFilesystem status.phase=Ready",
		"CephObjectStore status.phase=Ready", "CephRBDMirror status.phase=Ready", "CephNFS status.phase=Ready",
	},
	"external-secrets.io":            {"ExternalSecret Ready", "PushSecret Ready", "SecretStore Ready"},
	"generators.external-secrets.io": {"Password"},
	"cert-manager.io":                {"Issuer Ready", "Certificate Ready"},
	"gateway.networking.k8s.io":      {"HTTPRoute parents", "BackendTLSPolicy"},
	"monitoring.coreos.com":          {"ServiceMonitor", "PodMonitor", "PrometheusRule"},
	"crossplane.c5c3.io":             {"ControlPlaneCluster Ready", "HypervisorCluster Ready", "KeystoneService Ready", "StorageCluster Ready"},
	"openstack.k-orc.cloud":          {"Domain Available", "Project Available", "Role Available", "User Available", "Service Available", "Endpoint Available"},
	"openstack.c5c3.io": {
		"KeyRepository Ready", "DatabaseSync Ready", "EndpointRegion Available", "IdentityCheck Reachable", "RoleAssignment Available",
		"CellMapping Ready", "ComputeCatalog Ready", "OVNSync Ready", "ServiceCheck Ready", "TestReport",
	},
	"c5c3.io": {"ClusterCheck Ready", "CredentialRotation Ready", "NodeIssuer Ready", "RaftCluster Ready", "RemoteConsumer Ready", "SecretAggregate Ready"},
}

// report writes the statuses into an object, except the one in without.
func report(o map[string]any, tokens []string, without string) {
	status, conditions := map[string]any{}, []any{}
	for _, token := range tokens {
		field, value, isField := strings.Cut(strings.TrimPrefix(token, "status."), "=")
		switch {
		case token == without:
		case isField:
			status[field] = value
		case token == "pods":
			for _, number := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
				status[number] = int64(2)
			}
			status["observedGeneration"] = int64(3)
		case token == "nodes":
			for _, number := range []string{"desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable"} {
				status[number] = int64(2)
			}
			status["observedGeneration"] = int64(3)
		case token == "parents":
			status["parents"] = []any{map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "status": "True"}}}}
		default:
			conditions = append(conditions, map[string]any{"type": token, "status": "True"})
		}
	}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	o["status"] = status
}

// TestCompleteStatusIsReady tests that each kind is ready with the complete status of its owner, and that no other kind has a rule.
func TestCompleteStatusIsReady(t *testing.T) {
	known, all := 0, maps.Clone(reports)
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		all[k.Group] = append(slices.Clone(all[k.Group]), k.Kind+" Ready")
	}
	for group, lines := range all {
		for _, line := range lines {
			tokens := strings.Fields(line)
			kind := schema.GroupKind{Group: group, Kind: tokens[0]}
			known++
			t.Run(kind.String(), func(t *testing.T) {
				rule, ok := readiness.Rules.For(kind)
				if !ok {
					t.Fatal("there is no rule")
				}
				o := existing(kind)
				report(o, tokens[1:], "")
				if diff := cmp.Diff(ready.Yes, checked(t, rule, o)); diff != "" {
					t.Errorf("with its report (-want +got):\n%s", diff)
				}
				if !query(t, rule, o) {
					t.Errorf("with its report %s is false", rule.CEL)
				}
				for _, without := range tokens[1:] {
					o := existing(kind)
					report(o, tokens[1:], without)
					if checked(t, rule, o).Ready || query(t, rule, o) {
						t.Errorf("it is ready without %s", without)
					}
				}
				if rule.ClusterScoped != slices.Contains([]string{"Namespace", "ClusterRoleBinding", "ValidatingWebhookConfiguration", "StorageClass", "ProviderConfig", "ClusterProviderConfig"}, kind.Kind) || rule.Composite != (strings.HasSuffix(group, ".openstack.c5c3.io") || group == "ovn.c5c3.io") {
					t.Errorf("cluster-scoped %t, composite %t", rule.ClusterScoped, rule.Composite)
				}
			})
		}
	}
	if n := len(readiness.Rules.Kinds()); n != known {
		t.Errorf("the table of rules has %d kinds, and reports has %d; add the conditions of the new kind to reports", n, known)
	}
}
