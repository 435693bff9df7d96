package controlplane

import (
	"cmp"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// longestID of a domain that a Keystone composite resource takes; Keystone's own have 32 characters.
const longestID = 128

// directoryDomains are the domains whose users live in a directory: without them Keystone does not read the directory's file. They are
// made whatever is imported, and stay in Keystone when they are no longer wanted: what hangs on a domain is the tenant's.
func (m *model) directoryDomains() []entry {
	var out []entry
	for _, b := range m.spec.Services.Keystone.IdentityBackends {
		if strings.EqualFold(b.Domain, "default") {
			continue // Bootstrap makes it.
		}
		name := domainObject(b.Domain)
		out = append(out, entry{resource: "domain-" + name, kind: "Domain", name: name, managed: object.Map{
			"name": b.Domain, "description": "Users of a directory",
		}})
	}
	return out
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

// findDomains finds which of the directories' domains there are. One whose object cannot be seen for a while is still there: Keystone's
// pods are replaced when this changes.
func (m *model) findDomains(seen observe.State) {
	for _, e := range m.directoryDomains() {
		domain, _ := e.managed["name"].(string)
		id := ""
		if o, ok := seen.Get(e.resource); ok {
			id = o.String("status", "id")
		}
		if k, ok := seen.Get(keystoneResource); ok {
			id = cmp.Or(id, k.String("spec", "domainIDs", domain))
		}
		if id == "" || len(id) > longestID {
			continue
		}
		if m.domainIDs == nil {
			m.domainIDs = map[string]keystonev1.DomainID{}
		}
		m.domainIDs[domain] = keystonev1.DomainID(id)
	}
}

// beyondKORC is what K-ORC's released version cannot do, for the objects of K-ORC that are wanted: regions of endpoints, without which
// clients that ask for a region find nothing, and the roles that bootstrap gave the administrator. The companion does it.
func (m *model) beyondKORC(wanted []entry) compose.Stage {
	cloud := keystonev1.AdminCloud(keystoneName)
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
