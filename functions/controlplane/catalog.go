package controlplane

import (
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// Kinds of what the identity service's bootstrap made, by which a claim chooses what is imported.
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
	// shared: the objects of services refer to it.
	shared bool
	// filter finds what bootstrap made; managed is what K-ORC makes itself.
	filter, managed object.Map
}

// wantedEntries are those that the claim asks for, by default all, those that services refer to, and the domains of directories.
func (m *model) wantedEntries() []entry {
	return append(m.wantedOfBootstrap(), m.directoryDomains()...)
}

func (m *model) wantedOfBootstrap() []entry {
	all := m.bootstrapEntries()
	if m.spec.KORC == nil || m.spec.KORC.BootstrapResources == nil {
		return all
	}
	groups := m.spec.KORC.BootstrapResources
	return slices.DeleteFunc(all, func(e entry) bool {
		// Projects and users lie in a domain, so that its import comes with them.
		needed := e.group == domains && (slices.Contains(groups, projects) || slices.Contains(groups, users))
		needed = needed || e.shared && len(m.services) > 1
		return !needed && !slices.Contains(groups, e.group)
	})
}

// catalog shows in Kubernetes what is in the identity service, so that other objects can refer to it. It belongs to the control plane and
// not to that service's composite resource: K-ORC has to log in to delete it, so it goes first.
func catalog(m *model) ([]compose.Stage, error) {
	c := korc.Credentials(korcCloud())
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

// domainObject names the object of a domain: as the domain, where Kubernetes takes that.
func domainObject(domain string) string {
	const hash = 5
	name := strings.ReplaceAll(strings.ToLower(domain), "_", "-")
	if name != domain || strings.HasSuffix(name, "-") {
		name = strings.TrimRight(name, "-") + "-" + names.Hash(hash, domain)
	}
	return name
}

// beyondKORC is what K-ORC's released version cannot do, for the objects of K-ORC that are wanted: regions of endpoints, without which
// clients that ask for a region find nothing, and the roles that bootstrap gave the administrator. The companion does it.
func (m *model) beyondKORC(wanted []entry) compose.Stage {
	cloud := adminCloud()
	var stage compose.Stage
	there := map[string]bool{}
	for _, e := range wanted {
		there[e.resource] = true
		if e.kind != "Endpoint" {
			continue
		}
		stage = append(stage, compose.Resource{Name: "region-of-" + e.resource, Object: c5c3.EndpointRegion(m.meta(e.name),
			openstackv1.EndpointRegionSpec{
				CloudCredentialsRef: cloud, EndpointRef: common.ObjectName(e.name), Region: m.spec.Global.Region,
			})})
	}
	if !there["role-admin"] || !there["user-admin"] {
		return stage
	}
	give := func(name string, where openstackv1.RoleAssignmentResource) {
		where.RoleRef, where.UserRef = "admin", "admin"
		stage = append(stage, compose.Resource{Name: "role-assignment-" + name, Object: c5c3.RoleAssignment(m.meta(name),
			openstackv1.RoleAssignmentSpec{
				CloudCredentialsRef: cloud,
				ManagedOptions:      openstackv1.ManagedOptions{OnDelete: openstackv1.OnDeleteDetach},
				Resource:            where,
			})})
	}
	give("admin-on-system", openstackv1.RoleAssignmentResource{System: "all"})
	if there["project-admin"] {
		give("admin-in-admin", openstackv1.RoleAssignmentResource{ProjectRef: "admin"})
	}
	return stage
}
