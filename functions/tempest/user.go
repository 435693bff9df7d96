package tempest

import (
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

func (m *model) secret() string { return m.sub("user") }

// passwords returns the variables with the administrator's password: Tempest does not support application credentials. The tests of Heat
// read separate options.
func (m *model) passwords() []corev1.EnvVar {
	out := []corev1.EnvVar{workload.SecretEnv(oslo.MustEnvName("auth", "admin_password"), m.secret(), secret.PasswordKey)}
	if m.hasService(tempestv1.TypeOrchestration) {
		for _, option := range []string{"password", "admin_password"} {
			out = append(out, workload.SecretEnv(oslo.MustEnvName(heatGroup, option), m.secret(), secret.PasswordKey))
		}
	}
	return out
}

func (m *model) credentials() ([]compose.Stage, error) {
	meta := m.meta(m.secret())
	return []compose.Stage{{
		{Name: "user-generator", Object: secret.Generator(meta)},
		{Name: "user-secret", Object: secret.Generated(meta, meta.Name, adminUser, nil), Retain: true},
	}}, nil
}

// user is the administrator with which tests create their own users, in a separate project. It differs from bootstrap's: it can be deleted
// or locked independently, its actions appear in logs under its own name, and a test cannot lock out the real administrator. A domain
// administrator is insufficient: tests request users with rights on the whole cloud, which only a cloud administrator can create.
func (m *model) user() ([]compose.Stage, error) {
	c := korc.Credentials(m.spec.Identity.KORCCloudRef)
	project := c.Owned("Project", m.meta(m.name), object.Map{
		"name": adminProject, "domainRef": common.DefaultDomainObject, "description": "The administrator of Tempest's tests",
	})
	user := c.Owned("User", m.meta(m.name), object.Map{
		"name": adminUser, "domainRef": common.DefaultDomainObject, "passwordRef": m.secret(), "description": "Tempest's tests",
	})
	return []compose.Stage{
		{{Name: "project", Object: project}, {Name: "user", Object: user}},
		{{Name: "role-admin", Object: m.role()}},
	}, nil
}

// role makes the user an administrator.
func (m *model) role() *openstackv1.RoleAssignment {
	return c5c3.RoleAssignment(m.meta(m.sub("admin")), openstackv1.RoleAssignmentSpec{
		CloudCredentialsRef: m.spec.Identity.AdminCloudRef,
		ManagedOptions:      openstackv1.ManagedOptions{OnDelete: openstackv1.OnDeleteDetach},
		ExemptUser:          true,
		Resource: openstackv1.RoleAssignmentResource{
			RoleRef: common.AdminRole, UserRef: common.ObjectName(m.name), ProjectRef: common.ObjectName(m.name),
		},
	})
}

// access grants the companion the login with which it assigns the role.
func (m *model) access() ([]compose.Stage, error) {
	role, binding := c5c3.Grant(m.meta(m.sub(c5c3.Name)), m.role())
	return []compose.Stage{{{Name: "companion-role", Object: role}, {Name: "companion-role-binding", Object: binding}}}, nil
}
