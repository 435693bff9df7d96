package fake

import (
	"cmp"
	"crypto/sha256"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

type status = map[string]any

// statuses is the table of writers, with the sources that they were taken from. Nil: the owner writes no status that functions read.
// Versions are the versions of the operators in test/node. Composite resources follow from kindregistry.
var statuses = table(
	// https://github.com/kubernetes/kubernetes, pkg/controller
	row("", "Namespace", phase("Active")),
	row("", "ConfigMap", nil),
	row("", "Service", service),
	row("", "ServiceAccount", nil),
	row("", "PersistentVolumeClaim", nil),
	row("storage.k8s.io", "StorageClass", nil),
	row("apps", "Deployment", deployment),
	row("apps", "StatefulSet", statefulSet),
	row("apps", "DaemonSet", daemonSet),
	row("batch", "Job", job),
	row("batch", "CronJob", nil),
	row("networking.k8s.io", "Ingress", nil),
	row("networking.k8s.io", "NetworkPolicy", nil),
	row("policy", "PodDisruptionBudget", nil),
	row("rbac.authorization.k8s.io", "Role", nil),
	row("rbac.authorization.k8s.io", "RoleBinding", nil),
	row("rbac.authorization.k8s.io", "ClusterRoleBinding", nil),
	row("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", nil),

	// https://github.com/crossplane/crossplane, internal/controller: conditions report the generation.
	row("protection.crossplane.io", "Usage", dated("Ready", "Available", "")),

	// https://github.com/crossplane-contrib/provider-kubernetes, internal/controller/*/object: only Synced reports the generation.
	row("kubernetes.crossplane.io", "Object", managed),
	row("kubernetes.m.crossplane.io", "Object", managed),
	row("kubernetes.crossplane.io", "ProviderConfig", nil),
	row("kubernetes.m.crossplane.io", "ClusterProviderConfig", nil),

	// https://github.com/mariadb-operator/mariadb-operator, pkg/condition: nothing reports a generation.
	row("k8s.mariadb.com", "MariaDB", mariaDB),
	row("k8s.mariadb.com", "ExternalMariaDB", undated("Ready", "Healthy", "Healthy")),
	row("k8s.mariadb.com", "MaxScale", undated("Ready", "MaxScaleReady", "Running")),
	row("k8s.mariadb.com", "Database", undated("Ready", "Created", "Created")),
	row("k8s.mariadb.com", "User", undated("Ready", "Created", "Created")),
	row("k8s.mariadb.com", "Grant", undated("Ready", "Created", "Created")),
	row("k8s.mariadb.com", "PhysicalBackup", undated("Complete", "JobComplete", "Success")),

	// https://github.com/rabbitmq/cluster-operator, internal/status: the status reports the generation, no condition does.
	row("rabbitmq.com", "RabbitmqCluster", rabbitMQ),

	// https://github.com/rabbitmq/messaging-topology-operator, internal/controller: the same.
	row("rabbitmq.com", "Vhost", topology),
	row("rabbitmq.com", "Policy", topology),

	// https://github.com/SAP/component-operator-runtime, pkg/component: both do.
	row("cache.cs.sap.com", "Valkey", valkey),

	// https://github.com/external-secrets/external-secrets, pkg/controllers: the generation is part of a version.
	row("external-secrets.io", "ExternalSecret", externalSecret),
	row("external-secrets.io", "PushSecret", pushSecret),
	row("external-secrets.io", "SecretStore", undated("Ready", "Valid", "store validated")),
	row("generators.external-secrets.io", "Password", nil),

	// https://github.com/rook/rook, pkg/operator/ceph: cluster and controller/conditions.go, pool/status.go, client, file/status.go,
	// object/status.go. Each reports the generation that it has reached its phase for; only a cluster has conditions.
	row("ceph.rook.io", "CephCluster", cephCluster),
	row("ceph.rook.io", "CephBlockPool", cephPool),
	row("ceph.rook.io", "CephClient", cephClient),
	row("ceph.rook.io", "CephFilesystem", cephReady),
	row("ceph.rook.io", "CephObjectStore", cephObjectStore),
	row("ceph.rook.io", "CephRBDMirror", cephReady),
	row("ceph.rook.io", "CephNFS", cephReady),

	// https://github.com/cert-manager/cert-manager, pkg/issuer and pkg/controller/certificates/readiness
	row("cert-manager.io", "Issuer", dated("Ready", "KeyPairVerified", "Signing CA verified")),
	row("cert-manager.io", "Certificate", certificate),

	// https://gateway-api.sigs.k8s.io/reference/spec/#routestatus. Not every Gateway supports TLS to its backends.
	row("gateway.networking.k8s.io", "HTTPRoute", httpRoute),
	row("gateway.networking.k8s.io", "BackendTLSPolicy", nil),

	// https://github.com/prometheus-operator/prometheus-operator
	row("monitoring.coreos.com", "ServiceMonitor", nil),
	row("monitoring.coreos.com", "PodMonitor", nil),
	row("monitoring.coreos.com", "PrometheusRule", nil),

	// https://github.com/k-orc/openstack-resource-controller, internal/controllers/generic/status
	row("openstack.k-orc.cloud", "Domain", korc),
	row("openstack.k-orc.cloud", "Project", korc),
	row("openstack.k-orc.cloud", "Role", korc),
	row("openstack.k-orc.cloud", "User", korc),
	row("openstack.k-orc.cloud", "Service", korc),
	row("openstack.k-orc.cloud", "Endpoint", korc),

	// Our functions, of claims.
	row(controlplanev1.GroupVersionKind.Group, controlplanev1.GroupVersionKind.Kind, composite),
	row(hypervisorv1.GroupVersionKind.Group, hypervisorv1.GroupVersionKind.Kind, composite),
	row(storagev1.GroupVersionKind.Group, storagev1.GroupVersionKind.Kind, composite),
	row(keystoneservicev1.GroupVersionKind.Group, keystoneservicev1.GroupVersionKind.Kind, keystoneService),

	// Our companion: the package of each kind.
	row(openstackv1.GroupVersion.Group, "CellMapping", cellMapping),
	row(openstackv1.GroupVersion.Group, "ComputeCatalog", dated("Ready", "UpToDate", "Nova has everything as the spec says")),
	row(openstackv1.GroupVersion.Group, "OVNSync", ovnSync),
	row(openstackv1.GroupVersion.Group, "ServiceCheck", serviceCheck),
	row(openstackv1.GroupVersion.Group, "TestReport", nil),
	row(openstackv1.GroupVersion.Group, "KeyRepository", keyRepository),
	row(openstackv1.GroupVersion.Group, "DatabaseSync", databaseSync),
	row(openstackv1.GroupVersion.Group, "EndpointRegion", dated("Available", "RegionSet", "the endpoint is in its region")),
	row(openstackv1.GroupVersion.Group, "IdentityCheck", identityCheck),
	row(openstackv1.GroupVersion.Group, "RoleAssignment", dated("Available", "Assigned", "the role is given")),
	row(c5c3v1.GroupVersion.Group, "ClusterCheck", clusterCheck),
	row(c5c3v1.GroupVersion.Group, "CredentialRotation", credentialRotation),
	row(c5c3v1.GroupVersion.Group, "NodeIssuer", nodeIssuer),
	row(c5c3v1.GroupVersion.Group, "RaftCluster", raftCluster),
	row(c5c3v1.GroupVersion.Group, "RemoteConsumer", remoteConsumer),
	row(c5c3v1.GroupVersion.Group, "SecretAggregate", secretAggregate),
)

// writer returns the final status of an owner.
type writer func(view) status

type entry struct {
	kind  schema.GroupKind
	write writer
}

func row(group, kind string, write writer) entry {
	return entry{kind: schema.GroupKind{Group: group, Kind: kind}, write: write}
}

// table returns the writers of composite resources and of other kinds.
func table(rows ...entry) map[schema.GroupKind]writer {
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		rows = append(rows, row(k.Group, k.Kind, composite))
	}
	out := make(map[schema.GroupKind]writer, len(rows))
	for _, r := range rows {
		out[r.kind] = r.write
	}
	return out
}

