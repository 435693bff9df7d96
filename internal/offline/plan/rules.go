package plan

import (
	"slices"
	"strings"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
)

// rule is a documented or measured effect of a kind of fact.
type rule struct {
	name    string
	when    func(fact) bool
	effects []effect
}

// effect is the effect of a fact on some subjects.
type effect struct {
	who   func(fact) []subject
	level Level
	text  string
	// duration describes who is affected for how long. lasts computes it from the object.
	duration string
	lasts    func(fact) string
	source   string
}

// Pages of the documentation.
const (
	pageFailure  = "explanation/failure-behavior.md"
	pageEvidence = "reference/test-evidence.md"
	pageScale    = "how-to/scale.md"
	pagePool     = "how-to/hypervisors.md"
	pageNodes    = "how-to/node-maintenance.md"
	pageStorage  = "how-to/storage-changes.md"
	pageSchema   = "explanation/schema-upgrades.md"
	pageDelete   = "how-to/delete-and-retain.md"
)

// rules is the table of rules. The first one that matches a fact applies. Texts of durations with numbers repeat measurements of their
// source.
var rules = slices.Concat(restartRules, deletionRules, changeRules)

// restartRules are the rules of restarts.
var restartRules = []rule{
	{
		"restart-by-operator", restarting(OverlapManual),
		[]effect{{who: serversOnly, level: NoInterruption, source: pageNodes + "#update-a-node",
			text: "its pods keep running until an operator deletes them"}},
	},
	{
		"nodes-move", func(f fact) bool { return f.restartsKind(daemonSet) && movesNodes(f.restart.Causes) },
		[]effect{{who: serversOnly, level: Interrupted, source: pagePool + "#select-nodes",
			text:     "nodes change their slice: pods of the switch are replaced, and servers keep running",
			duration: "the network of servers on these nodes, for 2 to 4 s"}},
	},
	{
		"rollout-with-surge", func(f fact) bool { return restarting(OverlapSurge)(f) && f.ready() },
		[]effect{{who: fact.owner, level: NoInterruption, source: pageEvidence + "#faults",
			text: "a new pod is ready before an old one ends, and an old one completes its requests"}},
	},
	{
		"recreate", restarting(OverlapNone),
		[]effect{{who: fact.owner, level: Interrupted, text: "all pods end before new ones start",
			duration: "all clients, until a new pod is ready", source: pageFailure + "#processes-of-services"}},
	},
	{
		"cache-restart", func(f fact) bool {
			return f.restartsKind(statefulSet) && strings.HasPrefix(f.restart.Name, "memcached")
		},
		[]effect{
			{who: cacheUsers, level: NoInterruption, source: pageEvidence + "#faults",
				text: "the cache is empty after its restart, and each token is validated again"},
			{who: cacheSessions, level: Degraded, text: "sessions are in the cache", duration: "users of the dashboard log in again",
				source: "explanation/shared-stores.md#memcached"},
		},
	},
	{
		"single-image-api", func(f fact) bool { return f.restartsStatefulSet("glance") && f.restart.Pods == 1 },
		[]effect{{who: fact.owner, level: Interrupted, source: pageFailure + "#upgrades",
			text: "its only pod is replaced in place", lasts: graceful}},
	},
	{
		"image-api", func(f fact) bool { return f.restartsStatefulSet("glance") },
		[]effect{{who: fact.owner, level: NoInterruption, source: pageEvidence + "#placement-and-glance",
			text: "pods are replaced one after another, and the others serve requests"}},
	},
	{
		"single-daemon", func(f fact) bool { return f.restartsKind(statefulSet) && f.isDaemon() && f.restart.Pods == 1 },
		[]effect{{who: fact.owner, level: Degraded, source: pageEvidence + "#nova",
			text: "its only pod is replaced in place: calls wait in the queue for the next pod, in a test for 26 s", lasts: gracefulCalls}},
	},
	{
		"daemons", func(f fact) bool { return f.restartsKind(statefulSet) && f.isDaemon() },
		[]effect{{who: fact.owner, level: NoInterruption, source: pageEvidence + "#processes-of-nova",
			text: "pods are replaced one after another, and the others process calls"}},
	},
	{
		"single-northbound", func(f fact) bool { return f.restartsStatefulSet("ovn-northbound") && f.restart.Pods == 1 },
		[]effect{{who: fact.owner, level: Interrupted, source: pageFailure + "#ovns-databases",
			text:     "requests that write networks wait for its only member, and keep their worker",
			duration: "requests to Neutron, until the member is ready"}},
	},
	{
		"single-southbound", func(f fact) bool { return f.restartsStatefulSet("ovn-southbound") && f.restart.Pods == 1 },
		[]effect{
			{who: fact.owner, level: Degraded, source: pageEvidence + "#live-migration",
				text:     "only nodes query it: changes of networks reach them when its only member is ready",
				duration: "changes of networks, for about 7 s"},
			{who: serversOnly, level: NoInterruption, source: pageEvidence + "#live-migration",
				text: "flows stay installed: 0 of 96 pings were lost"},
		},
	},
	{
		"network-databases", func(f fact) bool { return f.restartsKind(statefulSet) && strings.HasPrefix(f.restart.Name, "ovn-") },
		[]effect{{who: fact.owner, level: Degraded, source: pageFailure + "#ovns-databases",
			text: "members restart one after another, and another leader is elected", duration: "a write takes up to 6 s"}},
	},
	{
		"compute-restart", agent("nova-compute"),
		[]effect{
			{who: computeService, level: Degraded, source: pagePool + "#objects-of-a-pool",
				text:     "operations on servers of a node wait for its nova-compute",
				duration: "operations in progress have up to a minute to complete"},
			{who: serversOnly, level: NoInterruption, source: pageEvidence + "#pods-of-a-hypervisor",
				text: "servers keep running: 0 of 93 pings were lost"},
		},
	},
	{
		"metadata-restart", agent("metadata"),
		[]effect{{who: serversOnly, level: Degraded, source: pagePool + "#objects-of-a-pool",
			text: "no packet is lost", duration: "a network has no metadata for a few moments"}},
	},
	{
		"node-agent-restart", agent(
			"ovn-controller", "ovn-gateway", "volume-keys", "disk-transfer", "openvswitch-agent", "l3-agent", "dhcp-agent", "sriov-agent",
			"kvm-node-agent", "ovs-agent",
		),
		[]effect{{who: serversOnly, level: NoInterruption, source: pageEvidence + "#pods-of-a-hypervisor",
			text: "servers keep running, and no packet is lost"}},
	},
	{
		"single-database", func(f fact) bool { return f.restartsKind("MariaDB") && f.restart.Pods == 1 },
		[]effect{
			{who: databaseUsers, level: Interrupted, source: pageEvidence + "#live-migration",
				text: "the only server restarts", duration: "requests that need the database, for about 47 s"},
			{who: serversOnly, level: NoInterruption, source: pageEvidence + "#live-migration",
				text: "servers keep running: 0 of 491 pings were lost"},
		},
	},
	{
		"database-members", func(f fact) bool { return f.restartsKind("MariaDB") },
		[]effect{{who: databaseUsers, level: Degraded, source: pageFailure + "#database",
			text:     "members restart one after another, and another one takes the writes",
			duration: "requests in progress when the writer changes, up to 5 s"}},
	},
	{
		"single-queue", func(f fact) bool { return f.restartsKind("RabbitmqCluster") && f.restart.Pods == 1 },
		[]effect{
			{who: queueUsers, level: Interrupted, source: pageEvidence + "#live-migration",
				text: "the only member restarts: operations wait, and fail after a minute", duration: "operations that need the queue, for 22 to 52 s"},
			{who: serversOnly, level: NoInterruption, source: pageEvidence + "#live-migration",
				text: "servers keep running: 0 of 540 pings were lost"},
		},
	},
	{
		"queue-members", func(f fact) bool { return f.restartsKind("RabbitmqCluster") },
		[]effect{{who: queueUsers, level: Degraded, source: "reference/server-options.md",
			text: "members restart one after another, and clients connect to another one", duration: "operations in progress wait"}},
	},
	{
		"ceph-managers", func(f fact) bool {
			return f.restartsKind("CephCluster") && !slices.ContainsFunc(f.restart.Causes, func(c string) bool { return !under(c, managerFields) })
		},
		[]effect{{who: fact.owner, level: NoInterruption, source: pageEvidence + "#faults-of-a-ceph-cluster",
			text: "only managers restart, which no client uses"}},
	},
	{
		"single-copy-restart", func(f fact) bool { return f.restartsKind("CephCluster") && f.singleCopy() },
		[]effect{{who: storageUsers, level: Interrupted, source: pageEvidence + "#faults-of-a-ceph-cluster",
			text: "daemons restart one after another, and a pool has one copy: writes hang", duration: "writes, for about 11 s for each daemon"}},
	},
	{
		"ceph-restart", func(f fact) bool { return f.restartsKind("CephCluster") },
		[]effect{{who: storageUsers, level: Degraded, source: pageStorage + "#upgrade-ceph",
			text:     "Rook replaces monitors, managers and daemons in that order, and stops while placement groups are not clean",
			duration: "reads and writes are slower until all daemons have restarted"}},
	},
}

