package storage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

// operatorResource grants Rook's operator access to the namespace.
const operatorResource = "rook-operator"

// namespace builds the namespace of the cluster. Its pods use disks of the node, and mostly the node's network, which requires Pod Security
// level privileged. It has the label of control planes' namespaces, for which the platform opens its secret store, only if Secrets are
// copied through the store.
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

// pullsField is the path of the claim's image pull secrets.
const pullsField = "spec.images.pullSecrets"

// findPulls selects the image pull secrets: the claim's in addition to the platform's. Pods that prepare devices use the image of Rook's
// operator, which belongs to the platform, as well as Ceph's.
func (m *model) findPulls() {
	labels := m.meta(pullComponent).Labels
	own, ofClaim := tenantsecret.ClaimPulls(m.spec.Images, pullsField, m.secretsNamespace(), m.instance, labels)
	names, ofPlatform := tenantsecret.PlatformPulls(m.platform, m.instance, labels)
	m.pullSecrets = slices.Concat(own, names)
	m.pulls = []tenantsecret.Set{m.withManagementSecrets(ofClaim), m.withManagementSecrets(ofPlatform)}
}

// hasPullSecrets reports whether pull secrets are or have been copied.
func (m *model) hasPullSecrets() bool {
	return slices.ContainsFunc(m.pulls, func(s tenantsecret.Set) bool {
		return len(s.Requests) > 0 || slices.ContainsFunc(m.observed.Names(), s.Has)
	})
}

// accounts are the service accounts of Rook's pods, with the ClusterRole that each is bound to in the namespace, if any. The chart derives
// these roles from Rook's manifest for a second cluster
// (https://github.com/rook/rook/blob/v1.20.6/deploy/examples/common-second-cluster.yaml), without the rules for its orchestrator module,
// which is off, and for its manual job that removes an OSD.
var accounts = []struct{ name, role string }{
	{"rook-ceph-default", ""},
	{"rook-ceph-cmd-reporter", "cobaltcore:rook-cmd-reporter"},
	{"rook-ceph-mgr", "cobaltcore:rook-mgr"},
	{osdAccount, "cobaltcore:rook-osd"},
	{"rook-ceph-rgw", ""},
}

const (
	// osdAccount is the account of OSDs. They read the node's labels to determine their location in the CRUSH map.
	osdAccount = "rook-ceph-osd"
	nodesRole  = "cobaltcore:rook-nodes"
	// operatorRole is Rook's own role for the operator's work in the namespace of a cluster.
	operatorRole = "rook-ceph-cluster-mgmt"
)

// identities builds the accounts that Rook expects in the namespace of a cluster. They outlive the claim, as the cluster does.
func identities(m *model) ([]compose.Stage, error) {
	rook := platform.Rook(m.platform)
	operator := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: string(rook.Namespace), Name: string(rook.ServiceAccount)}
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

// clusterBinding binds a role for cluster-scoped objects: nodes.
func (m *model) clusterBinding(role string, subject rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: m.instance + "-rook-nodes", Labels: m.meta("rook-nodes").Labels},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}

// deletionOrder protects the operator's access, and the namespace, until the cluster is deleted: deleting the namespace would delete Ceph's
// daemons and keys while pools still hold images. Rook itself retains a cluster until its pools, users, file systems and object stores are
// gone.
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
