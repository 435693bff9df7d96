package catalog

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// entry is a K-ORC object.
type entry struct {
	resource, kind, name string
	group                catalogv1.BootstrapResource
	// shared reports whether objects of services reference it.
	shared bool
	// domain of a directory.
	domain string
	// after lists the entries that must exist before it.
	after []string
	// filter imports a resource of the bootstrap; managed is the spec of a resource that K-ORC creates.
	filter, managed object.Map
	// owned is the spec of a resource that K-ORC creates, and deletes with the object.
	owned object.Map
}

// desiredEntries returns the requested entries, the ones that others reference, and the domains of directories.
func desiredEntries(spec *catalogv1.IdentityCatalogSpec) []entry {
	groups := spec.BootstrapResources
	bootstrap := slices.DeleteFunc(bootstrapEntries(spec.AdminUser, keystoneOf(spec.Shared).Project()), func(e entry) bool {
		// Projects and users belong to a domain, so that its import comes with them.
		needed := e.group == catalogv1.Domains && (slices.Contains(groups, catalogv1.Projects) || slices.Contains(groups, catalogv1.Users))
		needed = needed || e.shared && spec.Services
		return !needed && !slices.Contains(groups, e.group)
	})
	if spec.Shared != nil {
		bootstrap = append(bootstrap, identityEntry(spec.Shared)...)
	}
	return append(bootstrap, directoryDomains(spec.Domains)...)
}

// keystoneOf returns the reference from which names in a Keystone are derived.
func keystoneOf(shared *catalogv1.SharedKeystone) *common.KeystoneReference {
	return &common.KeystoneReference{SharedAs: ptr.Deref(shared, catalogv1.SharedKeystone{}).As}
}

// identityEntry returns the catalog entry of an external Keystone. It has endpoints in other regions; services look it up in their own
// region.
func identityEntry(k *catalogv1.SharedKeystone) []entry {
	out := []entry{{
		resource: "service-keystone", kind: "Service", name: keystonev1.ServiceName,
		owned: object.Map{"name": keystoneOf(k).NameOf(keystonev1.ServiceName), "type": "identity", "description": "Keystone in one more region"},
	}}
	for _, of := range []string{"public", "internal"} {
		out = append(out, entry{
			resource: "endpoint-keystone-" + of, kind: "Endpoint", name: keystonev1.ServiceName + "-" + of,
			owned: object.Map{"interface": of, "serviceRef": keystonev1.ServiceName, "url": string(k.URL)},
		})
	}
	return out
}

// bootstrapEntries returns the resources of Keystone's bootstrap (https://docs.openstack.org/keystone/latest/admin/bootstrap.html), and the
// project of the services, which bootstrap does not create. Entries that services reference are shared.
func bootstrapEntries(adminUser, project string) []entry {
	const domain = common.DefaultDomainObject
	byName := func(name string) object.Map { return object.Map{"name": name} }
	inDefault := func(name string) object.Map { return object.Map{"name": name, "domainRef": domain} }
	out := []entry{
		// The id of this domain is "default", which is no UUID: K-ORC can import it by its name only.
		{
			resource: "domain-default", kind: "Domain", name: domain, group: catalogv1.Domains, shared: true,
			filter: byName(keystonev1.DefaultDomain),
		},
		{
			resource: "project-admin", kind: "Project", name: keystonev1.AdminProject, group: catalogv1.Projects,
			filter: inDefault(keystonev1.AdminProject),
		},
		{
			resource: "project-service", kind: "Project", name: common.ServiceProject, group: catalogv1.Projects, shared: true,
			// A domain's deletion waits for the resources that K-ORC manages in it. A project that is re-created before the domain would block it
			// forever.
			after:   []string{"domain-default"},
			managed: object.Map{"name": project, "domainRef": domain, "description": "Users of the OpenStack services"},
		},
	}
	for _, role := range []string{common.AdminRole, "manager", "member", "reader", common.ServiceRole} {
		shared := role == common.AdminRole || role == common.ServiceRole
		out = append(out, entry{
			resource: "role-" + role, kind: "Role", name: role, group: catalogv1.Roles, shared: shared, filter: byName(role),
		})
	}
	endpoint := func(of string) entry {
		return entry{
			resource: "endpoint-keystone-" + of, kind: "Endpoint", name: keystonev1.ServiceName + "-" + of, group: catalogv1.Entries,
			filter: object.Map{"interface": of, "serviceRef": keystonev1.ServiceName},
		}
	}
	return append(out,
		entry{resource: "user-admin", kind: "User", name: adminObject, group: catalogv1.Users, filter: inDefault(adminUser)},
		entry{
			resource: "service-keystone", kind: "Service", name: keystonev1.ServiceName, group: catalogv1.Entries,
			filter: object.Map{"name": keystonev1.ServiceName, "type": "identity"},
		},
		endpoint("public"), endpoint("internal"),
	)
}

