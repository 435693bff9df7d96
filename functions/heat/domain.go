package heat

import (
	"cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// The domain of stacks' users, its administrator, and the role of its users
// (https://docs.openstack.org/heat/latest/install/install-ubuntu.html).
const (
	domainName  = heatv1.ServiceName
	domainAdmin = "heat_domain_admin"
	stackUser   = "heat_stack_user"
	// adminObject and roleObject are object names in Kubernetes, which have no underscores.
	adminObject = "heat-domain-admin"
	roleObject  = "heat-stack-user"
)

// domainName returns the name of the domain in Keystone. In a shared Keystone, it is the name of the control plane: names of domains have
// at most 64 characters, which leaves no space for a prefix.
func (m *model) domainName() string { return cmp.Or(string(m.Spec.Identity.SharedAs), domainName) }

func (m *model) adminSecret() string { return m.Sub("domain-admin") }
func (m *model) keySecret() string   { return m.Sub("encryption-key") }

// domain builds the separate domain of the users that stacks create for servers' reports. Domain and role stay in Keystone, because
// resources of stacks depend on them. Their administrator is deleted with Heat, and re-created with the same password.
func domain(m *model) ([]compose.Stage, error) {
	cloud := korc.Credentials(m.Spec.Identity.KORCCloudRef)
	return []compose.Stage{
		{
			{
				Name:   "stack-domain",
				Object: cloud.Managed("Domain", m.Meta(m.Name), object.Map{"name": m.domainName(), "description": "Users that stacks make"}),
			},
			{
				Name:   "stack-user-role",
				Object: cloud.Managed("Role", m.Meta(roleObject), object.Map{"name": stackUser, "description": "Users that stacks make"}),
			},
			{
				Name: "domain-admin", After: []string{"stack-domain"},
				Object: cloud.Owned("User", m.Meta(adminObject), object.Map{
					"name": domainAdmin, "domainRef": m.Name, "passwordRef": m.adminSecret(), "description": "Makes users for stacks",
				}),
			},
		},
		{{
			Name: "domain-admin-role",
			Object: c5c3.RoleAssignment(m.Meta(adminObject), openstackv1.RoleAssignmentSpec{
				CloudCredentialsRef: m.Spec.Identity.AdminCloudRef,
				ManagedOptions:      openstackv1.ManagedOptions{OnDelete: openstackv1.OnDeleteDetach},
				ExemptUser:          true,
				Resource: openstackv1.RoleAssignmentResource{
					RoleRef: common.AdminRole, UserRef: adminObject, DomainRef: common.ObjectName(m.Name),
				},
			}),
		}},
	}, nil
}
