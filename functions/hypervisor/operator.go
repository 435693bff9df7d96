package hypervisor

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// operatorComponent manages the lifecycle of nodes as hypervisors. The program is external:
// https://github.com/cobaltcore-dev/openstack-hypervisor-operator/tree/v1.2.3
const operatorComponent = "hypervisor-operator"

// ClusterRoles of the chart. The first covers cluster-scoped objects, the operator's own kinds, and objects that the program caches. The
// second, bound in the pool's namespace, covers certificates of nodes and the leader election lease. Neither allows the pods and disruption
// budgets in kube-system by which the operator delays the removal of nodes: permission to create pods there amounts to control of the
// cluster.
const (
	operatorReads  = "cobaltcore:hypervisor-operator"
	operatorWrites = "cobaltcore:hypervisor-operator-namespace"
)

const credentialsField = "spec.lifecycle.credentialsSecretRef" //nolint:gosec // the name of a field, not a secret

func (m *model) lifecycle() hypervisorv1.Lifecycle {
	return ptr.Deref(m.spec.Lifecycle, hypervisorv1.Lifecycle{})
}

func (m *model) operatorEnabled() bool { return ptr.Deref(m.lifecycle().Enabled, false) }

// checkLifecycle rejects an operator without credentials, and one combined with evictOnCordon, because the control plane's companion would
// also evacuate nodes.
func (m *model) checkLifecycle() error {
	if !m.operatorEnabled() {
		return nil
	}
	var errs []error
	if m.lifecycle().CredentialsSecretRef == nil {
		errs = append(errs, invalid.Field(credentialsField, "the hypervisor operator logs in to Keystone as a user of your own; name a Secret "+
			"of this namespace with username and password"))
	}
	if m.spec.Virtualization.EvictOnCordon {
		errs = append(errs, invalid.Field("spec.virtualization.evictOnCordon", "cannot be set together with lifecycle, with which the "+
			"hypervisor operator evicts servers from nodes; remove one of them"))
	}
	return errors.Join(errs...)
}

// checkNodeReports rejects settings that the operator reads from nodes: it sets exactly the aggregates, and exactly the custom traits, of a
// node's annotations.
func (m *model) checkNodeReports() error {
	if !m.operatorEnabled() {
		return nil
	}
	var errs []error
	reject := func(field, message string) { errs = append(errs, invalid.Field(field, "%s", message)) }
	for i := range m.groups {
		g := &m.groups[i]
		if g.zone != "" {
			reject(g.field("availabilityZone"), "with lifecycle, the zone is taken from the node label "+
				"topology.kubernetes.io/zone; remove it")
		}
		if len(g.node.Aggregates) > 0 {
			reject(g.field("aggregates"), "with lifecycle, aggregates are set by the node annotation "+
				"nova.openstack.cloud.sap/aggregates; set them there")
		}
		if len(g.node.Traits) > 0 {
			reject(g.field("traits"), "with lifecycle, traits are set by the node annotation "+
				"nova.openstack.cloud.sap/custom-traits; set them there")
		}
	}
	return errors.Join(errs...)
}

// operatorLogin returns the set with the operator's credentials.
func (m *model) operatorLogin() tenantsecret.Set {
	return m.withManagementSecrets(tenantsecret.Set{
		Name: "operator-secrets", Prefix: "operator-login-", Type: corev1.SecretTypeOpaque,
		From: cmp.Or(m.claim.Namespace, m.pulls.ofPlatform.From), Instance: m.instance, Labels: m.meta(operatorComponent).Labels,
		Requests: []tenantsecret.Request{{
			Name: string(m.lifecycle().CredentialsSecretRef.Name), Keys: []string{secret.PasswordKey, secret.UsernameKey},
			Fields: []string{credentialsField},
		}},
	})
}

// hypervisorOperator builds an operator for the pool: each instance uses one Keystone, and selects nodes by their labels.
func hypervisorOperator(m *model) ([]compose.Stage, error) {
	image := ptr.Deref(ptr.Deref(m.platform.ThirdPartyImages, platformv1.ThirdPartyImages{}).HypervisorOperator, common.InfrastructureImage{})
	reference, err := release.ImageFor(release.HypervisorOperator, "", release.Override{
		Registry: m.platformImages().Registry, Repository: image.Repository, Tag: image.Tag, Digest: image.Digest,
	})
	if err != nil {
		return nil, err
	}
	w := m.workload(operatorComponent, "")
	w.PullSecrets, w.Replicas, w.Placement.Tolerations = m.platformPulls, 1, m.spec.Tolerations
	w.Resources = workload.Resources("10m", "128Mi", "256Mi")
	policies, err := m.operatorNetwork(w)
	if err != nil {
		return nil, err
	}
	reads, writes := m.nodeBindings(w, operatorReads, operatorWrites)
	// The operator orders certificates of nodes for a libvirt that it would configure itself. They are issued by an unused authority, so that
	// they grant no access, and the authority of live migration signs none of them.
	stages := m.operatorLogin().Stages()
	stages[0] = append(append(stages[0], policies...),
		compose.Resource{Name: operatorComponent + "-account", Object: w.ServiceAccount()}, reads, writes,
		compose.Resource{Name: operatorComponent + "-issuer", Object: certificate.SelfSigned(w.Meta())})
	return append(stages, compose.Stage{{Name: operatorComponent, Object: w.Deployment(m.operatorPod(reference))}}), nil
}

// nodeBindings binds two ClusterRoles to a workload's account: one in the whole cluster, and one in the pool's namespace.
func (m *model) nodeBindings(w workload.Workload, everywhere, here string) (reads, writes compose.Resource) {
	return m.clusterBinding(w, "-reads", everywhere), m.localBinding(w, "-writes", here)
}