// deletionRules are the rules of objects that are created, retained, replaced or deleted.
var deletionRules = []rule{
	{
		"new-claim", func(f fact) bool { return f.change != nil && f.claim.Action == ActionCreate },
		[]effect{{who: fact.owner, level: NoInterruption, text: "it is created"}},
	},
	{
		"retained", func(f fact) bool { return f.acts(ActionRetain) },
		[]effect{{who: fact.owner, level: NoInterruption, source: pageDelete, text: "its data is retained"}},
	},
	{
		"cloud-deleted", func(f fact) bool {
			return f.deletesClaim(controlplanev1.GroupVersionKind.Kind) && slices.Contains(workloads, f.change.Kind)
		},
		[]effect{{who: fact.owner, level: Interrupted, source: pageDelete,
			text: "it is deleted with its claim", duration: "all clients, permanently"}},
	},
	{
		"pool-deleted-with-servers", func(f fact) bool {
			return f.deletesClaim(hypervisorv1.GroupVersionKind.Kind) && f.change.Kind == daemonSet && f.deletesWithServers()
		},
		[]effect{{who: serversOnly, level: Interrupted, source: pageNodes + "#delete-a-pool-with-servers",
			text:     "allowDeletionWithVirtualMachines: servers keep running unmanaged, and without a switch if it is in userspace",
			duration: "servers of the pool, until it is created again"}},
	},
	{
		"pool-deleted", func(f fact) bool { return f.deletesClaim(hypervisorv1.GroupVersionKind.Kind) },
		[]effect{{who: serversOnly, level: NoInterruption, source: pageNodes + "#delete-a-pool",
			text: "Kubernetes rejects the deletion of the claim while servers are on its nodes"}},
	},
	{
		"database-deleted", func(f fact) bool {
			return f.acts(ActionDelete) && f.change.Kind == "Database" && text(f.change.before, "spec", "cleanupPolicy") == "Skip"
		},
		[]effect{{who: fact.owner, level: NoInterruption, text: "its tables stay in the server", source: pageDelete}},
	},
	{
		"keys-deleted", func(f fact) bool {
			return f.acts(ActionDelete) && f.change.Kind == "KeyRepository" && object(f.change.before, "spec", "backup") != nil
		},
		[]effect{{who: fact.owner, level: NoInterruption, text: "a copy of its keys stays in the secret store", source: pageDelete}},
	},
	{
		"data-deleted", func(f fact) bool { return f.acts(ActionDelete) && f.holdsData() },
		[]effect{{who: dataOwners, level: DataAtRisk, text: "it holds data, and is deleted", source: pageDelete}},
	},
	{
		"slice-changed", func(f fact) bool {
			return (f.acts(ActionCreate) || f.acts(ActionDelete)) && f.claim.Action == ActionChange && f.change.Kind == daemonSet && f.hasSibling()
		},
		[]effect{{who: serversOnly, level: Interrupted, source: pagePool + "#select-nodes",
			text:     "nodes change their slice: pods of the switch are replaced, and servers keep running",
			duration: "the network of servers on these nodes, for 2 to 4 s"}},
	},
	{
		"created", func(f fact) bool { return f.acts(ActionCreate) && f.change.Kind != daemonSet },
		[]effect{{who: fact.owner, level: NoInterruption, text: "objects are created"}},
	},
	{
		"agent-added", func(f fact) bool { return f.acts(ActionCreate) },
		[]effect{{who: serversOnly, level: NoInterruption, text: "an agent is added", source: pagePool + "#objects-of-a-pool"}},
	},
	{
		"renewed", func(f fact) bool {
			return f.acts(ActionReplace) && f.change.Reason == reasonHash && (f.change.Kind == "ConfigMap" || f.change.Kind == "Job")
		},
		[]effect{{who: fact.owner, level: NoInterruption, text: "pods read the new object when they are replaced"}},
	},
	{
		"process-removed", func(f fact) bool {
			return f.acts(ActionDelete) && (f.change.Kind == deployment || f.change.Kind == statefulSet)
		},
		[]effect{{who: fact.owner, level: Interrupted, text: "its pods end, and are not replaced", duration: "its clients, permanently"}},
	},
	{
		"address-removed", func(f fact) bool {
			return f.acts(ActionDelete) && (f.change.Kind == "HTTPRoute" || f.change.Kind == "Ingress" || isService(f.change))
		},
		[]effect{{who: fact.owner, level: Interrupted, source: "how-to/expose-apis.md#public-addresses",
			text: "an address is removed", duration: "clients of this address, permanently"}},
	},
	{
		"proxy-removed", func(f fact) bool { return f.acts(ActionDelete) && f.change.Kind == "MaxScale" },
		[]effect{{who: fact.owner, level: NoInterruption, source: "how-to/database.md#add-or-remove-the-proxy",
			text: "it is removed last, when no client is configured to use it"}},
	},
	{
		"deleted-with-claim", func(f fact) bool { return f.acts(ActionDelete) && f.claim.Action == ActionDelete },
		[]effect{{who: fact.owner, level: NoInterruption, text: "it is deleted with its claim", source: pageDelete}},
	},
	{
		"removed", func(f fact) bool { return f.acts(ActionDelete) && slices.Contains(passive, f.change.qualified()) },
		[]effect{{who: fact.owner, level: NoInterruption, text: "no pod needs it any more"}},
	},
}

