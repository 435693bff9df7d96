package c5c3

import (
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

const (
	metricsPort = 8443
	healthPort  = 8081
	userID      = 65532
	// httpsPort and httpPort are those of a public address that names none.
	httpsPort = 443
	httpPort  = 80
)

// rules are the companion's rights on what has no name beforehand, all of them in its own namespace. With those on what Grant names they
// are what its controllers' markers ask for (a test of the companion holds them together), and what the election of a leader needs.
var rules = []rbacv1.PolicyRule{
	// What it reconciles.
	{
		APIGroups: []string{"openstack.c5c3.io"},
		Resources: []string{
			"keyrepositories", "cellmappings", "computecatalogs", "databasesyncs", "endpointregions", "identitychecks", "ovnsyncs",
			"roleassignments", "servicechecks", "testreports",
		},
		Verbs: []string{"get", "list", "watch"},
	},
	{
		APIGroups: []string{"openstack.c5c3.io"},
		Resources: []string{
			"keyrepositories/status", "cellmappings/status", "computecatalogs/status", "databasesyncs/status", "endpointregions/status",
			"identitychecks/status", "ovnsyncs/status", "roleassignments/status", "servicechecks/status",
			"testreports/status",
		},
		Verbs: []string{"get", "update"},
	},
	// A role that is given has to be removed before its object goes: the finalizer is written.
	{APIGroups: []string{"openstack.c5c3.io"}, Resources: []string{"roleassignments"}, Verbs: []string{"update"}},
	// What K-ORC's objects are in Keystone.
	{
		APIGroups: []string{"openstack.k-orc.cloud"}, Resources: []string{"domains", "endpoints", "groups", "projects", "roles", "users"},
		Verbs: []string{"get"},
	},
	{
		APIGroups: []string{"c5c3.io"}, Resources: []string{"credentialrotations", "raftclusters", "remoteconsumers", "secretaggregates"},
		Verbs: []string{"get", "list", "watch"},
	},
	{
		APIGroups: []string{"c5c3.io"},
		Resources: []string{"credentialrotations/status", "raftclusters/status", "remoteconsumers/status", "secretaggregates/status"},
		Verbs:     []string{"get", "update"},
	},
	// Keys, credentials and aggregates are Secrets. What is to be made has no name that a rule could choose it by
	// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources); what is there is read and written by rights of
	// its name alone (Grant). None is deleted.
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	// What a Job refers to has to be there.
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	// Backups of keys go through External Secrets: each push and each restore is an object of its own, and goes when it is done.
	{
		APIGroups: []string{"external-secrets.io"}, Resources: []string{"pushsecrets", "externalsecrets"},
		Verbs: []string{"get", "list", "create", "delete"},
	},
	// Jobs of schemas, cells and comparisons: they are made, released, watched and cleared away.
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
	// What ran, what it wrote, and which pods have which keys and credentials.
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
	// Roll-outs that contract and rotations wait for. Those that changed keys and credentials roll are named (Grant).
	{
		APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"},
		Verbs: []string{"get", "list", "watch"},
	},
	// Leader election.
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

// Access gives the companion its identity and the rights that it has whatever it looks after: a service account, a Role of its
// namespace, their binding.
func Access(w workload.Workload) []runtime.Object {
	meta := w.Meta()
	return []runtime.Object{w.ServiceAccount(), roleOf(meta, rules), bindingOf(meta, w.Name)}
}

func roleOf(meta object.Meta, rules []rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{TypeMeta: kind("rbac.authorization.k8s.io/v1", "Role"), ObjectMeta: objectMeta(meta), Rules: rules}
}

// bindingOf binds a Role to the companion.
func bindingOf(meta object.Meta, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: kind("rbac.authorization.k8s.io/v1", "RoleBinding"), ObjectMeta: objectMeta(meta),
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: Name, Namespace: meta.Namespace}},
	}
}