// condition returns a true condition that reports no generation.
func (v view) condition(typ, reason, message string) map[string]any {
	return map[string]any{"type": typ, "status": "True", "reason": reason, "message": message, "lastTransitionTime": v.at}
}

// current returns a true condition that reports the current generation.
func (v view) current(typ, reason, message string) map[string]any {
	c := v.condition(typ, reason, message)
	c["observedGeneration"] = v.generation()
	return c
}

func undated(typ, reason, message string) writer {
	return func(v view) status { return status{"conditions": []any{v.condition(typ, reason, message)}} }
}

func dated(typ, reason, message string) writer {
	return func(v view) status { return status{"conditions": []any{v.current(typ, reason, message)}} }
}

func phase(p string) writer { return func(view) status { return status{"phase": p} } }

// service returns the status of a Service in a cluster with load balancers.
func service(v view) status {
	ingress := []any{}
	if v.text("spec", "type") == "LoadBalancer" {
		ingress = append(ingress, map[string]any{"ip": "192.0.2.10"}) // https://www.rfc-editor.org/rfc/rfc5737
	}
	return status{"loadBalancer": map[string]any{"ingress": ingress}}
}

// keystoneService returns the status of a KeystoneService that a control plane has accepted.
func keystoneService(v view) status {
	plane := v.text("spec", "controlPlaneRef", "namespace") + "-" + v.text("spec", "controlPlaneRef", "name")
	user := v.text("metadata", "namespace") + "-" + v.name()
	return status{
		"phase": "Ready", "controlPlaneInstance": plane,
		"account": map[string]any{
			"authURL": "https://keystone." + plane + ".svc:5000/v3", "region": "RegionOne", "user": user, "userDomain": "Default",
			"project": "service", "projectDomain": "Default", "secretName": v.name() + "-keystone",
		},
		"conditions": []any{v.current("Synced", "ReconcileSuccess", ""), v.current("Ready", "Available", "")},
	}
}

