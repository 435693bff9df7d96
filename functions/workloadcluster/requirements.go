package workloadcluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// minimumKubernetes is the oldest supported version of Kubernetes (docs/install.md).
const minimumKubernetes = "1.30.0"

// operator is an operator that roles require, with the kinds that are composed for it.
type operator struct {
	name  string
	roles []workloadclusterv1.Role
	// kinds are the composed kinds.
	kinds []kinds
	// monitoring: it is required only if the PlatformConfig enables monitoring.
	monitoring bool
}

// kinds are kinds of one version of an API group, by their plural names.
type kinds struct {
	group, version string
	plurals        []string
}

// operators lists the operators of each role (docs/install.md, docs/how-to/hypervisors-other-cluster.md,
// docs/how-to/storage-other-cluster.md). Operators of features that a claim can omit are not included: the claim reports them.
var operators = []operator{
	{
		name: "mariadb-operator", roles: controlPlanes, kinds: []kinds{
			{"k8s.mariadb.com", "v1alpha1", []string{"databases", "grants", "mariadbs", "maxscales", "physicalbackups", "users"}},
		},
	},
	{
		name: "rabbitmq-cluster-operator", roles: controlPlanes,
		kinds: []kinds{{"rabbitmq.com", "v1beta1", []string{"rabbitmqclusters"}}},
	},
	{
		name: "messaging-topology-operator", roles: controlPlanes,
		kinds: []kinds{{"rabbitmq.com", "v1beta1", []string{"permissions", "policies", "users", "vhosts"}}},
	},
	{name: "valkey-operator", roles: controlPlanes, kinds: []kinds{{"cache.cs.sap.com", "v1alpha1", []string{"valkeys"}}}},
	{
		name: "external-secrets", roles: allRoles,
		kinds: []kinds{
			{"external-secrets.io", "v1", []string{"externalsecrets", "secretstores"}},
			{"external-secrets.io", "v1alpha1", []string{"pushsecrets"}},
			{"generators.external-secrets.io", "v1alpha1", []string{"passwords"}},
		},
	},
	{name: "cert-manager", roles: controlPlanes, kinds: []kinds{{"cert-manager.io", "v1", []string{"certificates", "issuers"}}}},
	{
		name: "k-orc", roles: controlPlanes, kinds: []kinds{
			{"openstack.k-orc.cloud", "v1alpha1", []string{"domains", "endpoints", "projects", "roles", "services", "users"}},
		},
	},
	{
		name: "rook", roles: []workloadclusterv1.Role{workloadclusterv1.Storage}, kinds: []kinds{
			{"ceph.rook.io", "v1", []string{"cephblockpools", "cephclients", "cephclusters", "cephfilesystems", "cephobjectstores"}},
		},
	},
	{
		name: "prometheus-operator", roles: allRoles, monitoring: true,
		kinds: []kinds{{"monitoring.coreos.com", "v1", []string{"prometheusrules", "servicemonitors"}}},
	},
}

// allRoles are the roles of operators that every cluster requires.
var allRoles = []workloadclusterv1.Role{workloadclusterv1.ControlPlane, workloadclusterv1.Hypervisor, workloadclusterv1.Storage}

// controlPlanes are the roles of operators that only control planes require.
var controlPlanes = []workloadclusterv1.Role{workloadclusterv1.ControlPlane}

// requires reports whether a role requires an operator.
func (m *model) requires(o operator, r workloadclusterv1.Role) bool {
	return slices.Contains(o.roles, r) && (!o.monitoring || m.isMonitored())
}

// checkSpec returns the check of the operators of the cluster's roles.
func (m *model) checkSpec() c5c3v1.ClusterCheckSpec {
	var out c5c3v1.ClusterCheckSpec
	for _, o := range operators {
		if !slices.ContainsFunc(m.spec.Roles, func(r workloadclusterv1.Role) bool { return m.requires(o, r) }) {
			continue
		}
		checked := c5c3v1.CheckedOperator{Name: o.name}
		for _, k := range o.kinds {
			for _, plural := range k.plurals {
				checked.Definitions = append(checked.Definitions, c5c3v1.CheckedDefinition{Name: plural + "." + k.group, Version: k.version})
			}
		}
		out.Operators = append(out.Operators, checked)
	}
	return out
}