// PodReader lets the companion of another namespace see where pods are, and for which nodes some DaemonSets are: a Role of the namespace of
// meta, and its binding.
func PodReader(meta object.Meta, companion string, daemonSets []string) (role *rbacv1.Role, binding *rbacv1.RoleBinding) {
	var rules []rbacv1.PolicyRule
	if len(daemonSets) > 0 { // Without a name, a rule is for all of them.
		rules = []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"daemonsets"}, ResourceNames: daemonSets, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		}
	}
	role, binding = roleOf(meta, rules), bindingOf(meta, meta.Name)
	binding.Subjects[0].Namespace = companion
	return role, binding
}

// nodesRole is the ClusterRole of whoever reads Nodes, which the chart makes of nodeRules.
const nodesRole = "cobaltcore:nodes"

// nodeRules are about one Node at a time, whose name is known by its pods.
var nodeRules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}}

// NodeReader lets the companion of a namespace read Nodes, which are in none: a binding of what is called as meta says.
func NodeReader(meta object.Meta, companion string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), ObjectMeta: objectMeta(meta),
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: nodesRole},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: Name, Namespace: companion}},
	}
}

// Rights are all that the companion may be granted, on whatever name: what whoever composes its Roles has to hold
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping).
func Rights() []rbacv1.PolicyRule {
	all := granted{written: set{"any": true}, rolled: map[string]set{}}
	for _, resource := range workloads {
		all.rolled[resource] = set{"any": true}
	}
	out := slices.Concat(rules, queueUsers, chassisObjects, nodeRules)
	for _, r := range all.rules() {
		r.ResourceNames = nil
		out = append(out, r)
	}
	return out
}

// Deployment makes the companion itself. One of its pods leads, the others wait.
func Deployment(w workload.Workload, image string) runtime.Object {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("health")}}}
	}
	return w.Deployment(workload.Pod{
		UserID:         userID,
		ServiceAccount: w.Name,
		APIAccess:      true,
		Containers: []corev1.Container{{
			Name:  "companion",
			Image: image,
			Args:  []string{"--namespace=$(NAMESPACE)", "--leader-elect"},
			Env: []corev1.EnvVar{{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"},
			}}},
			Ports: []corev1.ContainerPort{
				{Name: "metrics", ContainerPort: metricsPort},
				{Name: "health", ContainerPort: healthPort},
			},
			LivenessProbe:  probe("/healthz"),
			ReadinessProbe: probe("/readyz"),
		}},
	})
}

// Network lets Prometheus in from its namespaces, if there is one, and the companion out to the API server by the ports where that is
// reached, to Keystone and the services that it asks, by their ports, and to the public addresses that it visits, each at its port.
func Network(w workload.Workload, prometheus []string, apiServer, services []int32, public ...string) runtime.Object {
	ports := slices.Clone(apiServer)
	for _, address := range public {
		ports = append(ports, portOf(address))
	}
	slices.Sort(ports)
	var in []workload.Flow
	if len(prometheus) > 0 {
		in = []workload.Flow{{Namespaces: prometheus, Ports: []int32{metricsPort}}}
	}
	return w.NetworkPolicy(in, []workload.Flow{
		{Anywhere: true, Ports: slices.Compact(ports)},
		{Ports: append([]int32{keystonev1.Port}, services...)},
	})
}

// portOf an address: that of its scheme where it names none.
func portOf(address string) int32 {
	u, err := url.Parse(address)
	if err != nil {
		return httpsPort
	}
	const base, bits = 10, 32
	if port, err := strconv.ParseInt(u.Port(), base, bits); err == nil && port > 0 {
		return int32(port)
	}
	if u.Scheme == "http" {
		return httpPort
	}
	return httpsPort
}

// Service makes the Service that Prometheus finds the metrics by.
func Service(w workload.Workload) runtime.Object {
	return w.Service(workload.Port("metrics", metricsPort))
}