// deployment returns the status after a rollout. With minReadySeconds, the old pods still exist.
func deployment(v view) status {
	n := v.number(1, "spec", "replicas")
	all := n
	if v.number(0, "spec", "minReadySeconds") > 0 {
		all *= 2
	}
	return status{
		"observedGeneration": v.generation(), "replicas": all, "updatedReplicas": n, "readyReplicas": all, "availableReplicas": n,
		"conditions": []any{
			v.condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
			v.condition("Progressing", "NewReplicaSetAvailable", fmt.Sprintf("ReplicaSet %q has successfully progressed.", v.name())),
		},
	}
}

func statefulSet(v view) status {
	n := v.number(1, "spec", "replicas")
	return status{
		"observedGeneration": v.generation(), "replicas": n, "currentReplicas": n, "updatedReplicas": n, "readyReplicas": n,
		"availableReplicas": n,
	}
}

// daemonSet returns the status in a cluster with one node.
func daemonSet(v view) status {
	return status{
		"observedGeneration": v.generation(), "desiredNumberScheduled": int64(1), "currentNumberScheduled": int64(1),
		"numberMisscheduled": int64(0), "updatedNumberScheduled": int64(1), "numberReady": int64(1), "numberAvailable": int64(1),
	}
}

func job(v view) status {
	const reason, message = "CompletionsReached", "Reached expected number of succeeded pods"
	return status{
		"startTime": v.first("startTime"), "completionTime": v.first("completionTime"), "succeeded": int64(1),
		"conditions": []any{v.condition("SuccessCriteriaMet", reason, message), v.condition("Complete", reason, message)},
	}
}