// roleStatus compares the report with the requirements of a role.
func (m *model) roleStatus(r workloadclusterv1.Role) workloadclusterv1.RoleStatus {
	out := workloadclusterv1.RoleStatus{Role: r}
	if m.report == nil {
		return out
	}
	out.Missing = append(m.commonProblems(), m.roleProblems(r)...)
	known := true
	for _, o := range operators {
		if !m.requires(o, r) {
			continue
		}
		i := slices.IndexFunc(m.report.Operators, func(found common.OperatorReport) bool { return found.Name == o.name })
		if i < 0 { // The role was added after the last report.
			known = false
		} else if missing := m.report.Operators[i].Missing; len(missing) > 0 {
			out.Missing = append(out.Missing, operatorProblem(o.name, missing))
		}
	}
	if m.stale == "" && !m.outdated && (known || len(out.Missing) > 0) {
		out.Ready = new(len(out.Missing) == 0)
	}
	return out
}

// operatorProblem returns the sentence for an operator without some of its kinds. Only the first ones are listed.
func operatorProblem(name string, missing []string) string {
	const shown = 3
	list := strings.Join(missing[:min(shown, len(missing))], ", ")
	if rest := len(missing) - shown; rest > 0 {
		list = fmt.Sprintf("%s and %d more", list, rest)
	}
	return fmt.Sprintf("%s is missing or has another version: the cluster does not serve %s; install a supported version of the operator "+
		"(docs/reference/versions.md)", name, list)
}

// commonProblems returns the requirements of every role that are not met.
func (m *model) commonProblems() []string {
	var out []string
	r := m.report
	if v, err := version.ParseGeneric(r.KubernetesVersion); err != nil || v.LessThan(version.MustParseGeneric(minimumKubernetes)) {
		out = append(out, fmt.Sprintf("Kubernetes %s is not supported; upgrade the cluster to %s or newer",
			cmp.Or(r.KubernetesVersion, "of an unknown version"), strings.TrimSuffix(minimumKubernetes, ".0")))
	}
	if r.Nodes.Ready == 0 {
		out = append(out, fmt.Sprintf("none of %d nodes is Ready; add or repair nodes", r.Nodes.Total))
	}
	switch {
	case r.PodSecurity == nil:
		out = append(out, fmt.Sprintf("it is unknown whether the API server enforces Pod Security levels: it rejects a dry run in namespace %s; "+
			"exempt the namespace from the webhook or policy that the condition Ready of the ClusterCheck names", m.instance))
	case !*r.PodSecurity:
		out = append(out, "the API server does not enforce Pod Security levels; enable its admission plugin PodSecurity")
	}
	family := cmp.Or(m.spec.IPFamily, platform.IPFamily(m.platform, ""), ipv4)
	if r.IPFamily != "" && r.IPFamily != family {
		out = append(out, fmt.Sprintf("the Services of the cluster have %s addresses, and %s is expected; set spec.ipFamily to %s", r.IPFamily,
			family, r.IPFamily))
	}
	return out
}

const ipv4 common.IPFamily = "IPv4"

// roleProblems returns the requirements of a role, besides its operators, that are not met.
func (m *model) roleProblems(r workloadclusterv1.Role) []string {
	if r != workloadclusterv1.ControlPlane {
		return nil
	}
	var out []string
	if len(m.report.StorageClasses) == 0 {
		out = append(out, "the cluster has no StorageClass, and databases need volumes; install a CSI driver with a StorageClass")
	}
	accepted := slices.ContainsFunc(m.report.GatewayClasses, func(c common.GatewayClassReport) bool { return c.Accepted })
	if e := m.platform.Exposure; e != nil && e.Type == exposure.GatewayAPI && !accepted {
		out = append(out, "no GatewayClass of the cluster is accepted, and exposure of the PlatformConfig uses the Gateway API; install a "+
			"controller for Gateways")
	}
	return out
}