// adminObject is the object of the administrator, regardless of its name in Keystone.
const adminObject = "admin"

// directoryDomains returns the domains whose users are in a directory: Keystone reads the configuration file of existing domains only. They
// are created regardless of the imported groups, and stay in Keystone when they are removed from the spec: their content belongs to the
// tenant.
func directoryDomains(domains []catalogv1.DomainName) []entry {
	var out []entry
	for _, d := range domains {
		domain := string(d)
		if strings.EqualFold(domain, keystonev1.DefaultDomain) {
			continue // Bootstrap creates it.
		}
		name := domainObject(domain)
		out = append(out, entry{
			resource: "domain-" + name, kind: "Domain", name: name, domain: domain,
			managed: object.Map{"name": domain, "description": "Users of a directory"},
		})
	}
	return out
}

// domainObject returns the object name of a domain: the domain's name, if Kubernetes allows it.
func domainObject(domain string) string {
	const hash = 5
	name := strings.ReplaceAll(strings.ToLower(domain), "_", "-")
	if name != domain || strings.HasSuffix(name, "-") {
		name = strings.TrimRight(name, "-") + "-" + names.Hash(hash, domain)
	}
	return name
}

// longestID is the maximum length of a domain ID in a Keystone composite resource; Keystone's own have 32 characters.
const longestID = 128

// findDomains returns the directories' domains that exist. One whose object is temporarily not observed still exists: a change of the
// result replaces Keystone's pods.
func (m *model) findDomains(observed observe.State) map[string]keystonev1.DomainID {
	out := map[string]keystonev1.DomainID{}
	for _, e := range m.desired {
		if e.domain == "" {
			continue
		}
		o, _ := observed.Get(e.resource)
		id := cmp.Or(o.String("status", "id"), string(m.previous.DomainIDs[e.domain]))
		if id != "" && len(id) <= longestID {
			out[e.domain] = keystonev1.DomainID(id)
		}
	}
	return out
}

// build builds the objects of K-ORC, and then the objects of the companion.
func build(m *model) ([]compose.Stage, error) {
	c := korc.Credentials(m.spec.KORCCloudRef)
	var stage compose.Stage
	for _, e := range m.desired {
		o := c.Import(e.kind, m.meta(e.name), e.filter)
		if e.managed != nil {
			o = c.Managed(e.kind, m.meta(e.name), e.managed)
		}
		if e.owned != nil {
			o = c.Owned(e.kind, m.meta(e.name), e.owned)
		}
		stage = append(stage, compose.Resource{Name: e.resource, Object: o, After: e.after})
	}
	return []compose.Stage{stage, m.companionEntries()}, nil
}

// companionEntries builds the features that K-ORC's released version lacks, for the desired objects of K-ORC: regions of endpoints, without
// which clients that request a region find nothing, and the administrator's roles from bootstrap. The companion reconciles them.
func (m *model) companionEntries() compose.Stage {
	cloud := m.spec.AdminCloudRef
	var stage compose.Stage
	existing := map[string]bool{}
	for _, e := range m.desired {
		existing[e.resource] = true
		if e.kind != "Endpoint" {
			continue
		}
		stage = append(stage, compose.Resource{Name: "region-of-" + e.resource, Object: c5c3.EndpointRegion(m.meta(e.name),
			openstackv1.EndpointRegionSpec{
				CloudCredentialsRef: cloud, EndpointRef: common.ObjectName(e.name), Region: m.spec.Region,
			})})
	}
	if !existing["role-admin"] || !existing["user-admin"] {
		return stage
	}
	give := func(name string, where openstackv1.RoleAssignmentResource) {
		where.RoleRef, where.UserRef = common.AdminRole, adminObject
		stage = append(stage, compose.Resource{Name: "role-assignment-" + name, Object: c5c3.RoleAssignment(m.meta(name),
			openstackv1.RoleAssignmentSpec{
				CloudCredentialsRef: cloud,
				ManagedOptions:      openstackv1.ManagedOptions{OnDelete: openstackv1.OnDeleteDetach},
				Resource:            where,
			})})
	}
	give("admin-on-system", openstackv1.RoleAssignmentResource{System: "all"})
	if existing["project-admin"] {
		give("admin-in-admin", openstackv1.RoleAssignmentResource{ProjectRef: keystonev1.AdminProject})
	}
	return stage
}