// composite returns the status of a composite resource. If its function ran, its part is in the status already; otherwise the
// status of a ready one is written.
func composite(v view) status {
	conditions := []any{v.current("Synced", "ReconcileSuccess", ""), v.current("Ready", "Available", "")}
	requested, _ := v.get("status", "conditions").([]any)
	for _, c := range requested { // Crossplane keeps other conditions of the function.
		if is, _ := c.(map[string]any); is["type"] != "Synced" && is["type"] != "Ready" {
			conditions = append(conditions, c)
		}
	}
	out := status{"conditions": conditions}
	if v.text("status", "phase") == "" {
		out["phase"], out["observedGeneration"] = "Ready", v.generation()
		if out["deletionPolicy"] = v.get("spec", "deletionPolicy"); out["deletionPolicy"] == nil {
			out["deletionPolicy"] = "Retain"
		}
	}
	return out
}

func managed(v view) status {
	return status{"conditions": []any{v.current("Synced", "ReconcileSuccess", ""), v.condition("Ready", "Available", "")}}
}

func mariaDB(v view) status {
	return status{
		"replicas": v.number(1, "spec", "replicas"), "currentPrimary": v.name() + "-0", "currentPrimaryPodIndex": int64(0),
		"conditions": []any{v.condition("Ready", "StatefulSetReady", "Running"), v.condition("Updated", "Updated", "Updated")},
	}
}

func rabbitMQ(v view) status {
	return status{
		"observedGeneration": v.generation(), "binding": map[string]any{"name": v.name() + "-default-user"},
		"conditions": []any{
			v.condition("AllReplicasReady", "AllPodsAreReady", ""), v.condition("ClusterAvailable", "AtLeastOneEndpointAvailable", ""),
			v.condition("NoWarnings", "NoWarnings", ""), v.condition("ReconcileSuccess", "Success", "Finish reconciling"),
		},
	}
}

func topology(v view) status {
	return status{
		"observedGeneration": v.generation(), "conditions": []any{v.condition("Ready", "SuccessfulCreateOrUpdate", "")},
	}
}

func valkey(v view) status {
	return status{
		"observedGeneration": v.generation(), "state": "Ready",
		"conditions": []any{v.current("Ready", "Ready", "Component successfully reconciled")},
	}
}

func externalSecret(v view) status {
	name := v.text("spec", "target", "name")
	if name == "" {
		name = v.name()
	}
	return status{
		"binding": map[string]any{"name": name}, "refreshTime": v.refreshed(), "syncedResourceVersion": Version(v.object),
		"conditions": []any{v.condition("Ready", "SecretSynced", "secret synced")},
	}
}

func pushSecret(v view) status {
	message := "PushSecret synced successfully"
	if v.text("spec", "updatePolicy") == "IfNotExists" {
		message += ". Existing secrets in providers unchanged."
	}
	return status{
		"refreshTime": v.refreshed(), "syncedResourceVersion": Version(v.object), "syncedPushSecrets": PushedProperties(v.object),
		"conditions": []any{v.condition("Ready", "Synced", message)},
	}
}

// refreshed returns when an object of External Secrets was synced: the previous time if it has not changed since, or now.
func (v view) refreshed() string {
	if at := v.text("status", "refreshTime"); at != "" && v.text("status", "syncedResourceVersion") == Version(v.object) {
		return at
	}
	return v.at
}

func certificate(v view) status {
	return status{
		"revision": v.number(1, "status", "revision"), "notBefore": v.first("notBefore"),
		"conditions": []any{v.current("Ready", "Ready", "Certificate is up to date and has not expired")},
	}
}

