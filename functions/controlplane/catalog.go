package controlplane

import (
	"slices"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// Kinds of what Keystone's bootstrap made, by which a claim chooses what is imported.
const (
	domains  = "domains"
	projects = "projects"
	roles    = "roles"
	users    = "users"
	entries  = "catalog"
)

// entry is one object of K-ORC.
type entry struct {
	resource, kind, name string
	group                controlplanev1.BootstrapResource
	// filter finds what bootstrap made; managed is what K-ORC makes itself.
	filter, managed object.Map
}

// catalogEntries is what Keystone's bootstrap made (https://docs.openstack.org/keystone/latest/admin/bootstrap.html), and
// the project of the services, which it does not make.
func (m *model) catalogEntries() []entry {
	byName := func(name string) object.Map { return object.Map{"name": name} }
	inDefault := func(name string) object.Map { return object.Map{"name": name, "domainRef": "default"} }
	out := []entry{
		// The id of this domain is "default", which is no UUID: K-ORC can import it by its name only.
		{resource: "domain-default", kind: "Domain", name: "default", group: domains, filter: byName(keystonev1.DefaultDomain)},
		{resource: "project-admin", kind: "Project", name: "admin", group: projects, filter: inDefault(keystonev1.AdminProject)},
		{resource: "project-service", kind: "Project", name: "service", group: projects, managed: object.Map{
			"name": "service", "domainRef": "default", "description": "Users of the OpenStack services",
		}},
	}
	for _, role := range []string{"admin", "manager", "member", "reader", "service"} {
		out = append(out, entry{resource: "role-" + role, kind: "Role", name: role, group: roles, filter: byName(role)})
	}
	return append(out,
		entry{resource: "user-admin", kind: "User", name: "admin", group: users, filter: inDefault(m.adminUser())},
		entry{
			resource: "service-keystone", kind: "Service", name: keystoneName, group: entries,
			filter: object.Map{"name": keystonev1.ServiceName, "type": "identity"},
		},
		entry{
			resource: "endpoint-keystone-public", kind: "Endpoint", name: keystoneName + "-public", group: entries,
			filter: object.Map{"interface": "public", "serviceRef": keystoneName},
		},
		entry{
			resource: "endpoint-keystone-internal", kind: "Endpoint", name: keystoneName + "-internal", group: entries,
			filter: object.Map{"interface": "internal", "serviceRef": keystoneName},
		},
	)
}

// wantedEntries are those that the claim asks for, by default all, and the domains that Keystone needs.
func (m *model) wantedEntries() []entry {
	return append(m.wantedOfBootstrap(), m.directoryDomains()...)
}

func (m *model) wantedOfBootstrap() []entry {
	all := m.catalogEntries()
	if m.spec.KORC == nil || m.spec.KORC.BootstrapResources == nil {
		return all
	}
	groups := m.spec.KORC.BootstrapResources
	return slices.DeleteFunc(all, func(e entry) bool {
		// Projects and users lie in a domain, so that its import comes with them.
		needed := e.group == domains && (slices.Contains(groups, projects) || slices.Contains(groups, users))
		return !needed && !slices.Contains(groups, e.group)
	})
}

// catalog shows in Kubernetes what is in Keystone, so that other objects can refer to it. It belongs to the control plane
// and not to the Keystone composite resource: K-ORC has to log in to delete it, so it goes first.
func catalog(m *model) ([]compose.Stage, error) {
	c := korc.Credentials(keystonev1.KORCCloud(keystoneName))
	var stage compose.Stage
	wanted := m.wantedEntries()
	for _, e := range wanted {
		o := c.Import(e.kind, m.meta(e.name), e.filter)
		if e.managed != nil {
			o = c.Managed(e.kind, m.meta(e.name), e.managed)
		}
		stage = append(stage, compose.Resource{Name: e.resource, Object: o})
	}
	return []compose.Stage{stage, m.beyondKORC(wanted)}, nil
}
