package storage

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

// operatorResource lets Rook's operator work here.
const operatorResource = "rook-operator"

// namespace is that of the cluster. Its pods have disks of the node, and mostly the node's network, which no other level of Pod Security
// lets them have. It has the label of control planes' namespaces, to which the platform opens its secret store, only where something
// comes or goes through that.
func namespace(m *model) ([]compose.Stage, error) {
	return []compose.Stage{m.namespaces(func(level string) *corev1.Namespace {
		labels := map[string]string{"pod-security.kubernetes.io/enforce": level}
		if m.storesSecrets() {
			labels[admission.InstanceLabel] = admission.InstanceLabelValue
		}
		return &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{
				Name: m.instance, Labels: labels,
				Annotations: map[string]string{admission.ClaimAnnotation: m.claim.Namespace + "/" + m.claim.Name},
			},
		}
	})}, nil
}

// pullsField names the Secrets of the claim that images are pulled with.
const pullsField = "spec.images.pullSecrets"

// findPulls says which Secrets images are pulled with: the claim's besides the platform's. Pods that prepare devices have the image of
// Rook's operator beside Ceph's, which is the platform's own.
func (m *model) findPulls() {
	labels := m.meta(pullComponent).Labels
	own, ofClaim := tenantsecret.ClaimPulls(m.spec.Images, pullsField, m.secretsNamespace(), m.instance, labels)
	names, ofPlatform := tenantsecret.PlatformPulls(m.platform, m.instance, labels)
	m.pullSecrets = slices.Concat(own, names)
	m.pulls = []tenantsecret.Set{m.withManagementSecrets(ofClaim), m.withManagementSecrets(ofPlatform)}
}

// hasPullSecrets reports whether there is anything to bring, or was.
func (m *model) hasPullSecrets() bool {
	return slices.ContainsFunc(m.pulls, func(s tenantsecret.Set) bool {
		return len(s.Requests) > 0 || slices.ContainsFunc(m.seen.Names(), s.Has)
	})
}

// accounts are the service accounts of Rook's pods, and the ClusterRole that each is given in the namespace, if any. The chart makes these
// roles of what Rook's own manifest for a second cluster says
// (https://github.com/rook/rook/blob/v1.20.6/deploy/examples/common-second-cluster.yaml), without what its orchestrator's module, which is
// off, and its job for a person to remove a daemon would need.
var accounts = []struct{ name, role string }{
	{"rook-ceph-default", ""},
	{"rook-ceph-cmd-reporter", "cobaltcore:rook-cmd-reporter"},
	{"rook-ceph-mgr", "cobaltcore:rook-mgr"},
	{osdAccount, "cobaltcore:rook-osd"},
	{"rook-ceph-rgw", ""},
}

const (
	// osdAccount is that of the daemons that keep data. They read the node's labels, to say where in Ceph's map they are.
	osdAccount = "rook-ceph-osd"
	nodesRole  = "cobaltcore:rook-nodes"
	// operatorRole is Rook's own, by which its operator does what it does in a cluster's namespace.
	operatorRole = "rook-ceph-cluster-mgmt"
)

// identities are what Rook expects in the namespace of a cluster. They outlive the claim as the cluster does.
func identities(m *model) ([]compose.Stage, error) {
	rook := ptr.Deref(m.platform.Rook, platformv1.Rook{})
	operator := rbacv1.Subject{
		Kind: rbacv1.ServiceAccountKind, Namespace: cmp.Or(string(rook.Namespace), "rook-ceph"),
		Name: cmp.Or(string(rook.ServiceAccount), "rook-ceph-system"),
	}
	first := compose.Stage{}
	second := compose.Stage{
		{Name: operatorResource, Retain: true, Object: m.binding("rook-ceph-cluster-mgmt", operatorRole, operator)},
		{Name: "rook-nodes", Retain: true, Object: m.clusterBinding(nodesRole, m.subject(osdAccount))},
	}
	for _, a := range accounts {
		first = append(first, compose.Resource{Name: "account-" + a.name, Retain: true, Object: m.account(a.name)})
		if a.role != "" {
			second = append(second, compose.Resource{
				Name: "binding-" + a.name, Retain: true, Object: m.binding(a.name, a.role, m.subject(a.name)),
			})
		}
	}
	return []compose.Stage{first, second}, nil
}

func (m *model) account(name string) *corev1.ServiceAccount {
	out := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: m.instance, Labels: m.meta(name).Labels},
	}
	for _, s := range m.pullSecrets {
		out.ImagePullSecrets = append(out.ImagePullSecrets, corev1.LocalObjectReference{Name: string(s)})
	}
	return out
}

func (m *model) subject(account string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: m.instance, Name: account}
}

func (m *model) binding(name, role string, subject rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: m.instance, Labels: m.meta(name).Labels},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}

// clusterBinding is the same of what no namespace has: nodes.
func (m *model) clusterBinding(role string, subject rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: m.instance + "-rook-nodes", Labels: m.meta("rook-nodes").Labels},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}

// deletionOrder keeps what the operator needs to take a cluster down, and the namespace, which would take Ceph's daemons and keys along
// while pools still hold images. Rook itself keeps a cluster until its pools, users, file systems and object stores are gone.
func deletionOrder(m *model) ([]compose.Stage, error) {
	uses := func(of, reason string) compose.Resource {
		return usage.Of(m.meta(clusterResource+"-uses-"+of), clusterResource, of, reason)
	}
	stage := compose.Stage{
		uses(namespaceComponent, "Ceph and its keys are in the namespace"),
		uses(operatorResource, "Rook takes the cluster down by it"),
	}
	if m.remote() {
		stage = append(stage, uses(workloadNamespaceResource, "Ceph and its keys are in the namespace"))
	}
	return []compose.Stage{stage}, nil
}