// changeRules are the rules of objects that change in place.
var changeRules = []rule{
	{
		"new-address", func(f fact) bool {
			return f.changes("HTTPRoute", "spec.hostnames", "spec.parentRefs", "spec.rules") || f.changes("Ingress", "spec")
		},
		[]effect{{who: fact.owner, level: Interrupted, source: "how-to/expose-apis.md#public-addresses",
			text: "its public address changes", lasts: untilNewAddress}},
	},
	{
		"quiesced-upgrade", func(f fact) bool { return f.changes("DatabaseSync", "spec.release") && f.isQuiesced() },
		[]effect{{who: fact.owner, level: Interrupted, source: "heat.md#upgrades",
			text:     "all of its pods are stopped while its schema is changed",
			duration: "all clients, while pods complete their work for up to 5 min, and then while the schema is changed"}},
	},
	{
		"schema-upgrade", func(f fact) bool { return f.changes("DatabaseSync", "spec.release") },
		[]effect{{who: fact.owner, level: Degraded, source: pageSchema + "#events-during-an-upgrade",
			text:     "its schema is expanded, pods of both releases run, and then it is contracted",
			duration: "a request can fail once while the schema is expanded"}},
	},
	{
		"schema-steps", func(f fact) bool { return f.changes("DatabaseSync") },
		[]effect{{who: fact.owner, level: NoInterruption, text: "steps of its schema run again, which have nothing to do", source: pageSchema}},
	},
	{
		"password-rotation", func(f fact) bool {
			return f.changes("CredentialRotation", "spec") && text(f.change.after, "spec", "target") == "Password"
		},
		[]effect{{who: fact.owner, level: Interrupted, source: "explanation/credential-rotation.md#passwords",
			text: "a password can be replaced", duration: "consumers cannot log in until their rollout ends"}},
	},
	{
		"credential-rotation", func(f fact) bool { return f.changes("CredentialRotation") || f.changes("RemoteConsumer") },
		[]effect{{who: fact.owner, level: NoInterruption, source: "explanation/credential-rotation.md",
			text: "if the credential is replaced, the previous one works until every consumer has the new one"}},
	},
	{
		"key-rotation", func(f fact) bool { return f.changes("KeyRepository") },
		[]effect{{who: fact.owner, level: NoInterruption, source: "explanation/key-rotation.md",
			text: "keys are replaced when every pod has them"}},
	},
	{
		"fewer-copies", func(f fact) bool { return f.poolSize("after") == 1 && f.poolSize("before") > 1 },
		[]effect{{who: storageUsers, level: DataAtRisk, source: pageStorage + "#change-pools", text: "one copy of its data remains"}},
	},
	{
		"data-moves", func(f fact) bool {
			return f.changes("CephBlockPool", "spec.replicated", "spec.failureDomain", "spec.deviceClass", "spec.crushRoot", "spec.erasureCoded") ||
				f.changes("CephFilesystem", "spec") || f.changes("CephObjectStore", "spec") || f.changes("CephCluster", "spec.storage")
		},
		[]effect{{who: storageUsers, level: Degraded, source: pageStorage + "#change-pools",
			text: "Ceph moves data", duration: "reads and writes are slower until it is clean"}},
	},
	{
		"locks", func(f fact) bool { return f.changes("Valkey") },
		[]effect{{who: lockUsers, level: Degraded, source: "cinder.md",
			text:     "its operator may restart it: while it is unavailable, operations that need a lock wait",
			duration: "operations on volumes, until it is ready"}},
	},
	{
		"writer-moves", func(f fact) bool { return f.changes("MariaDB", "spec.galera.primary") },
		[]effect{{who: databaseUsers, level: Degraded, source: pageFailure + "#database", text: "another member takes the writes",
			duration: "requests in progress when the writer changes, up to 5 s"}},
	},
	{
		"operator-online", func(f fact) bool {
			p, ok := f.operatorPods()
			return ok && f.changesOnly(slices.Concat(p.online, p.restarting)...)
		},
		[]effect{{who: fact.owner, level: NoInterruption, source: pageScale,
			text: "its operator applies the other changes while its pods run; meanwhile the claim is not Ready"}},
	},
	{
		"scaled", func(f fact) bool { return f.changesWorkload() && !f.scaledToZero() && !f.rejected() },
		[]effect{{who: fact.owner, level: NoInterruption, text: "a pod that ends completes its requests first", source: pageScale}},
	},
	{
		"stopped", func(f fact) bool { return f.changesWorkload() && f.scaledToZero() },
		[]effect{{who: fact.owner, level: Interrupted, text: "it has no pods", duration: "all clients, permanently"}},
	},
	{
		"service-selector", func(f fact) bool {
			return f.change != nil && isService(f.change) && f.changesOnly("metadata", "spec.selector")
		},
		[]effect{{who: fact.owner, level: NoInterruption, source: "nova.md#an-upgrade",
			text: "requests go to the new pods when all of them are ready"}},
	},
	{
		"narrower-network", func(f fact) bool { return f.changes("NetworkPolicy", "spec") && f.removesNetworks() },
		[]effect{{who: fact.owner, level: Unknown, source: "how-to/expose-apis.md#network-policies",
			text: "the policy allows fewer networks or namespaces; check which clients use them"}},
	},
	{
		"network-policy", func(f fact) bool { return f.changes("NetworkPolicy") },
		[]effect{{who: fact.owner, level: NoInterruption, source: "explanation/allowed-connections.md",
			text: "its policy still allows the flows of the claim"}},
	},
	{
		"disabled-cell", func(f fact) bool { return f.changes("CellMapping", "spec.disabled") },
		[]effect{{who: fact.owner, level: Degraded, source: "nova.md", text: "the scheduler creates no servers in a disabled cell",
			duration: "new servers, while it is disabled"}},
	},
	{
		"cell-registration", func(f fact) bool { return f.changes("CellMapping") && f.changesOnly("metadata", "spec.template") },
		[]effect{{who: fact.owner, level: NoInterruption, source: "nova.md", text: "a Job registers the cell again, with the same values"}},
	},
	{
		"read-live", func(f fact) bool { return f.changes("ConfigMap") && slices.ContainsFunc(live, f.isNamed) },
		[]effect{{who: fact.owner, level: NoInterruption, text: "it is read without a restart, or by the next pod"}},
	},
	{
		"retention", func(f fact) bool {
			return f.acts(ActionChange) && len(f.change.Fields) == 0 &&
				(f.change.Reason == reasonKept || f.change.Reason == reasonExposed)
		},
		[]effect{{who: fact.owner, level: NoInterruption, source: pageDelete,
			text: "the edit changes only the effect of a later deletion of the claim"}},
	},
	{
		"passive", func(f fact) bool { return f.acts(ActionChange) && slices.Contains(passive, f.change.qualified()) },
		[]effect{{who: fact.owner, level: NoInterruption, text: "no pod restarts for it"}},
	},
}

