// Package readiness defines when an object of each composed kind is ready: one row of a table for each kind. Statuses of third-party
// objects were read in the source of released operators. The statuses that owners write are in internal/offline/fake, which does not use
// this table.
//
// A check accepts a condition only for the object's current generation. It does not check whether the object is up to date and not being
// deleted: internal/engine/compose does that first.
package readiness

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// Rules contains the rule of each kind that a function of this project composes.
var Rules = table(
	// Kubernetes.
	row("", "Namespace", clusterScoped(when("status.phase", "Active"))),
	row("", "ConfigMap", exists()),
	row("", "Service", exists()),
	row("", "ServiceAccount", exists()),
	// Many storage classes provision a volume only when a pod uses it.
	row("", "PersistentVolumeClaim", exists()),
	row("apps", "Deployment", rollout()),
	row("apps", "StatefulSet", rollout()),
	row("apps", "DaemonSet", nodes()),
	row("batch", "Job", generated(job(), podSelector...)),
	row("batch", "CronJob", exists()),
	row("networking.k8s.io", "Ingress", exists()),
	row("networking.k8s.io", "NetworkPolicy", exists()),
	row("policy", "PodDisruptionBudget", exists()),
	row("storage.k8s.io", "StorageClass", clusterScoped(exists())),
	row("rbac.authorization.k8s.io", "Role", exists()),
	row("rbac.authorization.k8s.io", "RoleBinding", exists()),
	row("rbac.authorization.k8s.io", "ClusterRoleBinding", clusterScoped(exists())),
	row("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", clusterScoped(exists())),

	// Crossplane.
	row("protection.crossplane.io", "Usage", conditions("Ready")),

	// provider-kubernetes only counts the users of its configurations.
	row(observe.ClusterScopedConfig.Group, observe.ClusterScopedConfig.Kind, clusterScoped(exists())),
	row(observe.NamespacedConfig.Group, observe.NamespacedConfig.Kind, clusterScoped(exists())),

	// mariadb-operator.
	row("k8s.mariadb.com", "MariaDB", conditions("Ready")),
	row("k8s.mariadb.com", "ExternalMariaDB", conditions("Ready")),
	row("k8s.mariadb.com", "MaxScale", conditions("Ready")),
	row("k8s.mariadb.com", "Database", conditions("Ready")),
	row("k8s.mariadb.com", "User", conditions("Ready")),
	row("k8s.mariadb.com", "Grant", conditions("Ready")),
	row("k8s.mariadb.com", "PhysicalBackup", backups()),

	// RabbitMQ's cluster operator has no Ready condition, and no condition has a generation: it is in the status, once all of it is applied.
	row("rabbitmq.com", "RabbitmqCluster", atGeneration(conditions("AllReplicasReady", "ClusterAvailable", "ReconcileSuccess"))),

	// Its messaging topology operator reports a generation only once it succeeds.
	row("rabbitmq.com", "Vhost", atGeneration(conditions("Ready"))),
	row("rabbitmq.com", "Policy", atGeneration(conditions("Ready"))),

	// The Valkey operator reports a state.
	row("cache.cs.sap.com", "Valkey", atGeneration(when("status.state", "Ready"))),

	// External Secrets. Generators have no status.
	row("external-secrets.io", "ExternalSecret", conditions("Ready")),
	row("external-secrets.io", "PushSecret", conditions("Ready")),
	row("external-secrets.io", "SecretStore", conditions("Ready")),
	row("generators.external-secrets.io", "Password", exists()),

	// Rook reports a phase and its generation; pools and users have no conditions. A cluster is Ready before it has capacity, and while
	// Ceph reports an error.
	row("ceph.rook.io", "CephCluster", reached()),
	row("ceph.rook.io", "CephBlockPool", reached()),
	row("ceph.rook.io", "CephClient", reached()),
	row("ceph.rook.io", "CephFilesystem", reached()),
	row("ceph.rook.io", "CephNFS", reached()),
	row("ceph.rook.io", "CephObjectStore", reached()),
	row("ceph.rook.io", "CephRBDMirror", reached()),

	// cert-manager.
	row("cert-manager.io", "Issuer", conditions("Ready")),
	row("cert-manager.io", "Certificate", conditions("Ready")),

	// Gateway API: a route is done when a Gateway has accepted it.
	row("gateway.networking.k8s.io", "HTTPRoute", accepted()),
	row("gateway.networking.k8s.io", "BackendTLSPolicy", exists()),

	// Prometheus operator objects have no status that can be relied on.
	row("monitoring.coreos.com", "ServiceMonitor", exists()),
	row("monitoring.coreos.com", "PodMonitor", exists()),
	row("monitoring.coreos.com", "PrometheusRule", exists()),

	// K-ORC has no Ready condition.
	row("openstack.k-orc.cloud", "Domain", conditions("Available")),
	row("openstack.k-orc.cloud", "Project", conditions("Available")),
	row("openstack.k-orc.cloud", "Role", conditions("Available")),
	row("openstack.k-orc.cloud", "User", conditions("Available")),
	row("openstack.k-orc.cloud", "Service", conditions("Available")),
	row("openstack.k-orc.cloud", "Endpoint", conditions("Available")),

	// Claims that functions create, and objects that the companion reconciles without a condition Ready. The rules of composite resources
	// and of the other kinds of the companion follow from kindregistry.
	row(controlplanev1.GroupVersionKind.Group, controlplanev1.GroupVersionKind.Kind, claim()),
	row(hypervisorv1.GroupVersionKind.Group, hypervisorv1.GroupVersionKind.Kind, claim()),
	row(keystoneservicev1.GroupVersionKind.Group, keystoneservicev1.GroupVersionKind.Kind, claim()),
	row(storagev1.GroupVersionKind.Group, storagev1.GroupVersionKind.Kind, claim()),
	// Test results are reported in a condition of their own and do not affect the readiness of the cloud.
	row(openstackv1.GroupVersion.Group, "TestReport", exists()),
	row(openstackv1.GroupVersion.Group, "DatabaseSync", databaseSync()),
	row(openstackv1.GroupVersion.Group, "EndpointRegion", conditions("Available")),
	row(openstackv1.GroupVersion.Group, "IdentityCheck", conditions("Reachable")),
	row(openstackv1.GroupVersion.Group, "RoleAssignment", conditions("Available")),
)

type entry struct {
	kind schema.GroupKind
	rule ready.Rule
}

func row(group, kind string, r ready.Rule) entry {
	return entry{kind: schema.GroupKind{Group: group, Kind: kind}, rule: r}
}

// createdByOperators are the kinds of the companion whose objects operators create. A rule would give functions rights on them.
var createdByOperators = []string{"HypervisorRecovery", "NodeMaintenance"}

// table returns the rules of composite resources, of kinds of the companion, and of other kinds. Rows replace a derived rule.
func table(rows ...entry) ready.Rules {
	var all []entry
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		all = append(all, row(k.Group, k.Kind, composite()))
	}
	for _, k := range kindregistry.OfCompanion() {
		if !slices.Contains(createdByOperators, k.Kind) {
			all = append(all, row(k.Group, k.Kind, conditions("Ready")))
		}
	}
	all = append(all, rows...)
	m := make(ready.Rules, len(all))
	for _, r := range all {
		if r.rule.CEL != "" {
			r.rule.CEL = "!has(object.metadata.deletionTimestamp) && " + r.rule.CEL
		}
		m[r.kind] = r.rule
	}
	return m
}