func httpRoute(v view) status {
	refs, _ := v.get("spec", "parentRefs").([]any)
	if len(refs) == 0 {
		refs = []any{map[string]any{"name": "gateway"}}
	}
	before, _ := v.get("status", "parents").([]any)
	var parents []any
	for i, ref := range refs {
		parent := map[string]any{
			"controllerName": "example.com/gateway", "parentRef": ref,
			"conditions": []any{
				v.current("Accepted", "Accepted", "Route is accepted"), v.current("ResolvedRefs", "ResolvedRefs", "Resolved all the Object references"),
			},
		}
		if i < len(before) {
			previous, _ := before[i].(map[string]any)
			since(previous, parent)
		}
		parents = append(parents, parent)
	}
	return status{"parents": parents}
}

func korc(v view) status {
	progressing := v.current("Progressing", "Success", "OpenStack resource is up to date")
	progressing["status"] = "False"
	return status{
		"id":         "id-of-" + v.name(),
		"conditions": []any{v.current("Available", "Success", "OpenStack resource is available"), progressing},
	}
}

func keyRepository(v view) status {
	return status{
		"observedGeneration": v.generation(), "keys": []any{int64(0), int64(1)}, "primary": int64(1), "lastRotation": v.first("lastRotation"),
		"conditions": []any{
			v.current("Distributed", "AllPodsRestarted", "every pod was started after the keys with primary 1 were written"),
			v.current("Ready", "KeysReady", "keys [0 1] exist: 0 is staged, 1 is primary"),
		},
	}
}

func databaseSync(v view) status {
	release := v.text("spec", "release")
	return status{
		"observedGeneration": v.generation(), "phase": "Done", "installedRelease": release,
		"conditions": []any{
			v.current("Ready", "Installed", "the schema serves release "+release),
			v.current("Contracted", "StepsCompleted", "everything has run for release "+release),
		},
	}
}

// cellMapping returns the status of a cell without hypervisors. Its UUID is derived from its name. cell0 has a fixed one.
func cellMapping(v view) status {
	uuid := "00000000-0000-0000-0000-000000000000"
	if cell := v.text("spec", "cell"); cell != "cell0" {
		uuid = fmt.Sprintf("00000000-0000-4000-8000-%012x", sha256.Sum256([]byte(cell)))[:36]
	}
	return status{
		"observedGeneration": v.generation(), "uuid": uuid, "oldestCompute": int64(0),
		"conditions": []any{
			v.current("Ready", "Mapped", "Nova knows the cell as the spec says"), v.current("HostsMapped", "Mapped", "every host is mapped"),
		},
	}
}

func serviceCheck(v view) status {
	out := status{
		"observedGeneration": v.generation(), "up": int64(3), "down": int64(0),
		"conditions": []any{v.current("Ready", "Up", "every process that is known is up")},
	}
	if v.get("spec", "nodes") != nil { // A pool with one empty node.
		out["capacity"] = map[string]any{
			"virtualMachines": int64(0), "totalVCPU": int64(64), "availableVCPU": int64(64),
			"totalMemoryMiB": int64(131072), "availableMemoryMiB": int64(131072),
		}
	}
	if list, _ := v.get("spec", "backends").([]any); len(list) > 0 { // Each has a manager that has just reported.
		backends := make([]any, len(list))
		for i, b := range list {
			named, _ := b.(map[string]any)
			backends[i] = map[string]any{
				"name": named["name"], "up": int64(1), "totalGiB": int64(1024), "availableGiB": int64(1000),
			}
		}
		out["backends"] = backends
	}
	return out
}

// ovnSync returns the status of a comparison without differences.
func ovnSync(v view) status {
	response := status{
		"request": v.text("spec", "request"), "mode": v.text("spec", "mode"), "time": cmp.Or(v.text("status", "answer", "time"), v.at),
		"differences": int64(0),
	}
	return status{
		"observedGeneration": v.generation(), "answer": response,
		"conditions": []any{
			v.current("Ready", "Completed", "the request is answered"), v.current("InSync", "InSync", "OVN has what Neutron's database says"),
		},
	}
}