func (m *model) clusterBinding(w workload.Workload, suffix, role string) compose.Resource {
	return compose.Resource{Name: w.Name + suffix, Object: &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: m.instance + "-" + w.Name, Labels: w.Labels()},
		RoleRef:    clusterRole(role), Subjects: m.account(w),
	}}
}

func (m *model) localBinding(w workload.Workload, suffix, role string) compose.Resource {
	return compose.Resource{Name: w.Name + suffix, Object: &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: m.instance, Labels: w.Labels()},
		RoleRef:    clusterRole(role), Subjects: m.account(w),
	}}
}

func clusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func (m *model) account(w workload.Workload) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: m.instance, Name: w.Name}}
}

// operatorPod returns the pod of the operator. It exits if the login to either project fails at startup.
func (m *model) operatorPod(image string) workload.Pod {
	a, l := m.plane.access, m.lifecycle()
	login := m.operatorLogin().Target(string(l.CredentialsSecretRef.Name))
	c := corev1.Container{
		Name: operatorComponent, Image: image,
		Args: []string{
			"--leader-elect", "--health-probe-bind-address=:8081", "--label-selector=" + m.selector(),
			"--certificate-namespace=" + m.instance, "--certificate-issuer-name=" + operatorComponent,
		},
		Env: []corev1.EnvVar{
			{Name: "OS_AUTH_URL", Value: m.operatorKeystone()}, {Name: "OS_REGION_NAME", Value: a.Region},
			workload.SecretEnv("OS_USERNAME", login, secret.UsernameKey), workload.SecretEnv("OS_PASSWORD", login, secret.PasswordKey),
			{Name: "OS_USER_DOMAIN_NAME", Value: string(l.UserDomain)},
			{Name: "OS_PROJECT_NAME", Value: string(l.Project)},
			{Name: "OS_PROJECT_DOMAIN_NAME", Value: string(l.ProjectDomain)},
		},
		Ports: []corev1.ContainerPort{{Name: injectorHealth, ContainerPort: injectorHealthPort}},
	}
	_, volumes, mounts := m.authority()
	if len(volumes) > 0 { // In addition to the image's public CAs (https://pkg.go.dev/crypto/x509#SystemCertPool).
		c.VolumeMounts = mounts
		c.Env = append(c.Env, corev1.EnvVar{Name: "SSL_CERT_DIR", Value: "/etc/ssl/certs:" + authorityFolder})
	}
	workload.Readiness(&c, workload.HTTP(injectorHealth, "/readyz"))
	workload.Liveness(&c, workload.HTTP(injectorHealth, "/healthz"))
	return workload.Pod{
		UserID: injectorUser, ServiceAccount: operatorComponent, APIAccess: true, Containers: []corev1.Container{c}, Volumes: volumes,
	}
}

// selector returns the label selector of the pool's nodes. The operator copies the labels to its Hypervisor objects, and ignores nodes
// without them.
func (m *model) selector() string {
	labels := limit.LabelTerms(m.spec.NodeSelector)
	if m.spec.Region != "" {
		labels = append(labels, corev1.LabelTopologyRegion+"="+string(m.spec.Region))
	}
	return strings.Join(labels, ",")
}

// operatorKeystone returns the public address of Keystone, because the operator uses the catalog's public endpoints. Without one, it is the
// internal address.
func (m *model) operatorKeystone() string {
	return cmp.Or(string(m.plane.access.PublicIdentityURL), string(m.plane.access.IdentityURL))
}

// operatorNetwork allows egress of the operator to the API server and to the control plane's public addresses, and the corresponding
// ingress if these are in the control plane's namespace.
func (m *model) operatorNetwork(w workload.Workload) (compose.Stage, error) {
	ports := slices.Clone(platform.APIServerPorts(m.platform.Network))
	port, err := workload.PortOf(m.operatorKeystone())
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ports, port) && m.plane.access.PublicIdentityURL != "" {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	policy := compose.Resource{Name: operatorComponent + "-network-policy"}
	out := []workload.Flow{{Anywhere: true, Ports: ports}}
	if m.isSeparateCluster() {
		policy.Object = w.NetworkPolicy(nil, out)
		return compose.Stage{policy}, nil
	}
	queried := slices.Concat(compute.SchedulerEndpoints(), []string{glancev1.ServiceName})
	services := slices.Concat(compute.EndpointFlow(queried).Ports, []int32{keystonev1.Port, novav1.Port})
	slices.Sort(services)
	policy.Object = w.NetworkPolicy(nil, append(out, workload.Flow{Namespaces: []string{m.plane.Instance}, Ports: services}))
	names := slices.Concat(queried, []string{keystonev1.ServiceName, novav1.ServiceName})
	slices.Sort(names)
	in := func(key string, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}
	}
	meta := object.Meta{Name: m.instance + "-" + operatorComponent, Namespace: m.plane.Instance, Labels: w.Labels()}
	opened := workload.NetworkPolicy(meta, metav1.LabelSelector{
		MatchLabels: workload.ManagedPodLabels(), MatchExpressions: []metav1.LabelSelectorRequirement{
			in("app.kubernetes.io/name", names...), in("app.kubernetes.io/component", "api"),
		},
	}, []workload.Flow{{Namespaces: []string{m.instance}, Pods: w.Selector(), Ports: services}}, nil)
	opened.Spec.PolicyTypes, opened.Spec.Egress = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, nil
	return compose.Stage{policy, m.inPlaneCluster(compose.Resource{Name: operatorComponent + "-apis", Object: opened})}, nil
}
