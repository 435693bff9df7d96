package c5c3

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// TestGrant tests which objects may be read, written and restarted, and that no rule is without names.
func TestGrant(t *testing.T) {
	clouds := common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
	rule := func(group, resource string, names []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names, Verbs: verbs}
	}
	read := func(names ...string) rbacv1.PolicyRule { return rule("", "secrets", names, "get", "list", "watch") }
	write := func(names ...string) rbacv1.PolicyRule { return rule("", "secrets", names, "update") }
	repo := openstackv1.KeyRepositorySpec{SecretName: "fernet", Consumers: []openstackv1.Consumer{{Kind: "Deployment", Name: "keystone"}}}
	backedUp := repo
	backedUp.Backup = &openstackv1.Backup{RemoteKey: "x"}
	for name, tc := range map[string]struct {
		reason  string
		objects []runtime.Object
		want    []rbacv1.PolicyRule
	}{
		"Unnamed": {
			reason: "An object without references requires no rights.",
			objects: []runtime.Object{
				KeyRepository(object.Meta{}, openstackv1.KeyRepositorySpec{Consumers: []openstackv1.Consumer{{Kind: "Deployment"}}}),
				IdentityCheck(object.Meta{}, openstackv1.IdentityCheckSpec{}),
			},
		},
		"Nothing": {reason: "A rule without names would be for all Secrets.", objects: []runtime.Object{&corev1.ConfigMap{}}},
		"Keys": {
			reason:  "Keys are written; their pods are rolled.",
			objects: []runtime.Object{KeyRepository(object.Meta{}, repo)},
			want:    []rbacv1.PolicyRule{read("fernet"), write("fernet"), rule("apps", "deployments", []string{"keystone"}, "patch")},
		},
		"Backup": {
			reason:  "The store's copy is in a separate Secret, which is only read.",
			objects: []runtime.Object{KeyRepository(object.Meta{}, backedUp)},
			want: []rbacv1.PolicyRule{
				read("fernet", "fernet-restore"), write("fernet"), rule("apps", "deployments", []string{"keystone"}, "patch"),
			},
		},
		"Aggregate": {
			reason: "Sources are only read.",
			objects: []runtime.Object{SecretAggregate(object.Meta{}, c5c3v1.SecretAggregateSpec{
				TargetSecretName: "domains",
				Sources: []c5c3v1.SecretSource{
					{SecretKeyRef: common.SecretKeyReference{Name: "tenant-ldap"}}, {SecretKeyRef: common.SecretKeyReference{Name: "tenant-ldap"}},
				},
			})},
			want: []rbacv1.PolicyRule{read("domains", "tenant-ldap"), write("domains")},
		},
		"Rotation": {
			reason: "The login is read. A SecretAggregate that copies the credential is not rolled.",
			objects: []runtime.Object{CredentialRotation(object.Meta{}, c5c3v1.CredentialRotationSpec{
				SecretName: "korc", CloudCredentialsRef: &clouds,
				Consumers: []c5c3v1.Consumer{{Kind: "SecretAggregate", Name: "korc-clouds"}, {Kind: "DaemonSet", Name: "agent"}},
			})},
			want: []rbacv1.PolicyRule{read("clouds", "korc"), write("korc"), rule("apps", "daemonsets", []string{"agent"}, "patch")},
		},
		"QueueUser": {
			reason: "Users have random names, and their Secrets are not read. Only rotations with a queue create users.",
			objects: []runtime.Object{CredentialRotation(object.Meta{}, c5c3v1.CredentialRotationSpec{
				SecretName: "nova-queue", Queue: &c5c3v1.QueueUser{}, Consumers: []c5c3v1.Consumer{{Kind: "StatefulSet", Name: "nova-conductor"}},
			})},
			want: []rbacv1.PolicyRule{
				read("nova-queue"), write("nova-queue"), rule("apps", "statefulsets", []string{"nova-conductor"}, "patch"),
				rule("rabbitmq.com", "users", nil, "list", "create", "update", "delete"),
				rule("rabbitmq.com", "permissions", nil, "list", "create", "delete"),
				rule("rabbitmq.com", "vhosts", nil, "list"),
			},
		},
		"Logins": {
			reason: "Who only logs in writes nothing.",
			objects: []runtime.Object{
				IdentityCheck(object.Meta{}, openstackv1.IdentityCheckSpec{CloudCredentialsRef: clouds}),
				RoleAssignment(object.Meta{}, openstackv1.RoleAssignmentSpec{CloudCredentialsRef: clouds}),
				EndpointRegion(object.Meta{}, openstackv1.EndpointRegionSpec{CloudCredentialsRef: clouds}),
			},
			want: []rbacv1.PolicyRule{read("clouds")},
		},
		"Cell": {
			reason: "The same for Jobs of a cell; credentials for Nova's API are read if they are set.",
			objects: []runtime.Object{
				&openstackv1.CellMapping{Spec: openstackv1.CellMappingSpec{CloudCredentialsRef: &clouds, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
						{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "nova-database"}}},
					}}},
				}}}},
				&openstackv1.CellMapping{},
			},
			want: []rbacv1.PolicyRule{read("clouds", "nova-database")},
		},
		"Services": {
			reason:  "Records are removed by a login; pods and StatefulSets it reads anyway.",
			objects: []runtime.Object{&openstackv1.ServiceCheck{Spec: openstackv1.ServiceCheckSpec{CloudCredentialsRef: clouds}}},
			want:    []rbacv1.PolicyRule{read("clouds")},
		},
		"Flavors": {
			reason:  "Flavors are made by a login.",
			objects: []runtime.Object{&openstackv1.ComputeCatalog{Spec: openstackv1.ComputeCatalogSpec{CloudCredentialsRef: clouds}}},
			want:    []rbacv1.PolicyRule{read("clouds")},
		},
		"Raft": {
			reason:  "Members are queried with a client certificate; StatefulSets are readable without names.",
			objects: []runtime.Object{RaftCluster(object.Meta{}, c5c3v1.RaftClusterSpec{ClientSecretName: "clouds"})},
			want:    []rbacv1.PolicyRule{read("clouds")},
		},
		"Nodes": {
			reason:  "Nodes that have registered are shown.",
			objects: []runtime.Object{RaftCluster(object.Meta{}, c5c3v1.RaftClusterSpec{ClientSecretName: "clouds", CountChassis: true})},
			want: []rbacv1.PolicyRule{
				read("clouds"),
				{APIGroups: []string{"ovn.c5c3.io"}, Resources: []string{"ovnchassis"}, Verbs: []string{"list", "create", "update", "delete"}},
				{APIGroups: []string{"ovn.c5c3.io"}, Resources: []string{"ovnchassis/status"}, Verbs: []string{"update"}},
			},
		},
		"Schema": {
			reason: "Each Secret of its Jobs is checked for existence.",
			objects: []runtime.Object{DatabaseSync(object.Meta{}, openstackv1.DatabaseSyncSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Volumes: []corev1.Volume{
					{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "database"}}},
					{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}},
				},
			}}})},
			want: []rbacv1.PolicyRule{read("database")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			role, binding := Grant(object.Meta{Name: "keystone-companion", Namespace: "cloud"}, tc.objects...)
			if diff := cmp.Diff(tc.want, role.(*rbacv1.Role).Rules); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			b := binding.(*rbacv1.RoleBinding)
			want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: Name, Namespace: "cloud"}}
			if diff := cmp.Diff(want, b.Subjects); diff != "" || b.RoleRef.Name != "keystone-companion" {
				t.Errorf("bound to %v (-want +got):\n%s", b.RoleRef, diff)
			}
		})
	}
}