func identityCheck(v view) status {
	return status{
		"apiVersion": "v3.14", "lastToken": v.first("lastToken"), "authority": "certificates of the control plane's own authority, in PEM\n",
		"conditions": []any{v.current("Reachable", "TokenIssued", "Keystone gives tokens")},
	}
}

func credentialRotation(v view) status {
	return status{
		"observedGeneration": v.generation(), "currentID": "id-of-" + v.name(), "lastRotation": v.first("lastRotation"),
		"conditions": []any{v.current("Ready", "CredentialInUse", "credential id-of-"+v.name()+" is in use")},
	}
}

// remoteConsumer returns the status with the credentials of credentialRotation: rotations have the names of their Secrets.
func remoteConsumer(v view) status {
	var current []any
	credentials, _ := v.get("spec", "credentials").([]any)
	for _, c := range credentials {
		entry, _ := c.(map[string]any)
		name, _ := entry["secretName"].(string)
		current = append(current, map[string]any{"secretName": name, "currentID": "id-of-" + name})
	}
	return status{
		"observedGeneration": v.generation(), "credentials": current,
		"conditions": []any{v.current("Ready", "Tracked", "each credential is known, and the consumer is waited for when it is replaced")},
	}
}

// nodeIssuer returns the status of an issuer that can sign.
func nodeIssuer(v view) status {
	return status{
		"observedGeneration": v.generation(), "conditions": []any{v.current("Ready", "Signing", "requests of nodes are signed")},
	}
}

// clusterCheck returns the report of a cluster that has everything.
func clusterCheck(v view) status {
	var operators []any
	checked, _ := v.get("spec", "operators").([]any)
	for _, c := range checked {
		o, _ := c.(map[string]any)
		operators = append(operators, map[string]any{"name": o["name"]})
	}
	return status{
		"observedGeneration": v.generation(), "lastObservationTime": v.first("lastObservationTime"),
		"cluster": map[string]any{
			"kubernetesVersion": "v1.35.3", "ipFamily": "IPv4", "podSecurity": true, "operators": operators,
			"nodes":          map[string]any{"total": int64(3), "ready": int64(3), "architectures": []any{"amd64"}},
			"storageClasses": []any{map[string]any{"name": "standard", "provisioner": "csi.example.com", "default": true}},
			"gatewayClasses": []any{map[string]any{"name": "public", "accepted": true}},
		},
		"conditions": []any{v.current("Ready", "Observed", "the properties of the cluster were read")},
	}
}

// raftCluster returns the status with all members. The ID is derived from the name of the database, unless it is set already.
func raftCluster(v view) status {
	id := v.text("status", "clusterID")
	if id == "" {
		id = fmt.Sprintf("00000000-0000-4000-8000-%012x", sha256.Sum256([]byte(v.text("spec", "database"))))[:36]
	}
	leader := v.text("spec", "statefulSetName") + "-0"
	conditions := []any{
		v.current("Ready", "QuorumHealthy", "all pods are members, and "+leader+" is the leader"),
		v.current("ClusterIDMatches", "ClusterIDMatches", "no pod is a member of another cluster"),
	}
	out := status{"observedGeneration": v.generation(), "clusterID": id, "leader": leader, "conditions": conditions}
	if v.get("spec", "countChassis") == true {
		out["conditions"] = append(conditions, v.current("ChassisCounted", "Counted", "2 chassis are registered"))
		out["chassis"] = map[string]any{"registered": int64(2), "active": int64(2)}
	}
	return out
}

func secretAggregate(v view) status {
	return status{
		"observedGeneration": v.generation(),
		"conditions":         []any{v.current("Ready", "Written", "Secret "+v.text("spec", "targetSecretName")+" holds its keys")},
	}
}