// passive are kinds, as "<group>/<Kind>", whose change or removal does not affect running pods: rights, alerts, orders of deletion,
// observations, and Secrets that pods read without a restart or that restart their pods by a rotation.
var passive = []string{
	"/ServiceAccount", "/Namespace", "/ConfigMap", "rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/RoleBinding",
	"rbac.authorization.k8s.io/ClusterRoleBinding", "policy/PodDisruptionBudget", "monitoring.coreos.com/ServiceMonitor",
	"monitoring.coreos.com/PodMonitor", "monitoring.coreos.com/PrometheusRule", "protection.crossplane.io/Usage", "batch/CronJob", "batch/Job",
	"external-secrets.io/ExternalSecret", "external-secrets.io/PushSecret", "external-secrets.io/SecretStore",
	"generators.external-secrets.io/Password", "cert-manager.io/Certificate", "cert-manager.io/Issuer", "c5c3.io/SecretAggregate",
	"c5c3.io/NodeIssuer", "c5c3.io/RaftCluster", "c5c3.io/RemoteConsumer", "c5c3.io/CredentialRotation", "openstack.c5c3.io/ServiceCheck",
	"openstack.c5c3.io/IdentityCheck", "openstack.c5c3.io/ComputeCatalog", "openstack.c5c3.io/OVNSync", "openstack.c5c3.io/DatabaseSync",
	"openstack.c5c3.io/EndpointRegion", "openstack.c5c3.io/RoleAssignment", "openstack.c5c3.io/TestReport", "openstack.k-orc.cloud/Service",
	"openstack.k-orc.cloud/Endpoint", "openstack.k-orc.cloud/User", "openstack.k-orc.cloud/Role", "k8s.mariadb.com/User",
	"k8s.mariadb.com/Grant", "k8s.mariadb.com/PhysicalBackup", "rabbitmq.com/Policy", "rabbitmq.com/Vhost",
	"networking.k8s.io/NetworkPolicy", "gateway.networking.k8s.io/BackendTLSPolicy", "ceph.rook.io/CephClient",
	"gateway.networking.k8s.io/HTTPRoute",
}

// live are the names of ConfigMaps that change in place: programs read them without a restart, or their pods are replaced by an operator.
var live = []string{
	"*-dashboard", "access", "control-plane", "storage*", "*-state", "*-ca", "openvswitch-config", "libvirt-config",
}

// dataKinds are the kinds of objects that hold data of users or keys.
var dataKinds = []string{
	"/Namespace", "/PersistentVolumeClaim", "k8s.mariadb.com/MariaDB", "k8s.mariadb.com/Database", "rabbitmq.com/RabbitmqCluster",
	"openstack.c5c3.io/KeyRepository", "ceph.rook.io/CephCluster", "ceph.rook.io/CephBlockPool", "ceph.rook.io/CephFilesystem",
	"ceph.rook.io/CephObjectStore", "openstack.k-orc.cloud/Domain", "openstack.k-orc.cloud/Project",
}
