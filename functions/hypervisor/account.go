package hypervisor

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/reference"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

// usageUser is the composed resource that keeps the control plane until the pool is deleted.
const usageUser = "user-of-control-plane"

// memberRole is the role with which a user has resources in a project.
const memberRole = "member"

// accountMeta returns the metadata of an object of the account, which is in the control plane's namespace. Names of all of them begin with
// the pool's instance, which is unique.
func (m *model) accountMeta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.plane.Instance, Labels: m.meta(accountComponent).Labels}
}

// credentialSecret returns the Secret with the account's application credential, in the control plane's namespace.
func (m *model) credentialSecret() common.ObjectName {
	return common.ObjectName(m.instance + "-credential")
}

func (m *model) passwordSecret() string { return m.instance + "-user" }

// accountRoles returns the roles of the account in the project of the services. Without a user's token, nova-compute calls Placement,
// Neutron and Cinder, which accept these calls from services: by default, or by the policy rules of the functions of Neutron and Cinder.
// Passphrases of TPMs that belong to the deployment are secrets of the project, which requires its members.
func (m *model) accountRoles() []string {
	roles := []string{common.ServiceRole}
	if m.secretSecurity() != nil {
		roles = append(roles, memberRole)
	}
	return roles
}

// account builds the Keystone user with which nova-compute of this pool logs in, and its application credential. It is deleted with the
// pool, and its credentials with it. It has the name of the pool's instance: K-ORC adopts an existing user, so that tenants must not choose
// the name. The Usage keeps the control plane, because K-ORC logs in to delete the user.
func account(m *model) ([]compose.Stage, error) {
	cloud, password := korc.Credentials(m.plane.access.Identity.KORCCloudRef), m.accountMeta(m.passwordSecret())
	user := object.Map{
		"name": m.instance, "domainRef": common.DefaultDomainObject, "passwordRef": password.Name, "enabled": !m.spec.DisableAccount,
		"description": fmt.Sprintf("HypervisorCluster %s of namespace %s", m.claim.Name, m.claim.Namespace),
	}
	inUse := m.meta(m.instance + "-account")
	stages := []compose.Stage{
		{
			{Name: usageUser, Management: true, Object: workload.ConfigMap(m.meta(accountComponent), map[string]string{"user": m.instance})},
			m.inPlaneCluster(compose.Resource{Name: "account-generator", Object: secret.Generator(password)}),
			m.inPlaneCluster(compose.Resource{
				Name: "account-secret", Object: secret.Generated(password, password.Name, m.instance, nil), Retain: true,
			}),
		},
		{
			usage.OfClaim(inUse, usageUser, reference.APIVersion, controlplanev1.GroupVersionKind.Kind, m.spec.ControlPlaneRef,
				fmt.Sprintf("HypervisorCluster %s of namespace %s has an account in its Keystone; delete that claim first",
					m.claim.Name, m.claim.Namespace)),
			m.inPlaneCluster(compose.Resource{Name: "account-user", Object: cloud.Owned("User", m.accountMeta(m.instance), user)}),
			m.inPlaneCluster(compose.Resource{Name: "account-clouds", Object: m.accountClouds()}),
		},
	}
	var roles compose.Stage
	for _, role := range m.accountRoles() {
		stages[1] = append(stages[1], m.inPlaneCluster(compose.Resource{
			Name: "account-imported-" + role, Object: cloud.Import("Role", m.accountMeta(m.instance+"-"+role), object.Map{"name": role}),
		}))
		roles = append(roles, m.inPlaneCluster(compose.Resource{Name: "account-role-" + role, Object: m.accountRole(role)}))
	}
	credential := m.inPlaneCluster(compose.Resource{Name: "account-credential", Object: m.accountCredential()})
	return append(stages, roles, compose.Stage{credential}), nil
}

// accountRole returns the assignment of a role, which is revoked when the role is no longer needed.
func (m *model) accountRole(role string) *openstackv1.RoleAssignment {
	meta := m.accountMeta(m.instance + "-" + role)
	return c5c3.RoleAssignment(meta, openstackv1.RoleAssignmentSpec{
		CloudCredentialsRef: m.plane.access.Identity.AdminCloudRef,
		ManagedOptions:      openstackv1.ManagedOptions{OnDelete: openstackv1.OnDeleteDelete},
		ExemptUser:          true,
		Resource: openstackv1.RoleAssignmentResource{
			RoleRef: common.ObjectName(meta.Name), UserRef: common.ObjectName(m.instance), ProjectRef: common.ServiceProject,
		},
	})
}

// accountCloud references the login of the account with its password, which nodes do not have.
func (m *model) accountCloud() common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(m.instance + "-clouds"), CloudName: computeComponent}
}

func (m *model) accountClouds() *c5c3v1.SecretAggregate {
	identity, cloud := m.plane.access.Identity, m.accountCloud()
	login := service.Login{
		Cloud: cloud, URL: identity.InternalURL, User: m.instance, Project: identity.Project(), Password: m.passwordSecret(),
		CA: identity.CASecretRef,
	}
	if identity.SharedAs != "" { // Its catalog has endpoints of other clouds, too.
		login.Region = m.plane.access.Region
	}
	return c5c3.SecretAggregate(m.accountMeta(string(cloud.SecretName)), c5c3v1.SecretAggregateSpec{
		TargetSecretName: cloud.SecretName,
		Sources: []c5c3v1.SecretSource{
			service.Source("password", login.Password, secret.PasswordKey),
			service.Source("ca", string(login.CA.Name), string(login.CA.Key)),
		},
		Template: map[string]c5c3v1.SecretTemplate{"clouds.yaml": login.Template(), "cacert": "{{ .ca }}"},
	})
}

// accountCredential returns the rotation of the application credential. The pool reports its use by its RemoteConsumer.
func (m *model) accountCredential() *c5c3v1.CredentialRotation {
	rotation := m.plane.access.Identity.CredentialRotation
	return c5c3.CredentialRotation(m.accountMeta(string(m.credentialSecret())), c5c3v1.CredentialRotationSpec{
		Target: "ApplicationCredential", UserName: m.instance, CloudCredentialsRef: new(m.accountCloud()), Roles: m.accountRoles(),
		SecretName: m.credentialSecret(), IntervalDays: rotation.IntervalDays, PreRotationDays: rotation.PreRotationDays,
		GracePeriodDays: rotation.GracePeriodDays, Suspend: rotation.Suspend,
	})
}

// accountAccess grants the companion access to the Secrets of the account, and no others.
func accountAccess(m *model) ([]compose.Stage, error) {
	objects := []runtime.Object{m.accountClouds(), m.accountCredential()}
	for _, role := range m.accountRoles() {
		objects = append(objects, m.accountRole(role))
	}
	role, binding := c5c3.Grant(m.accountMeta(m.instance+"-"+c5c3.Name), objects...)
	return []compose.Stage{{
		m.inPlaneCluster(compose.Resource{Name: "account-companion-role", Object: role}),
		m.inPlaneCluster(compose.Resource{Name: "account-companion-role-binding", Object: binding}),
	}}, nil
}
