package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// reasons are the composed objects of every API group, which justify the permission to create them.
var reasons = map[string]string{
	"":                               "Configuration, addresses and identities of workloads, and the namespace around them.",
	"apps":                           "APIs and other processes of services, caches and the companion.",
	"batch":                          "Bootstrap of a service, and chores by the clock.",
	"c5c3.io":                        "Credentials that are replaced, and files made of several secrets, which the companion makes.",
	"cache.cs.sap.com":               "Valkey, by its operator.",
	"ceph.rook.io":                   "Ceph clusters, with pools, users, file systems and object stores, by Rook.",
	"cert-manager.io":                "An authority for each control plane, and the certificates of its services.",
	"external-secrets.io":            "Generated passwords, copies of tenants' Secrets, and copies of both in the platform's store.",
	"gateway.networking.k8s.io":      "Public addresses of APIs by the Gateway API.",
	"generators.external-secrets.io": "How passwords are generated.",
	"k8s.mariadb.com":                "Databases, accounts and backups, by mariadb-operator.",
	"kubernetes.crossplane.io":       "Access to clusters, for Objects of cluster-scoped composite resources.",
	"kubernetes.m.crossplane.io":     "Access to clusters, for Objects of namespaced composite resources.",
	"monitoring.coreos.com":          "Targets and alerts of Prometheus.",
	"networking.k8s.io":              "Network policies; public addresses of APIs by Ingress.",
	"openstack.c5c3.io": "Keys, database schemas and operations in Keystone that K-ORC does not support, which the " +
		"companion reconciles.",
	"openstack.k-orc.cloud": "Objects in Keystone, by K-ORC.",
	"policy":                "How many pods of a service a drain may take at once.",
	"rabbitmq.com":          "Message queues and accounts on them, by RabbitMQ's operators.",
	"storage.k8s.io":        "How Kubernetes keeps volumes in pools of a Ceph cluster.",
	"rbac.authorization.k8s.io": "The companion's Role, also in the namespaces of the claim's Secrets that it reads, and Rook's " +
		"bindings.",
}

// granted reports whether Crossplane grants itself permissions on a kind: on Usages by its own ClusterRole, on composite resources, claims
// and Objects by its RBAC manager. All of them are in the management cluster.
func granted(k schema.GroupKind) bool {
	rule, _ := readiness.Rules.For(k)
	return k.Group == "protection.crossplane.io" || k.Group == common.GroupVersion.Group || rule.Composite
}

// inObjects are the kinds that are composed as Objects wherever they live, because they are cluster-scoped or outlive their
// claim: the provider needs rights on them, and Crossplane none.
var inObjects = map[schema.GroupKind]bool{
	{Group: "", Kind: "Namespace"}:                      true,
	{Group: "", Kind: "PersistentVolumeClaim"}:          true,
	{Group: "c5c3.io", Kind: "RaftCluster"}:             true,
	{Group: "cache.cs.sap.com", Kind: "Valkey"}:         true,
	{Group: "k8s.mariadb.com", Kind: "Database"}:        true,
	{Group: "k8s.mariadb.com", Kind: "ExternalMariaDB"}: true,
	{Group: "k8s.mariadb.com", Kind: "Grant"}:           true,
	{Group: "k8s.mariadb.com", Kind: "MariaDB"}:         true,
	{Group: "k8s.mariadb.com", Kind: "User"}:            true,
	{Group: "openstack.c5c3.io", Kind: "KeyRepository"}: true,
	{Group: "rabbitmq.com", Kind: "RabbitmqCluster"}:    true,
	{Group: "rabbitmq.com", Kind: "Vhost"}:              true,

	{Group: "ceph.rook.io", Kind: "CephBlockPool"}:   true,
	{Group: "ceph.rook.io", Kind: "CephClient"}:      true,
	{Group: "ceph.rook.io", Kind: "CephCluster"}:     true,
	{Group: "ceph.rook.io", Kind: "CephFilesystem"}:  true,
	{Group: "ceph.rook.io", Kind: "CephNFS"}:         true,
	{Group: "ceph.rook.io", Kind: "CephObjectStore"}: true,
	{Group: "ceph.rook.io", Kind: "CephRBDMirror"}:   true,

	{Group: "storage.k8s.io", Kind: "StorageClass"}: true,

	{Group: "kubernetes.crossplane.io", Kind: "ProviderConfig"}:          true,
	{Group: "kubernetes.m.crossplane.io", Kind: "ClusterProviderConfig"}: true,
}

