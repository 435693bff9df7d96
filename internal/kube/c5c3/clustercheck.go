package c5c3

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// ClusterCheckController is the controller that only the companion of a WorkloadCluster runs, whose arguments name it. The companion of a
// control plane has no rights on its kind.
const ClusterCheckController = "clustercheck"

// ClusterRoles of the chart for the companion that checks a cluster: the rights on its own namespace, and on cluster-scoped objects.
const (
	clusterCheckNamespaceRole = "cobaltcore:cluster-check-namespace"
	clusterCheckRole          = "cobaltcore:cluster-check"
)

// ClusterCheckNamespaceRules are the rights in its own namespace of the companion that checks a cluster. The composer of its RoleBinding
// must have them, too.
var ClusterCheckNamespaceRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"c5c3.io"}, Resources: []string{"clusterchecks"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"c5c3.io"}, Resources: []string{"clusterchecks/status"}, Verbs: []string{"get", "update"}},
	// A dry run with an invalid level shows whether Pod Security Admission checks the labels. The rights to create pods are not necessary.
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"patch"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

// ClusterCheckRules are its rights on objects of the cluster: it reads the reported properties, and no Secret.
var ClusterCheckRules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"services"}, ResourceNames: []string{"kubernetes"}, Verbs: []string{"get"}},
	{APIGroups: []string{"storage.k8s.io"}, Resources: []string{"storageclasses"}, Verbs: []string{"list"}},
	{APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"gatewayclasses"}, Verbs: []string{"list"}},
	{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}},
}

// ClusterCheckAccess returns the service account of the companion that checks a cluster, and the bindings of its two roles.
func ClusterCheckAccess(w workload.Workload) (
	account *corev1.ServiceAccount, inNamespace *rbacv1.RoleBinding, inCluster *rbacv1.ClusterRoleBinding,
) {
	inNamespace = bindingOf(w.Meta(), clusterCheckNamespaceRole)
	inNamespace.RoleRef.Kind = "ClusterRole"
	meta := w.Meta()
	meta.Name, meta.Namespace = w.Namespace, ""
	inCluster = NodeReader(meta, w.Namespace)
	inCluster.RoleRef.Name = clusterCheckRole
	return w.ServiceAccount(), inNamespace, inCluster
}

// ClusterCheckDeployment returns the Deployment of the companion that checks a cluster. It has no rights on other kinds, so it runs no
// other controller.
func ClusterCheckDeployment(w workload.Workload, image string) runtime.Object {
	return deployment(w, image, "--controllers="+ClusterCheckController)
}

// ClusterCheckNetwork returns a NetworkPolicy: Prometheus reads the metrics from its namespaces, if any, and the companion connects to the
// ports of the API server only.
func ClusterCheckNetwork(w workload.Workload, prometheus []string, apiServer []int32) runtime.Object {
	var in []workload.Flow
	if len(prometheus) > 0 {
		in = []workload.Flow{{Namespaces: prometheus, Ports: []int32{metricsPort}}}
	}
	return w.NetworkPolicy(in, []workload.Flow{{Anywhere: true, Ports: apiServer}})
}

// ClusterCheckAlerts returns the alerts on the companion that checks a cluster. If it does not run, the condition Reachable of the
// WorkloadCluster becomes False.
func ClusterCheckAlerts(w workload.Workload, conf common.Monitoring) runtime.Object {
	s := seriesOf(w)
	return monitoring.Rules(w.Meta(), conf, monitoring.Alert{
		Name: "ClusterCheckFailing", Severity: monitoring.Warning, For: "30m",
		Expr:    s.isFalse("cluster_check", "Ready"),
		Summary: "ClusterCheck {{ $labels.name }}: the companion cannot read the properties of the cluster.",
		Action:  "See the conditions of the WorkloadCluster in the management cluster, then the pod of the companion.",
	})
}
