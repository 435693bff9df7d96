package ready

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
)

// rules contains the rule of each kind. Statuses of third-party objects were read in the source of released operators.
var rules = table(
	// Kubernetes.
	row("", "Namespace", clusterScoped(when("status.phase", "Active"))),
	row("", "ConfigMap", exists()),
	row("", "Service", exists()),
	row("", "ServiceAccount", exists()),
	// Many storage classes provision a volume only when a pod uses it.
	row("", "PersistentVolumeClaim", exists()),
	row("apps", "Deployment", rollout()),
	row("apps", "StatefulSet", rollout()),
	row("apps", "DaemonSet", everyNode()),
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

	// Composite resources of this project, and objects that the companion reconciles.
	row("crossplane.c5c3.io", "KeystoneService", claim()),
	row(keystonev1.Group, "Keystone", composite()),
	row(keystonev1.Group, "IdentityCatalog", composite()),
	row(placementv1.Group, "Placement", composite()),
	row(glancev1.Group, "Glance", composite()),
	row(horizonv1.Group, "Horizon", composite()),
	row(neutronv1.Group, "Neutron", composite()),
	row(barbicanv1.Group, "Barbican", composite()),
	row(heatv1.Group, "Heat", composite()),
	row(cinderv1.Group, "Cinder", composite()),
	row(novav1.Group, "Nova", composite()),
	row(novav1.Group, "NovaCell", composite()),
	row(ovnv1.Group, "OVNCluster", composite()),
	row(tempestv1.Group, "Tempest", composite()),
	row("openstack.c5c3.io", "CellMapping", conditions("Ready")),
	row("openstack.c5c3.io", "ComputeCatalog", conditions("Ready")),
	row("openstack.c5c3.io", "OVNSync", conditions("Ready")),
	row("openstack.c5c3.io", "ServiceCheck", conditions("Ready")),
	// Test results are reported in a condition of their own and do not affect the readiness of the cloud.
	row("openstack.c5c3.io", "TestReport", exists()),
	row("openstack.c5c3.io", "KeyRepository", conditions("Ready")),
	row("openstack.c5c3.io", "DatabaseSync", databaseSync()),
	row("openstack.c5c3.io", "EndpointRegion", conditions("Available")),
	row("openstack.c5c3.io", "IdentityCheck", conditions("Reachable")),
	row("openstack.c5c3.io", "RoleAssignment", conditions("Available")),
	row("c5c3.io", "CredentialRotation", conditions("Ready")),
	row("c5c3.io", "RaftCluster", conditions("Ready")),
	// A consumer reports its credentials in its own status. It is ready when it is awaited.
	row("c5c3.io", "RemoteConsumer", conditions("Ready")),
	row("c5c3.io", "SecretAggregate", conditions("Ready")),
)

type entry struct {
	kind schema.GroupKind
	rule Rule
}

func row(group, kind string, r Rule) entry {
	return entry{kind: schema.GroupKind{Group: group, Kind: kind}, rule: r}
}

func table(rows ...entry) map[schema.GroupKind]Rule {
	m := make(map[schema.GroupKind]Rule, len(rows))
	for _, r := range rows {
		if r.rule.CEL != "" {
			r.rule.CEL = "!has(object.metadata.deletionTimestamp) && " + r.rule.CEL
		}
		m[r.kind] = r.rule
	}
	return m
}
