package c5c3

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

const (
	metricsPort = 8443
	healthPort  = 8081
	userID      = 65532
)

// rules are the companion's rights on objects without a predefined name, all in its own namespace. Together with the rights that Grant
// gives on named objects they equal the RBAC markers of its controllers (verified by a test of the companion), plus leader election.
var rules = []rbacv1.PolicyRule{
	// Custom resources that it reconciles.
	{APIGroups: []string{openstackv1.GroupVersion.Group}, Resources: Reconciled(openstackv1.GroupVersion, ""), Verbs: readVerbs},
	{APIGroups: []string{openstackv1.GroupVersion.Group}, Resources: Reconciled(openstackv1.GroupVersion, "/status"), Verbs: statusVerbs},
	// An assigned role must be removed, and a node put back into service, before its object is deleted: the companion writes the finalizer.
	{APIGroups: []string{"openstack.c5c3.io"}, Resources: []string{"nodemaintenances", "roleassignments"}, Verbs: []string{"update"}},
	// IDs of K-ORC's objects in Keystone.
	{
		APIGroups: []string{"openstack.k-orc.cloud"}, Resources: []string{"domains", "endpoints", "groups", "projects", "roles", "users"},
		Verbs: []string{"get"},
	},
	{APIGroups: []string{c5c3v1.GroupVersion.Group}, Resources: Reconciled(c5c3v1.GroupVersion, ""), Verbs: readVerbs},
	{APIGroups: []string{c5c3v1.GroupVersion.Group}, Resources: Reconciled(c5c3v1.GroupVersion, "/status"), Verbs: statusVerbs},
	// Keys, credentials and aggregates are Secrets. Create cannot be restricted by name
	// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources); reading and updating existing ones is granted
	// by name (Grant). None is deleted.
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	// Objects that a Job refers to must exist.
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	// Backups of keys use External Secrets: each push and each restore has its own object, which is deleted afterwards.
	{
		APIGroups: []string{"external-secrets.io"}, Resources: []string{"pushsecrets", "externalsecrets"},
		Verbs: []string{"get", "list", "create", "delete"},
	},
	// Jobs of schemas, cells and comparisons are created, released, watched and deleted.
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
	// Status and output of Jobs, and which pods have which keys and credentials.
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
	// Rollouts that contraction and rotations wait for. Workloads that are restarted for new keys and credentials are named (Grant).
	{
		APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"},
		Verbs: []string{"get", "list", "watch"},
	},
	// Leader election.
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

var readVerbs, statusVerbs = []string{"get", "list", "watch"}, []string{"get", "update"}

// Reconciled returns the resources of a group that the companion of a control plane reconciles, with a suffix.
func Reconciled(version schema.GroupVersion, suffix string) []string {
	kinds := kindregistry.OfCompanion()
	// KeyRepository, the oldest kind, remains the first one: another order would update the Role of every control plane.
	i := slices.IndexFunc(kinds, func(k kindregistry.Kind) bool { return k.Kind == "KeyRepository" })
	kinds = slices.Concat(kinds[i:i+1], kinds[:i], kinds[i+1:])
	var out []string
	for _, k := range kinds {
		if k.GroupVersion() == version && strings.ToLower(k.Kind) != ClusterCheckController {
			resource, _ := apimeta.UnsafeGuessKindToResource(k.GroupVersionKind)
			out = append(out, resource.Resource+suffix)
		}
	}
	return out
}

// Access returns the companion's service account, and the Role and RoleBinding with its rights that do not depend on other objects.
func Access(w workload.Workload) []runtime.Object {
	meta := w.Meta()
	return []runtime.Object{w.ServiceAccount(), roleOf(meta, rules), bindingOf(meta, w.Name)}
}

func roleOf(meta object.Meta, rules []rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{TypeMeta: kind("rbac.authorization.k8s.io/v1", "Role"), ObjectMeta: objectMeta(meta), Rules: rules}
}

// bindingOf returns a RoleBinding of a Role to the companion.
func bindingOf(meta object.Meta, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: kind("rbac.authorization.k8s.io/v1", "RoleBinding"), ObjectMeta: objectMeta(meta),
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: Name, Namespace: meta.Namespace}},
	}
}