// inManagement are the kinds that are composed in the management cluster only. They are always retained, so nothing deletes them.
var inManagement = map[schema.GroupKind]bool{
	{Group: "kubernetes.crossplane.io", Kind: "ProviderConfig"}:          true,
	{Group: "kubernetes.m.crossplane.io", Kind: "ClusterProviderConfig"}: true,
}

// inOtherClusters are the kinds that are composed in other clusters only.
var inOtherClusters = map[schema.GroupKind]bool{{Group: "c5c3.io", Kind: "ClusterCheck"}: true}

// both are the kinds of which some outlive their claim and others do not: an authority's certificate does, a service's not; a generated
// password does, a copy of a tenant's Secret not; Ceph's identities do, and a companion's right to read Nodes does not.
var both = map[schema.GroupKind]bool{
	{Group: "", Kind: "ServiceAccount"}:                              true,
	{Group: "cert-manager.io", Kind: "Issuer"}:                       true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
	{Group: "cert-manager.io", Kind: "Certificate"}:                  true,
	{Group: "external-secrets.io", Kind: "ExternalSecret"}:           true,
}

// chosen are the kinds that may be composed only if the platform team allows it, by a value of the chart: a webhook receives every
// request, and can reject it.
var chosen = map[schema.GroupKind]bool{{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: true}

// plurals are the names of resources that do not follow from the kind by the rules of English that Kubernetes knows.
var plurals = map[string]string{"Valkey": "valkeys"}

// read and change are the verbs for applying an object, keep those without its deletion; whyVerbs are the reasons for them.
var (
	read   = []string{"get", "list", "watch"}
	change = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	keep   = []string{"get", "list", "watch", "create", "update", "patch"}
)

const whyVerbs = `# get: compare the existing object with the desired one. list, watch: observe changes immediately; without these two
# a claim hangs without an error. create, patch: server-side apply. update: remove the label of an object before it is deleted.
# delete: delete objects that are no longer desired.
`

// rule is a rule of a role and its reason.
type rule struct {
	reason string
	rbacv1.PolicyRule
}

// mark is a permission that is used only by the policy cobaltcore-namespaces: to mark a namespace as the namespace of a control plane. It
// is a permission instead of a user name, because a provider has a different identity in other clusters, and because cluster
// administrators have it implicitly.
var mark = rule{
	"Namespaces of control planes are marked as such; the admission policy cobaltcore-namespaces checks this permission.",
	rbacv1.PolicyRule{APIGroups: []string{common.GroupVersion.Group}, Resources: []string{"instances"}, Verbs: []string{"mark"}},
}

// compose returns Crossplane's permissions: on objects that it composes directly, and on required resources of Compositions.
func compose() ([]rule, error) {
	rules, err := ordered(func(k schema.GroupKind) bool { return !inObjects[k] && !inOtherClusters[k] })
	return append(rules, rule{
		"Compositions read the platform's settings, which only users write.",
		rbacv1.PolicyRule{APIGroups: []string{common.GroupVersion.Group}, Resources: []string{"platformconfigs"}, Verbs: read},
	}, rule{
		"WorkloadClusters do not replace an existing access to another cluster.",
		rbacv1.PolicyRule{APIGroups: []string{observe.ClusterScopedConfig.Group}, Resources: []string{"providerconfigs"}, Verbs: read},
	}, rule{
		"WorkloadClusters do not replace an existing access to another cluster, of namespaced Objects.",
		rbacv1.PolicyRule{APIGroups: []string{observe.NamespacedConfig.Group}, Resources: []string{"clusterproviderconfigs"}, Verbs: read},
	}, rule{
		"Compositions check that the admission policies are installed; otherwise nothing is composed.",
		rbacv1.PolicyRule{
			APIGroups: []string{"admissionregistration.k8s.io"}, Verbs: read,
			Resources: []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
		},
	}), err
}

// objects returns the provider's permissions in the management cluster: on objects that outlive a claim.
func objects() ([]rule, error) {
	rules, err := ordered(func(k schema.GroupKind) bool { return inObjects[k] || both[k] })
	return append(rules, mark), err
}

// workloads returns the provider's permissions in another cluster, on all kinds of objects that are composed there.
func workloads() ([]rule, error) {
	rules, err := ordered(func(k schema.GroupKind) bool { return !inManagement[k] })
	return append(rules, mark), err
}

// ordered returns the permissions for the selected kinds of internal/readiness, one rule for each API group. It returns an error for a
// group without an entry in reasons.
func ordered(choose func(schema.GroupKind) bool) ([]rule, error) {
	type key struct {
		group string
		kept  bool
	}
	groups := map[key][]string{}
	for _, k := range readiness.Rules.Kinds() {
		if !granted(k) && !chosen[k] && choose(k) {
			at := key{k.Group, inManagement[k]}
			groups[at] = append(groups[at], plural(k))
		}
	}
	var out []rule
	for at, names := range groups {
		reason, ok := reasons[at.group]
		if !ok {
			return nil, fmt.Errorf("cannot grant permissions on %q: add a reason in hack/chart/rights.go", at.group)
		}
		slices.Sort(names)
		verbs := change
		if at.kept {
			verbs = keep
		}
		out = append(out, rule{reason, rbacv1.PolicyRule{APIGroups: []string{at.group}, Resources: names, Verbs: verbs}})
	}
	slices.SortFunc(out, func(a, b rule) int { return strings.Compare(a.APIGroups[0], b.APIGroups[0]) })
	return out, nil
}

func plural(k schema.GroupKind) string {
	if p, ok := plurals[k.Kind]; ok {
		return p
	}
	p, _ := meta.UnsafeGuessKindToResource(k.WithVersion("any"))
	return p.Resource
}

// companionRules are the rights that the companion's Roles grant, without the names that these are bounded to: they differ from control
// plane to control plane.
func companionRules() ([]rule, error) { return withoutReasons(c5c3.Rights()), nil }

// clusterCheckRules and clusterCheckNamespaceRules are the rights of the companion that checks a cluster, on the cluster and in its own
// namespace. The provider, which binds both roles, must have them.
func clusterCheckRules() []rule { return withoutReasons(c5c3.ClusterCheckRules) }

func clusterCheckNamespaceRules() []rule { return withoutReasons(c5c3.ClusterCheckNamespaceRules) }

func withoutReasons(rules []rbacv1.PolicyRule) []rule {
	out := make([]rule, len(rules))
	for i, r := range rules {
		out[i] = rule{PolicyRule: r}
	}
	return out
}

// text is rules as YAML, with their reasons as comments, for the rules of a role.
func text(rules []rule) []byte {
	var out bytes.Buffer
	out.WriteString(header)
	if len(rules) > 0 && rules[0].reason != "" {
		out.WriteString(whyVerbs)
	}
	for _, r := range rules {
		if r.reason != "" {
			fmt.Fprintf(&out, "# %s\n", r.reason)
		}
		fmt.Fprintf(&out, "- apiGroups: [%s]\n  resources: [%s]\n", strings.Join(quoteEmpty(r.APIGroups), ", "), strings.Join(r.Resources, ", "))
		if len(r.ResourceNames) > 0 {
			fmt.Fprintf(&out, "  resourceNames: [%s]\n", strings.Join(r.ResourceNames, ", "))
		}
		fmt.Fprintf(&out, "  verbs: [%s]\n", strings.Join(r.Verbs, ", "))
	}
	return out.Bytes()
}

// quoteEmpty writes the core group as YAML needs it.
func quoteEmpty(groups []string) []string {
	out := slices.Clone(groups)
	for i, g := range out {
		if g == "" {
			out[i] = `""`
		}
	}
	return out
}