// PodReader returns a Role in the namespace of meta, and its binding, with which the companion of another namespace reads pods, and the
// numbers of nodes of some DaemonSets.
func PodReader(meta object.Meta, companion string, daemonSets []string) (role *rbacv1.Role, binding *rbacv1.RoleBinding) {
	var rules []rbacv1.PolicyRule
	if len(daemonSets) > 0 { // A rule without names would apply to all DaemonSets.
		rules = []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"daemonsets"}, ResourceNames: daemonSets, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		}
	}
	role, binding = roleOf(meta, rules), bindingOf(meta, meta.Name)
	binding.Subjects[0].Namespace = companion
	return role, binding
}

// SecretReader returns a Role in the namespace of meta, and its binding, with which the companion of another namespace reads one Secret.
func SecretReader(meta object.Meta, companion, name string) (role *rbacv1.Role, binding *rbacv1.RoleBinding) {
	role = roleOf(meta, []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name}, Verbs: []string{"get"},
	}})
	binding = bindingOf(meta, meta.Name)
	binding.Subjects[0].Namespace = companion
	return role, binding
}

// nodesRole is the ClusterRole for reading Nodes, which the chart creates from nodeRules.
const nodesRole = "cobaltcore:nodes"

// nodeRules allow to read one Node at a time; its name is known from its pods.
var nodeRules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}}

// NodeReader returns a ClusterRoleBinding with which the companion of a namespace reads Nodes.
func NodeReader(meta object.Meta, companion string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), ObjectMeta: objectMeta(meta),
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: nodesRole},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: Name, Namespace: companion}},
	}
}

// signerRole is a ClusterRole of the chart for the companion of a control plane with pools: it approves and signs
// CertificateSigningRequests for signers of NodeIssuers. The policy cobaltcore-node-signers restricts it to signers of its namespace.
const signerRole = "cobaltcore:node-signer"

// NodeSigner returns a ClusterRoleBinding with which the companion of a namespace signs certificates of nodes.
func NodeSigner(meta object.Meta, companion string) *rbacv1.ClusterRoleBinding {
	out := NodeReader(meta, companion)
	out.RoleRef.Name = signerRole
	return out
}

// Rights returns all rules that the companion may be granted, without names: an identity that composes its Roles must have them
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

// Deployment returns the Deployment of the companion. One of its pods is the leader, the others wait.
func Deployment(w workload.Workload, image string) runtime.Object { return deployment(w, image) }

// deployment returns a Deployment of the companion with additional arguments.
func deployment(w workload.Workload, image string, arguments ...string) runtime.Object {
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
			Args:  append([]string{"--namespace=$(NAMESPACE)", "--leader-elect"}, arguments...),
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

// Network returns a NetworkPolicy. It allows Prometheus from its namespaces, if any, and egress of the companion to the ports of the API
// server, to Keystone and other services at their ports, and to public addresses, each at its port. The error is about a public address.
func Network(w workload.Workload, prometheus []string, apiServer, services []int32, public ...string) (runtime.Object, error) {
	ports := slices.Clone(apiServer)
	for _, address := range public {
		port, err := workload.PortOf(address)
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	slices.Sort(ports)
	var in []workload.Flow
	if len(prometheus) > 0 {
		in = []workload.Flow{{Namespaces: prometheus, Ports: []int32{metricsPort}}}
	}
	return w.NetworkPolicy(in, []workload.Flow{
		{Anywhere: true, Ports: slices.Compact(ports)},
		{Ports: append([]int32{keystonev1.Port}, services...)},
	}), nil
}

// Service returns the Service with which Prometheus finds the metrics.
func Service(w workload.Workload) runtime.Object {
	return w.Service(workload.Port("metrics", metricsPort))
}
